r"""Degrees of freedom of a spectrum at a resolution."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Inexact, Real

from ..core import paper, promote_floating
from ._spectrum import broadcast, check_spectrum, multiplicities, valid


def gain(eigs, kappa):
    r"""Shares :math:`\ell/(\ell+\kappa)` of the modes that are kept; 0 for 0/0."""
    kappa, eigs = along_modes(kappa, eigs)
    total = eigs + kappa
    edge = (eigs == 0) & (total == 0)
    return jnp.where(edge, 0, eigs / jnp.where(edge, 1, total))


def loss(eigs, kappa):
    r"""Shares :math:`\kappa/(\ell+\kappa)` that are lost; 0 for 0/0."""
    kappa, eigs = along_modes(kappa, eigs)
    total = eigs + kappa
    edge = (kappa == 0) & (total == 0)
    return jnp.where(edge, 0, kappa / jnp.where(edge, 1, total))


def along_modes(x, eigs):
    """An array with a last axis for the modes, and one over the modes to match."""
    x = x[..., None]
    return x, jnp.expand_dims(eigs, tuple(range(x.ndim - 1)))


def sum_modes(terms, mult):
    """Sum over the modes, each as often as its multiplicity says."""
    return jnp.sum(terms * jnp.expand_dims(mult, tuple(range(terms.ndim - 1))), -1)


@paper("wang2026random", "degrees of freedom in the renormalised noise level")
def df1(
    kappa: Inexact[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
) -> Inexact[Array, "..."]:
    r"""First degrees of freedom: how many directions rise above a resolution.

    .. math:: \mathrm{df}_1(\kappa) = \sum_k \frac{\ell_k}{\ell_k + \kappa}

    Parameters
    ----------
    kappa : array of any shape
        Resolution :math:`\kappa \ge 0`, in the units of the eigenvalues; complex, or
        real off the negated eigenvalues, where the sum is continued analytically.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0`.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.

    Returns
    -------
    array of the shape of ``kappa``
        The sum; NaN if a traced eigenvalue is negative. A term 0/0 counts as 0.

    Raises
    ------
    ValueError
        If ``eigs`` is no vector or empty, ``mult`` has another shape, or concrete
        entries are negative or not finite.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import df1
    >>> float(df1(1.0, jnp.array([3.0, 1.0, 0.0])))
    1.25
    """
    return _sum(kappa, kappa, eigs, mult, 1)


@paper("wang2026random", "degrees of freedom in the renormalised noise level")
def df2(
    kappa: Inexact[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
) -> Inexact[Array, "..."]:
    r"""Second degrees of freedom, which the fluctuations of a resolvent depend on.

    .. math:: \mathrm{df}_2(\kappa) = \sum_k \Big(\frac{\ell_k}{\ell_k + \kappa}\Big)^2

    Parameters
    ----------
    kappa : array of any shape
        Resolution, as for :func:`df1`.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0`.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.

    Returns
    -------
    array of the shape of ``kappa``
        The sum, at most ``df1``; NaN if a traced eigenvalue is negative.

    Raises
    ------
    ValueError
        As for :func:`df1`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import df2
    >>> float(df2(1.0, jnp.array([3.0, 1.0, 0.0])))
    0.8125
    """
    return _sum(kappa, kappa, eigs, mult, 2)


@paper("wang2026random", "degrees of freedom in the two-point law")
def df2_cross(
    kappa1: Inexact[ArrayLike, "..."],
    kappa2: Inexact[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
) -> Inexact[Array, "..."]:
    r"""Second degrees of freedom at two resolutions.

    .. math:: \mathrm{df}_2(\kappa, \kappa')
              = \sum_k \frac{\ell_k^2}{(\ell_k + \kappa)(\ell_k + \kappa')}

    Parameters
    ----------
    kappa1, kappa2 : arrays of broadcastable shapes
        Resolutions, as for :func:`df1`.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0`.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.

    Returns
    -------
    array of the broadcast shape
        The sum; NaN if a traced eigenvalue is negative.

    Raises
    ------
    ValueError
        As for :func:`df1`, or if the shapes of the resolutions do not broadcast.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import df2_cross
    >>> float(df2_cross(1.0, 0.0, jnp.array([3.0, 1.0, 0.0])))
    1.25
    """
    return _sum(kappa1, kappa2, eigs, mult, 2)


def _sum(kappa1, kappa2, eigs, mult, power):
    check_spectrum(eigs, mult)
    kappa1, kappa2 = broadcast(("kappa1", kappa1), ("kappa2", kappa2), real=False)
    kappa1, kappa2, eigs, mult = promote_floating(kappa1, kappa2, eigs, mult)
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    kept = gain(eigs, kappa1)
    if power == 2:
        kept = kept * gain(eigs, kappa2)
    return sum_modes(kept, mult)
