r"""Log-determinant and Kullback-Leibler divergence of an estimated Gaussian."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_choice, paper, promote_floating
from ._degrees import along_modes, gain, sum_modes
from ._equivalents import correction
from ._kappa import describe
from ._population import check_estimate, estimate_of
from ._spectrum import broadcast, check_shift, check_spectrum, multiplicities, valid

_DIRECTIONS = ("forward", "reverse")


@paper("wang2026random", "self-consistent equation; the log-determinant is ours")
def logdet_equivalent(
    lam: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    order: int = 0,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "..."]:
    r"""Mean log-determinant of a shifted sample covariance.

    .. math:: \mathbb{E} \log\det(\hat S + \lambda) \simeq d \log\lambda
              + \sum_k \log\Big(1 + \frac{\ell_k}{\kappa}\Big)
              + n \Big(\log\frac{\kappa}{\lambda} + \frac{\lambda}{\kappa} - 1\Big)
              + \tfrac12 \log\Big(1 - \frac{\mathrm{df}_2}{n}\Big),

    with the last term at ``order=1`` only.

    Parameters
    ----------
    lam : array
        Shift :math:`\lambda \ge 0`, in the units of the eigenvalues.
    n : array, broadcasts with ``lam``
        Number of samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.
    order : {0, 1}, default 0
        Whether to add the one-loop correction for finite samples.
    centered : bool, default True
        Whether the mean is estimated, which costs a degree of freedom.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.

    Returns
    -------
    array of the broadcast shape
        The mean; minus infinity at no shift where the covariance is singular.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    Notes
    -----
    Derived here, for Gaussian data; the error falls like 1/n at ``order=0`` and like
    its square at ``order=1``, away from n near d with small shifts.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import logdet_equivalent
    >>> eigs = 1 / jnp.arange(1.0, 101)
    >>> round(float(logdet_equivalent(0.1, 50, eigs, order=1)), 2)
    -204.08
    """
    _check(lam, n, eigs, mult, order, centered, ddof)
    return _logdet_equivalent(
        lam, n, eigs, mult, order=order, centered=centered, ddof=ddof
    )


@functools.partial(jax.jit, static_argnames=("order", "centered", "ddof"))
def _logdet_equivalent(lam, n, eigs, mult, *, order, centered, ddof):
    lam, estimate, eigs, mult, info = _problem(lam, n, eigs, mult, centered, ddof)
    return _logdet(estimate, eigs, mult, info, order)


def _check(lam, n, eigs, mult, order, centered, ddof):
    check_spectrum(eigs, mult)
    check_shift(lam)
    check_estimate(n, centered, ddof)
    check_choice("order", order, (0, 1))


def _problem(lam, n, eigs, mult, centered, ddof):
    lam, n = broadcast(("lam", lam), ("n", n))
    lam, n, eigs, mult = promote_floating(lam, n, eigs, mult)
    estimate = estimate_of(n, centered, ddof)
    lam, eigs, mult = valid(lam), valid(eigs), multiplicities(eigs, mult)
    info = describe(lam / estimate.scale, estimate.n, eigs, mult)
    return lam, estimate, eigs, mult, info


def _logdet(estimate, eigs, mult, info, order):
    # d log(lam) + sum log(1 + l/kappa), without the quotients of small numbers.
    level, modes = along_modes(info.kappa, eigs)
    total = sum_modes(jnp.log(modes + level), mult)
    total += jnp.sum(mult) * jnp.log(estimate.scale / info.ratio)
    # n (log r + 1/r - 1), where n may be infinite and r is then 1.
    excess = jnp.where(jnp.isinf(estimate.n), 0, info.ratio - 1)
    ratio = 1 + excess
    bent = jnp.log1p(excess) - excess / ratio
    total += jnp.where(jnp.isinf(estimate.n), 0, estimate.n) * bent
    if order == 1:
        total += jnp.log1p(-info.df2 / estimate.n) / 2
    return total


@paper("wang2026random", "self-consistent equation; the divergence is ours")
def gaussian_kl_equivalent(
    lam: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    direction: str = "forward",
    order: int = 0,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "..."]:
    r"""Mean Kullback-Leibler divergence between a Gaussian and its estimate.

    With :math:`P = \mathcal{N}(\mu, \Sigma + \lambda)` and
    :math:`\hat P = \mathcal{N}(\hat\mu, \hat S + \lambda)`,

    .. math:: \mathrm{KL}(P \| \hat P) \simeq \tfrac12 \Big[ \frac{\kappa}{\lambda}
              \sum_k \frac{\ell_k + \lambda + \ell_k / n}{\ell_k + \kappa} - d
              + \mathbb{E} \log\det(\hat S + \lambda)
              - \sum_k \log(\ell_k + \lambda) \Big]

    .. math:: \mathrm{KL}(\hat P \| P) \simeq \tfrac12 \Big[
              \sum_k \frac{\ell'_k + \lambda + \ell_k / n}{\ell_k + \lambda} - d
              - \mathbb{E} \log\det(\hat S + \lambda)
              + \sum_k \log(\ell_k + \lambda) \Big]

    where :math:`\ell'` are the eigenvalues of the mean of :math:`\hat S`; the terms
    with 1/n are those of an estimated mean.

    Parameters
    ----------
    lam, n, eigs, mult
        As for :func:`logdet_equivalent`.
    direction : {"forward", "reverse"}, default "forward"
        "forward" is the divergence of the estimate from the population's point of
        view, :math:`\mathrm{KL}(P \| \hat P)`.
    order : {0, 1}, default 0
        Whether to correct the mean resolvent and the log-determinant for finite
        samples.
    centered, ddof
        As for :func:`logdet_equivalent`.

    Returns
    -------
    array of the broadcast shape
        The divergence in nats.

    Raises
    ------
    ValueError
        If shapes do not broadcast, ``direction`` is unknown, or concrete arguments
        are out of range.

    Notes
    -----
    Derived here, for Gaussian data: at d = 100 low by 0.3 to 1.9 % at ``order=0`` and
    within 0.4 % at ``order=1``.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import gaussian_kl_equivalent
    >>> eigs = 1 / jnp.arange(1.0, 101)
    >>> [round(float(gaussian_kl_equivalent(0.1, 50, eigs, direction=x)), 2)
    ...  for x in ("forward", "reverse")]
    [2.71, 2.62]
    """
    _check(lam, n, eigs, mult, order, centered, ddof)
    check_choice("direction", direction, _DIRECTIONS)
    return _kl(
        lam, n, eigs, mult,
        direction=direction, order=order, centered=centered, ddof=ddof,
    )  # fmt: skip


@functools.partial(jax.jit, static_argnames=("direction", "order", "centered", "ddof"))
def _kl(lam, n, eigs, mult, *, direction, order, centered, ddof):
    lam, estimate, eigs, mult, info = _problem(lam, n, eigs, mult, centered, ddof)
    _, n = broadcast(("lam", lam), ("n", n))
    logdet = _logdet(estimate, eigs, mult, info, order)
    shift, modes = along_modes(lam, eigs)
    logdet -= sum_modes(jnp.log(modes + shift), mult)
    of_mean = (1 / n if centered else jnp.zeros_like(n)).astype(lam.dtype)[..., None]
    if direction == "forward":
        ratio = (info.ratio / estimate.scale)[..., None]
        resolvent = ratio / (modes + info.kappa[..., None])
        if order == 1:
            resolvent = resolvent * (1 + correction(info, estimate.n, eigs, mult))
        terms, sign = resolvent * (modes + shift + modes * of_mean), 1
    else:
        scale = estimate.scale[..., None]
        terms, sign = scale + of_mean, -1
        terms = shift / (modes + shift) + gain(eigs, lam) * terms
    return (sum_modes(terms - 1, mult) + sign * logdet) / 2
