"""Optuna's samplers behind ask and tell."""

import importlib.util
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import MissingExtraError, check_integer
from ._distributions import (
    Choice,
    Distribution,
    IntUniform,
    LogUniform,
    check_distributions,
)
from ._samplers import worst_last
from ._space import Space
from ._spaces import Points

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution


class OptunaSearch:
    """Points from a sampler of Optuna, by default its tree-structured Parzen estimator.

    Points of a round are asked for before any of their results are known, so a
    sampler for parallel trials is right; the default counts points that run as bad
    ones, and so does not ask for the same twice.

    Parameters
    ----------
    seed : int
        Seed of the default sampler.
    sampler : optuna.samplers.BaseSampler, optional
        Another one, with a seed of its own, without which a stopped search cannot
        resume.
    **distributions : Uniform, LogUniform, IntUniform or Choice
        Distribution of each hyper-parameter.

    Attributes
    ----------
    study : optuna.Study
        The study in memory, always one that minimises; that of a search is found in
        its result, ``result.sampler.study``.

    Raises
    ------
    MissingExtraError
        If Optuna is not installed.
    TypeError
        If a distribution is none of the four.
    ValueError
        If there is no distribution, or one's ends are wrong.

    Examples
    --------
    >>> from jaxrepro.sweep import LogUniform, OptunaSearch  # doctest: +SKIP
    >>> sampler = OptunaSearch(0, lr=LogUniform(1e-4, 1e-1))  # doctest: +SKIP
    >>> sampler.ask(8)  # doctest: +SKIP
    Space(point: 8; 8 points)
    """

    def __init__(
        self,
        seed: int,
        *,
        sampler: "optuna.samplers.BaseSampler | None" = None,
        **distributions: Distribution,
    ):
        if importlib.util.find_spec("optuna") is None:
            raise MissingExtraError("optuna", "search", "OptunaSearch")
        check_distributions(distributions)
        self.study = _study(seed, sampler)
        self._distributions: dict[str, BaseDistribution] = {
            name: _translated(x) for name, x in distributions.items()
        }
        self._running: list[Any] = []

    def ask(self, n: int) -> Space:
        """The next ``n`` points."""
        check_integer("n", n)
        self._running = [self.study.ask(self._distributions) for _ in range(n)]
        return Points([trial.params for trial in self._running])

    def tell(self, points: Space, values: np.ndarray) -> None:
        """Pass the results on; a failed point has the value infinity.

        Optuna's own mark of failure would make its samplers forget the point.
        """
        losses = worst_last(values, points)
        if len(losses) != len(self._running):
            raise ValueError(
                f"points: expected the {len(self._running)} of the last ask; got "
                f"{len(losses)}"
            )
        for trial, loss in zip(self._running, losses):
            self.study.tell(trial, float(loss))
        self._running = []


def _study(seed, sampler):
    """A study in memory, made without a line in the log."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        if sampler is None:
            with warnings.catch_warnings():  # an experiment of older versions
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        return optuna.create_study(sampler=sampler, direction="minimize")
    finally:
        optuna.logging.set_verbosity(level)


def _translated(distribution: Distribution):
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(distribution, Choice):
        return CategoricalDistribution(np.asarray(distribution.values).tolist())
    low, high = distribution
    if isinstance(distribution, IntUniform):
        return IntDistribution(int(low), int(high))
    log = isinstance(distribution, LogUniform)
    return FloatDistribution(float(low), float(high), log=log)
