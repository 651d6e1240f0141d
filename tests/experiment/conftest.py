"""Packages of tiny experiments, written into a temporary folder."""

import functools
import itertools
import textwrap

import pytest

_NUMBERS = itertools.count()

FILE = '''
"""{title}.

Second paragraph with ``code`` & <tags>.
"""

from dataclasses import dataclass

from jaxrepro.experiment import Claim, experiment


@dataclass(frozen=True)
class Config:
    """Settings."""

    n: int = 5
    """How many squares."""
    scale: float = 1.0
    """Factor."""


def last(tables):
    return tables["squares"]["x"][-1]


CLAIMS = [{claims}]


{plot}


@experiment(
    config=Config,
    quick={{"n": 3}},
    claims=CLAIMS,
    papers=[{papers}],
    cost="1 s",
    {options}
)
def run(config, out):
{body}
    return {{"squares": {{"x": [config.scale * i**2 for i in range(config.n)]}}}}
'''


MAIN = """
import sys

from jaxrepro.experiment import main

sys.exit(main({!r}))
"""


@pytest.fixture(scope="session")
def source():
    """Return a function that gives the text of an experiment file."""

    def text(
        *,
        title="Squares",
        claims='Claim("last", "the last square is 4", "derivation", last, 4)',
        body="",
        plot="",
        papers="",
        options="",
    ):
        body = textwrap.indent(textwrap.dedent(body), "    ")  # before its return
        return FILE.format(**locals())

    return text


@pytest.fixture(scope="session")
def write_package():
    """Return a function that writes a package of experiments and gives its name."""

    def write(parent, **files):
        name = f"fake_experiments_{next(_NUMBERS)}"
        files = {"__init__": "", "__main__": MAIN.format(name), **files}
        for place, text in files.items():
            # area__file is the experiment area/file
            parts = [place] if place.startswith("__") else place.split("__")
            file = parent.joinpath(name, *parts).with_suffix(".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return name

    return write


@pytest.fixture
def package(write_package, tmp_path, monkeypatch):
    """Return a function that writes a package beside which the test then runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return functools.partial(write_package, tmp_path)
