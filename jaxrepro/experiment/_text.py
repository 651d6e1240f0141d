"""Outcomes as plain text: the table of claims, and one line a run."""

import re
import textwrap
import unicodedata
from collections.abc import Iterable

from ._claim import ClaimResult, Verdict
from ._runner import RunResult

# A class name, and a message if there is one.
_EXCEPTION = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit|Warning)(: |$)")
_HEADERS = ("claim", "source", "expected", "measured", "verdict")
_SHARES = (0.0, 0.19, 0.13, 0.11, 0.19)  # the first column takes the rest


def claims_table(results: Iterable[RunResult], *, width: int = 100) -> str:
    """Aligned plain-text table of claims, wrapped to a width.

    Parameters
    ----------
    results : iterable of RunResult
        Outcomes of experiments.
    width : int, default 100
        Columns that the table may take, at least 60.

    Returns
    -------
    str
        One row a claim under the name of its experiment: statement, source, what
        is expected, what was measured, verdict. Reasons stand below a row, and
        ``!`` marks a verdict that is not the declared one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from jaxrepro.experiment import Claim, RunResult, claims_table, judge
    >>> claim = Claim("zero", "x is 0", "derivation", lambda t: 0, 0)
    >>> run = RunResult("area/name", Path("results"), "complete", judge([claim], {}))
    >>> claims_table([run]).splitlines()[-1].split()
    ['x', 'is', '0', 'derivation', '0', '0', 'held']
    """
    width = max(width, 60)
    widths = [max(8, int(share * width)) for share in _SHARES]
    widths[0] = width - sum(widths) - 2 * (len(widths) - 1)
    lines = [*_row(_HEADERS, widths), "  ".join("-" * w for w in widths)]
    for run in results:
        lines += ["", run.name]
        if run.changed:
            lines += textwrap.wrap(changed_text(run), width)
        for claim in run.claims:
            sign = "" if claim.verdict.as_declared else "! "
            cells = [claim.statement, claim.source, claim.target, claim.measured]
            lines += _row([*cells, sign + claim.verdict], widths)
            if claim.detail and run.status == "complete":
                lines += textwrap.wrap(f"({claim.detail})", width)
        if run.status == "failed":
            text = f"The experiment failed: {error_line(run.error)}"
            lines += textwrap.wrap(text, width)
        elif run.status == "running":
            lines += ["The run is incomplete."]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def changed_text(run: RunResult) -> str:
    """Which settings are not those that the claims were declared for."""
    return f"(with changed settings: {', '.join(run.changed)})"


def outcome_text(run: RunResult) -> str:
    """Outcome in a few words, such as ``12 s, 5/5 claims held``."""
    if run.status == "failed":
        return f"failed: {error_line(run.error)}"
    text = f"{seconds_text(run.seconds)}, {count_text(run.claims)}"
    if run.plot_error:
        text += f"; no figures: {error_line(run.plot_error)}"
    return text


def error_line(traceback: str) -> str:
    """The line of a traceback that names the exception.

    It is the last one without indentation, unless notes follow it, as those that
    JAX adds on frames which it has left out.
    """
    lines = traceback.strip().splitlines()
    named = [line for line in lines if _EXCEPTION.match(line)]
    return (named or lines)[-1]


def seconds_text(seconds: float) -> str:
    """Time to two digits or to the second: ``3.2 s``, ``12 s``."""
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def count_text(claims: Iterable[ClaimResult]) -> str:
    """Counts of verdicts, such as ``3 held, 1 missed``."""
    verdicts = [claim.verdict for claim in claims]
    held = verdicts.count(Verdict.HELD)
    if held == len(verdicts):
        return f"{held}/{held} claims held" if verdicts else "no claims"
    counts = {verdict: verdicts.count(verdict) for verdict in Verdict}
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)


def _row(cells, widths):
    wrapped = [_wrap(str(cell), width) for cell, width in zip(cells, widths)]
    height = max(map(len, wrapped))
    padded = [column + [""] * (height - len(column)) for column in wrapped]
    return [
        "  ".join(_pad(part, width) for part, width in zip(parts, widths))
        for parts in zip(*padded)
    ]


def _wrap(text, width):
    """As textwrap.wrap, counting wide (East Asian) characters as two columns."""
    if _columns(text) == len(text):
        return textwrap.wrap(text, width) or [""]
    lines, line = [], ""
    for word in text.split():
        joined = f"{line} {word}".strip()
        if _columns(joined) <= width:
            line = joined
            continue
        lines += [line] * bool(line)
        line = ""
        for character in word:
            if _columns(line + character) > width:
                lines, line = [*lines, line], ""
            line += character
    return [*lines, line]


def _pad(text, width):
    return text + " " * max(0, width - _columns(text))


def _columns(text):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    marks = sum(bool(unicodedata.combining(c)) for c in text)
    return len(text) + wide - marks
