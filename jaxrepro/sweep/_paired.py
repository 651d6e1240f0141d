"""Difference of two settings, seed by seed."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.special

from ..core import check_interval
from ._engine import DONE
from ._summary import check_over, real_output

if TYPE_CHECKING:
    import xarray


class PairedDifference(NamedTuple):
    """Mean difference of two settings with common random numbers.

    Attributes
    ----------
    mean : xarray.DataArray
        Mean of the differences of the first and the second setting.
    sem : xarray.DataArray
        Its standard error.
    low, high : xarray.DataArray
        Ends of its confidence interval, from Student's t with n - 1 degrees of
        freedom.
    n : xarray.DataArray
        Pairs of which both trials are right.
    """

    mean: "xarray.DataArray"
    sem: "xarray.DataArray"
    low: "xarray.DataArray"
    high: "xarray.DataArray"
    n: "xarray.DataArray"


def paired_difference(
    ds: "xarray.Dataset",
    var: str,
    dim: str,
    a: Any,
    b: Any,
    *,
    over: str = "seed",
    level: float = 0.95,
) -> PairedDifference:
    r"""Difference of an output between two settings, pairing equal seeds.

    With common keys a seed means the same random numbers at both settings, so what
    they share cancels in the differences :math:`d_i`; with n of them, the interval is
    :math:`\bar d \pm t_{n-1}\, s_d / \sqrt n`.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of :func:`sweep` with ``keys="common"``.
    var : str
        Output.
    dim : str
        Dimension of the two settings, such as a hyper-parameter.
    a, b : label
        The two values along ``dim``; the difference is that at ``a`` less that at
        ``b``.
    over : str, default "seed"
        Dimension along which trials are paired.
    level : float, default 0.95
        Confidence, in (0, 1).

    Returns
    -------
    PairedDifference
        Arrays over the dimensions that are left, 0-dimensional if none is. Pairs
        with a ``status`` that is not 1 are left out; NaN where fewer than two (for
        the mean: one) are left.

    Raises
    ------
    ValueError
        If the keys of ``ds`` are not common, ``var`` is no real output, ``dim`` or
        ``over`` is no dimension of the trials, both are the same, ``dim`` has no
        such value, or ``level`` is outside (0, 1).

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.sweep import Grid, paired_difference, sweep
    >>> def fn(key, params):
    ...     noise = 100 * jax.random.normal(key)
    ...     return {"loss": noise + params["lr"]}
    >>> result = sweep(fn, Grid(lr=[1.0, 3.0]), seeds=20)
    >>> difference = paired_difference(result, "loss", "lr", 3.0, 1.0)
    >>> print(f"{float(difference.mean):.3f} from {int(difference.n)} pairs")
    2.000 from 20 pairs
    """
    check_over(ds, over)
    check_over(ds, dim, "dim")
    check_interval("level", level, 0.0, 1.0, closed="neither")
    if over == dim:
        raise ValueError(f"over: expected another dimension than dim; got {over!r}")
    if ds.attrs.get("keys") != "common":
        raise ValueError(
            "ds: expected the result of a sweep with keys='common', in which equal "
            f"seeds mean equal random numbers; got keys={ds.attrs.get('keys')!r}"
        )
    values = real_output(ds, var).astype(np.float64).where(ds["status"] == DONE)
    # The setting's other coordinates differ and must not be compared.
    first, second = (
        _at(values, dim, label).reset_coords(drop=True) for label in (a, b)
    )
    differences = first - second
    n = differences.notnull().sum(over)
    mean = differences.mean(over)
    sem = differences.std(over, ddof=1) / np.sqrt(n.where(n > 1))
    factor = scipy.special.stdtrit(np.maximum(n.values - 1, 1), (1 + level) / 2)
    half = sem * n.copy(data=factor)
    return PairedDifference(mean, sem, mean - half, mean + half, n)


def _at(values, dim, label):
    try:
        return values.sel({dim: label})
    except (KeyError, ValueError, TypeError) as error:
        known = values[dim].values.tolist()
        raise ValueError(f"{dim}: expected one of {known}; got {label!r}") from error
