"""Operators on explicit features as linear models with outputs, and distances of these.

The state of a model are the coordinates in the range of the operator, its output the
window, its initial state the first window of the recording.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxrepro import ot
from jaxrepro.operators import (
    SpectralAtoms,
    binet_cauchy_trace,
    dsa,
    observability_angles,
    operator_from_atoms,
)

NAMES = ("observability", "Binet-Cauchy", "DSA")
# Dynamical similarity analysis starts from so many rotations.
_N_STARTS = 4


class StateSpace(NamedTuple):
    """Batch of models ``x' = A x, y = C x``.

    Attributes
    ----------
    transition : array of shape (N, r, r)
        Transition matrices :math:`A`.
    output : array of shape (N, d, r)
        Output matrices :math:`C`, with orthonormal columns.
    initial : array of shape (N, r)
        Initial states.
    """

    transition: jax.Array
    output: jax.Array
    initial: jax.Array


@jax.jit
def state_spaces(atoms: SpectralAtoms, windows, dt) -> StateSpace:
    """Models of a batch of operators, each with a first window.

    A model that grows is scaled to a spectral radius just below 1, since the energy of
    its output would have no end.
    """
    rank = atoms.lam.shape[-1]

    def model(atoms, window):
        operator = operator_from_atoms(atoms, dt)
        basis = jnp.linalg.svd(operator)[0][:, :rank]
        radius = jnp.max(jnp.where(atoms.weight > 0, jnp.exp(atoms.lam.real * dt), 0))
        transition = basis.T @ operator @ basis
        transition = transition * jnp.minimum(1, 0.999 / radius)
        return StateSpace(transition, basis, basis.T @ window)

    return jax.vmap(model)(atoms, windows)


def model_distances(key, models: StateSpace, *, dsa_iterations: int) -> dict:
    """Matrices of distances between models, by name."""

    def observability(model1, model2):
        angles = observability_angles(*model1[:2], *model2[:2])
        return jnp.sqrt(jnp.maximum(-2 * jnp.sum(jnp.log(jnp.cos(angles))), 0))

    def binet_cauchy(model1, model2):
        return jnp.sqrt(jnp.maximum(2 - 2 * binet_cauchy_trace(*model1, *model2), 0))

    def similarity(model1, model2):
        first, second = model1.transition, model2.transition
        result = dsa(key, first, second, n_starts=_N_STARTS, n_iter=dsa_iterations)
        return result.value

    distances = dict(zip(NAMES, (observability, binet_cauchy, similarity)))
    if not dsa_iterations:
        del distances["DSA"]
    return {
        name: ot.pairwise(distance, models, block=1024)
        for name, distance in distances.items()
    }
