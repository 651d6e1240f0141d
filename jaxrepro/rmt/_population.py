"""What the estimation of the mean costs a sample covariance."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_choice, check_interval, paper, promote_floating
from ._degrees import along_modes
from ._spectrum import check_spectrum, valid


class Population(NamedTuple):
    """Population and sample number as the laws of a sample covariance see them.

    Attributes
    ----------
    eigs : array of shape (..., d)
        Eigenvalues of the covariance whose Wishart matrix the estimate is.
    n : array of shape (...)
        Degrees of freedom of the estimate.
    """

    eigs: Float[Array, "... d"]
    n: Float[Array, "..."]


class Estimate(NamedTuple):
    r"""A sample covariance as a multiple of a Wishart matrix of the true population.

    Attributes
    ----------
    n : array
        Degrees of freedom :math:`n'`, that is, :math:`\hat S = c W`, where
        :math:`n' W` is Wishart with :math:`n'` degrees of freedom.
    scale : array
        The factor :math:`c`.
    mean_share : array
        :math:`n'/n` if the mean is estimated, else 0.
    """

    n: Float[Array, "..."]
    scale: Float[Array, "..."]
    mean_share: Float[Array, "..."]


@paper("wang2026random", "centring costs one degree of freedom (derived here)")
def effective_population(
    eigs: Real[ArrayLike, " d"],
    n: Real[ArrayLike, "..."],
    *,
    centered: bool = True,
    ddof: int = 0,
) -> Population:
    r"""Eigenvalues and sample number that the laws of a sample covariance need.

    For Gaussian data, subtracting the sample mean costs one degree of freedom exactly:

    .. math:: \hat S = \frac{1}{n - \mathrm{ddof}} X_c^\top X_c: \quad
              n' = n - 1, \quad \ell'_k = \ell_k \frac{n - 1}{n - \mathrm{ddof}}

    Parameters
    ----------
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    n : array
        Number of samples, above 1 if the mean is estimated; infinity is the population.
    centered : bool, default True
        Whether the sample mean is subtracted; else the mean is known, and nothing
        changes.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: ``n - ddof``. With a known mean it is n.

    Returns
    -------
    Population
        ``eigs`` and ``n``, for :func:`solve_kappa` and all that takes both. NaN for
        traced arguments out of range.

    Raises
    ------
    ValueError
        If ``ddof`` is not 0 or 1, or concrete arguments are out of range.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import effective_population
    >>> eigs, n = effective_population(jnp.array([4.0, 2.0]), 5)
    >>> [round(float(x), 4) for x in eigs], float(n)
    ([3.2, 1.6], 4.0)
    """
    check_spectrum(eigs)
    check_estimate(n, centered, ddof)
    eigs, n = promote_floating(eigs, n)
    estimate = estimate_of(n, centered, ddof)
    scale, eigs = along_modes(estimate.scale, valid(eigs))
    return Population(scale * eigs, estimate.n)


def check_estimate(n, centered, ddof) -> None:
    """Raise unless n samples make an estimate of this kind."""
    check_choice("centered", centered, (True, False))
    check_choice("ddof", ddof, (0, 1))
    check_interval("n", n, 1 if centered else 0, closed="right")


def estimate_of(n, centered, ddof) -> Estimate:
    """The covariance of n samples, of arguments that have been checked."""
    if not centered:
        n = valid(n, closed=False)
        return Estimate(n, jnp.ones_like(n), jnp.zeros_like(n))
    n = valid(n, 1, closed=False)
    # 1 - 1/n and not (n - 1)/n, for n may be infinite.
    share = 1 - 1 / n
    return Estimate(n - 1, jnp.ones_like(n) if ddof else share, share)
