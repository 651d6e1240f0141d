r"""Noise levels: where a sampler steps, and what training draws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key, Real, UInt32

from ..core import (
    check_integer,
    check_interval,
    check_key,
    check_shape,
    is_concrete,
    paper,
    promote_floating,
)


@paper("karras2022elucidating", "steps of the sampler, table 1 of the paper")
def karras_levels(
    n_steps: int,
    *,
    sigma_min: Real[ArrayLike, ""] = 0.002,
    sigma_max: Real[ArrayLike, ""] = 80.0,
    rho: Real[ArrayLike, ""] = 7.0,
) -> Float[Array, " n_levels"]:
    r"""Noise levels of a sampler, denser where the noise is small.

    .. math:: \sigma_i = \Big(\sigma_\max^{1/\rho} + \frac{i}{N - 1}
              \big(\sigma_\min^{1/\rho} - \sigma_\max^{1/\rho}\big)\Big)^{\rho},
              \quad i < N, \qquad \sigma_N = 0

    Parameters
    ----------
    n_steps : int
        Number of steps :math:`N`, at least 2.
    sigma_min, sigma_max : float, defaults 0.002 and 80
        Smallest positive and largest level, in the units of the data.
    rho : float, default 7
        Positive; 1 spaces the levels equally, large values spread their logarithms.

    Returns
    -------
    array of shape (n_steps + 1,)
        Levels from ``sigma_max`` down to 0. NaN for traced values out of range.

    Raises
    ------
    ValueError
        If ``n_steps`` is below 2, a number is not positive and finite, or
        ``sigma_min`` is not below ``sigma_max``.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> from jaxrepro.diffusion import karras_levels
    >>> print([round(float(level), 3) for level in karras_levels(5, sigma_max=10.0)])
    [10.0, 2.58, 0.48, 0.052, 0.002, 0.0]
    """
    n_steps = check_integer("n_steps", n_steps, minimum=2)
    named = {"sigma_min": sigma_min, "sigma_max": sigma_max, "rho": rho}
    for name, value in named.items():
        check_shape(name, value, ())
        check_interval(name, value, 0.0, closed="neither")
    concrete = is_concrete(sigma_min) and is_concrete(sigma_max)
    if concrete and not np.all(np.asarray(sigma_min) < np.asarray(sigma_max)):
        raise ValueError(
            f"sigma_min: expected a number below sigma_max = {sigma_max}; got "
            f"{sigma_min}"
        )
    return _karras_levels(*promote_floating(sigma_min, sigma_max, rho), n_steps=n_steps)


@functools.partial(jax.jit, static_argnames="n_steps")
def _karras_levels(low, high, rho, *, n_steps):
    good = (0 < low) & (low < high) & (high < jnp.inf) & (0 < rho) & (rho < jnp.inf)
    nan = jnp.full_like(low, jnp.nan)
    low, high, rho = (jnp.where(good, x, nan) for x in (low, high, rho))
    share = jnp.linspace(0, 1, n_steps, dtype=rho.dtype)
    # The ends stay as they were given: powers would round them.
    inner = (high ** (1 / rho) + share * (low ** (1 / rho) - high ** (1 / rho))) ** rho
    ends = jnp.stack([low, jnp.zeros_like(low)])
    return jnp.concatenate([high[None], inner[1:-1], ends])


@paper("karras2022elucidating", "noise levels of training, table 1 of the paper")
def lognormal_levels(
    key: Key[Array, ""] | UInt32[Array, "2"],
    shape: tuple[int, ...] = (),
    *,
    mean: Real[ArrayLike, ""] = -1.2,
    std: Real[ArrayLike, ""] = 1.2,
) -> Float[Array, "*shape"]:
    r"""Random noise levels for training.

    .. math:: \log \sigma \sim \mathcal N(m, s^2)

    Parameters
    ----------
    key : key
        Random key.
    shape : tuple of int, default ()
        Shape of the result.
    mean : float, default -1.2
        Mean :math:`m` of the logarithm; for data of deviation 1/2.
    std : float, default 1.2
        Its deviation :math:`s \ge 0`.

    Returns
    -------
    array of that shape
        Noise levels.

    Raises
    ------
    ValueError
        If ``mean`` or ``std`` is not finite, or ``std`` negative.
    TypeError
        If ``key`` is no random key.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.diffusion import lognormal_levels
    >>> levels = lognormal_levels(jax.random.key(0), (1000,))
    >>> bool(abs(levels.mean() - 0.62) < 0.08)  # exp(-1.2 + 1.2**2 / 2)
    True
    """
    check_key("key", key)
    check_shape("mean", mean, ())
    check_shape("std", std, ())
    check_interval("mean", mean, closed="neither")
    check_interval("std", std, 0.0, closed="left")
    mean, std = promote_floating(mean, std)
    std = jnp.where(std >= 0, std, jnp.full_like(std, jnp.nan))
    return jnp.exp(mean + std * jax.random.normal(key, shape, mean.dtype))
