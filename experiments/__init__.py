"""Experiments, one file each, in one folder an area. See ``jaxrepro.experiment``."""
