"""Run the Python blocks of a page, in order and in one namespace.

A fenced block ``python`` runs. A block ``text`` right after it is what it prints, with
``...`` for anything. The tests run every page so; the build runs the pages that draw a
figure, so that each figure is made by the code shown above it.
"""

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import NamedTuple

import jax


class Block(NamedTuple):
    """A fenced block: its language, its text and the line where the text starts."""

    language: str
    source: str
    line: int


def read_blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page with a plain language tag."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start(2)))
        for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    ]


def run_page(page: Path, folder: Path) -> list[str]:
    """Run a page with ``folder`` as working directory; return its wrong outputs."""
    x64 = jax.config.jax_enable_x64
    try:
        return list(_wrong_outputs(page, folder))
    finally:  # pages about precision switch it; the next page starts afresh
        jax.config.update("jax_enable_x64", x64)


def _wrong_outputs(page, folder):
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS
    namespace = {"__name__": page.stem}
    blocks = read_blocks(page)
    for block, after in zip(blocks, [*blocks[1:], None]):
        if block.language != "python":
            continue
        code = compile("\n" * block.line + block.source, str(page), "exec")
        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(code, namespace)
        expected = after.source if after and after.language == "text" else ""
        if not checker.check_output(expected, printed.getvalue(), flags):
            yield (
                f"{page.name}, line {block.line + 1}: expected\n{expected}"
                f"got\n{printed.getvalue()}"
            )
