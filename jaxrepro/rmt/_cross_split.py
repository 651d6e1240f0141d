r"""How far models of two independent training sets disagree."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_choice, check_interval, check_shape, paper, promote_floating
from ._degrees import gain, loss
from ._denoiser import denoiser_gain
from ._denoiser_variance import WICK, denoiser_variance, weights
from ._kappa import describe, inverse_freedom
from ._population import check_estimate, estimate_of
from ._sampling import check_sampling, sampling_gain
from ._sampling_variance import sampling_variance, sampling_variance_seed_average
from ._spectrum import check_spectrum, valid

_REDUCE = (None, "modes")


@paper("wang2026random", "disagreement of models of independent splits")
def denoiser_cross_split(
    coords: Real[ArrayLike, "... d"] | None,
    sigma: Real[ArrayLike, ""],
    n1: Real[ArrayLike, ""],
    n2: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    wick: str = "full",
    reduce: str | None = None,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "..."]:
    r"""Mean squared difference of the denoisers of two independent training sets.

    .. math:: \mathbb{E}\, (D_1(x) - D_2(x))_k^2 \simeq V_{1k}(x) + V_{2k}(x)
              + (g_{1k} - g_{2k})^2 y_k^2,

    with the variances of :func:`denoiser_variance` and the gains of
    :func:`denoiser_gain`; for equal sizes, twice the variance.

    Parameters
    ----------
    coords : array of shape (..., d) or None
        Coordinates :math:`y = U^\top (x - \mu)` of the noisy inputs; None averages
        over training inputs, :math:`y_k \sim \mathcal{N}(0, \ell_k + \sigma^2)`.
    sigma : float
        Noise level :math:`\sigma \ge 0`, in the units of the data.
    n1, n2 : float
        Numbers of training samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    wick : {"full", "paper"}, default "full"
        See :func:`denoiser_covariance`.
    reduce : {None, "modes"}, default None
        Whether to sum over the modes.
    centered : bool, default True
        Whether the means are estimated.
    ddof : {0, 1}, default 0
        What the sums of squares are divided by: n - ddof.

    Returns
    -------
    array of shape (..., d), or (...) if reduced
        The mean squared difference, in squared units of the data.

    Raises
    ------
    ValueError
        If shapes do not fit, an option is unknown, or concrete arguments are out of
        range.

    Notes
    -----
    Splits without replacement from N points differ from the N-point model by
    variances times 1 - n/N; among themselves disjoint splits differ as given here.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import denoiser_cross_split
    >>> eigs = 1 / jnp.arange(1.0, 33)
    >>> [round(float(denoiser_cross_split(None, 0.3, n, n, eigs, reduce="modes")), 3)
    ...  for n in (100, 400)]
    [0.217, 0.051]
    """
    check_spectrum(eigs)
    check_interval("sigma", sigma, 0, jnp.inf, closed="left")
    check_choice("wick", wick, WICK)
    check_choice("reduce", reduce, _REDUCE)
    for name, n in (("n1", n1), ("n2", n2)):
        check_shape(name, n, ())
        check_estimate(n, centered, ddof)
    check_shape("sigma", sigma, ())
    options = {"centered": centered, "ddof": ddof}
    gains = [denoiser_gain(sigma, n, eigs, **options) for n in (n1, n2)]
    if coords is None:
        square = _input_variance(sigma, eigs)
        variances = [
            _mean_variance(sigma, n, eigs, wick=wick, **options) for n in (n1, n2)
        ]
    else:
        square = None
        variances = [
            denoiser_variance(coords, sigma, n, eigs, wick=wick, **options)
            for n in (n1, n2)
        ]
    return _difference(coords, square, *gains, *variances, reduce=reduce)


@jax.jit
def _input_variance(sigma, eigs):
    sigma, eigs = promote_floating(sigma, eigs)
    return valid(eigs) + valid(sigma) ** 2


@functools.partial(jax.jit, static_argnames=("wick", "centered", "ddof"))
def _mean_variance(sigma, n, eigs, *, wick, centered, ddof):
    """Variance of the denoiser, averaged over noisy training inputs."""
    sigma, n, eigs = promote_floating(sigma, n, eigs)
    estimate, eigs = estimate_of(n, centered, ddof), valid(eigs)
    info = describe(valid(sigma) ** 2 / estimate.scale, estimate.n, eigs)
    square = eigs + sigma**2
    size = jnp.sum(weights(eigs, info.kappa) * square)
    kept, lost = gain(eigs, info.kappa), loss(eigs, info.kappa)
    variance = (estimate.mean_share + size) * eigs * lost**2
    if wick == "full":
        variance = variance + (kept * lost) ** 2 * square
    return inverse_freedom(estimate.n, info) * variance


@functools.partial(jax.jit, static_argnames="reduce")
def _difference(coords, square, gain1, gain2, variance1, variance2, *, reduce):
    if square is None:
        (coords,) = promote_floating(coords)
        square = coords**2
    leading = tuple(range(variance1.ndim - 1))
    bias = jnp.expand_dims((gain1 - gain2) ** 2, leading) * square
    total = variance1 + variance2 + bias
    return total if reduce is None else jnp.sum(total, axis=-1)


@paper("wang2026random", "disagreement of models of independent splits")
def sampling_cross_split(
    coords: Real[ArrayLike, "... d"] | None,
    n1: Real[ArrayLike, ""],
    n2: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    sigma_0: Real[ArrayLike, ""] = 0.0,
    sigma_T: Real[ArrayLike, ""] = float("inf"),
    wick: str = "full",
    reduce: str | None = None,
    num_nodes: int = 24,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "..."]:
    r"""Mean squared difference of what two models generate from the same noise.

    .. math:: \mathbb{E}\, (x_0^{(1)} - x_0^{(2)})_k^2 \simeq V_{1k} + V_{2k}
              + (\bar f_{1k} - \bar f_{2k})^2 q_k^2,

    with the variances of :func:`sampling_variance` and the gains of
    :func:`sampling_gain`; for equal sizes, twice the variance.

    Parameters
    ----------
    coords : array of shape (..., d) or None
        Coordinates q of the noise as in :func:`sampling_variance`; None averages over
        noises.
    n1, n2 : float
        Numbers of training samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    sigma_0, sigma_T, wick, reduce, num_nodes, centered, ddof
        As for :func:`sampling_variance`.

    Returns
    -------
    array of shape (..., d), or (...) if reduced
        The mean squared difference, in squared units of the data.

    Raises
    ------
    ValueError
        As for :func:`sampling_variance`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import sampling_cross_split
    >>> eigs = 1 / jnp.arange(1.0, 33)
    >>> [round(float(sampling_cross_split(None, n, n, eigs, reduce="modes")), 3)
    ...  for n in (100, 400)]
    [0.549, 0.136]
    """
    for n in (n1, n2):
        check_shape("n1" if n is n1 else "n2", n, ())
        check_sampling(sigma_0, sigma_T, n, eigs, None, num_nodes, centered, ddof)
    check_choice("reduce", reduce, _REDUCE)
    levels = {"sigma_0": sigma_0, "sigma_T": sigma_T, "num_nodes": num_nodes}
    options = levels | {"centered": centered, "ddof": ddof}
    gains = [sampling_gain(n, eigs, **options) for n in (n1, n2)]
    if coords is None:
        square = _noise_variance(sigma_T, eigs)
        variances = [
            sampling_variance_seed_average(n, eigs, wick=wick, **options)
            for n in (n1, n2)
        ]
    else:
        square = None
        variances = [
            sampling_variance(coords, n, eigs, wick=wick, **options) for n in (n1, n2)
        ]
    return _difference(coords, square, *gains, *variances, reduce=reduce)


@jax.jit
def _noise_variance(sigma_T, eigs):
    sigma_T, eigs = promote_floating(sigma_T, eigs)
    return jnp.where(jnp.isinf(sigma_T), 1, sigma_T) ** 2 * jnp.ones_like(eigs)
