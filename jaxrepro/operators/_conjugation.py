"""Conjugate pairs among the atoms of a real operator."""

import jax.numpy as jnp

from ._measure import live_atoms
from ._overlap import projector_overlap, square, unit_atoms


def conjugate_partners(atoms):
    """Index of the atom that is the conjugate of each, itself for padding."""
    live = live_atoms(atoms)
    unit = unit_atoms(atoms)
    mirrored = unit._replace(right=unit.right.conj(), left=unit.left.conj())
    # The logarithm of a negative eigenvalue has the frequency +pi/dt and no mirror
    # image, so that only the size of a frequency can be compared.
    rate, frequency = unit.lam.real, jnp.abs(unit.lam.imag)
    gap = (rate[:, None] - rate[None, :]) ** 2
    gap += (frequency[:, None] - frequency[None, :]) ** 2
    scale = jnp.max(square(unit.lam))
    gap = gap / jnp.where(scale > 0, scale, 1)
    s, _ = projector_overlap(mirrored, unit, stable=False)
    distance = gap + 2 - 2 * s.real
    distance = jnp.where(live[:, None] & live[None, :], distance, jnp.inf)
    index = jnp.arange(len(live))
    return jnp.where(live, jnp.argmin(distance, axis=1), index)


def pair_up(atoms, partner):
    """Make partners conjugates of each other to the last bit, real vectors real."""
    index = jnp.arange(len(partner))
    mirror = lambda z: jnp.where(partner < index, z[..., partner].conj(), z)
    alone = partner == index
    # (c r, c l) with |c| = 1 is the same atom; this c makes r real if it can be.
    turn = jnp.sum(atoms.right**2, axis=0).conj()
    size = jnp.abs(turn)
    turn = jnp.where(alone & (size > 0), turn / jnp.where(size > 0, size, 1), 1)
    turn = jnp.sqrt(turn)
    right, left = atoms.right * turn, atoms.left * turn
    return atoms._replace(lam=mirror(atoms.lam), right=mirror(right), left=mirror(left))


def mean_with_mirror(z, partner):
    """Mean of each column and the conjugate of its partner's: real vectors if alone."""
    mutual = partner[partner] == jnp.arange(len(partner))
    return jnp.where(mutual, (z + z[..., partner].conj()) / 2, z)


def symmetric_plan(plan, partner, other_partner):
    """Mean of a plan and its mirror image, which costs the same."""
    return (plan + plan[partner][:, other_partner]) / 2
