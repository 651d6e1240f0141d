"""Successive halving: many short trials, and longer ones of the better half."""

from collections.abc import Sequence

import numpy as np

from ..core import check_integer
from ._distributions import Distribution, check_distributions, sampled
from ._samplers import worst_last
from ._space import Space
from ._spaces import Points, Static


class SuccessiveHalving:
    r"""Give a small budget to many points, and a larger one to those that do well.

    The first round tries n random points with the least budget :math:`b`, round
    k of a bracket the best :math:`\lfloor n / \eta^k \rfloor` of them, at least one,
    with the budget :math:`\lfloor b \eta^k \rfloor`, until a further factor
    :math:`\eta` would exceed the largest budget; then a new bracket begins with
    fresh points. A bracket has :attr:`n_rungs` rounds of about equal cost.

    The function receives the budget as the hyper-parameter ``budget``, a traced
    integer, and uses it as the bound of a loop::

        def fn(key, params):
            def step(i, state): ...
            state = jax.lax.fori_loop(0, params["budget"], step, initial(key))
            return {"loss": loss(state)}

    All trials of a round have the same budget, so none waits for another; a scan
    over the largest budget that masks the later steps works as well, but costs as
    much in every round. A longer trial starts anew: with factor :math:`\eta` that is
    at most :math:`1 / (\eta - 1)` times its own cost more than going on would be.

    Parameters
    ----------
    seed : int
        Seed of the points.
    budget : tuple of int
        Least and largest budget, such as numbers of steps.
    factor : int, default 3
        The factor :math:`\eta`, at least 2.
    static : bool, default False
        Whether the function takes the budget as static option ``budget``, such as
        the length of a scan; each round then compiles a program of its own.
    **distributions : Uniform, LogUniform, IntUniform or Choice
        Distribution of each hyper-parameter.

    Attributes
    ----------
    budget : str
        ``"budget"``: values compare at equal budgets only, so :func:`search`
        returns the best point of those with the largest one.
    budgets : tuple of int
        Budget of each round of a bracket.
    n_rungs : int
        Their number.

    Raises
    ------
    TypeError
        If a distribution is none of the four, or a budget is no integer.
    ValueError
        If budgets are not 1 <= least <= largest, ``factor`` < 2, there is no
        distribution, or one's ends are wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.sweep import SuccessiveHalving, Uniform
    >>> sampler = SuccessiveHalving(0, budget=(10, 90), lr=Uniform(0.0, 1.0))
    >>> sampler.budgets
    (10, 30, 90)
    >>> points = sampler.ask(9)
    >>> sampler.tell(points, np.abs(points.columns["lr"] - 0.5))
    >>> sampler.ask(9).columns["budget"].tolist()
    [30, 30, 30]
    """

    budget = "budget"

    def __init__(
        self,
        seed: int,
        *,
        budget: Sequence[int],
        factor: int = 3,
        static: bool = False,
        **distributions: Distribution,
    ):
        least, largest = budget
        check_integer("budget", least)
        check_integer("budget", largest, minimum=int(least))
        check_integer("factor", factor, minimum=2)
        self._distributions = check_distributions(distributions)
        self._generator = np.random.default_rng(seed)
        budgets = [int(least)]
        while budgets[-1] * factor <= largest:
            budgets.append(budgets[-1] * factor)
        self.budgets, self._factor, self._static = tuple(budgets), factor, static
        self._rung, self._size, self._survivors = 0, 0, None

    @property
    def n_rungs(self) -> int:
        """Number of rounds of a bracket."""
        return len(self.budgets)

    def ask(self, n: int) -> Space:
        """The points of the next round; ``n`` counts when a bracket begins."""
        check_integer("n", n)
        if self._survivors is None:
            unit = self._generator.random((n, len(self._distributions)))
            columns = sampled(self._distributions, unit)
            self._rung, self._size = 0, n
        else:
            columns = self._survivors
        budget = self.budgets[self._rung]
        if self._static:
            return Static(budget=[budget]) * Points(columns)
        size = len(next(iter(columns.values())))
        return Points({**columns, "budget": np.full(size, budget)})

    def tell(self, points: Space, values: np.ndarray) -> None:
        """Choose who goes on."""
        order = np.argsort(worst_last(values, points), kind="stable")
        self._rung += 1
        if self._rung == len(self.budgets):
            self._survivors = None
            return
        kept = order[: max(1, self._size // self._factor**self._rung)]
        columns = points.columns
        self._survivors = {name: columns[name][kept] for name in self._distributions}
