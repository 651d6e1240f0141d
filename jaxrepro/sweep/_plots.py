"""Plots of a sweep's result: curves with a band over seeds, and heat maps."""

import importlib.util
import math
from typing import TYPE_CHECKING

import numpy as np

from ..core import MissingExtraError
from ._engine import DONE
from ._summary import check_over, real_output

if TYPE_CHECKING:
    import matplotlib.axes
    import xarray


def learning_curve_plot(
    ds: "xarray.Dataset",
    var: str,
    *,
    x: str,
    hue: str | None = None,
    axes: "matplotlib.axes.Axes | None" = None,
) -> "matplotlib.axes.Axes":
    """Median over the seeds as a line, and a band from the first to third quartile.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of :func:`sweep`.
    var : str
        Output.
    x : str
        Dimension, or coordinate along one, for the horizontal axis: that of the
        steps, or a hyper-parameter. Logarithmic where its values are spaced more
        evenly so.
    hue : str, optional
        Dimension, or coordinate along one, of which each value has its own curve.
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure, ``axes.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Trials with a ``status`` that is not 1 are left out, and the label
        of a curve says how many are left if some are missing.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If ``ds`` has no ``status``, ``var`` is no real output, ``x`` or ``hue`` is no
        dimension or coordinate of it, or further dimensions than ``seed`` are left.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.sweep import Grid, learning_curve_plot, sweep
    >>> def fn(key, params):
    ...     return {"loss": jax.random.normal(key, (20,)).cumsum() * params["lr"]}
    >>> result = sweep(fn, Grid(lr=[0.1, 1.0]), seeds=5, dims={"loss": ("step",)})
    >>> axes = learning_curve_plot(result, "loss", x="step", hue="lr")
    >>> [line.get_label() for line in axes.get_lines()]
    ['lr=0.1', 'lr=1.0']
    """
    values, right, (across, *along) = _prepared(ds, var, [x, hue] if hue else [x])
    axes = _axes(axes)
    place = values[x].values
    order = _order(place)
    incomplete = False
    for i in range(values.sizes[along[0]]) if along else [None]:
        at = {} if i is None else {along[0]: i}
        curve = values.isel(at).transpose(..., across).values[..., order]
        curve = curve.reshape(-1, len(place))
        low, middle, high = _quartiles(curve)
        kept = right.isel({d: j for d, j in at.items() if d in right.dims}).values
        label = "" if hue is None else f"{hue}={values[hue].values[i]}"
        if not kept.all():
            label, incomplete = f"{label} ({kept.sum()} of {kept.size})".strip(), True
        (line,) = axes.plot(place[order], middle, label=label or None)
        axes.fill_between(
            place[order], low, high, color=line.get_color(), alpha=0.25, linewidth=0
        )
    if nearer_to_geometric(place):
        axes.set_xscale("log")
    axes.set(xlabel=x, ylabel=var)
    if hue is not None or incomplete:
        axes.legend()
    return axes


def heatmap_plot(
    ds: "xarray.Dataset",
    var: str,
    *,
    x: str,
    y: str,
    axes: "matplotlib.axes.Axes | None" = None,
) -> "matplotlib.axes.Axes":
    """Median over the seeds as a colour over two dimensions.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of :func:`sweep`.
    var : str
        Output.
    x, y : str
        Dimensions. An axis is logarithmic where its values are spaced more evenly
        so; texts stand side by side.
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure, ``axes.figure`` of the result. A
        colour bar is put beside.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Trials with a ``status`` that is not 1 are left out; a point where
        none is left is grey.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If ``ds`` has no ``status``, ``var`` is no real output, ``x`` and ``y`` are no
        two dimensions of it, or further ones than ``seed`` are left.

    Examples
    --------
    >>> from jaxrepro.sweep import Grid, heatmap_plot, sweep
    >>> def fn(key, params):
    ...     return {"loss": params["lr"] * params["wd"]}
    >>> result = sweep(fn, Grid(lr=[0.01, 0.1, 1.0], wd=[0.0, 0.5, 1.0]))
    >>> axes = heatmap_plot(result, "loss", x="lr", y="wd")
    >>> axes.get_xscale(), axes.get_yscale()
    ('log', 'linear')
    """
    values, _, dims = _prepared(ds, var, [x, y])
    if dims != [x, y]:
        raise ValueError(f"x, y: expected dimensions; got {x!r} and {y!r}")
    axes = _axes(axes)
    array = values.transpose(..., y, x).values
    array = array.reshape(-1, *array.shape[-2:])
    _, middle, _ = _quartiles(array)
    edges = []
    for name, direction in ((x, "x"), (y, "y")):
        edge, labels = _edges(values[name].values)
        edges.append(edge)
        if labels is not None:
            axes.set(**{f"{direction}ticks": range(len(labels))})
            axes.set(**{f"{direction}ticklabels": labels})
    order = [_order(values[name].values) for name in (y, x)]
    mesh = axes.pcolormesh(*edges, middle[np.ix_(*order)])
    for name, direction in ((x, "x"), (y, "y")):
        if nearer_to_geometric(values[name].values):
            axes.set(**{f"{direction}scale": "log"})
    axes.set(xlabel=x, ylabel=y, facecolor="0.8")
    axes.figure.colorbar(mesh, ax=axes, label=var)
    return axes


def _prepared(ds, var, names):
    """Right values, which trials are right, and the dimension of each name."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plots", "Drawing figures")
    check_over(ds, "seed")
    output, right = real_output(ds, var), ds["status"] == DONE
    dims = []
    for name in names:
        along = (name,) if name in output.dims else ()
        if name in output.coords:
            along = output[name].dims
        if len(along) != 1 or along[0] in ("seed", *dims):
            raise ValueError(
                f"x, hue, y: expected different dimensions of {var!r}, "
                f"{', '.join(map(str, output.dims))} without seed, or coordinates "
                f"along them; got {name!r}"
            )
        dims.append(along[0])
    rest = [d for d in output.dims if d not in ("seed", *dims) and output.sizes[d] > 1]
    if rest:
        raise ValueError(
            f"ds: expected {var!r} over {', '.join([*names, 'seed'])} only; it has "
            f"{', '.join(map(str, rest))}, too: select by ds.sel or ds.isel"
        )
    return output.astype(np.float64).where(right), right, dims


def _axes(axes):
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


def _quartiles(values):
    """Quartiles over the first axis, NaN where nothing is left."""
    result = np.full((3, *values.shape[1:]), np.nan)
    some = ~np.isnan(values).all(0)
    result[:, some] = np.nanquantile(values[:, some], [0.25, 0.5, 0.75], axis=0)
    return result


def _order(values):
    """Numbers in order, texts as they are."""
    if values.dtype.kind not in "iuf":
        return np.arange(len(values))
    return np.argsort(values, kind="stable")


def _edges(values):
    """Edges of cells in order, and labels where values are no numbers."""
    if values.dtype.kind not in "iuf":
        return np.arange(len(values) + 1) - 0.5, [str(x) for x in values]
    centres = np.sort(values.astype(float))
    geometric = nearer_to_geometric(values)
    centres = np.log(centres) if geometric else centres
    gaps = np.diff(centres) if len(centres) > 1 else np.ones(1)
    inner = centres[:-1] + gaps / 2 if len(centres) > 1 else centres[:0]
    first, last = centres[0] - gaps[0] / 2, centres[-1] + gaps[-1] / 2
    edges = np.concatenate([[first], inner, [last]])
    return (np.exp(edges) if geometric else edges), None


def nearer_to_geometric(values: np.ndarray) -> bool:
    """Whether numbers are spaced more evenly on a logarithmic than a linear scale."""
    if values.dtype.kind not in "iuf":
        return False
    steps = np.unique(values.astype(float))
    if len(steps) < 3 or not (steps[0] > 0 and math.isfinite(steps[-1])):
        return False

    def unevenness(x):
        gaps = np.diff(x)
        return gaps.std() / gaps.mean()

    return bool(unevenness(np.log(steps)) < unevenness(steps) - 1e-6)
