"""Bootstrap intervals of a mean, in pure JAX."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key, Real

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_nonempty,
    check_shape,
    promote_floating,
)

_ELEMENTS = 2**22  # of all resamples that are held at a time


class BootstrapInterval(NamedTuple):
    """A statistic and its bootstrap interval.

    Attributes
    ----------
    value : array of shape ()
        The statistic of the sample.
    low, high : array of shape ()
        Ends of the interval.
    """

    value: Float[Array, ""]
    low: Float[Array, ""]
    high: Float[Array, ""]


def bootstrap_ci(
    x: Real[ArrayLike, " m"],
    key: Key[Array, ""],
    *,
    level: Real[ArrayLike, ""] = 0.95,
    n: int = 2000,
    statistic: str = "mean",
) -> BootstrapInterval:
    r"""Percentile bootstrap interval of the mean or the interquartile mean.

    Draws ``n`` samples of size m with replacement, takes the statistic of each, and
    returns the quantiles :math:`(1 \mp \mathrm{level}) / 2` of these.

    Parameters
    ----------
    x : array of shape (m,)
        Sample, such as the values of all seeds. Leave failed trials out before.
    key : key
        Key of the resamples.
    level : float, default 0.95
        Probability between the ends, in (0, 1).
    n : int, default 2000
        Number of resamples.
    statistic : {"mean", "iqm"}, default "mean"
        The mean, or the mean of what is left without the floor(m / 4) smallest and
        the floor(m / 4) largest, which single runs gone astray move little.

    Returns
    -------
    BootstrapInterval
        The statistic and the ends; NaN if ``x`` has a NaN, and ends of NaN if a
        traced ``level`` is outside (0, 1).

    Raises
    ------
    ValueError
        If ``x`` is not a vector or is empty, ``n`` < 1, a concrete ``level`` is
        outside (0, 1) or ``statistic`` is none of the two.

    Notes
    -----
    Intervals are too short for few values: by a factor near sqrt((m - 1) / m) for
    the mean, beside the error of the normal approximation. At most about 4 million
    numbers of the resamples are held at a time; the result does not depend on it.
    Derivatives are those of the sorted resamples, for fixed draws.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> from jaxrepro.sweep import bootstrap_ci
    >>> scores = jnp.array([1.0, 2.0, 2.0, 3.0, 100.0])
    >>> ci = bootstrap_ci(scores, jax.random.key(0), statistic="iqm")
    >>> print(f"{ci.value:.2f}")
    2.33
    """
    check_shape("x", x, ("m",))
    check_nonempty("x", x)
    check_integer("n", n)
    check_interval("level", level, 0.0, 1.0, closed="neither")
    check_choice("statistic", statistic, ("mean", "iqm"))
    (x,) = promote_floating(x)
    level = jnp.asarray(level, dtype=x.dtype)
    compute = jnp.mean if statistic == "mean" else _interquartile_mean
    m = x.shape[0]

    def resampled(key):
        places = jax.random.randint(key, (m,), 0, m, dtype=jnp.int32)
        return compute(x[places])

    keys = jax.random.split(key, n)
    if n * m <= _ELEMENTS:
        statistics = jax.vmap(resampled)(keys)
    else:
        size = max(1, _ELEMENTS // m)
        statistics = jax.lax.map(resampled, keys, batch_size=size)
    inside = (level > 0) & (level < 1)
    tail = (1 - jnp.where(inside, level, 0.5)) / 2
    ends = jnp.quantile(statistics, jnp.stack([tail, 1 - tail]))
    low, high = jnp.where(inside, ends, jnp.nan)
    return BootstrapInterval(compute(x), low, high)


def _interquartile_mean(x):
    cut = x.shape[0] // 4
    kept = jnp.mean(jnp.sort(x)[cut : x.shape[0] - cut])
    # Sorting puts NaN last, where it would be cut off unseen.
    return jnp.where(jnp.isnan(x).any(), jnp.nan, kept)
