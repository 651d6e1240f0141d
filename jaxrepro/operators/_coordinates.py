r"""Coordinates of functions in the span of a kernel at given points.

With control points :math:`z_1, \dots, z_m` and :math:`K = [k(z_i, z_j)]/m`, the
functions :math:`e_a = m^{-1/2} \sum_j k(z_j, \cdot)\,(K^{-1/2})_{ja}` are
orthonormal. A function :math:`n^{-1/2} \sum_j k(x_j, \cdot)\,\beta_j` has the
coordinates :math:`K^{-1/2} [k(z_i, x_j)] \beta / \sqrt{mn}`, exact if it lies in
the span and those of its projection otherwise. Explicit features are their own
coordinates.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..core import matmul
from ._gram import real_matmul
from ._measure import KernelAtoms, SpectralAtoms, clear_padding
from ._overlap import unit_atoms


class Span(NamedTuple):
    """Control points, which of them are live, and the matrix K^(-1/2)."""

    z: jax.Array
    mask: jax.Array
    inverse_root: jax.Array


def to_coordinates(batch, start, kernel: Any):
    """Unit targets and a start as ``SpectralAtoms``, and the space they live in."""
    start = clear_padding(start)
    if isinstance(batch, SpectralAtoms):
        return None, jax.vmap(unit_atoms)(batch._replace(condition=None)), start
    span = _span(start, kernel)
    # Unit atoms are sums over samples, others means: see `unit_atoms`.
    targets = jax.lax.map(
        lambda atoms: _seen_from(span, unit_atoms(atoms, kernel), kernel, 1),
        batch._replace(condition=None),
    )
    return span, targets, _seen_from(span, start, kernel, jnp.sum(start.mask))


def from_coordinates(span, atoms):
    """Atoms as they were: explicit, or with coefficients at the control points."""
    if span is None:
        return atoms
    beta, alpha = (real_matmul(span.inverse_root, z) for z in (atoms.right, atoms.left))
    return KernelAtoms(
        atoms.lam, beta, alpha, span.z, span.z, weight=atoms.weight, mask=span.mask
    )


def _span(atoms, kernel):
    z = jnp.concatenate([atoms.x, atoms.y])
    mask = jnp.concatenate([atoms.mask, atoms.mask])
    gram = jnp.where(mask[:, None] & mask[None, :], kernel(z, z), 0)
    values, vectors = jnp.linalg.eigh(gram / jnp.sum(mask, dtype=gram.dtype))
    # Directions that the kernel hardly sees would only carry rounding errors.
    floor = len(z) * jnp.finfo(values.dtype).eps * values[-1]
    root = jnp.where(values > floor, 1 / jnp.sqrt(jnp.maximum(values, floor)), 0)
    return Span(z, mask, matmul(vectors * root[None, :], vectors.T))


def _seen_from(span, atoms, kernel, n):
    dtype = atoms.x.dtype
    scale = jnp.sqrt(jnp.sum(span.mask).astype(dtype) * jnp.asarray(n, dtype))

    def coordinates(samples, coefficients):
        cross = jnp.where(span.mask[:, None], kernel(span.z, samples), 0) / scale
        return real_matmul(matmul(span.inverse_root, cross), coefficients)

    return SpectralAtoms(
        atoms.lam,
        coordinates(atoms.x, atoms.beta),
        coordinates(atoms.y, atoms.alpha),
        atoms.weight,
    )
