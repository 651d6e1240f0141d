"""BibTeX entries of the papers that an experiment names."""

import sys
from collections.abc import Iterable
from pathlib import Path

from ..core import bibtex_entries

_PACKAGE = "jaxrepro"


def bibliography(keys: Iterable[str], area: str) -> list[dict[str, str]]:
    """Entries of papers, from the area's ``references.bib`` or any other area's.

    A key without an entry gets an empty text, which the report points out.
    """
    package = sys.modules[_PACKAGE]
    areas = [area] + sorted(
        file.parent.name
        for folder in package.__path__
        for file in Path(folder).glob("*/references.bib")
    )
    found = []
    for key in keys:
        entries = (bibtex_entries(f"{_PACKAGE}.{name}").get(key) for name in areas)
        text = next((entry for entry in entries if entry), "")
        found.append({"key": key, "bibtex": text})
    return found
