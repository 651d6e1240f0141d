r"""The linear denoiser of a sample, and its mean over samples."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_interval,
    check_nonempty,
    check_precision,
    check_shape,
    matmul,
    paper,
    promote_floating,
)
from ._degrees import gain, loss
from ._equivalents import correction
from ._kappa import describe
from ._population import check_estimate, estimate_of
from ._spectrum import (
    broadcast,
    check_last_axis,
    check_spectrum,
    multiplicities,
    valid,
)


class GaussianFit(NamedTuple):
    r"""Mean and covariance of a sample, the latter by its eigenvectors.

    Attributes
    ----------
    mean : array of shape (d,)
        Mean of the sample.
    eigs : array of shape (r,)
        The largest eigenvalues of its covariance, descending; :math:`r = \min(n, d)`,
        all others are 0.
    vectors : array of shape (d, r)
        Their orthonormal eigenvectors, as columns.
    """

    mean: Float[Array, " d"]
    eigs: Float[Array, " r"]
    vectors: Float[Array, "d r"]


def fit_gaussian(
    x: Real[ArrayLike, "n d"], *, ddof: int = 0, centered: bool = True
) -> GaussianFit:
    r"""Mean and covariance of a sample.

    .. math:: \hat\mu = \frac1n \sum_i x_i, \qquad
              \hat S = \frac{1}{n - \mathrm{ddof}}
              \sum_i (x_i - \hat\mu)(x_i - \hat\mu)^\top

    Parameters
    ----------
    x : array of shape (n, d)
        One sample a row.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.
    centered : bool, default True
        Whether to estimate the mean; else it is taken to be 0, and the sum is
        divided by n.

    Returns
    -------
    GaussianFit
        ``mean``, ``eigs`` and ``vectors``.

    Raises
    ------
    ValueError
        If ``x`` is no matrix, has no entry or, where the mean is estimated, a single
        row, or ``ddof`` is not 0 or 1.

    Notes
    -----
    From a thin singular value decomposition of the data: no d x d matrix is made.
    Eigenvectors are not differentiable where eigenvalues are equal, such as the
    zeros of centred data with :math:`n \le d`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import fit_gaussian
    >>> result = fit_gaussian(jnp.array([[1.0, 0.0], [3.0, 0.0]])).eigs
    >>> print(np.round(np.asarray(result), 3))
    [1. 0.]
    """
    check_shape("x", x, ("n", "d"))
    check_nonempty("x", x)
    check_precision("x", x)
    check_choice("ddof", ddof, (0, 1))
    check_choice("centered", centered, (True, False))
    if centered and jnp.shape(x)[0] < 2:
        raise ValueError(f"x: expected two samples or more; got shape {jnp.shape(x)}")
    return _fit_gaussian(x, ddof=ddof, centered=centered)


@functools.partial(jax.jit, static_argnames=("ddof", "centered"))
def _fit_gaussian(x, *, ddof, centered):
    (x,) = promote_floating(x)
    n = x.shape[0]
    mean = jnp.mean(x, axis=0) if centered else jnp.zeros_like(x[0])
    _, singular, vectors = jnp.linalg.svd(x - mean[None], full_matrices=False)
    eigs = singular**2 / (n - ddof if centered else n)
    return GaussianFit(mean, eigs, vectors.T)


@paper("wang2026random", "linear denoiser of a Gaussian sample")
def linear_denoiser(
    x: Real[ArrayLike, "... d"],
    sigma: Real[ArrayLike, "..."],
    mean: Real[ArrayLike, " d"],
    eigs: Real[ArrayLike, " r"],
    vectors: Real[ArrayLike, "d r"],
) -> Float[Array, "... d"]:
    r"""The best denoiser of Gaussian data, which is linear.

    .. math:: D(x; \sigma) = \mu + S (S + \sigma^2)^{-1} (x - \mu)

    Parameters
    ----------
    x : array of shape (..., d)
        Noisy data.
    sigma : array, broadcasts with the leading axes of ``x``
        Noise level :math:`\sigma \ge 0`, in the units of ``x``.
    mean, eigs, vectors
        A :class:`GaussianFit`, of a sample or of the population. Directions that the
        eigenvectors do not span have the eigenvalue 0.

    Returns
    -------
    array of shape (..., d)
        Denoised data. NaN for a negative traced ``sigma``.

    Raises
    ------
    ValueError
        If shapes do not fit, or a concrete ``sigma`` or eigenvalue is negative.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import fit_gaussian, linear_denoiser
    >>> fit = fit_gaussian(jnp.array([[1.0, 0.0], [3.0, 0.0]]))
    >>> result = linear_denoiser(jnp.array([4.0, 5.0]), 1.0, *fit)
    >>> print(np.round(np.asarray(result), 3))
    [3. 0.]
    """
    check_interval("sigma", sigma, 0, jnp.inf, closed="left")
    check_spectrum(eigs)
    check_shape("mean", mean, ("d",))
    check_shape("vectors", vectors, (jnp.shape(mean)[0], jnp.shape(eigs)[0]))
    check_last_axis("x", x, jnp.shape(mean)[0])
    return _linear_denoiser(x, sigma, mean, eigs, vectors)


@jax.jit
def _linear_denoiser(x, sigma, mean, eigs, vectors):
    x, sigma, mean, eigs, vectors = promote_floating(x, sigma, mean, eigs, vectors)
    shape = jnp.broadcast_shapes(x.shape[:-1], sigma.shape)
    x = jnp.broadcast_to(x, (*shape, x.shape[-1]))
    sigma = jnp.broadcast_to(valid(sigma), shape)
    centre = jnp.broadcast_to(mean, x.shape)
    kept = gain(valid(eigs), sigma**2)
    return centre + matmul(kept * matmul(x - centre, vectors), vectors.T)


@paper("wang2026random", "mean of the denoiser over training sets")
def denoiser_gain(
    sigma: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    order: int = 0,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "... d"]:
    r"""What the linear denoiser of n samples keeps of each mode, on average.

    .. math:: \mathbb{E}[D(x)]_k - \mu_k = \frac{\ell_k}{\ell_k + \kappa}\,
              (x - \mu)_k, \qquad \kappa = \kappa(\sigma^2)

    Since :math:`\kappa > \sigma^2`, a mode is shrunk more than the population's own
    denoiser would, by :math:`(\ell_k + \sigma^2) / (\ell_k + \kappa)`.

    Parameters
    ----------
    sigma : array
        Noise level :math:`\sigma \ge 0`, in the units of the data.
    n : array, broadcasts with ``sigma``
        Number of training samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.
    order : {0, 1}, default 0
        Whether to correct for finite samples, see :func:`resolvent_mean`.
    centered : bool, default True
        Whether the mean is estimated, which costs a degree of freedom.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.

    Returns
    -------
    array of shape (..., d)
        Gains in [0, 1]; NaN for traced arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    Notes
    -----
    Differentiable in ``sigma``, ``n`` and ``eigs``. The finite-sample correction and
    the treatment of the mean, exact for Gaussian data, are derived here.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import denoiser_gain
    >>> eigs = jnp.array([4.0, 1.0, 0.25])
    >>> for n in (4, jnp.inf):
    ...     print(np.round(np.asarray(denoiser_gain(0.5, n, eigs)), 2))
    [0.84 0.57 0.25]
    [0.94 0.8  0.5 ]
    """
    check_spectrum(eigs, mult)
    check_interval("sigma", sigma, 0, jnp.inf, closed="left")
    check_choice("order", order, (0, 1))
    check_estimate(n, centered, ddof)
    return _denoiser_gain(
        sigma, n, eigs, mult, order=order, centered=centered, ddof=ddof
    )


@functools.partial(jax.jit, static_argnames=("order", "centered", "ddof"))
def _denoiser_gain(sigma, n, eigs, mult, *, order, centered, ddof):
    sigma, n = broadcast(("sigma", sigma), ("n", n))
    sigma, n, eigs, mult = promote_floating(sigma, n, eigs, mult)
    estimate = estimate_of(n, centered, ddof)
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    info = describe(valid(sigma) ** 2 / estimate.scale, estimate.n, eigs, mult)
    kept = gain(eigs, info.kappa)
    if order == 0:
        return kept
    return kept - loss(eigs, info.kappa) * correction(info, estimate.n, eigs, mult)
