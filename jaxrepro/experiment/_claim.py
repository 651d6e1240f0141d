"""Claims: what was stated, where, what is measured here, and the verdict."""

import dataclasses
import enum
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core import check_choice
from ._table import format_value

_SOURCES = ("paper", "derivation", "measurement")
_RELATIONS = {"=": "", "<=": "≤ ", ">=": "≥ ", "<": "< ", ">": "> "}


class Verdict(enum.StrEnum):
    """What became of a claim.

    Examples
    --------
    >>> from jaxrepro.experiment import Verdict
    >>> [str(v) for v in Verdict if not v.as_declared]
    ['missed', 'unexpectedly held', 'error']
    """

    HELD = "held"
    MISSED = "missed"
    NOT_REPRODUCED = "not reproduced"
    UNEXPECTEDLY_HELD = "unexpectedly held"
    SKIPPED = "skipped"
    ERROR = "error"

    @property
    def as_declared(self) -> bool:
        """Whether this is what the author of the experiment declared."""
        return self in (Verdict.HELD, Verdict.NOT_REPRODUCED, Verdict.SKIPPED)


@dataclasses.dataclass(frozen=True)
class Claim:
    r"""A statement with a number that an experiment checks.

    By default a claim holds if ``measure(tables)`` stands to ``target`` in the
    given relation, up to ``tolerance``:
    :math:`|v - t| \le \mathrm{tol}` for ``"="``, :math:`v \le t + \mathrm{tol}`
    for ``"<="``, and so on; every entry must hold if the value is an array.

    Parameters
    ----------
    name : str
        Short name, unique within the experiment.
    statement : str
        One sentence: what is claimed, in the paper's terms.
    source : str
        Begins with ``"paper"``, ``"derivation"`` or ``"measurement"`` (an earlier
        one), whichever the number stems from; then, in words, the place, such as
        ``"paper, figure 1"``.
    measure : callable
        ``measure(tables) -> value``, a number, boolean, string or 1-dimensional
        array computed from the experiment's tables. A NaN counts as nothing
        measured: the claim is then missed, whatever is expected.
    target : number, array, bool or str
        What the source says.
    tolerance : float, default 0
        Allowed deviation, in the unit of the target.
    passed : callable, optional
        ``passed(value) -> bool``, in place of the relation to the target.
    quick : bool, default True
        Whether the claim can be checked in quick mode.
    expected : bool, default True
        False for a claim that is known not to hold here. The report shows it as
        "not reproduced" with ``reason``; the run fails if it ever does hold.
    reason : str, default ""
        Why the claim is not expected to hold; required then.
    relation : {"=", "<=", ">=", "<", ">"}, default "="
        How the value must stand to the target.

    Raises
    ------
    ValueError
        For an unknown source or relation, a negative tolerance, or
        ``expected=False`` without a reason.

    Examples
    --------
    >>> from jaxrepro.experiment import Claim, judge
    >>> claim = Claim(
    ...     "rate",
    ...     "the error falls like n to the power -1/2",
    ...     "paper, theorem on the estimation rate",
    ...     lambda tables: tables["fit"]["slope"][0],
    ...     target=-0.5,
    ...     tolerance=0.05,
    ... )
    >>> result = judge([claim], {"fit": {"slope": [-0.49]}})[0]
    >>> result.measured, result.target, str(result.verdict)
    ('-0.49', '-0.5 ± 0.05', 'held')
    """

    name: str
    statement: str
    source: str
    measure: Callable[[dict], Any]
    target: Any
    tolerance: float = 0.0
    passed: Callable[[Any], Any] | None = None
    quick: bool = True
    expected: bool = True
    reason: str = ""
    relation: str = "="

    def __post_init__(self):
        where = f"claim {self.name!r}, "
        if not self.source.startswith(_SOURCES):
            raise ValueError(
                f"{where}source: expected it to begin with one of "
                f"{', '.join(map(repr, _SOURCES))}; got {self.source!r}"
            )
        check_choice(f"{where}relation", self.relation, _RELATIONS)
        if not self.tolerance >= 0:
            raise ValueError(
                f"{where}tolerance: expected a number >= 0; got {self.tolerance}"
            )
        if not self.expected and not self.reason:
            raise ValueError(f"{where}reason: expected a reason with expected=False")

    @property
    def target_text(self) -> str:
        """The target as shown in reports, such as ``'≤ 0.05'`` or ``'2 ± 0.1'``."""
        spread = f" ± {format_value(self.tolerance)}" if self.tolerance else ""
        target = format_value(self.target, self.tolerance)
        return f"{_RELATIONS[self.relation]}{target}{spread}"

    def holds(self, value) -> bool:
        """Whether a measured value agrees with the claim; NaN never does."""
        if _has_nan(value):
            return False
        if self.passed is not None:
            return bool(self.passed(value))
        value, target = np.asarray(value), np.asarray(self.target)
        if value.dtype.kind == "U" or target.dtype.kind == "U":
            agrees = value == target
        elif value.dtype.kind == "b" and target.dtype.kind == "b":
            agrees = value == target
        else:
            agrees = self._compare(value.astype(float), target.astype(float))
        return bool(np.size(agrees) and np.all(agrees))

    def _compare(self, value, target):
        match self.relation:
            case "=":
                with np.errstate(invalid="ignore"):  # inf - inf
                    close = abs(value - target) <= self.tolerance
                return (value == target) | close
            case "<=":
                return value <= target + self.tolerance
            case ">=":
                return value >= target - self.tolerance
            case "<":
                return value < target + self.tolerance
            case _:
                return value > target - self.tolerance


class ClaimResult(NamedTuple):
    """A claim after the experiment has run, in the form that is stored.

    Attributes
    ----------
    name, statement, source : str
        As declared.
    target, measured : str
        As shown; ``measured`` is empty if there is no value.
    verdict : Verdict
        What became of the claim.
    detail : str
        The reason of an unexpected or unreproduced claim, or what went wrong.
    value : object
        The measured value as plain numbers; None if there is none.
    """

    name: str
    statement: str
    source: str
    target: str
    measured: str
    verdict: Verdict
    detail: str = ""
    value: Any = None


def judge(
    claims: Iterable[Claim], tables: Mapping, *, quick: bool = False
) -> tuple[ClaimResult, ...]:
    """Measure every claim and give its verdict.

    Parameters
    ----------
    claims : iterable of Claim
        The claims of an experiment.
    tables : mapping
        The tables that it returned.
    quick : bool, default False
        Whether they come from a quick run, in which claims with ``quick=False``
        are skipped.

    Returns
    -------
    tuple of ClaimResult
        One a claim, in order. A claim whose ``measure`` or ``passed`` raises gets
        the verdict "error"; the others are judged all the same.

    Examples
    --------
    >>> from jaxrepro.experiment import Claim, judge
    >>> claim = Claim("zero", "x is 0", "derivation", lambda t: t["a"]["x"][0], 0)
    >>> [str(r.verdict) for r in judge([claim], {"a": {"x": [1]}})]
    ['missed']
    """
    return tuple(_judge_one(claim, tables, quick) for claim in claims)


def all_in_error(claims: Iterable[Claim], detail: str) -> tuple[ClaimResult, ...]:
    """Results of claims that could not be measured because the run failed."""
    return tuple(_result(claim, Verdict.ERROR, detail=detail) for claim in claims)


def _judge_one(claim, tables, quick):
    if quick and not claim.quick:
        return _result(claim, Verdict.SKIPPED, detail="needs the full run")
    try:
        value = claim.measure(tables)
        value = value if isinstance(value, str) else np.asarray(value).tolist()
        holds = claim.holds(value)
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({line.name}, line {line.lineno})"
        return _result(claim, Verdict.ERROR, detail=detail)
    if _has_nan(value):
        detail = "the measured value is NaN"
        return _result(claim, Verdict.MISSED, value, detail)
    if claim.expected:
        return _result(claim, Verdict.HELD if holds else Verdict.MISSED, value)
    verdict = Verdict.UNEXPECTEDLY_HELD if holds else Verdict.NOT_REPRODUCED
    return _result(claim, verdict, value, claim.reason)


def _result(claim, verdict, value=None, detail=""):
    return ClaimResult(
        claim.name,
        claim.statement,
        claim.source,
        claim.target_text,
        "" if value is None else format_value(value, claim.tolerance),
        verdict,
        detail,
        value,
    )


def _has_nan(value):
    array = np.asarray(value)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())
