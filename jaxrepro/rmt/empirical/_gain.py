r"""What a denoiser keeps of each mode, and the noise level that this amounts to."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...core import (
    check_integer,
    check_interval,
    check_precision,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_divide,
)


@paper("wang2026random", "gain of a mode, measured on any denoiser")
def mode_gain(
    x: Real[ArrayLike, "n d"],
    denoised: Real[ArrayLike, "n d"],
    vectors: Real[ArrayLike, "d r"] | None = None,
) -> Float[Array, " r"]:
    r"""Regression coefficient of a denoiser's output on its input, by mode.

    .. math:: g_k = \frac{\operatorname{Cov}(u_k^\top D(x), u_k^\top x)}
                         {\operatorname{Var}(u_k^\top x)}

    Parameters
    ----------
    x : array of shape (n, d)
        Noisy inputs, one a row.
    denoised : array of shape (n, d)
        What the denoiser makes of them.
    vectors : array of shape (d, r), optional
        Orthonormal directions :math:`u_k` as columns, by default the coordinates.

    Returns
    -------
    array of shape (r,)
        Gains; 0 along directions in which the inputs do not vary.

    Raises
    ------
    ValueError
        If shapes do not fit or there are fewer than two rows.
    TypeError
        If an array is not real or in half precision.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax, numpy as np
    >>> from jaxrepro.rmt.empirical import mode_gain
    >>> x = jax.random.normal(jax.random.key(0), (100, 3))
    >>> print(np.round(np.asarray(mode_gain(x, 0.5 * x + 3.0)), 3))
    [0.5 0.5 0.5]
    """
    for name, array in (("x", x), ("denoised", denoised)):
        check_real(name, array)
        check_precision(name, array)
    check_shape("x", x, ("n", "d"))
    check_shape("denoised", denoised, jnp.shape(x))
    check_integer("number of rows of x", jnp.shape(x)[0], minimum=2)
    if vectors is not None:
        check_shape("vectors", vectors, (jnp.shape(x)[1], "r"))
    return _mode_gain(*promote_floating(x, denoised, vectors))


@jax.jit
def _mode_gain(x, denoised, vectors):
    if vectors is not None:
        x, denoised = matmul(x, vectors), matmul(denoised, vectors)
    x = x - jnp.mean(x, axis=0)[None]
    denoised = denoised - jnp.mean(denoised, axis=0)[None]
    return safe_divide(jnp.sum(x * denoised, axis=0), jnp.sum(x**2, axis=0))


@paper("wang2026random", "renormalised noise, inferred from a gain")
def fitted_kappa(
    gain: Real[ArrayLike, "*shape"], eigs: Real[ArrayLike, "*shape"]
) -> Float[Array, "*shape"]:
    r"""Noise level that a linear denoiser of the population would need for a gain.

    .. math:: g = \frac{\ell}{\ell + \kappa} \iff \kappa = \ell\, \frac{1 - g}{g}

    Parameters
    ----------
    gain : array
        Gains :math:`g` of modes, as from :func:`mode_gain`.
    eigs : array in the shape of ``gain``
        Variances :math:`\ell \ge 0` of the population along them.

    Returns
    -------
    array in the shape of ``gain``
        Renormalised noise variances; negative for gains above 1, NaN for gains that
        are not positive.

    Raises
    ------
    ValueError
        If the shapes differ or an eigenvalue is negative.

    Notes
    -----
    For a linear model all modes give the one value of :func:`jaxrepro.rmt.solve_kappa`;
    how they differ tells how far a network is from linear.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.rmt.empirical import fitted_kappa
    >>> kappa = fitted_kappa(np.array([0.5, 0.8]), np.array([1.0, 4.0]))
    >>> print(np.round(np.asarray(kappa), 3))
    [1. 1.]
    """
    check_real("gain", gain)
    check_real("eigs", eigs)
    check_shape("eigs", eigs, jnp.shape(gain))
    check_interval("eigs", eigs, 0.0, closed="left")
    gain, eigs = promote_floating(gain, eigs)
    kept = jnp.where(gain > 0, gain, jnp.ones_like(gain))
    kappa = eigs * (1 - kept) / kept
    return jnp.where((gain > 0) & (eigs >= 0), kappa, jnp.full_like(kappa, jnp.nan))
