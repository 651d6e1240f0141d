"""Distributions of a hyper-parameter, as maps of a uniform number in [0, 1)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Uniform(NamedTuple):
    """Uniform on an interval.

    Attributes
    ----------
    low, high : float
        Ends; a unit sample u becomes low + (high - low) u.

    Examples
    --------
    >>> from jaxrepro.sweep import Random, Uniform
    >>> space = Random(4, seed=0, momentum=Uniform(0.0, 1.0))
    >>> space.columns["momentum"].shape
    (4,)
    """

    low: float
    high: float


class LogUniform(NamedTuple):
    """Uniform in the logarithm, for scales such as a learning rate.

    Attributes
    ----------
    low, high : float
        Ends, positive; a unit sample u becomes
        exp(log low + u (log high - log low)).

    Examples
    --------
    >>> from jaxrepro.sweep import LogUniform, Random
    >>> rates = Random(100, seed=0, lr=LogUniform(1e-4, 1e-1)).columns["lr"]
    >>> bool(rates.min() >= 1e-4), bool(rates.max() <= 1e-1)
    (True, True)
    """

    low: float
    high: float


class IntUniform(NamedTuple):
    """Uniform on the integers from ``low`` to ``high``, both included.

    Attributes
    ----------
    low, high : int
        Ends; a unit sample u becomes floor(low + (high - low + 1) u).

    Examples
    --------
    >>> from jaxrepro.sweep import IntUniform, Random
    >>> space = Random(50, seed=0, delay=IntUniform(1, 3))
    >>> sorted(set(space.columns["delay"].tolist()))
    [1, 2, 3]
    """

    low: int
    high: int


class Choice(NamedTuple):
    """Uniform on the values of a list.

    Attributes
    ----------
    values : sequence of numbers
        The k values; a unit sample u becomes values[floor(k u)].

    Examples
    --------
    >>> from jaxrepro.sweep import Choice, Random
    >>> space = Random(50, seed=0, width=Choice([8.0, 16.0]))
    >>> sorted(set(space.columns["width"].tolist()))
    [8.0, 16.0]
    """

    values: Sequence[Any]


Distribution = Uniform | LogUniform | IntUniform | Choice


def check_distribution(name: str, distribution) -> None:
    """Raise unless ``distribution`` is one of the four and its ends are right."""
    if isinstance(distribution, Choice):
        if len(distribution.values) == 0:
            raise ValueError(f"{name}: expected at least one value in Choice; got none")
        return
    if not isinstance(distribution, Uniform | LogUniform | IntUniform):
        kind = type(distribution).__name__
        raise TypeError(
            f"{name}: expected Uniform, LogUniform, IntUniform or Choice; got {kind}"
        )
    low, high = distribution
    if not (_is_real(low) and _is_real(high) and low <= high):
        raise ValueError(f"{name}: expected finite low <= high; got {distribution}")
    if isinstance(distribution, LogUniform) and low <= 0:
        raise ValueError(f"{name}: expected low > 0 in LogUniform; got {low}")
    if isinstance(distribution, IntUniform) and not (
        float(low).is_integer() and float(high).is_integer()
    ):
        raise ValueError(f"{name}: expected integers in IntUniform; got {distribution}")


def _is_real(x):
    return isinstance(x, int | float | np.number) and math.isfinite(x)


def from_unit(distribution: Distribution, unit: np.ndarray) -> np.ndarray:
    """Values of a distribution at unit samples in [0, 1)."""
    match distribution:
        case Uniform(low, high):
            return low + (high - low) * unit
        case LogUniform(low, high):
            value = np.exp(math.log(low) + unit * (math.log(high) - math.log(low)))
            return np.clip(value, low, high)  # rounding must not leave the interval
        case IntUniform(low, high):
            value = np.floor(low + (high - low + 1) * unit).astype(np.int64)
            return np.minimum(value, high)  # here, too
        case Choice(values):
            values = np.asarray(values)
            return values[np.floor(unit * len(values)).astype(np.int64)]


def check_distributions(
    distributions: Mapping[str, Distribution],
) -> Mapping[str, Distribution]:
    """The distributions, if there is one and all are right."""
    if not distributions:
        raise ValueError("distributions: expected at least one; got none")
    for name, distribution in distributions.items():
        check_distribution(name, distribution)
    return distributions


def sampled(
    distributions: Mapping[str, Distribution], unit: np.ndarray
) -> dict[str, np.ndarray]:
    """Columns of hyper-parameters from unit samples of shape (n, d)."""
    return {
        name: from_unit(distribution, unit[:, j])
        for j, (name, distribution) in enumerate(distributions.items())
    }
