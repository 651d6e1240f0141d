"""The files beside the code agree with it: citation, constraints, README."""

import re
import tomllib
from pathlib import Path

import pytest

import jaxrepro
from jaxrepro.core import bibtex_entries
from jaxrepro.experiment import experiment_names

ROOT = Path(__file__).parents[2]


def _read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_citation_file_has_the_version_and_the_paper():
    text = _read("CITATION.cff")
    assert set(re.findall(r"^ *version: (.*)$", text, re.M)) == {jaxrepro.__version__}
    entry = bibtex_entries("jaxrepro.operators")["germain2026spectral"]
    title = re.search(r"title\s*= \{(.*)\}", entry)[1]
    eprint = re.search(r"eprint\s*= \{(.*)\}", entry)[1]
    assert title in text
    assert f"arXiv:{eprint}" in text


@pytest.mark.parametrize("name", ["py311.txt", "py312.txt"])
def test_constraints_are_bare_pins_of_admitted_versions(name):
    lines = _read(f"constraints/{name}").splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    pins = dict(line.lower().split("==") for line in lines)
    assert pins["jax"] == pins["jaxlib"]
    assert pins["jax"] != "0.10.2"
    assert not pins["jax"].startswith("0.11.")
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    names = {re.match(r"[\w-]+", requirement)[0].lower() for requirement in wanted}
    assert names - {"jaxrepro"} <= set(pins)


def test_readme_is_short_and_its_links_lead_somewhere():
    text = _read("README.md")
    assert len(text.splitlines()) <= 150
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_experiments_page_lists_every_experiment():
    page = _read("docs/experiments.md")
    for name in experiment_names("experiments"):
        assert f"| `{name}` |" in page


def test_changelog_starts_with_what_is_new():
    assert re.search(r"^## \[Unreleased\]\n\n### ", _read("CHANGELOG.md"), re.M)
