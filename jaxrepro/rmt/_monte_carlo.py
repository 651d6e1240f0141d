"""Moments of functions of a sample covariance, by simulation."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Real

from ..core import check_choice, check_integer, check_key, promote_floating, safe_sqrt
from ._spectrum import check_spectrum, valid


class MonteCarloMoments(NamedTuple):
    """Moments over independent draws.

    Attributes
    ----------
    mean : array
        Mean of every entry.
    variance : array
        Unbiased variance of every entry.
    standard_error : array
        Standard error of the mean.
    """

    mean: Float[Array, "..."]
    variance: Float[Array, "..."]
    standard_error: Float[Array, "..."]


def mc_moments(
    key: Key[Array, ""],
    fn: Callable,
    n: int,
    eigs: Real[Array, " d"],
    *,
    trials: int,
    centered: bool = True,
    ddof: int = 0,
) -> MonteCarloMoments:
    r"""Mean and variance of a function of the covariance of Gaussian samples.

    Each draw takes n samples of :math:`\mathcal{N}(0, \mathrm{diag}(\ell))`, and
    passes their covariance to ``fn``.

    Parameters
    ----------
    key : key
        Key of all draws.
    fn : callable
        ``fn(covariance) -> array``, of a (d, d) array.
    n : int
        Number of samples of a draw; two or more if the mean is estimated.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    trials : int
        Number of draws, two or more.
    centered : bool, default True
        Whether to subtract the mean of the samples.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof, or n with a known mean.

    Returns
    -------
    MonteCarloMoments
        ``mean``, ``variance`` and ``standard_error``, each of the shape of the value.

    Raises
    ------
    ValueError
        If ``n`` or ``trials`` is too small, ``ddof`` is not 0 or 1, or an eigenvalue
        is negative.

    Notes
    -----
    Draws follow one another and are not kept (Welford's update), so that memory does
    not grow with their number; for seeds side by side use ``vmap`` over keys.

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import mc_moments
    >>> moments = mc_moments(
    ...     jax.random.key(0), jnp.trace, 8, jnp.ones(4), trials=500, centered=False
    ... )
    >>> bool(abs(moments.mean - 4) < 4 * moments.standard_error)
    True
    """
    check_key("key", key)
    check_spectrum(eigs)
    check_choice("centered", centered, (True, False))
    check_choice("ddof", ddof, (0, 1))
    n = check_integer("n", n, minimum=2 if centered else 1)
    trials = check_integer("trials", trials, minimum=2)
    (eigs,) = promote_floating(eigs)
    return _moments(key, eigs, fn=fn, n=n, trials=trials, centered=centered, ddof=ddof)


@functools.partial(jax.jit, static_argnames=("fn", "n", "trials", "centered", "ddof"))
def _moments(key, eigs, *, fn, n, trials, centered, ddof):
    scale = safe_sqrt(valid(eigs))[None, :]

    def draw(key):
        x = scale * jax.random.normal(key, (n, eigs.shape[0]), eigs.dtype)
        if centered:
            x = x - jnp.mean(x, axis=0, keepdims=True)
        return fn(x.T @ x / (n - ddof if centered else n))

    def step(state, key):
        count, mean, squares = state
        value = draw(key)
        count = count + 1
        gap = value - mean
        mean = mean + gap / count
        return (count, mean, squares + gap * (value - mean)), None

    shape = jax.eval_shape(draw, key)
    blank = jnp.zeros(shape.shape, shape.dtype)
    start = jnp.zeros((), eigs.dtype), blank, blank
    (_, mean, squares), _ = jax.lax.scan(step, start, jax.random.split(key, trials))
    variance = squares / (trials - 1)
    return MonteCarloMoments(mean, variance, safe_sqrt(variance / trials))
