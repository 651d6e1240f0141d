"""Settings of the documentation. The build needs no network.

Two things are made when this file is read: the API pages, from the ``__all__`` of
every area, and the figures, by running the Python blocks of the pages that show one.
"""

import importlib
import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "Agg")

from blocks import run_page  # noqa: E402

import jaxrepro  # noqa: E402
from jaxrepro.testing import area_names  # noqa: E402

project = "jaxrepro"
author = "The jaxrepro developers"
project_copyright = author
release = version = jaxrepro.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinxcontrib.bibtex",
]
html_theme = "furo"
html_title = "jaxrepro"
templates_path = ["_templates"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
bibtex_bibfiles = sorted(
    os.path.relpath(path, DOCS) for path in DOCS.glob("../jaxrepro/*/references.bib")
)
bibtex_reference_style = "author_year"

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say type and shape
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
copybutton_exclude = ".linenos, .gp, .go"


def write_api_pages(folder: Path) -> None:
    """Write one page for each area, with a summary of every public name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in area_names():
        title = f"jaxrepro.{name}"
        area = importlib.import_module(title)
        lines = [
            title,
            "=" * len(title),
            "",
            f".. automodule:: {title}",
            "",
            f".. currentmodule:: {title}",
            "",
            ".. autosummary::",
            f"   :toctree: {title}",
            "   :nosignatures:",
            "",
            *(f"   {public}" for public in sorted(area.__all__)),
            "",
        ]
        text = "\n".join(lines)
        page = folder / f"{title}.rst"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def draw_figures(folder: Path) -> None:
    """Run every page that shows a figure from ``folder``."""
    folder.mkdir(exist_ok=True)
    for page in sorted(DOCS.glob("*.md")):
        if f"]({folder.name}/" in page.read_text(encoding="utf-8"):
            wrong = run_page(page, folder)
            if wrong:
                raise RuntimeError("\n".join(wrong))


def link_references(app, what, name, obj, options, lines):
    """Turn the keys of a References section, ``[key]``, into citations."""
    if "References" in lines:
        start = lines.index("References") + 2
        lines[start:] = [
            re.sub(r"\[([a-z]+\d{4}\w*)\]", r":cite:t:`\1`", line)
            for line in lines[start:]
        ]


def setup(app):
    """Make the pages and figures once the settings are read."""
    # Before napoleon, which is connected with the default priority of 500.
    app.connect("autodoc-process-docstring", link_references, priority=400)
    pages = DOCS / "api" / "generated"
    write_api_pages(pages)
    # By name: a build that goes on from another knows no page of a new area.
    app.config.autosummary_generate = [
        page.relative_to(DOCS).as_posix() for page in sorted(pages.glob("*.rst"))
    ]
    draw_figures(DOCS / "generated")
