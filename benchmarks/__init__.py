"""Comparisons with peer libraries: the same work, in one process and one run."""
