"""Two pairs of systems between which to interpolate, one linear, one not."""

from math import pi
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.operators import (
    GaussianKernel,
    SpectralAtoms,
    nystrom_features,
    reduced_rank_regression,
    sample_centres,
    spectral_atoms,
)

# Frequencies in Hz, decay rates in 1/s and directions of the modes of two masses.
MASSES = (
    {"hertz": (0.5, 1.2), "decays": (0.1, 0.2), "degrees": 20.0},
    {"hertz": (1.0, 2.0), "decays": (0.2, 0.1), "degrees": 50.0},
)
# Frequencies in Hz and radii of two limit cycles.
CYCLES = ({"hertz": 0.5, "radius": 1.0}, {"hertz": 1.0, "radius": 1.3})
RANK = 5


class Pair(NamedTuple):
    """Two systems in one space of features; padded, so that pairs share programs.

    Attributes
    ----------
    atoms : tuple of SpectralAtoms
        Atoms of both.
    operators : array of shape (2, d, d)
        Operators over one step, on weight vectors.
    start : array of shape (d,)
        Features of the state from which trajectories start.
    readout : array of shape (d, 2)
        Weights of the two coordinates that are drawn.
    """

    atoms: tuple[SpectralAtoms, SpectralAtoms]
    operators: jax.Array
    start: jax.Array
    readout: jax.Array


def masses(dt, *, n_features=4) -> Pair:
    """Two coupled masses, each system a sum of two damped modes.

    The state is (positions, velocities / 2 pi); the first mass starts at 1, at rest.
    """
    rank, padding = min(RANK, n_features), (0, n_features - 4)

    def operator(hertz, decays, degrees):
        turn, rate = 2 * pi * np.array(hertz), np.array(decays)
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        shapes = np.array([[c, -s], [s, c]])
        springs = shapes @ np.diag(turn**2 + rate**2) @ shapes.T
        friction = shapes @ np.diag(2 * rate) @ shapes.T
        unit = 2 * pi * np.eye(2)
        generator = np.block([[0 * unit, unit], [-springs / (2 * pi), -friction]])
        return jnp.pad(jax.scipy.linalg.expm(dt * generator).T, padding)

    matrices = jnp.stack([operator(**system) for system in MASSES])
    one, other = (_bare(spectral_atoms(matrix, dt, rank=rank)) for matrix in matrices)
    identity = jnp.eye(n_features)
    return Pair((one, other), matrices, identity[0], identity[:, :2])


def cycles(key, dt, *, n_steps, n_centres, noise, gamma) -> Pair:
    """Two noisy limit cycles, estimated from recordings in features of a kernel.

    Stuart-Landau oscillators: in polar coordinates
    dr = 2 r (1 - r^2 / radius^2) dt and dtheta = 2 pi hertz dt, plus noise.
    """
    keys = jax.random.split(key, 3)
    draw = lambda key, system: _record(key, dt, noise, n_steps, **system)
    recordings = jnp.stack([draw(k, s) for k, s in zip(keys, CYCLES)])
    pooled = recordings.reshape(-1, 2)
    centres = sample_centres(keys[2], pooled, m=n_centres)
    features = nystrom_features(centres, kernel=GaussianKernel(1.0))
    z = jax.vmap(features)(recordings)
    fits: list[Any] = [
        reduced_rank_regression(x[:-1], x[1:], gamma=gamma, gamma_rel=True, rank=RANK)
        for x in z
    ]
    both = z.reshape(-1, z.shape[-1])
    # The coordinates as functions of the features, by least squares.
    gram = both.T @ both / len(both)
    ridge = 1e-10 * jnp.trace(gram) * jnp.eye(len(gram))
    readout = jnp.linalg.solve(gram + ridge, both.T @ pooled / len(both))
    middle = sum(system["radius"] for system in CYCLES) / 2
    one, other = (_bare(spectral_atoms(fit, dt)) for fit in fits)
    return Pair(
        (one, other),
        jnp.stack([fit.V @ fit.W.T for fit in fits]),
        features(jnp.array([[middle, 0.0]]))[0],
        readout,
    )


def _record(key, dt, noise, n_steps, *, hertz, radius, substeps=20):
    """States of one limit cycle, by steps that turn exactly."""
    h = dt / substeps
    c, s = np.cos(2 * pi * hertz * h), np.sin(2 * pi * hertz * h)
    turn = jnp.array([[c, -s], [s, c]])
    kicks = noise * h**0.5 * jax.random.normal(key, (n_steps, substeps, 2))

    def substep(x, kick):
        growth = jnp.exp(2 * h * (1 - jnp.sum(x**2) / radius**2))
        return growth * (turn @ x) + kick, None

    def step(x, kicks):
        return jax.lax.scan(substep, x, kicks)[0], x

    return jax.lax.scan(step, jnp.array([radius, 0.0]), kicks)[1]


def _bare(atoms) -> Any:
    return atoms._replace(condition=None)
