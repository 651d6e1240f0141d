r"""Wasserstein distance between the eigenvalues of two transfer operators."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Inexact, Real

from .. import ot
from ..core import check_nonempty, check_shape, paper, promote_floating, safe_sqrt
from ._difference import transfer_eigenvalues
from ._measure import KernelAtoms, SpectralAtoms
from ._overlap import square


@paper("redman2024identifying", "Wasserstein distance between Koopman eigenvalues")
def spectral_w2(
    values1: Inexact[ArrayLike, " r1"] | SpectralAtoms | KernelAtoms,
    values2: Inexact[ArrayLike, " r2"] | SpectralAtoms | KernelAtoms,
    *,
    dt: Real[ArrayLike, ""] | None = None,
    dt2: Real[ArrayLike, ""] | None = None,
) -> Float[Array, ""]:
    r"""2-Wasserstein distance between eigenvalues of transfer operators.

    .. math:: W_2^2 = \min_P \sum_{ij} P_{ij}\, |\mu_i - \mu'_j|^2

    It compares eigenvalues :math:`\mu = e^{\lambda\,dt}` in the unit disc, so that
    unlike :func:`sot` it depends on the time step.

    Parameters
    ----------
    values1 : array of shape (r1,), SpectralAtoms or KernelAtoms
        Eigenvalues, real or complex, of equal mass; or atoms, with their weights.
    values2 : array of shape (r2,), SpectralAtoms or KernelAtoms
        Likewise.
    dt : float, optional
        Time step at which to take atoms; needed for atoms only.
    dt2 : float, optional
        Time step of the second operator, by default ``dt``.

    Returns
    -------
    array of shape ()
        The distance; NaN if weights are not valid.

    Raises
    ------
    ValueError
        If the eigenvalues are no vector or empty, or atoms come without a time
        step.

    Notes
    -----
    Differentiable, with derivative 0 between equal spectra.

    References
    ----------
    [redman2024identifying]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import spectral_w2
    >>> round(float(spectral_w2(jnp.array([0.9, 0.5]), jnp.array([0.5, 0.6]))), 4)
    0.2121
    """
    values1, weight1 = _values("values1", values1, "dt", dt)
    values2, weight2 = _values("values2", values2, "dt2", dt if dt2 is None else dt2)
    return _spectral_w2(values1, weight1, values2, weight2)


@jax.jit
def _spectral_w2(values1, weight1, values2, weight2):
    values1, values2 = promote_floating(values1, values2)
    gap = values1[:, None] - values2[None, :]
    cost = square(gap) if jnp.iscomplexobj(gap) else gap**2
    return safe_sqrt(ot.emd_value(cost, weight1, weight2))


def _values(name, values, dt_name, dt):
    if isinstance(values, SpectralAtoms | KernelAtoms):
        check_shape(f"{name}.lam", values.lam, ("r",))
        return transfer_eigenvalues(dt_name, values, dt), values.weight
    check_shape(name, values, ("r",))
    check_nonempty(name, values)
    return values, None
