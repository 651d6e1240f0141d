r"""Denoising losses of the linear denoiser of a sample."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, paper, promote_floating
from ._degrees import along_modes, gain, loss, sum_modes
from ._denoiser_variance import weights
from ._kappa import describe
from ._population import check_estimate, estimate_of
from ._spectrum import broadcast, check_spectrum, multiplicities, valid


class DenoisingLosses(NamedTuple):
    r"""Expected squared errors of a linear denoiser, summed over the dimensions.

    Attributes
    ----------
    train : array
        Loss at the training samples, over fresh noise.
    test : array
        Loss at new data, over fresh noise.
    mmse : array
        Loss of the population's own denoiser, the smallest possible.
    bias : array
        What the test loss has from shrinking the data, with a known mean.
    noise : array
        What both losses have from noise that is let through.
    """

    train: Float[Array, "..."]
    test: Float[Array, "..."]
    mmse: Float[Array, "..."]
    bias: Float[Array, "..."]
    noise: Float[Array, "..."]


@paper("wang2026random", "linear denoiser; its losses are derived here")
def dsm_losses(
    sigma: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    rho: Real[ArrayLike, "..."] = 0.0,
    mult: Real[ArrayLike, " d"] | None = None,
    centered: bool = True,
    ddof: int = 0,
) -> DenoisingLosses:
    r"""Train and test loss of the linear denoiser of n samples.

    The denoiser is :math:`D(x) = \hat\mu + W (x - \hat\mu)` with
    :math:`W = \hat S (\hat S + L)^{-1}` and :math:`L = \sigma^2 + \rho`. On average
    over training sets, with :math:`\kappa = \kappa(L)`,

    .. math:: \text{bias} = \mathrm{Tr}\,[(I - W) \Sigma (I - W)] \simeq
              \frac{n'}{n' - \mathrm{df}_2} \sum_k
              \frac{\kappa^2 \ell_k}{(\ell_k + \kappa)^2}, \qquad
              \mathrm{Tr}\, W^2 \simeq \mathrm{df}_1 - L\, \frac{d\kappa}{dL}
              \sum_k \frac{\ell_k}{(\ell_k + \kappa)^2}

    .. math:: \text{test} = \text{bias}\, (1 + 1/n) + \sigma^2\, \mathrm{Tr}\, W^2,
              \qquad \text{train} = L\, (\mathrm{Tr}\, W - \mathrm{Tr}\, W^2)
              + \sigma^2\, \mathrm{Tr}\, W^2 .

    Parameters
    ----------
    sigma : array
        Noise level :math:`\sigma \ge 0`, in the units of the data.
    n : array
        Number of training samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    rho : array, default 0
        Ridge :math:`\rho \ge 0` beyond the noise. ``sigma``, ``n`` and ``rho``
        broadcast.
    mult : array of shape (d,), optional
        Multiplicities, by default ones.
    centered : bool, default True
        Whether the mean is estimated; with a known one the factor 1 + 1/n is 1.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.

    Returns
    -------
    DenoisingLosses
        ``train``, ``test``, ``mmse``, ``bias`` and ``noise``, in squared units of the
        data; NaN for traced arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    Notes
    -----
    Derived here, for Gaussian data. The derivative in ``rho`` gives the best ridge.
    With ``ddof=1`` the first term of the train loss has the factor (n - 1)/n, since
    the training samples have that covariance.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import dsm_losses
    >>> losses = dsm_losses(0.3, 50, 1 / jnp.arange(1.0, 101))
    >>> [round(float(x), 2) for x in (losses.train, losses.mmse, losses.test)]
    [1.65, 2.26, 2.96]
    >>> test = lambda rho: dsm_losses(0.3, 50, 1 / jnp.arange(1.0, 101), rho=rho).test
    >>> bool(jax.grad(test)(0.0) < 0)  # more ridge would help
    True
    """
    check_spectrum(eigs, mult)
    for name, x in (("sigma", sigma), ("rho", rho)):
        check_interval(name, x, 0, jnp.inf, closed="left")
    check_estimate(n, centered, ddof)
    return _losses(sigma, n, rho, eigs, mult, centered=centered, ddof=ddof)


@functools.partial(jax.jit, static_argnames=("centered", "ddof"))
def _losses(sigma, n, rho, eigs, mult, *, centered, ddof):
    sigma, n, rho = broadcast(("sigma", sigma), ("n", n), ("rho", rho))
    sigma, n, rho, eigs, mult = promote_floating(sigma, n, rho, eigs, mult)
    estimate = estimate_of(n, centered, ddof)
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    variance = valid(sigma) ** 2
    ridge = variance + valid(rho)
    info = describe(ridge / estimate.scale, estimate.n, eigs, mult)
    _, modes = along_modes(variance, eigs)
    lost = loss(eigs, info.kappa)
    # n' / (n' - df2) is the derivative of kappa.
    bias = info.kappa_prime * sum_modes(modes * lost**2, mult)
    slope = info.kappa_prime * sum_modes(weights(eigs, info.kappa), mult)
    square = info.df1 - ridge / estimate.scale * slope
    noise = variance * square
    share = 1 - ddof / n if centered else jnp.ones_like(n)
    train = share * ridge * (info.df1 - square) + noise
    test = bias * (1 + 1 / n if centered else 1) + noise
    mmse = variance * sum_modes(gain(eigs, variance), mult)
    return DenoisingLosses(train, test, mmse, bias, noise)
