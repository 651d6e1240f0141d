import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def reference():
    """Entries of the reference file."""
    file = Path(__file__).parents[1] / "reference" / "rmt.json"
    return json.loads(file.read_text())


@pytest.fixture(scope="session")
def power_law():
    """Eigenvalues 1/k in 48 dimensions."""
    return 1 / np.arange(1.0, 49)
