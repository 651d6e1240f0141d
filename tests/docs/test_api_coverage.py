"""Every public name stands on an API page, and on the page of its area."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

from jaxrepro.testing import area_names

DOCS = Path(__file__).parents[2] / "docs"
AREAS = area_names()
# Areas of the plumbing have an API page and no page of their own.
# Packages within an area are on its page.
PAGES = {name: DOCS / f"{name.split('.')[0]}.md" for name in AREAS}
WITH_PAGE = [name for name in AREAS if PAGES[name].exists()]


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
    assert summary.split() == sorted(
        importlib.import_module(f"jaxrepro.{area}").__all__
    )


@pytest.mark.parametrize("area", WITH_PAGE)
def test_page_of_the_area_names_every_public_name(area):
    page = PAGES[area].read_text(encoding="utf-8")
    named = set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`\n]+)`", page))))
    named = {name.split(".")[-1] for name in named}
    assert set(importlib.import_module(f"jaxrepro.{area}").__all__) <= named


def test_numerical_areas_have_a_page():
    assert {"operators", "ot"} <= set(WITH_PAGE)


def test_every_page_is_in_the_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([\w/]+)$", index, re.M))
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= listed
