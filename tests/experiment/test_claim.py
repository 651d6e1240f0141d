import math

import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.experiment import Claim, Verdict, judge


def claim(value=1.0, target=1.0, **options):
    return Claim(
        "c", "a statement", "paper, table 1", lambda _: value, target, **options
    )


def verdict(*args, quick=False, in_quick=True, **options):
    declared = claim(*args, **options, quick=in_quick)
    return judge([declared], {}, quick=quick)[0].verdict


WRONG = {"expected": False, "reason": "known not to hold"}


@pytest.mark.parametrize(
    ("holds", "expected", "checked", "want"),
    [
        (True, True, True, Verdict.HELD),
        (False, True, True, Verdict.MISSED),
        (False, False, True, Verdict.NOT_REPRODUCED),
        (True, False, True, Verdict.UNEXPECTEDLY_HELD),
        (True, True, False, Verdict.SKIPPED),
        (False, True, False, Verdict.SKIPPED),
        (False, False, False, Verdict.SKIPPED),
        (True, False, False, Verdict.SKIPPED),
    ],
)
def test_matrix_of_verdicts(holds, expected, checked, want):
    options = {} if expected else WRONG
    value = 1.0 if holds else 2.0
    assert verdict(value, quick=True, **options, in_quick=checked) == want
    # In a full run every claim is checked.
    assert verdict(value, **options, in_quick=checked) != Verdict.SKIPPED


def test_only_declared_verdicts_are_as_declared():
    good = {Verdict.HELD, Verdict.NOT_REPRODUCED, Verdict.SKIPPED}
    assert {v for v in Verdict if v.as_declared} == good


@pytest.mark.parametrize(
    ("relation", "value", "holds"),
    [
        ("=", 1.1, True),
        ("=", 1.11, False),
        ("=", 0.9, True),
        ("=", 0.89, False),
        ("<=", 1.1, True),
        ("<=", 1.11, False),
        ("<=", -math.inf, True),
        (">=", 0.9, True),
        (">=", 0.89, False),
        ("<", 1.09, True),
        ("<", 1.2, False),
        (">", 0.95, True),
        (">", 0.85, False),
    ],
)
def test_relation_and_tolerance(relation, value, holds):
    # A hair's breadth above 0.1, since 1.1 - 1.0 is.
    declared = claim(value, relation=relation, tolerance=0.1 + 1e-12)
    assert declared.holds(value) is holds


def test_strict_relations_exclude_the_target():
    assert not claim(relation="<").holds(1.0)
    assert not claim(relation=">").holds(1.0)
    assert claim(relation="<=").holds(1.0)


@pytest.mark.parametrize(
    ("value", "target", "holds"),
    [
        (True, True, True),
        (False, True, False),
        (np.bool_(True), True, True),
        ("SGOT", "SGOT", True),
        ("HS", "SGOT", False),
        (3, 3.0, True),
        (jnp.float32(0.5), 0.5, True),
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, 2.5], [1.0, 2.0], False),
        ([1.0, 1.0], 1.0, True),
        ([], 1.0, False),
        (math.inf, math.inf, True),
        (math.inf, 1.0, False),
    ],
)
def test_values_of_every_kind(value, target, holds):
    assert claim(value, target).holds(value) is holds


@pytest.mark.parametrize("value", [math.nan, [1.0, math.nan], np.float32("nan")])
@pytest.mark.parametrize(
    "options",
    [{}, WRONG, {"relation": "<="}, {"passed": lambda v: True}],
    ids=["plain", "not expected", "at most", "passed says yes"],
)
def test_nan_is_missed_whatever_is_expected(value, options):
    (result,) = judge([claim(value, **options)], {})
    assert result.verdict == Verdict.MISSED
    assert "NaN" in result.detail


def test_passed_replaces_the_relation():
    assert verdict(5.0, passed=lambda v: v > 4) == Verdict.HELD
    assert verdict(1.0, passed=lambda v: v > 4) == Verdict.MISSED


def test_an_error_in_one_claim_leaves_the_others():
    def raises(tables):
        return tables["no such table"]

    broken = Claim("broken", "s", "paper", raises, 1)
    odd = claim(1.0, passed=lambda v: v.no_such_attribute)
    shape = claim([1.0, 2.0, 3.0], [1.0, 2.0])
    results = judge([broken, claim(), odd, shape], {})
    assert [r.verdict for r in results] == ["error", "held", "error", "error"]
    assert "KeyError: 'no such table'" in results[0].detail
    assert "raises" in results[0].detail  # says where


def test_claims_see_the_tables():
    tables = {"t": {"x": np.array([1.0, 4.0])}}
    seen = Claim("c", "s", "paper", lambda t: t["t"]["x"].max(), 4)
    assert judge([seen], tables)[0].value == 4.0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"target": 0.929512345, "tolerance": 0.002}, "0.9295 ± 0.002"),
        ({"target": 1e-6, "relation": "<="}, "≤ 1e-06"),
        ({"target": True}, "yes"),
        ({"target": "grows"}, "grows"),
        ({"target": [1, 2.5]}, "[1, 2.5]"),
    ],
)
def test_text_of_the_target(options, text):
    assert claim(**options).target_text == text


def test_the_reason_is_kept():
    (result,) = judge([claim(2.0, **WRONG)], {})
    assert result.detail == "known not to hold"
    assert result.measured == "2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "somewhere"}, r"source: expected it to begin with one of 'paper'"),
        ({"relation": "~"}, r"relation: expected one of '=', '<='"),
        ({"tolerance": -1.0}, r"tolerance: expected a number >= 0; got -1"),
        ({"tolerance": math.nan}, r"tolerance: expected a number >= 0; got nan"),
        ({"expected": False}, r"reason: expected a reason with expected=False"),
    ],
)
def test_declaration_errors_name_the_claim(options, message):
    arguments = {"source": "paper", "target": 1, **options}
    with pytest.raises(ValueError, match=r"claim 'mine', " + message):
        Claim("mine", "s", measure=lambda t: 1, **arguments)
