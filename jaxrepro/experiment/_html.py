"""Pieces of the report page. Every piece escapes the text that it is given."""

import base64
import html
import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from ._claim import Verdict
from ._table import format_value, read_table

SHOWN_ROWS = 20
_OPEN_ROWS = 8
_DOTS_PER_INCH = 220  # savefig.dpi of paper.mplstyle
_SIGNS = {
    Verdict.HELD: "✓",
    Verdict.MISSED: "✗",
    Verdict.NOT_REPRODUCED: "≠",
    Verdict.UNEXPECTEDLY_HELD: "!",
    Verdict.SKIPPED: "–",
    Verdict.ERROR: "!",
}


def escape(text) -> str:
    """Text that is safe between tags and in attributes."""
    return html.escape(str(text), quote=True)


def chip(words: str, kind: str, sign: str = "") -> str:
    """A coloured label that says its meaning in words as well."""
    mark = f'<span aria-hidden="true">{escape(sign)}</span> ' if sign else ""
    return f'<span class="chip {kind}">{mark}{escape(words)}</span>'


def verdict_chip(verdict: Verdict, count: int | None = None) -> str:
    """The label of a verdict, with a count in front if there is one."""
    words = str(verdict) if count is None else f"{count} {verdict}"
    return chip(words, str(verdict).replace(" ", "-"), _SIGNS[verdict])


def paragraphs(text: str) -> str:
    """Paragraphs of a docstring; what stands in backquotes becomes code."""
    blocks = []
    for block in re.sub(r":[\w:]+:`([^`]*)`", r"``\1``", text).split("\n\n"):
        parts = escape(" ".join(block.split())).split("``")
        marked = [f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts)]
        blocks.append(f"<p>{''.join(marked)}</p>")
    return "".join(blocks)


def details(summary: str, body: str, *, opened: bool = False) -> str:
    """A part that can be folded; ``summary`` is text, ``body`` is HTML."""
    state = " open" if opened else ""
    head = f"<summary>{escape(summary)}</summary>"
    return f"<details{state}>{head}<div>{body}</div></details>"


def definitions(values: Mapping) -> str:
    """Nested settings as a list of names and values."""
    rows = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            shown = definitions(value) if value else "–"
        elif isinstance(value, list):
            shown = escape(", ".join(map(str, value)) or "–")
        else:
            shown = escape("–" if value in ("", None) else value)
        rows.append(f"<dt>{escape(name)}</dt><dd>{shown}</dd>")
    return f"<dl>{''.join(rows)}</dl>"


def table(file: Path) -> str:
    """A CSV table, folded if long and cut after the first rows with a note."""
    columns = read_table(file)
    n_rows = len(next(iter(columns.values()), ()))
    numeric = {name: column.dtype.kind in "iuf" for name, column in columns.items()}
    marks = {name: ' class="number"' if numeric[name] else "" for name in columns}
    head = "".join(f"<th{marks[name]}>{escape(name)}</th>" for name in columns)
    rows = []
    for i in range(min(n_rows, SHOWN_ROWS)):
        cells = (
            f"<td{marks[name]}>{escape(format_value(column[i]))}</td>"
            for name, column in columns.items()
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    note = f"Four significant digits; all of them in tables/{file.name}."
    if n_rows > SHOWN_ROWS:
        note = f"The first {SHOWN_ROWS} of {n_rows} rows; all in tables/{file.name}."
    body = (
        f'<div class="scroll"><table class="data"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="note">{escape(note)}</p>'
    )
    size = f"{n_rows} row{'s' * (n_rows != 1)}"
    return details(f"Table {file.stem}, {size}", body, opened=n_rows <= _OPEN_ROWS)


def figure(file: Path, caption: str) -> str:
    """A PNG within the page; wide figures take the whole width."""
    data = file.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    scale = 96 / _DOTS_PER_INCH * 1.35
    wide = ' class="wide"' if width / _DOTS_PER_INCH > 4 else ""
    text = caption or file.stem.replace("_", " ")
    return (
        f"<figure{wide}><img alt={_quoted(text)} width={_quoted(round(width * scale))} "
        f"height={_quoted(round(height * scale))} "
        f'src="data:image/png;base64,{base64.b64encode(data).decode()}">'
        f"<figcaption>{escape(text)}</figcaption></figure>"
    )


def page(title: str, style: str, body: Iterable[str]) -> str:
    """The whole document; it refers to nothing outside of itself."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _quoted(value):
    return f'"{escape(value)}"'
