"""Statistics over seeds, without the trials that failed."""

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import check_choice, check_integer, check_interval
from ._engine import DONE, NON_FINITE, NOT_RUN, RAISED

if TYPE_CHECKING:
    import xarray

_KINDS = {NOT_RUN: "not run", NON_FINITE: "not finite", RAISED: "raised"}


def summarise(
    ds: "xarray.Dataset",
    over: str = "seed",
    *,
    quantiles: Sequence[float] = (0.05, 0.25, 0.75, 0.95),
) -> "xarray.Dataset":
    """Mean, spread and quantiles of every real output over the seeds.

    Trials whose ``status`` is not 1 are left out. How many are left at each point is
    in ``n_ok``, and the attribute ``left_out`` says how many are missing, and why.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of :func:`sweep`.
    over : str, default "seed"
        Dimension of the trials to summarise over.
    quantiles : sequence of float
        Probabilities of the quantiles.

    Returns
    -------
    xarray.Dataset
        For every real output, here called ``loss``: ``loss_mean``, ``loss_std``
        (with n - 1), ``loss_sem`` (standard error of the mean), ``loss_median`` and
        ``loss_quantile`` (along a last dimension ``quantile``), in float64; and
        ``n_ok``. Truth values count as 0 and 1; complex outputs are not in it. NaN
        where ``n_ok`` is 0, for ``std`` and ``sem`` also where it is 1.

    Raises
    ------
    ValueError
        If ``ds`` has no ``status``, ``over`` is no dimension of the trials, or a
        probability is outside [0, 1].

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.sweep import Grid, summarise, sweep
    >>> def fn(key, params):
    ...     return {"loss": params["lr"] + jax.random.normal(key)}
    >>> result = summarise(sweep(fn, Grid(lr=[1.0, 3.0]), seeds=400))
    >>> print(result.loss_mean.values.round(), result.loss_sem.values.round(2))
    [1. 3.] [0.05 0.05]
    >>> result.n_ok.values.tolist(), result.attrs["left_out"]
    ([400, 400], 'none of 800 trials')
    """
    check_over(ds, over)
    check_interval("quantiles", np.asarray(quantiles, float), 0.0, 1.0)
    right = ds["status"] == DONE
    n_ok = right.sum(over)
    variables: dict[str, Any] = {"n_ok": n_ok}
    for name, values in ds.data_vars.items():
        if (
            name == "status"
            or values.dtype.kind not in "biuf"
            or over not in values.dims
        ):
            continue
        kept = values.astype(np.float64).where(right)
        std = kept.std(over, ddof=1)
        variables |= {
            f"{name}_mean": kept.mean(over),
            f"{name}_std": std,
            f"{name}_sem": std / np.sqrt(n_ok.where(n_ok > 0)),
            f"{name}_median": kept.median(over),
            f"{name}_quantile": _quantiles(kept, over, quantiles),
        }
    result = ds.drop_vars([*ds.data_vars]).drop_dims(over).assign(variables)
    return result.assign_attrs(ds.attrs, over=over, left_out=_left_out(ds))


def _quantiles(values, over, quantiles):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="All-NaN slice")
        result = values.quantile(list(quantiles), over, skipna=True)
    return result.transpose(..., "quantile")


def _left_out(ds):
    """How many trials failed and why, in words."""
    status = ds["status"].values
    counts = {text: int(np.sum(status == kind)) for kind, text in _KINDS.items()}
    reasons = [f"{count} {text}" for text, count in counts.items() if count]
    if not reasons:
        return f"none of {status.size} trials"
    failed = sum(counts.values())
    return f"{failed} of {status.size} trials: {', '.join(reasons)}"


class Best(NamedTuple):
    """The best point of a sweep.

    Attributes
    ----------
    params : dict
        Its hyper-parameters and static options.
    value : float
        Mean at it.
    sem : float
        Standard error of that mean; NaN for a single trial.
    n_ok : int
        Trials that the mean is of.
    """

    params: dict[str, Any]
    value: float
    sem: float
    n_ok: int


def best(
    ds: "xarray.Dataset",
    var: str,
    mode: str = "min",
    *,
    over: str | None = "seed",
    min_ok: int = 1,
) -> Best:
    """The point where the mean of an output over the seeds is smallest or largest.

    Trials whose ``status`` is not 1 are left out of the means. A point where most
    seeds fail may so be the best by the few that do not; ``n_ok`` of the result
    tells, and ``min_ok`` excludes it.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of :func:`sweep`.
    var : str
        Output, a number a trial.
    mode : {"min", "max"}, default "min"
        Whether small or large is good.
    over : str or None, default "seed"
        Dimension to take the mean over; None compares single trials.
    min_ok : int, default 1
        Points with fewer right trials are passed over.

    Returns
    -------
    Best
        Hyper-parameters, mean, its standard error, number of trials. The first one
        of equals.

    Raises
    ------
    ValueError
        If ``ds`` has no ``status``, ``var`` is no real output of one number a
        trial, ``over`` is no dimension of the trials, ``mode`` is none of the two,
        or no point has ``min_ok`` right trials.

    Examples
    --------
    >>> from jaxrepro.sweep import Grid, best, sweep
    >>> def fn(key, params):
    ...     return {"loss": (params["lr"] - 0.3) ** 2}
    >>> best(sweep(fn, Grid(lr=[0.1, 0.25, 0.5])), "loss").params
    {'lr': 0.25}
    """
    check_choice("mode", mode, ("min", "max"))
    check_integer("min_ok", min_ok)
    check_over(ds, over)
    values = scalar_output(ds, var)
    right = ds["status"] == DONE
    kept = values.astype(np.float64).where(right)
    if over is None:
        means, counts, standard_errors = kept, right.astype(int), kept * np.nan
    else:
        means, counts = kept.mean(over), right.sum(over)
        root = np.sqrt(counts.where(counts > 0))
        standard_errors = kept.std(over, ddof=1) / root
    means, counts, standard_errors = (
        x.transpose(*means.dims) for x in (means, counts, standard_errors)
    )
    scores = np.where(counts.values >= min_ok, means.values, np.nan)
    if np.isnan(scores).all():
        raise ValueError(
            f"ds: expected a point with at least {min_ok} right trials; got none "
            f"({_left_out(ds)} failed)"
        )
    flat = np.nanargmin(scores) if mode == "min" else np.nanargmax(scores)
    place = dict(zip(means.dims, (int(i) for i in np.unravel_index(flat, means.shape))))
    value, sem, count = (float(x.isel(place)) for x in (means, standard_errors, counts))
    return Best(_params(means, place), value, sem, int(count))


def _params(values, place):
    """Hyper-parameters at a place of an array over the axes of a space."""
    return {
        str(name): coordinate.isel({d: place[d] for d in coordinate.dims}).item()
        for name, coordinate in values.coords.items()
        if coordinate.dims and not is_number_axis(str(name))
    }


def is_number_axis(name: str) -> bool:
    """Whether a coordinate only numbers points."""
    return re.fullmatch(r"point(_\d+)?", name) is not None


def check_over(ds: "xarray.Dataset", over: str | None, name: str = "over") -> None:
    """Raise unless ``ds`` is the result of a sweep with this dimension of trials."""
    if "status" not in ds:
        raise ValueError("ds: expected the result of a sweep; got no 'status' in it")
    dims = [str(dim) for dim in ds["status"].dims]
    if over is not None and over not in dims:
        raise ValueError(f"{name}: expected one of {', '.join(dims)}; got {over!r}")


def real_output(ds: "xarray.Dataset", var: str) -> "xarray.DataArray":
    """An output of real numbers, or a clear error."""
    real = [k for k, x in ds.data_vars.items() if x.dtype.kind in "biuf"]
    names = [str(name) for name in real if name != "status"]
    if var not in names:
        raise ValueError(f"var: expected one of {', '.join(names)}; got {var!r}")
    return ds[var]


def scalar_output(ds: "xarray.Dataset", var: str) -> "xarray.DataArray":
    """An output of one real number a trial, or a clear error."""
    values = real_output(ds, var)
    inner = [str(d) for d in values.dims if d not in ds["status"].dims]
    if inner:
        raise ValueError(
            f"var: expected a number a trial; got {var!r} with {', '.join(inner)}; "
            f"select an entry, as in ds.isel({inner[0]}=-1)"
        )
    return values
