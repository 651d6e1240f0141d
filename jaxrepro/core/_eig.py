r"""Bi-orthogonal eigendecomposition of a general matrix, with its derivative."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Complex, Inexact, Real

from ._checks import check_nonempty, check_shape, is_concrete, promote_floating
from ._matmul import matmul

# Platforms with a kernel for non-symmetric eigenproblems.
_HAS_EIG = ("cpu", "gpu", "cuda", "rocm")


class EigResult(NamedTuple):
    r"""Eigenvalues with bi-orthonormal right and left eigenvectors.

    Attributes
    ----------
    values : complex array of shape (n,)
        Eigenvalues :math:`\mu_i`, in the order of the eigen-solver.
    right : complex array of shape (n, n)
        Columns :math:`r_i` of unit norm, :math:`A r_i = \mu_i r_i`.
    left : complex array of shape (n, n)
        Columns :math:`l_i` with :math:`l_i^* A = \mu_i l_i^*` and
        :math:`l_i^* r_j = \delta_{ij}`.
    """

    values: Complex[Array, " n"]
    right: Complex[Array, "n n"]
    left: Complex[Array, "n n"]


def eig_biorthogonal(
    matrix: Inexact[ArrayLike, "n n"], *, gap_tol: Real[ArrayLike, ""] = 0.0
) -> EigResult:
    r"""Eigenvalues and bi-orthonormal eigenvectors of a general matrix.

    .. math:: A R = R \operatorname{diag}(\mu), \qquad
              L^* A = \operatorname{diag}(\mu) L^*, \qquad L^* R = I,
              \qquad A = \sum_i \mu_i\, r_i l_i^* .

    Parameters
    ----------
    matrix : array of shape (n, n)
        Real or complex matrix :math:`A`, not defective.
    gap_tol : float, default 0.0
        Eigenvalues closer than this do not couple in the derivative. With the
        default only exactly equal ones are left out.

    Returns
    -------
    EigResult
        ``values``, ``right``, ``left``; complex64 for float32 input, else
        complex128. NaN input gives NaN in every field.

    Raises
    ------
    ValueError
        If ``matrix`` is not square or is empty.

    Notes
    -----
    :math:`L = R^{-*}` comes from the inverse of :math:`R`, not from a second
    eigen-solve, so pairs cannot be mixed up. Cost :math:`O(n^3)`.

    Derivative: with :math:`M = L^*\, dA\, R`,
    :math:`F_{ij} = 1/(\mu_j - \mu_i)` off the diagonal (0 where the gap is at
    most ``gap_tol``), :math:`Q = F \odot M` and
    :math:`c_i = -\operatorname{Re}(r_i^* R Q_i)`, which keeps :math:`r_i` of
    unit norm,

    .. math:: d\mu = \operatorname{diag} M, \qquad
              dR = R\,(Q + \operatorname{diag} c), \qquad
              dL = -L\,(Q + \operatorname{diag} c)^* .

    Each pair is defined up to :math:`(r, l) \to (e^{i\phi} r, e^{i\phi} l)`, so
    differentiate only what does not see that phase: :math:`\mu`, the
    projectors :math:`r_i l_i^*`, and functions of them. At a repeated eigenvalue
    the couplings within it are left out: exact for :math:`\sum_i f(\mu_i)`, not
    for single projectors, which have no derivative there.

    Lowers for CPU and CUDA. TPUs have no kernel for this problem: call it
    outside ``jit`` there and it runs on the host CPU.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.core import eig_biorthogonal
    >>> values, right, left = eig_biorthogonal(jnp.array([[0.0, 1.0], [-1.0, 0.0]]))
    >>> sorted(round(float(v.imag), 3) for v in values)
    [-1.0, 1.0]
    >>> bool(jnp.allclose(left.conj().T @ right, jnp.eye(2), atol=1e-6))
    True
    """
    check_shape("matrix", matrix, ("n", "n"))
    check_shape("matrix", matrix, 2 * np.shape(matrix)[:1])
    check_nonempty("matrix", matrix)
    (matrix,) = promote_floating(matrix)
    gap_tol = jnp.asarray(gap_tol, dtype=matrix.real.dtype)
    if is_concrete(matrix) and jax.default_backend() not in _HAS_EIG:
        return _on_cpu(matrix, gap_tol)
    return EigResult(*_eig(matrix, gap_tol))


def _on_cpu(matrix, gap_tol):
    """Solve on the host CPU and put the result back where the matrix was."""
    (device,) = matrix.devices()
    on_host = jax.device_put((matrix, gap_tol), jax.devices("cpu")[0])
    return EigResult(*jax.device_put(_eig(*on_host), device))


@jax.custom_jvp
@jax.jit
def _eig(matrix, gap_tol):
    values, right = jax.lax.linalg.eig(matrix, compute_left_eigenvectors=False)
    eye = jnp.eye(len(matrix), dtype=right.dtype)
    left = jnp.linalg.solve(right, eye).conj().T
    return values, right, left


@_eig.defjvp
def _eig_jvp(primals, tangents):
    matrix, gap_tol = primals
    d_matrix, _ = tangents
    values, right, left = _eig(matrix, gap_tol)
    # A defective matrix has no left vectors; what masks its modes masks the NaN of
    # their values, but not that of a derivative.
    left = jnp.where(jnp.all(jnp.isfinite(left)), left, 0)
    m = matmul(left.conj().T, matmul(d_matrix.astype(right.dtype), right))
    gap = values[None, :] - values[:, None]
    close = jnp.abs(gap) <= gap_tol
    q = jnp.where(close, 0, m / jnp.where(close, 1, gap))
    c = -jnp.sum(right.conj() * matmul(right, q), axis=0).real
    q = q + jnp.diag(c).astype(q.dtype)
    tangent = jnp.diag(m), matmul(right, q), -matmul(left, q.conj().T)
    return (values, right, left), tangent
