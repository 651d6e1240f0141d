r"""How the linear denoiser of a sample varies from sample to sample."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_interval,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_sqrt,
)
from ._degrees import along_modes, gain, loss
from ._kappa import describe, inverse_freedom
from ._population import check_estimate, estimate_of
from ._spectrum import check_last_axis, check_spectrum, valid

WICK = ("full", "paper")


class DiagPlusRank1(NamedTuple):
    r"""A matrix :math:`\mathrm{diag}(a) + b c^\top`, never made as one.

    A covariance has b = c; of two different quantities they differ.

    Attributes
    ----------
    diag : array of shape (..., d)
        The diagonal :math:`a`.
    left : array of shape (..., d)
        The vector :math:`b`.
    right : array of shape (..., d)
        The vector :math:`c`.
    """

    diag: Float[Array, "... d"]
    left: Float[Array, "... d"]
    right: Float[Array, "... d"]

    def diagonal(self) -> Float[Array, "... d"]:
        """Diagonal of the matrix, such as the variance of every mode."""
        return self.diag + self.left * self.right

    def matvec(self, x: Float[Array, "... d"]) -> Float[Array, "... d"]:
        """Product with a vector, or with one for each matrix."""
        inner = jnp.sum(self.right * x, axis=-1, keepdims=True)
        return self.diag * x + self.left * inner

    def pixel_var(self, vectors: Float[Array, "p d"]) -> Float[Array, "... p"]:
        r"""Diagonal of :math:`U C U^\top`, such as the variance of every pixel.

        ``vectors`` holds U, the eigenvectors as columns.
        """
        left, right = (matmul(v, vectors.T) for v in (self.left, self.right))
        return matmul(self.diag, (vectors**2).T) + left * right


@paper("wang2026random", "variance of the denoiser over training sets")
def denoiser_covariance(
    coords: Real[ArrayLike, "... d"],
    sigma: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    other: Real[ArrayLike, "... d"] | None = None,
    wick: str = "full",
    centered: bool = True,
    ddof: int = 0,
) -> DiagPlusRank1:
    r"""Covariance of a denoised input, or of two of them, over training sets.

    .. math:: \mathrm{Cov}[D(x)_k, D(x')_j] \simeq
              \frac{\kappa^2}{n' - \mathrm{df}_2} \Big(
              \delta_{kj}\, a_k \big(m + \textstyle\sum_i a_i y_i y'_i\big)
              + a_k y'_k\, a_j y_j \Big), \qquad
              a_k = \frac{\ell_k}{(\ell_k + \kappa)^2},

    where y are the coordinates of the input in the eigenbasis of the population,
    :math:`\kappa = \kappa(\sigma^2)`, and m is n'/n if the mean is estimated and 0 if
    it is known.

    Parameters
    ----------
    coords : array of shape (..., d)
        Coordinates :math:`y = U^\top (x - \mu)` of the noisy input.
    sigma : array
        Noise level :math:`\sigma \ge 0`, in the units of the data.
    n : array
        Number of training samples; infinity is the population. ``sigma``, ``n`` and
        the leading axes of ``coords`` broadcast.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance, each of its
        own mode.
    other : array of shape (..., d), optional
        Coordinates y' of a second input to denoisers of the same training sets, by
        default the first.
    wick : {"full", "paper"}, default "full"
        "paper" leaves out the second term, which is as large as the first for the
        variance along the input.
    centered : bool, default True
        Whether the mean is estimated: n' = n - 1, else n' = n.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.

    Returns
    -------
    DiagPlusRank1
        Diagonal and vectors, each of shape (..., d); :meth:`~DiagPlusRank1.pixel_var`
        gives the variance of pixels. NaN for traced arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not fit, ``wick`` is unknown, or concrete arguments are out of
        range.

    Notes
    -----
    For real Gaussian data. The first term with a known mean is the law of the paper;
    the second term and that of the mean are derived here. On images the Gaussian law
    is low by 3 to 26 %, see :func:`denoiser_variance_moments`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import denoiser_covariance
    >>> eigs, y = jnp.array([4.0, 1.0, 0.25]), jnp.array([2.0, 0.0, 1.0])
    >>> covariance = denoiser_covariance(y, 0.5, 20, eigs)
    >>> print(np.round(np.asarray(covariance.diagonal()), 4))
    [0.0039 0.008  0.0148]
    """
    _check(coords, sigma, n, eigs, wick, centered, ddof)
    if other is not None:
        check_last_axis("other", other, jnp.shape(eigs)[0])
    return _covariance(
        coords, other, sigma, n, eigs, wick=wick, centered=centered, ddof=ddof
    )


@paper("wang2026random", "variance of the denoiser over training sets")
def denoiser_variance(
    coords: Real[ArrayLike, "... d"],
    sigma: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    wick: str = "full",
    reduce: str | None = None,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "..."]:
    r"""Variance of a denoised input over training sets, mode by mode or in all.

    The diagonal of :func:`denoiser_covariance`, or its sum

    .. math:: V(x) \simeq \frac{\kappa^2}{n' - \mathrm{df}_2} \Big[
              (m + \langle y \rangle) \sum_k a_k + \sum_k a_k^2 y_k^2 \Big] .

    Parameters
    ----------
    coords, sigma, n, eigs, wick
        As for :func:`denoiser_covariance`.
    reduce : {None, "modes"}, default None
        Whether to sum over the modes.
    centered, ddof
        As for :func:`denoiser_covariance`.

    Returns
    -------
    array of shape (..., d), or (...) if reduced
        The variance, in squared units of the data.

    Raises
    ------
    ValueError
        As for :func:`denoiser_covariance`, or if ``reduce`` is unknown.

    Notes
    -----
    Two denoisers of independent samples differ by twice this on average, squared.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import denoiser_variance
    >>> eigs, y = jnp.array([4.0, 1.0, 0.25]), jnp.array([2.0, 0.0, 1.0])
    >>> round(float(denoiser_variance(y, 0.5, 20, eigs, reduce="modes")), 4)
    0.0267
    """
    _check(coords, sigma, n, eigs, wick, centered, ddof)
    check_choice("reduce", reduce, (None, "modes"))
    variance = _covariance(
        coords, None, sigma, n, eigs, wick=wick, centered=centered, ddof=ddof
    ).diagonal()
    return variance if reduce is None else jnp.sum(variance, axis=-1)


def _check(coords, sigma, n, eigs, wick, centered, ddof):
    check_spectrum(eigs)
    check_interval("sigma", sigma, 0, jnp.inf, closed="left")
    check_estimate(n, centered, ddof)
    check_choice("wick", wick, WICK)
    check_last_axis("coords", coords, jnp.shape(eigs)[0])


def along_inputs(coords, *others):
    """Coordinates and numbers of one leading shape and one dtype."""
    coords, *others = promote_floating(coords, *others)
    shape = jnp.broadcast_shapes(coords.shape[:-1], *(x.shape for x in others))
    coords = jnp.broadcast_to(coords, (*shape, coords.shape[-1]))
    return coords, *(jnp.broadcast_to(x, shape) for x in others)


def weights(eigs, kappa):
    r"""The weights :math:`\ell/(\ell+\kappa)^2` of squared coordinates; 0 for 0/0."""
    level, modes = along_modes(kappa, eigs)
    total = level + modes
    return gain(eigs, kappa) / jnp.where(total == 0, 1, total)


@functools.partial(jax.jit, static_argnames=("wick", "centered", "ddof"))
def _covariance(coords, other, sigma, n, eigs, *, wick, centered, ddof):
    other = coords if other is None else other
    coords, other = promote_floating(coords, other)
    coords, other = jnp.broadcast_arrays(coords, other)
    coords, sigma, n = along_inputs(coords, sigma, n)
    coords, other, sigma, n, eigs = promote_floating(coords, other, sigma, n, eigs)
    other = jnp.broadcast_to(other, coords.shape)
    estimate, eigs = estimate_of(n, centered, ddof), valid(eigs)
    info = describe(valid(sigma) ** 2 / estimate.scale, estimate.n, eigs)
    kept, lost = gain(eigs, info.kappa), loss(eigs, info.kappa)
    free = inverse_freedom(estimate.n, info)
    size = jnp.sum(weights(eigs, info.kappa) * coords * other, axis=-1)
    scale = (free * (estimate.mean_share + size))[..., None]
    modes = jnp.expand_dims(eigs, tuple(range(coords.ndim - 1)))
    diag = scale * modes * lost**2
    if wick == "paper":
        return DiagPlusRank1(diag, *(jnp.zeros_like(diag),) * 2)
    vector = safe_sqrt(free)[..., None] * kept * lost
    return DiagPlusRank1(diag, vector * other, vector * coords)


@paper("wang2026random", "variance of the denoiser; fourth moments are ours")
def denoiser_variance_moments(
    coords: Real[ArrayLike, "... d"],
    population: Real[ArrayLike, "N d"],
    sigma: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    reduce: str | None = None,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "..."]:
    r"""Variance of a denoised input over training sets of data that are not Gaussian.

    .. math:: \mathrm{Var}[D(x)]_k \simeq \frac{\kappa^2}{n' - \mathrm{df}_2} \Big[
              \frac1N \sum_i \Big(\frac{z_{ik}}{\ell_k + \kappa}\Big)^2 \Big( m
              + \sum_j \frac{z_{ij} y_j}{\ell_j + \kappa} \Big)^2
              - (a_k y_k)^2 \Big]

    The fourth moments of Gaussian data in :func:`denoiser_variance` are replaced by
    those of data z, and the estimate of the mean brings in the third ones.

    Parameters
    ----------
    coords : array of shape (..., d)
        Coordinates :math:`y = U^\top (x - \mu)` of the noisy input.
    population : array of shape (N, d)
        Coordinates :math:`z_i` of data of the population, with mean 0 and second
        moments ``eigs``.
    sigma, n, eigs, reduce, centered, ddof
        As for :func:`denoiser_variance`.

    Returns
    -------
    array of shape (..., d), or (...) if reduced
        The variance.

    Raises
    ------
    ValueError
        As for :func:`denoiser_variance`, or if ``population`` has another dimension.

    Notes
    -----
    Derived here. It costs two products with ``population`` for each input. Effects
    of single samples of great leverage are not covered: on images it is low by 2 to
    13 %, and even from input to input.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import denoiser_variance_moments
    >>> z = jnp.array([[2.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-2.0, -1.0]])
    >>> y, eigs = jnp.array([1.0, 1.0]), jnp.array([4.0, 1.0])
    >>> print(np.round(np.asarray(denoiser_variance_moments(y, z, 0.5, 20, eigs)), 4))
    [0.0016 0.0032]
    """
    _check(coords, sigma, n, eigs, "full", centered, ddof)
    check_shape("population", population, ("N", jnp.shape(eigs)[0]))
    check_choice("reduce", reduce, (None, "modes"))
    variance = _moments(
        coords, population, sigma, n, eigs, centered=centered, ddof=ddof
    )
    return variance if reduce is None else jnp.sum(variance, axis=-1)


@functools.partial(jax.jit, static_argnames=("centered", "ddof"))
def _moments(coords, population, sigma, n, eigs, *, centered, ddof):
    coords, sigma, n = along_inputs(coords, sigma, n)
    coords, population, sigma, n, eigs = promote_floating(
        coords, population, sigma, n, eigs
    )
    estimate, eigs = estimate_of(n, centered, ddof), valid(eigs)
    info = describe(valid(sigma) ** 2 / estimate.scale, estimate.n, eigs)
    kept, lost = gain(eigs, info.kappa), loss(eigs, info.kappa)
    total = jnp.expand_dims(eigs, tuple(range(coords.ndim - 1))) + info.kappa[..., None]
    whitened = coords / jnp.where(total == 0, 1, total)
    along = estimate.mean_share[..., None] + matmul(whitened, population.T)
    second = matmul(along**2, population**2) / population.shape[0]
    free = inverse_freedom(estimate.n, info)
    return free[..., None] * (lost**2 * second - (kept * lost * coords) ** 2)
