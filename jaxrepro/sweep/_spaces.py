"""The kinds of spaces: grids, lists of points, samples, and static options."""

import inspect
import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import check_integer
from ._distributions import Distribution, check_distributions, sampled
from ._space import Axis, Space, column, equal_columns


class Grid(Space):
    """Every combination of the given values, the last hyper-parameter fastest.

    Parameters
    ----------
    dtype : dtype, optional
        Of all values. By default real numbers get the default dtype of JAX.
    **values : sequence of numbers
        Values of each hyper-parameter, an axis of the result each.

    Raises
    ------
    TypeError
        If a value is no number.
    ValueError
        If there is no hyper-parameter, a list is empty, a value is not finite or
        stands there twice, or a name has a meaning in the result (``seed``,
        ``point``, ``status``, ``key``).

    Examples
    --------
    >>> from jaxrepro.sweep import Grid
    >>> Grid(lr=[0.1, 0.2], wd=[0.0, 1.0, 2.0])
    Space(lr: 2, wd: 3; 6 points)
    """

    def __init__(self, *, dtype: Any = None, **values: Iterable[Any]):
        if not values:
            raise ValueError("space: expected at least one hyper-parameter; got none")
        columns = {name: column(name, x, dtype) for name, x in values.items()}
        for name, x in columns.items():
            first, counts = np.unique(x, return_counts=True)
            if (counts > 1).any():
                raise ValueError(
                    f"{name}: expected each value once, since values label the result; "
                    f"got {first[counts > 1][0]} {counts.max()} times"
                )
        super().__init__([Axis(name, {name: x}) for name, x in columns.items()])


class Zip(Space):
    """Hyper-parameters that vary together: the i-th point has the i-th values.

    Parameters
    ----------
    dtype : dtype, optional
        Of all values.
    **values : sequence of numbers
        Values of each hyper-parameter, all of one length.

    Raises
    ------
    TypeError
        If a value is no number.
    ValueError
        As :class:`Grid`, and if lengths differ.

    Examples
    --------
    >>> from jaxrepro.sweep import Zip
    >>> Zip(lr=[0.1, 0.01], steps=[100, 1000])
    Space(point: 2; 2 points)
    """

    def __init__(self, *, dtype: Any = None, **values: Iterable[Any]):
        super().__init__([Axis(None, equal_columns(values, dtype))])


class Points(Space):
    """The rows of a table, such as a DataFrame or a list of dicts.

    Parameters
    ----------
    table : mapping of columns, or sequence of mappings
        Values by name, all columns of one length; or one mapping a point, all with
        the same names.
    dtype : dtype, optional
        Of all values.

    Raises
    ------
    TypeError
        If a value is no number.
    ValueError
        As :class:`Zip`, and if rows have different names.

    Examples
    --------
    >>> from jaxrepro.sweep import Points
    >>> Points([{"lr": 0.1, "wd": 0.0}, {"lr": 0.2, "wd": 1.0}]).columns["lr"].tolist()
    [0.1, 0.2]
    """

    def __init__(self, table: Any, *, dtype: Any = None):
        if not hasattr(table, "items"):
            table = _transposed(table)
        super().__init__([Axis(None, equal_columns(dict(table.items()), dtype))])


def _transposed(rows: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    names = list(rows[0]) if len(rows) else []
    for number, row in enumerate(rows):
        if set(row) != set(names):
            raise ValueError(f"table: row {number} has {sorted(row)}; others {names}")
    return {name: [row[name] for row in rows] for name in names}


class Random(Space):
    """Independent points from distributions.

    The numbers come from NumPy on the host, so that points do not depend on the
    devices or on the settings of JAX.

    Parameters
    ----------
    n : int
        Number of points.
    seed : int
        Seed of ``numpy.random.default_rng``.
    **distributions : Uniform, LogUniform, IntUniform or Choice
        Distribution of each hyper-parameter.

    Raises
    ------
    TypeError
        If a distribution is none of the four.
    ValueError
        If ``n`` < 1, or a distribution's ends are wrong.

    Examples
    --------
    >>> from jaxrepro.sweep import LogUniform, Random, Uniform
    >>> Random(20, seed=0, lr=LogUniform(1e-4, 1e-1), momentum=Uniform(0, 0.99))
    Space(point: 20; 20 points)
    """

    def __init__(self, n: int, seed: int, **distributions: Distribution):
        check_integer("n", n)
        check_integer("seed", seed, minimum=0)
        unit = np.random.default_rng(seed).random((n, len(distributions)))
        columns = sampled(check_distributions(distributions), unit)
        super().__init__([Axis(None, equal_columns(columns))])


class Sobol(Space):
    """Points of a Sobol sequence, which fill a box more evenly than random ones.

    Parameters
    ----------
    n : int
        Number of points; the balance of the sequence holds for powers of two.
    seed : int
        Seed of the scrambling.
    scramble : bool, default True
        Whether to scramble (Owen). Without it the first point is the corner of
        all lower ends.
    **distributions : Uniform, LogUniform, IntUniform or Choice
        Distribution of each hyper-parameter.

    Raises
    ------
    TypeError
        If a distribution is none of the four.
    ValueError
        If ``n`` < 1, or a distribution's ends are wrong.

    Warns
    -----
    UserWarning
        If ``n`` is no power of two.

    Examples
    --------
    >>> from jaxrepro.sweep import Sobol, Uniform
    >>> Sobol(4, seed=0, scramble=False, a=Uniform(0, 1)).columns["a"].tolist()
    [0.0, 0.5, 0.75, 0.25]
    """

    def __init__(
        self, n: int, seed: int, *, scramble: bool = True, **distributions: Distribution
    ):
        check_integer("n", n)
        check_integer("seed", seed, minimum=0)
        if n & (n - 1):
            warnings.warn(
                f"n: a Sobol sequence is balanced for powers of two; got {n}",
                stacklevel=2,
            )
        unit = sobol_unit(n, len(distributions), seed, scramble=scramble)
        columns = sampled(check_distributions(distributions), unit)
        super().__init__([Axis(None, equal_columns(columns))])


def sobol_unit(n: int, d: int, seed: int, *, scramble: bool = True) -> np.ndarray:
    """The first ``n`` points of a Sobol sequence in the unit box."""
    from scipy.stats import qmc

    if d == 0:
        return np.empty((n, 0))
    # SciPy 1.15 renamed the argument.
    generator = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"
    options: Any = {generator: np.random.default_rng(seed)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The balance properties")
        return qmc.Sobol(d, scramble=scramble, **options).random(n)


class Static(Space):
    """Options that the compiler must know: each combination is a program of its own.

    They reach the function as keyword arguments, and the programs run one after
    the other. Strings, numbers, booleans, None and functions may stand here.

    Parameters
    ----------
    **options : sequence
        Values of each option.

    Raises
    ------
    ValueError
        If there is no option, a list is empty or holds a value twice, or a name has
        a meaning in the result.

    Examples
    --------
    >>> from jaxrepro.sweep import Grid, Static
    >>> Static(width=[32, 64]) * Grid(lr=[0.1, 0.2])
    Space(lr: 2, width: 2; 4 points)
    """

    def __init__(self, **options: Sequence[Any]):
        if not options:
            raise ValueError("space: expected at least one option; got none")
        for name, values in options.items():
            if isinstance(values, str) or len(tuple(values)) == 0:
                raise ValueError(
                    f"{name}: expected a non-empty list of values; got {values!r}"
                )
            for a, b in itertools.combinations(tuple(values), 2):
                if a is b or (type(a) is type(b) and np.array_equal(a, b)):
                    raise ValueError(
                        f"{name}: expected each value once; got {a!r} twice"
                    )
        super().__init__(options={name: tuple(x) for name, x in options.items()})
