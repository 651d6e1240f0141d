r"""Operator-norm distance between transfer operators."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_precision, matmul, safe_divide, safe_eigh, safe_sqrt
from ._difference import Factors, Operator, difference_grams, prepare_pair
from ._gram import unit_entries


def operator_norm_distance(
    operator1: Operator,
    operator2: Operator,
    *,
    dt: Real[ArrayLike, ""] | None = None,
    dt2: Real[ArrayLike, ""] | None = None,
    kernel: Callable | None = None,
) -> Float[Array, ""]:
    r"""Largest singular value of the difference of two transfer operators.

    .. math:: \|T - T'\|^2 = \lambda_{\max}(R^* R\, L^* L), \qquad T - T' = R L^* .

    Parameters
    ----------
    operator1, operator2 : array of shape (d, d), regression result, or atoms
        The two operators, both in one form, as in :func:`hs_distance`.
    dt : float, optional
        Time step of operators that are given by atoms.
    dt2 : float, optional
        Time step of the second operator, by default ``dt``.
    kernel : equinox.Module, optional
        Kernel of ``KernelOperatorFit`` and ``KernelAtoms``.

    Returns
    -------
    array of shape ()
        The distance.

    Raises
    ------
    ValueError
        If shapes disagree, the kernel or the time step of atoms is missing, or a
        concrete time step is not positive.
    TypeError
        If the operators come in two forms, or one is in half precision.

    Notes
    -----
    Factored operators need an eigenproblem of size :math:`r_1 + r_2` only, on
    Gram matrices, with the floor described at :func:`hs_distance`. First
    derivatives are those of a simple largest singular value; where it is
    repeated they are one subgradient. Second derivatives are not available. Large
    and small entries are scaled first: float32 serves from 1e-30 to 1e37.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import operator_norm_distance
    >>> float(operator_norm_distance(jnp.diag(jnp.array([3.0, 1.0])), jnp.eye(2)))
    2.0
    """
    check_precisions(operator1=operator1, operator2=operator2)
    prepared = prepare_pair(operator1, operator2, dt, dt2, kernel)
    return prepared_norm_distance(kernel, *prepared)


def check_precisions(**operators) -> None:
    """Raise if a part of an operator is in half precision."""
    for name, operator in operators.items():
        for part in jax.tree.leaves(operator):
            check_precision(name, part)


def prepared_norm_distance(kernel, one, two):
    """Distance of two operators that :func:`prepare` has seen."""
    if isinstance(one, Factors):
        right, left, scale = difference_grams(one, two, kernel)
    else:
        difference, scale = unit_entries(one - two)
        right = matmul(difference, difference.conj().T)
        left = jnp.eye(len(right), dtype=right.dtype)
    return scale * safe_sqrt(_largest_eigenvalue(right, left))


def _largest_eigenvalue(s, t):
    r"""Largest eigenvalue of :math:`S T`, both positive semi-definite.

    With :math:`w` the top eigenvector of :math:`S^{1/2} T S^{1/2}`, right and left
    eigenvectors of :math:`ST` are :math:`v = S^{1/2} w` and :math:`u = T v`. Held
    fixed, :math:`u^* S T v / u^* v` has the value and the first derivative of the
    eigenvalue, and no derivative of a square root is needed.
    """
    values, vectors = safe_eigh(jax.lax.stop_gradient(s))
    roots = safe_sqrt(values).astype(vectors.dtype)[None, :]
    half = matmul(vectors * roots, vectors.conj().T)
    middle = matmul(half, matmul(jax.lax.stop_gradient(t), half))
    v = matmul(half, safe_eigh(middle).vectors[:, -1])
    u = jax.lax.stop_gradient(matmul(t, v))
    norm = jnp.sum(u.conj() * v).real
    value = jnp.sum(u.conj() * matmul(s, matmul(t, v))).real
    return safe_divide(value, norm)
