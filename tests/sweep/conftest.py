import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference():
    """The stored values of the engine."""
    file = Path(__file__).parents[1] / "reference" / "engineering.json"
    return json.loads(file.read_text())
