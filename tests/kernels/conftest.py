import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference():
    """Entries of the reference file."""
    file = Path(__file__).parents[1] / "reference" / "resnet_kernel.json"
    return json.loads(file.read_text())
