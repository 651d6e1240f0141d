r"""Overlap of the subspaces of clusters, in a form that stays accurate near equality.

A cluster of :math:`m` atoms spans the operators from its left to its right space.
With orthonormal bases :math:`Q_R, Q_L` and :math:`a = \|Q_R^* Q'_R\|_F^2`,
:math:`b = \|Q_L^* Q'_L\|_F^2`, the projections onto two such spans have the distance
:math:`(m^2 + m'^2 - 2ab)^{1/2}`.
"""

from typing import Any

import jax
import jax.numpy as jnp

from ..core import matmul
from ._measure import KernelAtoms, live_atoms
from ._overlap import inner_products, square


def members(label, live) -> jax.Array:
    """Which atoms, in columns, belong to the cluster in each slot, in rows."""
    slots = jnp.arange(len(label), dtype=label.dtype)
    return (slots[:, None] == label[None, :]) & live[None, :]


def subspace_overlap(unit1, unit2, kernel: Any = None, *, stable: bool = True):
    r"""Overlap :math:`ab` and ``line`` :math:`= (m^2 + m'^2)/2 - ab` of clusters.

    With :math:`m' - a = \|Q'_R - Q_R Q_R^* Q'_R\|_F^2`, and alike for :math:`b`, the
    stable form is :math:`(m^2 - m'^2)/2 + m'(m' - a) + a(m' - b)`: of equal
    multiplicities it is a sum of small squares. A single atom has the overlap
    :math:`|s|^2` and the ``line`` of ``projector_overlap``.
    """
    one, two = unit1.basis, unit2.basis
    x, y = inner_products(one, two, kernel)
    in1, in2 = (
        members(unit.label, live_atoms(unit.basis)).astype(x.real.dtype)
        for unit in (unit1, unit2)
    )
    m1, m2 = jnp.sum(in1, axis=1)[:, None], jnp.sum(in2, axis=1)[None, :]
    a, b = (matmul(in1, matmul(square(z), in2.T)) for z in (x, y))
    if not stable or isinstance(one, KernelAtoms):
        line = (m1**2 + m2**2) / 2 - a * b
        rounding = 4 * jnp.finfo(line.dtype).eps * m1 * m2
        return a * b, jnp.where(line <= rounding, 0, line)
    right = matmul(_defect(one.right, two.right, x, in1), in2.T)
    left = matmul(_defect(one.left, two.left, y, in1), in2.T)
    return a * b, (m1**2 - m2**2) / 2 + m2 * right + a * left


def _defect(u, v, x, in1):
    """Squared distances of the columns of ``v`` from each space in ``u``; x = u^* v.

    Space by space, so that no array of three indices is kept.
    """

    def from_space(member):
        projection = matmul(u, member[:, None].astype(x.dtype) * x)
        return jnp.sum(square(v - projection), axis=0)

    return jax.lax.map(from_space, in1)
