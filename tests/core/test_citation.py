"""References attached to functions, and their BibTeX."""

import functools
import importlib

import jax
import pytest

import jaxrepro
from jaxrepro import rmt
from jaxrepro.core import Citation, _citation, bibtex_entries, citations, cite, paper
from jaxrepro.testing import area_names


def attached(key, statement, uses=(), area="jaxrepro.operators"):
    def fn(x):
        return x

    fn.__module__ = f"{area}._somewhere"
    return paper(key, statement, uses=uses)(fn)


def test_paper_returns_the_function_itself():
    def fn(x):
        return x

    assert paper("key", "statement")(fn) is fn
    (citation,) = citations(fn)
    assert citation[:2] == ("key", "statement")


def test_paper_takes_jitted_functions():
    @paper("key", "statement")
    @functools.partial(jax.jit, static_argnames="n")
    def fn(x, n):
        return x * n

    assert citations(fn)[0].key == "key"
    assert fn(2.0, 3) == 6


def test_uses_are_inherited_without_repetition():
    base = attached("b", "lemma")
    other = attached("c", "corollary")
    top = attached("a", "theorem", uses=(base, other, base))
    again = attached("d", "remark", uses=(top,))
    assert [c.key for c in citations(again)] == ["d", "a", "b", "c"]
    assert [c.key for c in citations(base, top, base)] == ["b", "a", "c"]
    area = "jaxrepro.operators"
    assert citations(base) == (Citation("b", "lemma", area),)


def test_functions_without_a_paper():
    assert citations(len, jaxrepro.core.safe_norm) == ()
    assert cite(len) == ""
    assert cite() == ""


def test_cite_gives_entries_once(monkeypatch):
    entries = {"a": "@book{a,\n}", "b": "@book{b,\n}"}
    monkeypatch.setattr(_citation, "bibtex_entries", lambda area: entries)
    first, second = attached("a", "theorem"), attached("b", "lemma")
    third = attached("a", "corollary")
    assert cite(first, second, first) == (
        "% theorem\n@book{a,\n}\n\n% lemma\n@book{b,\n}"
    )
    assert cite(first, third) == "% theorem\n% corollary\n@book{a,\n}"
    assert cite(first, second, third).count("@book{a,") == 1


def test_a_missing_entry_is_named():
    with pytest.raises(KeyError, match="'nobody1900' is in no references.bib"):
        cite(attached("nobody1900", "theorem"))


def test_an_entry_of_another_area_is_found():
    text = cite(attached("karras2022elucidating", "sampler"))
    assert "Elucidating" in text
    assert "karras2022elucidating" not in bibtex_entries("jaxrepro.rmt")
    assert "Elucidating" in cite(rmt.discrete_sampler_factor)


def test_bibtex_entries():
    entries = bibtex_entries("jaxrepro.operators")
    text = entries["germain2026spectral"]
    assert text.startswith("@inproceedings{germain2026spectral,")
    assert text.endswith("\n}")
    assert text.count("@") == 1 + text.count("\\@")
    assert bibtex_entries("jaxrepro.core") == {}
    assert bibtex_entries("jaxrepro.nowhere") == {}


@pytest.mark.parametrize("area", area_names())
def test_every_key_of_the_package_resolves(area):
    module = importlib.import_module(f"jaxrepro.{area}")
    functions = [getattr(module, name) for name in module.__all__]
    everywhere = {
        key for name in area_names() for key in bibtex_entries(f"jaxrepro.{name}")
    }
    for citation in citations(*functions):
        assert citation.key in everywhere, citation
    assert cite(*functions).count("\n@") == len({c.key for c in citations(*functions)})


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize("name", ["operators.sgot", 3])
def test_names_are_no_functions(name):
    with pytest.raises(TypeError, match="fns: expected functions"):
        cite(name)
