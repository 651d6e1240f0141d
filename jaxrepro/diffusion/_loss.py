r"""The loss that denoisers are trained on."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PyTree, Real

from ..core import (
    check_function,
    check_interval,
    check_real,
    check_shape,
    paper,
    promote_floating,
)
from ._edm import edm_loss_weight


@paper("karras2022elucidating", "weighted denoising loss, section 5 of the paper")
def denoising_loss(
    params: PyTree,
    x: Real[ArrayLike, "n ..."],
    noise: Real[ArrayLike, "n ..."],
    sigma: Real[ArrayLike, " n"],
    *,
    sigma_data: Real[ArrayLike, ""] = 0.5,
    apply: Callable,
) -> Float[Array, ""]:
    r"""Weighted squared error of a denoiser, on given data and noise.

    .. math:: \frac1n \sum_i \lambda(\sigma_i)\,
              \frac1d \big\lVert D_\theta(x_i + \sigma_i \varepsilon_i; \sigma_i)
              - x_i \big\rVert^2

    Parameters
    ----------
    params : pytree
        Parameters of the denoiser.
    x : array of shape (n, \*shape)
        Data.
    noise : array of shape (n, \*shape)
        Standard normal numbers :math:`\varepsilon_i`.
    sigma : array of shape (n,)
        Noise level of every item, positive.
    sigma_data : float, default 0.5
        Standard deviation of the data, for :func:`edm_loss_weight`.
    apply : callable
        ``apply(params, x, sigma) -> denoised``, such as ``denoiser.apply``.

    Returns
    -------
    array of shape ()
        Near 1 for a new network with preconditioning, if ``sigma_data`` is right.

    Raises
    ------
    ValueError
        If shapes differ, or a level or ``sigma_data`` is not positive.
    TypeError
        If ``apply`` is no function or an array is not real.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.diffusion import denoising_loss
    >>> x, noise = jax.random.normal(jax.random.key(0), (2, 1000, 3))
    >>> shrink = lambda gain, x, sigma: gain * x  # the best gain here is 1/2
    >>> losses = [
    ...     denoising_loss(g, x, noise, jnp.ones(1000), sigma_data=1.0, apply=shrink)
    ...     for g in (0.4, 0.5, 0.6)
    ... ]
    >>> bool(losses[0] > losses[1] < losses[2])
    True
    """
    check_real("x", x)
    check_real("noise", noise)
    check_shape("noise", noise, jnp.shape(x))
    check_shape("sigma", sigma, jnp.shape(x)[:1])
    check_interval("sigma", sigma, 0.0, closed="neither")
    check_interval("sigma_data", sigma_data, 0.0, closed="neither")
    check_function("apply", apply)
    x, noise = promote_floating(x, noise)
    sigma = jnp.asarray(sigma, x.dtype)
    level = jax.lax.expand_dims(sigma, range(1, x.ndim))
    error = apply(params, x + level * noise, sigma) - x
    each = jnp.mean(error.reshape(len(x), -1) ** 2, axis=1)
    return jnp.mean(edm_loss_weight(sigma, sigma_data=sigma_data) * each)
