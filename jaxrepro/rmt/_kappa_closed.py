r"""Closed forms around the renormalised noise level."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, paper, safe_divide, safe_sqrt
from ._degrees import df1
from ._spectrum import broadcast, check_samples, check_shift, check_spectrum, valid


@paper("wang2026random", "renormalised noise level of isotropic data")
def kappa_isotropic(
    lam: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    d: Real[ArrayLike, "..."],
    *,
    scale: Real[ArrayLike, "..."] = 1.0,
) -> Float[Array, "..."]:
    r"""Renormalised noise level of isotropic data, in closed form.

    .. math:: \kappa = \frac{c}{2} \Big[ x + \gamma - 1
              + \sqrt{(x + \gamma - 1)^2 + 4x} \Big], \qquad
              x = \lambda/c, \quad \gamma = d/n

    Parameters
    ----------
    lam : array
        Shift :math:`\lambda \ge 0`.
    n : array
        Number of samples; infinity is the population.
    d : array
        Dimension.
    scale : array, default 1
        Variance :math:`c > 0` in every direction. All four broadcast.

    Returns
    -------
    array of the broadcast shape
        The root :math:`\kappa` of :func:`solve_kappa`; NaN for traced arguments out of
        range.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    Notes
    -----
    Where :math:`x + \gamma < 1`, the conjugate form avoids the cancellation.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> from jaxrepro.rmt import kappa_isotropic
    >>> float(kappa_isotropic(0.0, 25, 100))
    3.0
    """
    check_shift(lam)
    check_samples(n)
    check_interval("d", d, 0, jnp.inf, closed="neither")
    check_interval("scale", scale, 0, jnp.inf, closed="neither")
    lam, n, d, scale = broadcast(("lam", lam), ("n", n), ("d", d), ("scale", scale))
    lam, n = valid(lam), valid(n, closed=False)
    d, scale = valid(d, closed=False), valid(scale, closed=False)
    x = lam / scale
    excess = x + (d / n - 1)
    root = safe_sqrt(excess**2 + 4 * x)
    rising, falling = (root + excess) / 2, safe_divide(2 * x, root - excess)
    return scale * jnp.where(excess >= 0, rising, falling)


@paper("wang2026random", "self-consistent equation of the renormalised noise level")
def lam_from_kappa(
    kappa: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
) -> Float[Array, "..."]:
    r"""Shift that is renormalised to a given level: the inverse of :func:`solve_kappa`.

    .. math:: \lambda = \kappa \Big(1 - \frac{\mathrm{df}_1(\kappa)}{n}\Big)

    Parameters
    ----------
    kappa : array
        Renormalised level :math:`\kappa \ge 0`.
    n : array, broadcasts with ``kappa``
        Number of samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.

    Returns
    -------
    array of the broadcast shape
        The shift; negative for levels that no shift reaches, and NaN for traced
        arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import lam_from_kappa
    >>> float(lam_from_kappa(3.0, 50, jnp.ones(100)))
    1.5
    """
    check_spectrum(eigs, mult)
    check_interval("kappa", kappa, 0, jnp.inf, closed="left")
    check_samples(n)
    kappa, n = broadcast(("kappa", kappa), ("n", n))
    kappa, n = valid(kappa), valid(n, closed=False)
    return kappa * (1 - df1(kappa, eigs, mult=mult) / n)
