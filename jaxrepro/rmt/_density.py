r"""Limiting spectral density of a sample covariance, and its transforms."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Complex, Float, Inexact, Real

from ..core import check_integer, check_interval, paper, promote_floating
from ._degrees import loss, sum_modes
from ._kappa import resolve
from ._kappa_complex import solve_kappa_complex
from ._spectrum import (
    broadcast,
    check_samples,
    check_spectrum,
    multiplicities,
    valid,
)


@paper("silverstein1995empirical", "Stieltjes transform of the limiting spectrum")
def stieltjes(
    z: Inexact[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
) -> Complex[Array, "..."]:
    r"""Stieltjes transform of the limiting spectrum of a sample covariance.

    .. math:: m(z) = \frac1d \mathbb{E}\, \mathrm{Tr}\, (\hat S - z)^{-1}
              \simeq -\frac{\kappa}{z}\, \frac1d \sum_k \frac{1}{\ell_k + \kappa},
              \qquad \kappa = \kappa(-z)

    Parameters
    ----------
    z : array
        Points off the positive real axis, in the units of the eigenvalues.
    n : array, broadcasts with ``z``
        Number of samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.

    Returns
    -------
    complex array of the broadcast shape
        The transform. Its imaginary part has the sign of that of z. The transform of
        the companion, the spectrum of the n x n Gram matrix, is
        :math:`1/\kappa(-z)` in this sign. NaN on the positive real axis.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    References
    ----------
    [silverstein1995empirical]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import stieltjes
    >>> m = stieltjes(-1.0, 100, jnp.ones(100))  # (sqrt(5) - 1)/2
    >>> round(float(m.real), 4)
    0.618
    """
    check_spectrum(eigs, mult)
    check_samples(n)
    return _stieltjes(z, n, eigs, mult)


@jax.jit
def _stieltjes(z, n, eigs, mult):
    z, n = broadcast(("z", z), ("n", n), real=False)
    real, imag, n, eigs, mult = promote_floating(z.real, z.imag, n.real, eigs, mult)
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    t = jax.lax.complex(-real, -imag)
    kappa = solve_kappa_complex(t, n, eigs, mult=mult).kappa
    return _mean_loss(kappa, eigs, mult) / t


def _mean_loss(kappa, eigs, mult):
    lost = loss(eigs.astype(kappa.dtype), kappa)
    return sum_modes(lost, (mult / jnp.sum(mult)).astype(kappa.dtype))


@paper("silverstein1995empirical", "density of the limiting spectrum")
def spectral_density(
    x: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    mode: int | None = None,
) -> Float[Array, "..."]:
    r"""Limiting spectral density of a sample covariance.

    .. math:: \rho(x) = \frac1\pi\, \Im\, m(x + i0)

    Parameters
    ----------
    x : array
        Points, in the units of the eigenvalues; the density is 0 for :math:`x \le 0`.
    n : array, broadcasts with ``x``
        Number of samples.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.
    mode : int, optional
        Instead of the density of all eigenvalues, that which the k-th eigenvector of
        the population sees, the mean of
        :math:`\sum_i (u_k^\top \hat u_i)^2 \delta(x - \hat\ell_i)`.

    Returns
    -------
    array of the broadcast shape
        The density, whose integral is :math:`\min(n, \mathrm{rank})/d`; the rest is an
        atom at 0. NaN at single points where the root is lost.

    Raises
    ------
    ValueError
        If shapes do not broadcast, ``mode`` is out of range, or concrete arguments
        are.

    Notes
    -----
    Evaluated a relative 1e-12 above the real axis (1e-6 in float32, which leaves three
    digits): use float64 near the edges.

    References
    ----------
    [silverstein1995empirical]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import marchenko_pastur_pdf, spectral_density
    >>> x = jnp.array([0.5, 1.0, 2.0])
    >>> jnp.allclose(
    ...     spectral_density(x, 400, jnp.ones(100)), marchenko_pastur_pdf(x, 0.25),
    ...     rtol=1e-3,
    ... )
    Array(True, dtype=bool)
    """
    check_spectrum(eigs, mult)
    check_samples(n)
    check_interval("x", x)
    if mode is not None:
        mode = check_integer("mode", mode, minimum=0, maximum=jnp.shape(eigs)[0] - 1)
    return _density(x, n, eigs, mult, mode)


@functools.partial(jax.jit, static_argnames="mode")
def _density(x, n, eigs, mult, mode):
    x, n = broadcast(("x", x), ("n", n))
    x, n, eigs, mult = promote_floating(x, n, eigs, mult)
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    beside = max(1e-12, 8 * float(jnp.finfo(x.dtype).eps))
    positive = x > 0
    x = jnp.where(positive, x, 1)
    t = jax.lax.complex(-x, beside * x)
    kappa = solve_kappa_complex(t, n, eigs, mult=mult).kappa
    if mode is None:
        mean = _mean_loss(kappa, eigs, mult)
    else:
        mean = kappa / (eigs[mode].astype(kappa.dtype) + kappa)
    density = jnp.abs((mean / t).imag) / jnp.pi
    return jnp.where(positive, density, 0)


@paper("voiculescu1992free", "S-transform")
def s_transform(
    df: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
) -> Float[Array, "..."]:
    r"""S-transform of a spectrum, in terms of degrees of freedom.

    .. math:: S(\delta) = \frac{1 - \delta}{\delta\, \kappa(\delta)}, \qquad
              \frac1d \sum_k \frac{\ell_k}{\ell_k + \kappa} = \delta

    It is multiplicative: that of a free product is the product of both. The identity
    has 1, a white sample covariance of n samples :math:`1/(1 - \delta d/n)`.

    Parameters
    ----------
    df : array
        Degrees of freedom a dimension, :math:`0 < \delta < \mathrm{rank}/d`.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0`.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.

    Returns
    -------
    array of the shape of ``df``
        The transform; infinite from the rank on, NaN for traced ``df`` out of (0, 1).

    Raises
    ------
    ValueError
        If concrete arguments are out of range.

    References
    ----------
    [voiculescu1992free]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import s_transform
    >>> round(float(s_transform(0.5, 2 * jnp.ones(10))), 4)
    0.5
    """
    check_spectrum(eigs, mult)
    check_interval("df", df, 0, 1, closed="neither")
    return _s_transform(df, eigs, mult)


@jax.jit
def _s_transform(df, eigs, mult):
    df, eigs, mult = promote_floating(df, eigs, mult)
    mult = multiplicities(eigs, mult)
    df = jnp.where(df < 1, valid(df, closed=False), jnp.nan)
    kappa = resolve(jnp.zeros_like(df), df * jnp.sum(mult), eigs, mult).root
    full = kappa == 0
    return jnp.where(full, jnp.inf, (1 - df) / (df * jnp.where(full, 1, kappa)))
