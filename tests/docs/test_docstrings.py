"""Docstrings have their sections, true parameters, examples that hold, citations."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import jaxrepro
from jaxrepro.core import bibtex_entries, citations

ROOT = Path(__file__).parents[2]
MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(jaxrepro.__path__, "jaxrepro.")
]
AREAS = [module for module in MODULES if hasattr(module, "__path__")]
PUBLIC = {
    f"{area.__name__}.{name}": getattr(area, name)
    for area in AREAS
    for name in area.__all__
}
FUNCTIONS = {k: v for k, v in PUBLIC.items() if not inspect.isclass(v) and callable(v)}
CLASSES = {k: v for k, v in PUBLIC.items() if inspect.isclass(v)}


def _own_members(module):
    """Names of a module's own functions, classes and methods, with their objects."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        yield f"{module.__name__}.{name}", value
        for method, function in vars(value).items() if inspect.isclass(value) else ():
            if not method.startswith("_"):
                yield f"{module.__name__}.{name}.{method}", function


EXAMPLES = {
    name: value.__doc__
    for module in MODULES
    for name, value in [(module.__name__, module), *_own_members(module)]
    if ">>>" in (getattr(value, "__doc__", None) or "")
}


def _section(docstring, title):
    """Text of a numpydoc section, or None."""
    pattern = rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}\n|\Z)"
    found = re.search(pattern, inspect.cleandoc(docstring), re.M | re.S)
    return found and found[1]


def _names(section):
    """Names that a section documents: its lines without indentation, before a colon."""
    lines = [line for line in (section or "").splitlines() if re.match(r"\S", line)]
    return [name for line in lines for name in re.split(r",\s*", line.split(" :")[0])]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    parser, namespace = doctest.DocTestParser(), {"__name__": name}
    test = parser.get_doctest(EXAMPLES[name], namespace, name, name, 0)
    report = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_module_says_what_it_is(module):
    assert module.__doc__
    assert module.__doc__.strip()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_sections(name):
    function = FUNCTIONS[name]
    assert function.__doc__, "no docstring"
    signature = inspect.signature(function)
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    wanted = [stars.get(p.kind, "") + p.name for p in signature.parameters.values()]
    assert _names(_section(function.__doc__, "Parameters")) == wanted
    result = _section(function.__doc__, "(?:Returns|Yields)")
    assert result or signature.return_annotation is None
    assert ">>>" in (_section(function.__doc__, "Examples") or "")


@pytest.mark.parametrize("name", CLASSES)
def test_class_sections(name):
    cls = CLASSES[name]
    assert cls.__doc__, "no docstring"
    if issubclass(cls, BaseException):
        return
    attributes = _names(_section(cls.__doc__, "Attributes"))
    if hasattr(cls, "_fields"):
        assert attributes == list(cls._fields)
    else:
        assert attributes or ">>>" in (_section(cls.__doc__, "Examples") or "")


def test_public_names_are_sorted_and_unique():
    for area in AREAS:
        assert list(area.__all__) == sorted(set(area.__all__)), area.__name__


def _cited_in_text():
    for value in PUBLIC.values():
        yield from re.findall(
            r"\[(\w+)\]", _section(value.__doc__ or "", "References") or ""
        )
    for page in ROOT.glob("docs/**/*.md"):
        for keys in re.findall(r"{cite\S*}`([^`]+)`", page.read_text(encoding="utf-8")):
            yield from re.split(r",\s*", keys)


def test_citation_keys_resolve():
    entries = [bibtex_entries(area.__name__) for area in AREAS]
    known = {key for found in entries for key in found}
    assert sum(map(len, entries)) == len(known), "a key is defined in two areas"
    attached = {c.key for value in FUNCTIONS.values() for c in citations(value)}
    assert attached | set(_cited_in_text()) <= known


@pytest.mark.parametrize("name", FUNCTIONS)
def test_references_section_names_the_papers(name):
    section = _section(FUNCTIONS[name].__doc__ or "", "References") or ""
    listed = re.findall(r"\[(\w+)\]", section)
    attached = {citation.key for citation in citations(FUNCTIONS[name])}
    assert set(listed) <= attached
    assert bool(listed) == bool(attached), "a function from a paper lists it, as [key]"
    assert section.split() == ", ".join(f"[{key}]" for key in listed).split()


def test_attached_citations_have_an_entry():
    known = {key for area in AREAS for key in bibtex_entries(area.__name__)}
    for name, function in FUNCTIONS.items():
        for citation in citations(function):
            assert citation.key in known, name


@pytest.mark.parametrize(
    ("text", "names"),
    [("a, b : int\n    Text.\n*c : str\n    More.\n", ["a", "b", "*c"]), (None, [])],
)
def test_names_of_a_section(text, names):
    assert _names(text) == names


def test_section_ends_at_the_next():
    docstring = (
        "S.\n\nParameters\n----------\nx : int\n\nReturns\n-------\nint\n    X.\n"
    )
    assert _names(_section(docstring, "Parameters")) == ["x"]
    assert _section(docstring, "Raises") is None
