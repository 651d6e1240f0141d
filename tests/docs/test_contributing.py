"""The area, the function and the experiment of CONTRIBUTING.md work as written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the repository with the files of the page added."""
    copy = tmp_path_factory.mktemp("extended")
    for name in ("jaxrepro", "experiments", "tests"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "pyproject.toml", copy)
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"^```\w+\n[#%] (\w\S+)\n(.*?)^```$", page, re.M | re.S)
    assert len(files) == 6
    for path, text in files:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text, encoding="utf-8")
    return copy


def _run(folder, *command):
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_function_and_area(extended):
    docstrings = "tests/docs/test_docstrings.py"
    done = _run(extended, "pytest", "-p", "no:xdist", "-k", "information",
                "tests/information", "tests/contract", docstrings)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    # Six of its own; contract, citation, example and sections beside these.
    assert passed >= 10, done.stdout


def test_experiment(extended):
    done = _run(extended, "experiments", "run", "information/bias", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "held" in done.stdout
