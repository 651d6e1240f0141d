"""Spaces of hyper-parameters: named axes of points, and what the compiler fixes."""

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

_RESERVED = ("seed", "point", "status", "key")


class Axis(NamedTuple):
    """An axis of the array of points.

    Attributes
    ----------
    dim : str or None
        The hyper-parameter whose values label the axis, or None where points are
        only numbered.
    columns : dict of arrays
        Values along the axis, one array of equal length a hyper-parameter.
    """

    dim: str | None
    columns: dict[str, np.ndarray]

    @property
    def size(self) -> int:
        """Number of points along the axis."""
        return len(next(iter(self.columns.values())))


class Space:
    """Points of hyper-parameters, and combinations of static options.

    Made by :class:`Grid`, :class:`Zip`, :class:`Random`, :class:`Sobol`,
    :class:`Points` and :class:`Static`, and by the product of two spaces with
    ``*``, in which every point of the first meets every point of the second, the
    second fastest.

    Attributes
    ----------
    axes : tuple of Axis
        Axes of traced hyper-parameters, the last one fastest.
    options : dict of tuples
        Static options with their values, the last one fastest.

    Examples
    --------
    >>> from jaxrepro.sweep import Grid, Static
    >>> grid = Grid(lr=[0.1, 0.2], wd=[0.0, 1.0, 2.0])
    >>> space = Static(solver=["euler", "heun"]) * grid
    >>> space.dims, space.shape, space.n_points, len(space.groups)
    (('lr', 'wd'), (2, 3), 6, 2)
    >>> print(space.columns["wd"])
    [0. 1. 2. 0. 1. 2.]
    """

    def __init__(
        self, axes: Sequence[Axis] = (), options: Mapping[str, tuple] | None = None
    ):
        self.axes = tuple(axes)
        self.options = dict(options or {})
        names = [name for axis in self.axes for name in axis.columns] + [*self.options]
        numbered = [dim for dim, axis in zip(self.dims, self.axes) if axis.dim is None]
        for name in names:
            _check_name(name, names, numbered)

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes; axes that are only numbered are called ``point``."""
        unnamed = [axis for axis in self.axes if axis.dim is None]
        numbers = itertools.count()
        return tuple(
            axis.dim
            if axis.dim is not None
            else ("point" if len(unnamed) == 1 else f"point_{next(numbers)}")
            for axis in self.axes
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of points along each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def n_points(self) -> int:
        """Number of points of traced hyper-parameters; 1 if there are none."""
        return math.prod(self.shape)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Value of every traced hyper-parameter at every point, in C order."""
        places = np.unravel_index(np.arange(self.n_points), self.shape or (1,))
        return {
            name: values[place]
            for axis, place in zip(self.axes, places)
            for name, values in axis.columns.items()
        }

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Combinations of static options, each compiled once."""
        names = list(self.options)
        combinations = itertools.product(*self.options.values())
        return [dict(zip(names, values)) for values in combinations]

    def __mul__(self, other: "Space") -> "Space":
        if not isinstance(other, Space):
            return NotImplemented
        shared = sorted({*self.options} & {*other.options})
        if shared:
            raise ValueError(f"{shared[0]}: expected names used once; got it twice")
        return Space(self.axes + other.axes, self.options | other.options)

    def __repr__(self) -> str:
        sizes = [f"{dim}: {size}" for dim, size in zip(self.dims, self.shape)]
        sizes += [f"{name}: {len(values)}" for name, values in self.options.items()]
        return f"Space({', '.join(sizes)}; {self.n_points * len(self.groups)} points)"


def _check_name(name: str, names: Sequence[str], numbered: Sequence[str]) -> None:
    if not name or "/" in name:
        raise ValueError(f"space: expected names without a slash; got {name!r}")
    if names.count(name) > 1:
        raise ValueError(f"{name}: expected names used once; got it twice")
    reserved = dict.fromkeys([*_RESERVED, *numbered])
    if name in reserved:
        raise ValueError(
            f"{name}: expected another name; {', '.join(reserved)} have a meaning "
            "in the result"
        )


def column(name: str, values, dtype=None) -> np.ndarray:
    """Values of a hyper-parameter as a vector of finite numbers.

    Integers become int64 and real numbers float64, so that a specification reads
    the same whatever the settings of JAX; they are cast to its default dtypes when
    they are used.
    """
    if isinstance(values, Iterator):
        values = list(values)
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(values, dtype=object)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name}: expected numbers; got {_kind(values)}; options that are no "
            "numbers belong in Static"
        )
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{name}: expected a non-empty list of numbers; got shape {array.shape}"
        )
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise ValueError(f"{name}: expected finite numbers; got {bad}")
    wide = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
    return _cast(
        name, array, wide[array.dtype.kind] if dtype is None else _dtype(dtype)
    )


def _dtype(dtype):
    try:
        known = np.dtype(dtype)
    except TypeError:
        known = None
    if known is None or known.kind not in "biuf":
        raise TypeError(
            f"dtype: expected one of numbers, such as 'float32'; got {dtype!r}"
        )
    return known


def _kind(values):
    odd = values if hasattr(values, "__iter__") else [values]
    odd = [v for v in odd if not isinstance(v, int | float | np.number)]
    return f"{odd[0]!r}" if len(odd) else "a number of no dtype"


def device_columns(space: Space) -> dict[str, np.ndarray]:
    """Hyper-parameters at every point, in the default dtypes of JAX."""
    columns = {}
    for name, values in space.columns.items():
        dtype = jax.dtypes.canonicalize_dtype(values.dtype)
        advice = "; enable 64-bit numbers in JAX, or choose others"
        cast = _cast(name, values, dtype, advice if dtype != values.dtype else "")
        if len(np.unique(cast)) < len(np.unique(values)):
            warnings.warn(
                f"{name}: some values are equal once they are {dtype}{advice}",
                stacklevel=3,
            )
        columns[name] = cast
    return columns


def _cast(name, values, dtype, advice=""):
    with np.errstate(over="ignore", invalid="ignore"):
        cast = values.astype(dtype)
    held = cast == values
    if cast.dtype.kind == "f":
        # Rounded, but neither infinite nor flushed to 0.
        small = np.finfo(cast.dtype).tiny
        held = np.isfinite(cast) & ((values == 0) | (np.abs(cast) >= small))
    if not held.all():
        raise ValueError(
            f"{name}: expected numbers that {cast.dtype} holds; got "
            f"{values[~held][0]}{advice}"
        )
    return cast


def equal_columns(columns: Mapping[str, Any], dtype=None) -> dict[str, np.ndarray]:
    """Columns of equal length, at least one."""
    if not columns:
        raise ValueError("space: expected at least one hyper-parameter; got none")
    columns = {str(name): column(name, x, dtype) for name, x in columns.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"space: expected columns of equal length; got {lengths}")
    return columns
