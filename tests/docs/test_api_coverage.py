"""Every public name stands on an API page, and on the page of its area."""

import importlib.util
import re
from pathlib import Path

import pytest

import jaxrepro

DOCS = Path(__file__).parents[2] / "docs"
AREAS = [n for n in jaxrepro.__all__ if hasattr(getattr(jaxrepro, n), "__path__")]
# Areas of the plumbing have an API page and no page of their own.
WITH_PAGE = [name for name in AREAS if (DOCS / f"{name}.md").exists()]


@pytest.fixture(scope="module")
def api_pages(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        spec.loader.exec_module(conf)
    folder = tmp_path_factory.mktemp("api")
    conf.write_api_pages(folder)
    return {page.stem: page.read_text() for page in folder.iterdir()}


@pytest.mark.parametrize("area", AREAS)
def test_api_page_lists_every_public_name(area, api_pages):
    summary = api_pages[f"jaxrepro.{area}"].split(":nosignatures:")[1]
    assert summary.split() == sorted(getattr(jaxrepro, area).__all__)


@pytest.mark.parametrize("area", WITH_PAGE)
def test_page_of_the_area_names_every_public_name(area):
    page = (DOCS / f"{area}.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`\n]+)`", page))))
    named = {name.split(".")[-1] for name in named}
    assert set(getattr(jaxrepro, area).__all__) <= named


def test_numerical_areas_have_a_page():
    assert {"operators", "ot"} <= set(WITH_PAGE)


def test_every_page_is_in_the_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([\w/]+)$", index, re.M))
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= listed
