"""Which paper a function stems from, and the BibTeX of a set of functions."""

import importlib.resources
import re
from collections.abc import Callable
from typing import NamedTuple

_ATTRIBUTE = "__jaxrepro_citations__"


class Citation(NamedTuple):
    """One reference of a function.

    Attributes
    ----------
    key : str
        BibTeX key.
    statement : str
        Which statement of the paper the function implements.
    area : str
        Import path of the area whose ``references.bib`` holds the entry.
    """

    key: str
    statement: str
    area: str


def paper(key: str, statement: str, *, uses: tuple[Callable, ...] = ()):
    """Attach a reference to a function.

    Every area keeps the entries in its own ``references.bib``, so that a new
    paper edits no central file.

    Parameters
    ----------
    key : str
        BibTeX key of an entry in ``references.bib`` beside the function, or in that
        of another area that cites the paper as well.
    statement : str
        The statement that the function implements, in the paper's own terms
        ("theorem on reduced rank regression", "definition of the metric").
    uses : tuple of callables, default ()
        Functions that this one calls and whose references it shares.

    Returns
    -------
    callable
        A decorator that returns the function itself.

    Examples
    --------
    >>> from jaxrepro.core import citations, paper
    >>> @paper("germain2026spectral", "definition of the metric")
    ... def distance(x):
    ...     return x
    >>> citations(distance)[0].key
    'germain2026spectral'
    """

    def attach(fn):
        area = ".".join(fn.__module__.split(".")[:2])
        own = (Citation(key, statement, area),)
        inherited = tuple(c for used in uses for c in citations(used))
        setattr(fn, _ATTRIBUTE, tuple(dict.fromkeys(own + citations(fn) + inherited)))
        return fn

    return attach


def citations(*fns: Callable) -> tuple[Citation, ...]:
    """References attached to functions, without repetition.

    Parameters
    ----------
    *fns : callable
        Public functions of this package.

    Returns
    -------
    tuple of Citation
        In the order of the arguments; empty for functions that stem from no
        paper.

    Examples
    --------
    >>> from jaxrepro.core import citations
    >>> citations(print)
    ()
    """
    return tuple(dict.fromkeys(c for fn in fns for c in getattr(fn, _ATTRIBUTE, ())))


def cite(*fns: Callable) -> str:
    """BibTeX entries of the papers behind functions.

    Parameters
    ----------
    *fns : callable
        Public functions of this package, for instance ``operators.sgot``.

    Returns
    -------
    str
        The entries, separated by blank lines, each preceded by comments that say
        which statements are used. Empty if no paper is attached.

    Raises
    ------
    TypeError
        If an argument is not a function.
    KeyError
        If an attached key is in no ``references.bib``.

    Examples
    --------
    >>> from jaxrepro import cite, operators
    >>> print(cite(operators.sgot).splitlines()[0])
    % definition of the spectral-Grassmann Wasserstein metric
    """
    for fn in fns:
        if not callable(fn):
            raise TypeError(
                f"fns: expected functions such as operators.sgot; got {fn!r} "
                "(names are for the command `jaxrepro cite`)"
            )
    statements: dict[tuple[str, str], list[str]] = {}
    for key, statement, area in citations(*fns):
        statements.setdefault((key, area), []).append(f"% {statement}\n")
    blocks = []
    for (key, area), comments in statements.items():
        entry = bibtex_entries(area).get(key) or _elsewhere(key)
        if entry is None:
            raise KeyError(f"{key!r} is in no references.bib, not in that of {area}")
        blocks.append("".join(comments) + entry)
    return "\n\n".join(dict.fromkeys(blocks))


def _elsewhere(key: str) -> str | None:
    """Entry of a paper that two areas cite and another one than the first holds."""
    package = __name__.split(".")[0]
    for folder in sorted(importlib.resources.files(package).iterdir(), key=str):
        if (folder / "references.bib").is_file():
            entry = bibtex_entries(f"{package}.{folder.name}").get(key)
            if entry is not None:
                return entry
    return None


def bibtex_entries(area: str) -> dict[str, str]:
    """Entries of an area's ``references.bib``, by key.

    Parameters
    ----------
    area : str
        Import path, such as ``"jaxrepro.operators"``.

    Returns
    -------
    dict of str to str
        BibTeX text of every entry; empty if the area has no such file.

    Examples
    --------
    >>> from jaxrepro.core import bibtex_entries
    >>> "germain2026spectral" in bibtex_entries("jaxrepro.operators")
    True
    """
    try:
        file = importlib.resources.files(area) / "references.bib"
        text = file.read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError, TypeError):
        return {}
    # An entry ends at a closing brace in the first column.
    found = re.findall(r"^(@\w+\{([^,\s]+),.*?^\})", text, re.M | re.S)
    return {key: entry for entry, key in found}
