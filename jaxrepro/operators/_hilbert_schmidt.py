r"""Hilbert-Schmidt distance between transfer operators."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import safe_norm, safe_sqrt
from ._difference import Factors, Operator, difference_grams, prepare_pair


def hs_distance(
    operator1: Operator,
    operator2: Operator,
    *,
    dt: Real[ArrayLike, ""] | None = None,
    dt2: Real[ArrayLike, ""] | None = None,
    kernel: Callable | None = None,
) -> Float[Array, ""]:
    r"""Hilbert-Schmidt norm of the difference of two transfer operators.

    .. math:: \|T - T'\|_{HS}^2 = \operatorname{tr}(R^* R\, L^* L), \qquad
              T - T' = R L^*,

    where for atoms :math:`\langle T, T'\rangle_{HS} = \sum_{ij} \bar\mu_i \mu'_j
    \langle r_i, r'_j\rangle \overline{\langle l_i, l'_j\rangle}`.

    Parameters
    ----------
    operator1, operator2 : array of shape (d, d), regression result, or atoms
        The two operators, both in one form: matrices, ``LinearOperatorFit``,
        ``KernelOperatorFit``, ``SpectralAtoms`` or ``KernelAtoms``. Of atoms the
        padded ones are left out.
    dt : float, optional
        Time step at which to take operators that are given by atoms,
        :math:`\mu = e^{\lambda\, dt}`; needed for atoms only.
    dt2 : float, optional
        Time step of the second operator, by default ``dt``.
    kernel : equinox.Module, optional
        Kernel of ``KernelOperatorFit`` and ``KernelAtoms``.

    Returns
    -------
    array of shape ()
        The distance. It depends on the time step.

    Raises
    ------
    ValueError
        If shapes disagree, the kernel or the time step of atoms is missing, or a
        concrete time step is not positive.
    TypeError
        If the operators come in two forms.

    Notes
    -----
    Factored operators need the Gram matrices of their factors only, of size
    :math:`r_1 + r_2`; in a reproducing-kernel space these come from kernel
    matrices between samples. That form subtracts squares, so it resolves
    distances down to about the square root of the machine epsilon times the norm
    of the operators; the form for matrices has no such floor. Large and small
    entries are scaled first: float32 serves from 1e-30 to 1e37.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import hs_distance
    >>> float(hs_distance(jnp.eye(4), jnp.zeros((4, 4))))
    2.0
    """
    prepared = prepare_pair(operator1, operator2, dt, dt2, kernel)
    return prepared_hs_distance(kernel, *prepared)


def prepared_hs_distance(kernel, one, two):
    """Distance of two operators that :func:`prepare` has seen."""
    if not isinstance(one, Factors):
        return safe_norm(one - two)
    right, left, scale = difference_grams(one, two, kernel)
    return scale * safe_sqrt(jnp.sum((right * left.conj()).real))
