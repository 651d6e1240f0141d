"""Symmetric eigendecomposition whose derivative survives repeated eigenvalues."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Inexact, Real

from ._checks import check_nonempty, check_shape, promote_floating
from ._matmul import matmul


class EighResult(NamedTuple):
    """Eigenvalues in ascending order and orthonormal eigenvectors.

    Attributes
    ----------
    values : real array of shape (n,)
        Eigenvalues, ascending.
    vectors : array of shape (n, n)
        Eigenvectors as columns.
    """

    values: Float[Array, " n"]
    vectors: Inexact[Array, "n n"]


def safe_eigh(
    matrix: Inexact[ArrayLike, "n n"], *, gap_tol: Real[ArrayLike, ""] = 1e-6
) -> EighResult:
    r"""Eigendecomposition of a symmetric matrix with a gap-safe derivative.

    .. math:: A = V \operatorname{diag}(\lambda) V^*, \qquad
              dV = V\,(F \odot V^*\, dA\, V), \qquad
              F_{ij} = \frac{\lambda_j - \lambda_i}
                            {(\lambda_j - \lambda_i)^2 + \delta^2} .

    Parameters
    ----------
    matrix : array of shape (n, n)
        Symmetric or Hermitian; only the symmetric part is used.
    gap_tol : float, default 1e-6
        :math:`\delta` relative to :math:`\max_i |\lambda_i|`. Gaps well above
        it have the exact derivative; at a gap of 0 the coupling is 0, where the
        exact formula divides by zero.

    Returns
    -------
    EighResult
        ``values`` and ``vectors``.

    Raises
    ------
    ValueError
        If ``matrix`` is not square or is empty.

    Notes
    -----
    The damping changes a coupling by the relative size
    :math:`\delta^2/\text{gap}^2`. At a repeated eigenvalue the derivative stays
    exact for :math:`\sum_i f(\lambda_i)` and for the projector onto the whole
    eigenspace, which do not couple its vectors. It is not exact there for a
    matrix function :math:`V f(\lambda) V^*`, whose coupling within the
    eigenspace is :math:`f'` and not 0. Cost :math:`O(n^3)`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.core import safe_eigh
    >>> safe_eigh(jnp.diag(jnp.array([2.0, 1.0]))).values.tolist()
    [1.0, 2.0]
    >>> g = jax.grad(lambda a: safe_eigh(a).vectors[0, 0])(jnp.eye(3))
    >>> bool(jnp.all(jnp.isfinite(g)))
    True
    """
    check_shape("matrix", matrix, ("n", "n"))
    check_shape("matrix", matrix, 2 * np.shape(matrix)[:1])
    check_nonempty("matrix", matrix)
    (matrix,) = promote_floating(matrix)
    gap_tol = jnp.asarray(gap_tol, dtype=matrix.real.dtype)
    symmetric = (matrix + matrix.conj().T) / 2
    return EighResult(*_eigh(symmetric, gap_tol))


@jax.custom_jvp
@jax.jit
def _eigh(matrix, gap_tol):
    vectors, values = jax.lax.linalg.eigh(matrix, symmetrize_input=False)
    return values, vectors


@_eigh.defjvp
def _eigh_jvp(primals, tangents):
    matrix, gap_tol = primals
    d_matrix, _ = tangents
    values, vectors = _eigh(matrix, gap_tol)
    m = matmul(vectors.conj().T, matmul(d_matrix, vectors))
    # In units of the largest eigenvalue, so that no square over- or underflows.
    size = jnp.max(jnp.abs(values))
    size = jnp.where(size > 0, size, 1)
    gap = (values[None, :] - values[:, None]) / size
    denominator = gap**2 + gap_tol**2
    zero = denominator == 0
    f = jnp.where(zero, 0, gap / jnp.where(zero, 1, denominator)) / size
    tangent = jnp.diag(m).real, matmul(vectors, f.astype(m.dtype) * m)
    return (values, vectors), tangent
