import dataclasses
import unicodedata
from pathlib import Path

import pytest

from jaxrepro.experiment import Claim, RunResult, claims_table, judge
from jaxrepro.experiment._text import error_line

WRONG = {"expected": False, "reason": "a long reason why it does not hold " * 5}


def claim(statement="x is 0", value=0.0, **options):
    return Claim("c", statement, "paper, figure 1", lambda t: value, 0, **options)


def run(*claims, **changes):
    result = RunResult("area/name", Path("results"), "complete", judge(claims, {}))
    return result._replace(**changes)


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_long_lines_are_wrapped(columns):
    claims = [
        claim("the distance grows strictly with the second frequency " * 3),
        claim("unbreakable" * 20),
        claim("距離は第二周波数とともに単調に増加する" * 5),
        claim(value=1e-7, **WRONG),
        dataclasses.replace(claim(), source="paper, " + "appendix " * 20),
    ]
    text = claims_table([run(*claims)], width=columns)
    assert max(map(width, text.splitlines())) <= columns
    assert {"reproduced", "reason", "appendix"} <= set(text.split())
    assert text.count("単") == 5


def test_columns_are_aligned():
    text = claims_table([run(claim("a"), claim("日本"), claim("a longer statement"))])
    lines = text.splitlines()
    start = lines[0].index("verdict")
    rows = [line for line in lines if line.endswith("held")]
    assert [width(row) - len("held") for row in rows] == [start] * 3


def test_verdicts_that_are_not_declared_are_marked():
    text = claims_table([run(claim(), claim(value=1), claim(**WRONG))])
    assert "! missed" in text
    assert "! unexpectedly" in text
    assert "! held" not in text


def test_failed_and_unfinished_runs():
    failed = run(status="failed", error="Traceback\n...\nValueError: no luck\n")
    assert "The experiment failed: ValueError: no luck" in claims_table([failed])
    assert "The run is incomplete." in claims_table([run(status="running")])


def test_nothing_at_all():
    assert claims_table([]).splitlines()[0].startswith("claim")


def test_notes_below_an_exception_are_not_the_exception():
    traceback = (
        "Traceback (most recent call last):\n  File 'x.py', line 1\n"
        "IndexError: index is out of bounds\n--------------------\n"
        "For simplicity, JAX has removed its internal frames from the traceback.\n"
    )
    assert error_line(traceback) == "IndexError: index is out of bounds"
    assert error_line("KeyboardInterrupt\n") == "KeyboardInterrupt"
    assert error_line("no traceback") == "no traceback"


def test_changed_settings_are_said():
    text = claims_table([run(claim(), changed=("noise 0.3 (0.01)",))])
    assert "(with changed settings: noise 0.3 (0.01))" in text
    assert "changed settings" not in claims_table([run(claim())])
