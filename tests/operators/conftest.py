"""Reference values, and systems to compare."""

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def reference():
    """Entries of the reference file, complex arrays as such."""
    file = Path(__file__).parents[1] / "reference" / "sgot.json"

    def decode(entry):
        if set(entry) == {"re", "im"}:
            return np.asarray(entry["re"]) + 1j * np.asarray(entry["im"])
        return entry

    return json.loads(file.read_text(), object_hook=decode)


@pytest.fixture
def stable_matrices():
    """Return a function: n random real d x d matrices of spectral radius 0.9."""

    def make(n, d, seed=0):
        a = np.random.default_rng(seed).normal(size=(n, d, d))
        radius = np.abs(np.linalg.eigvals(a)).max(axis=-1)
        return 0.9 * a / radius[:, None, None]

    return make
