"""Samplers: where a search looks next, given what it has seen."""

from typing import Protocol, runtime_checkable

import numpy as np

from ..core import check_integer
from ._distributions import Distribution, check_distributions, sampled
from ._space import Space
from ._spaces import Points, sobol_unit


@runtime_checkable
class Sampler(Protocol):
    """What :func:`search` needs of a sampler.

    A sampler must be deterministic: what it returns may depend only on how it was
    made and on the calls since. A stopped search then asks for the same points
    again and finds their results on disk. If it has an attribute ``budget``, the
    name of a hyper-parameter, only points with the largest of it may be best.

    Examples
    --------
    A sampler that goes where the best point was, with a smaller and smaller step:

    >>> import numpy as np
    >>> from jaxrepro.sweep import Points, Sampler
    >>> class Narrowing:
    ...     centre, width = 0.5, 0.5
    ...
    ...     def ask(self, n):
    ...         ends = self.centre - self.width, self.centre + self.width
    ...         return Points({"x": np.linspace(*ends, n)})
    ...
    ...     def tell(self, points, values):
    ...         self.centre = points.columns["x"][np.nanargmin(values)]
    ...         self.width /= 2
    >>> isinstance(Narrowing(), Sampler)
    True
    """

    def ask(self, n: int) -> Space:
        """Points to try next, ``n`` or fewer."""
        ...

    def tell(self, points: Space, values: np.ndarray) -> None:
        """Take note of results.

        Parameters
        ----------
        points : Space
            As returned by the last :meth:`ask`.
        values : array of shape (n,)
            Small is good, whatever the mode of the search. NaN means that the
            point failed; it counts as worse than every number.
        """
        ...


class RandomSearch:
    """Independent points from distributions.

    The points of successive rounds are those of one :class:`Random` space.

    Parameters
    ----------
    seed : int
        Seed of ``numpy.random.default_rng``.
    **distributions : Uniform, LogUniform, IntUniform or Choice
        Distribution of each hyper-parameter.

    Raises
    ------
    TypeError
        If a distribution is none of the four.
    ValueError
        If there is no distribution, or one's ends are wrong.

    Examples
    --------
    >>> from jaxrepro.sweep import LogUniform, RandomSearch
    >>> sampler = RandomSearch(0, lr=LogUniform(1e-4, 1e-1))
    >>> sampler.ask(8)
    Space(point: 8; 8 points)
    """

    def __init__(self, seed: int, **distributions: Distribution):
        self._distributions = check_distributions(distributions)
        self._generator = np.random.default_rng(seed)

    def ask(self, n: int) -> Space:
        """The next ``n`` points."""
        check_integer("n", n)
        unit = self._generator.random((n, len(self._distributions)))
        return Points(sampled(self._distributions, unit))

    def tell(self, points: Space, values: np.ndarray) -> None:
        """Nothing: the points do not depend on results."""


class SobolSearch:
    """Successive points of one scrambled Sobol sequence, see :class:`Sobol`.

    Parameters
    ----------
    seed : int
        Seed of the scrambling.
    **distributions : Uniform, LogUniform, IntUniform or Choice
        Distribution of each hyper-parameter.

    Raises
    ------
    TypeError
        If a distribution is none of the four.
    ValueError
        If there is no distribution, or one's ends are wrong.

    Examples
    --------
    >>> from jaxrepro.sweep import SobolSearch, Uniform
    >>> sampler = SobolSearch(0, momentum=Uniform(0.0, 1.0))
    >>> points = [sampler.ask(4).columns["momentum"] for _ in range(2)]
    >>> sorted(int(8 * x) for column in points for x in column)  # one in each eighth
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    def __init__(self, seed: int, **distributions: Distribution):
        self._distributions = check_distributions(distributions)
        self._seed, self._count = seed, 0

    def ask(self, n: int) -> Space:
        """The next ``n`` points."""
        check_integer("n", n)
        first, self._count = self._count, self._count + n
        unit = sobol_unit(self._count, len(self._distributions), self._seed)
        return Points(sampled(self._distributions, unit[first:]))

    def tell(self, points: Space, values: np.ndarray) -> None:
        """Nothing: the points do not depend on results."""


def worst_last(values: np.ndarray, points: Space) -> np.ndarray:
    """Values told, with failed points, NaN, at infinity."""
    values = np.asarray(values, float)
    n = points.n_points * len(points.groups)
    if values.shape != (n,):
        raise ValueError(f"values: expected shape ({n},); got {values.shape}")
    return np.where(np.isnan(values), np.inf, values)
