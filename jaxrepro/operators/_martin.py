r"""Martin's cepstral distance between the poles of two systems."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Inexact, Real

from ..core import check_nonempty, check_shape, paper, promote_floating, safe_sqrt
from ._difference import transfer_eigenvalues
from ._measure import KernelAtoms, SpectralAtoms


class MartinResult(NamedTuple):
    """Martin distance, and whether the poles had to be moved for it to exist.

    Attributes
    ----------
    value : array of shape ()
        The distance.
    rescaled : bool array of shape ()
        Whether a set of poles touched or left the unit disc and was shrunk to
        modulus 0.999. The value then says little.
    """

    value: Float[Array, ""]
    rescaled: Bool[Array, ""]


@paper("martin2000metric", "metric between the cepstra of two stable models")
def martin_distance(
    poles1: Inexact[ArrayLike, " r1"] | SpectralAtoms | KernelAtoms,
    poles2: Inexact[ArrayLike, " r2"] | SpectralAtoms | KernelAtoms,
    *,
    dt: Real[ArrayLike, ""] | None = None,
    dt2: Real[ArrayLike, ""] | None = None,
) -> MartinResult:
    r"""Martin distance between two autoregressive models, by their poles.

    .. math:: d^2 = \sum_{n \ge 1} n\,|c_n - c'_n|^2
                  = 2 \operatorname{Re} S(p, p') - S(p, p) - S(p', p'), \qquad
              S(p, q) = \sum_{ij} \log(1 - p_i \bar q_j),

    with cepstral coefficients :math:`c_n = \frac1n \sum_i p_i^n`.

    Parameters
    ----------
    poles1 : array of shape (r1,), SpectralAtoms or KernelAtoms
        Poles :math:`p_i` inside the unit disc, real or complex, or atoms, whose
        poles are :math:`e^{\lambda_i dt}`. Zeros are padding.
    poles2 : array of shape (r2,), SpectralAtoms or KernelAtoms
        Likewise.
    dt : float, optional
        Time step at which to take atoms; needed for atoms only.
    dt2 : float, optional
        Time step of the second system, by default ``dt``.

    Returns
    -------
    MartinResult
        ``value`` and ``rescaled``. Where the largest :math:`|p_i|` of a set is 1
        or more, that set is multiplied by :math:`0.999 / \max_i |p_i|` and
        ``rescaled`` is True.

    Raises
    ------
    ValueError
        If the poles are no vector or empty, or atoms come without a time step.

    Notes
    -----
    For models of equal order :math:`d^2` is also :math:`-\log \prod_i \cos^2
    \theta_i` over the principal angles between their observability subspaces; of two
    orders, pad the shorter model with states of pole 0. As the root of a difference
    of sums, the distance has a floor: below the square root of the machine epsilon
    (1e-8, in single precision 3e-4) it is rounding, and may be 0. Cost
    :math:`O((r_1 + r_2)^2)`. The rescaling is ours.

    References
    ----------
    [martin2000metric]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import martin_distance
    >>> result = martin_distance(jnp.array([0.5]), jnp.array([0.0]))
    >>> round(float(result.value), 4), bool(result.rescaled)
    (0.5364, False)
    """
    dt2 = dt if dt2 is None else dt2
    p, q = promote_floating(
        _poles("poles1", poles1, "dt", dt), _poles("poles2", poles2, "dt2", dt2)
    )
    p, far_p = _into_disc(p)
    q, far_q = _into_disc(q)
    squared = 2 * _log_sum(p, q) - _log_sum(p, p) - _log_sum(q, q)
    return MartinResult(safe_sqrt(squared), far_p | far_q)


def _poles(name, poles, dt_name, dt):
    if isinstance(poles, SpectralAtoms | KernelAtoms):
        check_shape(f"{name}.lam", poles.lam, ("r",))
        return transfer_eigenvalues(dt_name, poles, dt)
    check_shape(name, poles, ("r",))
    check_nonempty(name, poles)
    return poles


def _into_disc(p):
    """Poles of modulus below 1, and whether that took a rescaling."""
    largest = jnp.max(jnp.abs(p))
    far = largest >= 1
    factor = jnp.where(far, 0.999 / jnp.where(far, largest, 1), 1)
    return p * factor.astype(p.dtype), far


def _log_sum(p, q):
    r"""Real part of :math:`\sum_{ij} \log(1 - p_i \bar q_j)`."""
    p, q = p[:, None], q.conj()[None, :]
    a, b = p.real, q.real
    c, d = (p.imag, q.imag) if jnp.iscomplexobj(p) else (0 * a, 0 * b)
    u, v = a * b, -c * d
    re, im = u + v, a * d + b * c
    # log1p away from 1. Near it, 1 - x y as (1 - x) + x (1 - y) loses no digit, for
    # the larger one of the two products.
    near = re > 0.5
    swap = v > u
    x, y = jnp.abs(jnp.where(swap, c, a)), jnp.abs(jnp.where(swap, d, b))
    gap = (1 - x) + x * (1 - y) - jnp.where(swap, u, v)
    floor = jnp.finfo(a.dtype).eps ** 2 / 4  # of a pole that rounds to modulus 1
    size = jnp.where(near, jnp.maximum(gap**2 + im**2, floor), 1)
    excess = jnp.where(near, 0, re * (re - 2) + im**2)
    return jnp.sum(jnp.where(near, jnp.log(size), jnp.log1p(excess))) / 2
