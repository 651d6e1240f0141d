r"""Functions of a positive semi-definite matrix, with exact derivatives.

For :math:`A = Q \operatorname{diag}(\lambda) Q^*`, real or Hermitian, the derivative
of :math:`f(A)` is :math:`Q\,(F \odot Q^* dA\, Q)\,Q^*` with the divided
differences :math:`F_{ij} = (f(\lambda_i) - f(\lambda_j)) / (\lambda_i -
\lambda_j)`. For the two functions below they have closed forms, so repeated
eigenvalues do no harm, as they would if eigenvectors were differentiated.
Eigenvalues that vanish stay zero in value and derivative: the rank is taken to
be constant, as in the derivative of a pseudo-inverse.
"""

import functools

import jax
import jax.numpy as jnp

from ..core import matmul, safe_divide, safe_eigh, safe_sqrt


@jax.custom_jvp
def regularised_inverse(matrix, gamma):
    r""":math:`(A + \gamma I)^{-1}`; at :math:`\gamma = 0` the pseudo-inverse."""
    f, q = _inverse_values(matrix, gamma)
    return _with_values(q, f)


@regularised_inverse.defjvp
def _regularised_inverse_jvp(primals, tangents):
    f, q = _inverse_values(*primals)
    return _with_values(q, f), _tangent(q, f, -outer(f), f**2, *tangents)


@jax.custom_jvp
def regularised_inverse_root(matrix, gamma):
    r""":math:`(A + \gamma I)^{-1/2}`; at :math:`\gamma = 0` on the range of A."""
    f, q = _inverse_values(matrix, gamma)
    return _with_values(q, safe_sqrt(f))


@regularised_inverse_root.defjvp
def _regularised_inverse_root_jvp(primals, tangents):
    f, q = _inverse_values(*primals)
    h = safe_sqrt(f)
    within = -safe_divide(outer(f), h[:, None] + h[None, :])
    return _with_values(q, h), _tangent(q, f, within, f * h, *tangents)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def leading_eigenvectors(matrix, rank):
    """Leading eigenpairs, descending; vectors of zero eigenvalues are zero.

    The derivative of the vectors is that of the space that they span: a rotation
    within it is left out, so only the gap behind the last one matters.
    """
    values, q, live = _descending(matrix)
    return values[:rank], jnp.where(live[None, :], q, 0)[:, :rank]


@leading_eigenvectors.defjvp
def _leading_eigenvectors_jvp(rank, primals, tangents):
    (matrix,), (d_matrix,) = primals, tangents
    values, q, live = _descending(matrix)
    leading = jnp.where(live[None, :], q, 0)[:, :rank]
    m = matmul(q.T, matmul(d_matrix, leading))
    d_leading = matmul(q, coupling_to_rest(values, live, rank) * m)
    return (values[:rank], leading), (jnp.diag(m), d_leading)


def coupling_to_rest(values, live, rank):
    r""":math:`1/(\lambda_j - \lambda_i)` for j kept (live, up to the rank) and i not.

    0 elsewhere. Damped where the gap is rounding, and 0 at a gap of 0.
    """
    kept = live & (jnp.arange(len(values)) < rank)
    gap = values[None, :rank] - values[:, None]
    damping = (len(values) * jnp.finfo(values.dtype).eps * values[0]) ** 2
    to_rest = kept[None, :rank] & ~kept[:, None]
    return jnp.where(to_rest, safe_divide(gap, gap**2 + damping), 0)


def live_inverse(values):
    r""":math:`1/\lambda_i`, and 0 where :math:`\lambda_i` is 0 to rounding."""
    cutoff = len(values) * jnp.finfo(values.dtype).eps * jnp.max(values)
    # NaN fails the comparison and stays NaN.
    dead = values <= cutoff
    return safe_divide(jnp.ones_like(values), jnp.where(dead, 0, values))


def divided_differences(live, within, across):
    """Choose ``within`` between two live eigenvalues, else ``across`` of the live."""
    both = live[:, None] & live[None, :]
    return jnp.where(both, within, jnp.maximum(across[:, None], across[None, :]))


def outer(f):
    """Products of all pairs of entries."""
    return f[:, None] * f[None, :]


def _descending(matrix):
    values, q = safe_eigh(matrix)
    values, q = values[::-1], q[:, ::-1]
    live = live_inverse(values) != 0
    return jnp.where(live, values, 0), q, live


def _inverse_values(matrix, gamma):
    values, vectors = safe_eigh(matrix)
    return live_inverse(jnp.maximum(values, 0) + gamma), vectors


def _with_values(q, f):
    """The matrix with eigenvectors ``q`` and eigenvalues ``f``."""
    return matmul(q * f[None, :].astype(q.dtype), q.conj().T)


def _tangent(q, f, within, across, d_matrix, d_gamma):
    q_star, shift = q.conj().T, d_gamma.astype(q.dtype)
    m = matmul(q_star, matmul(d_matrix, q)) + shift * jnp.eye(len(q), dtype=q.dtype)
    m = divided_differences(f != 0, within, across).astype(q.dtype) * m
    return matmul(q, matmul(m, q_star))
