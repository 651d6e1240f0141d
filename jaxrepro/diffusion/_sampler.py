r"""From noise to data: the probability-flow equation, step by step."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree, Real

from ..core import (
    check_choice,
    check_function,
    check_precision,
    check_real,
    check_shape,
    is_concrete,
    paper,
    promote_floating,
)


@paper("karras2022elucidating", "the deterministic sampler, algorithm 1 of the paper")
@paper("song2021score", "the probability-flow ordinary differential equation")
def probability_flow(
    params: PyTree,
    x: Real[ArrayLike, "*shape"],
    sigmas: Real[ArrayLike, " n_levels"],
    *,
    apply: Callable,
    sampler: str = "heun",
) -> Float[Array, "*shape"]:
    r"""Carry noise to data along the probability-flow equation.

    .. math:: \frac{\mathrm d x}{\mathrm d \sigma} = \frac{x - D(x; \sigma)}{\sigma}

    Parameters
    ----------
    params : pytree
        Parameters of the denoiser.
    x : array
        Starting points, of deviation ``sigmas[0]``: noise times that level, whose
        share of data is negligible if the level is large. Leading axes are up to the
        denoiser.
    sigmas : array of shape (n_levels,)
        Noise levels, descending, as from :func:`karras_levels`; the last may be 0.
    apply : callable
        ``apply(params, x, sigma) -> denoised``, in the shape of ``x``, at one level:
        ``denoiser.apply`` of a :class:`Denoiser`, or any other function. Compiled
        once for each, so give the same again.
    sampler : {"heun", "euler"}, default "heun"
        Order of the steps, 2 or 1. A step to level 0 is of order 1 always.

    Returns
    -------
    array in the shape of ``x``
        Where the points are at the last level.

    Raises
    ------
    ValueError
        If there are fewer than two levels, they do not descend, one but the last is
        not positive, or the sampler is unknown.
    TypeError
        If ``apply`` is no function, or an array is not real or in half precision.

    Notes
    -----
    One ``scan`` over the steps; memory does not grow with their number, unless
    derivatives are taken. :math:`N` levels take :math:`2N - 2` evaluations of the
    denoiser (Heun) or :math:`N - 1`. Levels that do not descend give NaN where they
    are traced.

    References
    ----------
    [karras2022elucidating], [song2021score]

    Examples
    --------
    The denoiser of Gaussian data of variance 4 carries unit noise to such data:

    >>> import jax.numpy as jnp
    >>> from jaxrepro.diffusion import karras_levels, probability_flow
    >>> shrink = lambda variance, x, sigma: variance / (variance + sigma**2) * x
    >>> z = jnp.array([-1.0, 0.0, 1.0])
    >>> x = probability_flow(4.0, 80.0 * z, karras_levels(40), apply=shrink)
    >>> bool(jnp.allclose(x, 2.0 * z, atol=0.02))
    True
    """
    check_real("x", x)
    check_precision("x", x)
    check_real("sigmas", sigmas)
    check_shape("sigmas", sigmas, ("n_levels",))
    check_function("apply", apply)
    check_choice("sampler", sampler, ("heun", "euler"))
    if jnp.shape(sigmas)[0] < 2:
        raise ValueError("sigmas: expected two levels or more")
    if is_concrete(sigmas) and not bool(_descend(np.asarray(sigmas))):
        raise ValueError(
            "sigmas: expected descending positive levels, the last of which may be 0; "
            f"got {sigmas}"
        )
    return _flow(params, x, sigmas, apply=apply, sampler=sampler)


def _descend(sigmas):
    ordered = (sigmas[1:] < sigmas[:-1]).all() & (sigmas[0] < jnp.inf)
    return ordered & (sigmas[-1] >= 0)


@functools.partial(jax.jit, static_argnames=("apply", "sampler"))
def _flow(params, x, sigmas, *, apply, sampler) -> Any:
    (x,) = promote_floating(x)
    sigmas = jnp.asarray(sigmas, x.dtype)
    sigmas = jnp.where(_descend(sigmas), sigmas, jnp.full_like(sigmas, jnp.nan))

    def slope(x, sigma):
        return (x - apply(params, x, sigma)) / sigma

    def step(x, levels):
        sigma, after = levels
        first = slope(x, sigma)
        euler = x + (after - sigma) * first
        if sampler == "euler":
            return euler, None
        last = after == 0
        second = slope(euler, jnp.where(last, sigma, after))
        heun = x + (after - sigma) * (first + second) / 2
        return jnp.where(last, euler, heun), None

    return jax.lax.scan(step, x, (sigmas[:-1], sigmas[1:]))[0]
