r"""Algebra of transfer-operator regression in the space of a kernel.

With Gram matrices divided by the number of live samples,

.. math:: K = \tfrac1n [k(x_i, x_j)], \qquad L = \tfrac1n [k(y_i, y_j)], \qquad
          G f = \tfrac1n \sum_{ij} k(x_i, \cdot)\, W_{ij}\, f(y_j),

every estimator is a matrix :math:`W = U V^\top`.
"""

import functools

import jax
import jax.numpy as jnp

from ..core import matmul, safe_divide, safe_eigh, safe_sqrt
from ._fit import KernelOperatorFit
from ._psd import (
    coupling_to_rest,
    divided_differences,
    leading_eigenvectors,
    live_inverse,
    outer,
    regularised_inverse,
)


@functools.partial(jax.jit, static_argnames=("gamma_rel",))
def kernel_ridge(x, y, gamma, mask, kernel, *, gamma_rel):
    r"""Ridge: :math:`W = (K + \gamma I)^{-1}`."""
    k, gamma = _gram_and_gamma(x, gamma, mask, kernel, gamma_rel)
    values, _ = leading_eigenvectors(k, len(x))
    identity = jnp.eye(len(x), dtype=x.dtype)
    inverse = regularised_inverse(k, gamma)
    return _fit(inverse, identity, x, y, mask, safe_sqrt(values))


@functools.partial(jax.jit, static_argnames=("rank", "gamma_rel"))
def kernel_principal_component(x, y, gamma, mask, kernel, *, rank, gamma_rel):
    r"""Principal components: :math:`W = (K + \gamma I)^{-1} Q_r Q_r^\top`."""
    k, gamma = _gram_and_gamma(x, gamma, mask, kernel, gamma_rel)
    values, q = leading_eigenvectors(k, rank)
    u = matmul(regularised_inverse(k, gamma), q)
    return _fit(u, q, x, y, mask, safe_sqrt(values))


@functools.partial(jax.jit, static_argnames=("rank", "gamma_rel"))
def kernel_reduced_rank(x, y, gamma, mask, kernel, *, rank, gamma_rel):
    r"""Reduced rank: :math:`W = (K + \gamma I)^{-1} L Z Z^\top`.

    The columns of :math:`Z` are the leading eigenvectors of
    :math:`(K + \gamma I)^{-1} K L`, with :math:`Z^\top L Z = I`.
    """
    k, gamma = _gram_and_gamma(x, gamma, mask, kernel, gamma_rel)
    l = _gram(y, mask, kernel)
    z, square = _leading_functions(k, l, gamma, rank)
    s = safe_sqrt(square)
    u = matmul(regularised_inverse(k, gamma), matmul(l, safe_divide(z, s[None, :])))
    return _fit(u, z * s[None, :], x, y, mask, s)


@functools.partial(jax.custom_jvp, nondiff_argnums=(3,))
def _leading_functions(k, l, gamma, rank):
    r"""Leading eigenpairs of :math:`M L`, :math:`M = (K + \gamma I)^{-1} K`.

    From the symmetric matrix :math:`S = H L H`, :math:`H = M^{1/2}`: with
    :math:`S e = s^2 e` the vector is :math:`z = H e / s`.
    """
    *_, v, square = _decompose(k, l, gamma)
    return (v * safe_sqrt(live_inverse(square))[None, :])[:, :rank], square[:rank]


@_leading_functions.defjvp
def _leading_functions_jvp(rank, primals, tangents):
    # H has no bounded derivative where K is singular, but M has one, and the
    # eigenvectors of M L need no more: with X = d(M L) Z,
    #   dz_j = s_j^-2 (X - Z Z'L X + sum_{i > r} v_i (v_i' L X)_j / (s_j^2 - s_i^2))
    # up to a change of basis of Z, fixed here by Z' L dZ = -Z' dL Z / 2, so that
    # equal s_j do no harm.
    k, l, gamma = primals
    dk, dl, dgamma = tangents
    q, values, f, v, square = _decompose(k, l, gamma)
    inverse = live_inverse(square)
    z = (v * safe_sqrt(inverse)[None, :])[:, :rank]
    m = values * f
    inner = divided_differences(f != 0, gamma * outer(f), f)
    inner = inner * matmul(q.T, matmul(dk, q)) - dgamma * jnp.diag(m * f)
    x = matmul(q, matmul(inner, matmul(q.T, matmul(l, z))))
    x += matmul(q * m[None, :], matmul(q.T, matmul(dl, z)))
    lx = matmul(l, x)
    within = matmul(z.T, lx)
    outside = x - matmul(z, within)
    coupling = coupling_to_rest(square, inverse != 0, rank)
    outside += matmul(v, coupling * matmul(v.T, lx))
    dz = outside * inverse[None, :rank] - matmul(z, matmul(z.T, matmul(dl, z))) / 2
    return (z, square[:rank]), (dz, jnp.diag(within))


def _decompose(k, l, gamma):
    """Eigenpairs of K, filter values, and all eigenpairs of S, descending."""
    values, q = safe_eigh(k)
    values = jnp.maximum(values, 0)
    f = live_inverse(values + gamma)
    h = matmul(q * safe_sqrt(values * f)[None, :], q.T)
    square, e = safe_eigh(matmul(h, matmul(l, h)))
    square, e = square[::-1], e[:, ::-1]
    square = jnp.where(live_inverse(square) == 0, 0, square)
    return q, values, f, matmul(h, e), square


def _gram(x, mask, kernel):
    """Gram matrix over the number of live samples, 0 at masked ones."""
    live = mask[:, None] & mask[None, :]
    n_live = jnp.sum(mask, dtype=x.dtype)
    return jnp.where(live, kernel(x, x), 0) / n_live


def _gram_and_gamma(x, gamma, mask, kernel, gamma_rel):
    k = _gram(x, mask, kernel)
    return k, gamma * jnp.trace(k) if gamma_rel else gamma


def _fit(u, v, x, y, mask, singular_values):
    """Zero exactly what belongs to masked samples."""
    u, v = jnp.where(mask[:, None], u, 0), jnp.where(mask[:, None], v, 0)
    return KernelOperatorFit(u, v, x, y, mask, singular_values)
