"""The distances that the experiments of this area compare, in one table."""

from collections.abc import Callable, Mapping
from math import pi
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxrepro import operators, ot

# Eigenvalue differences count in 1/s (decay) and Hz (frequency).
HERTZ = (1.0, 1 / (2 * pi))


class Systems(NamedTuple):
    """A batch of operators, and the time step of each.

    Attributes
    ----------
    atoms : SpectralAtoms or KernelAtoms
        Atoms of N operators, with a leading axis.
    dt : array of shape (N,)
        Time steps; distances that are not made for generators compare the
        operators over one step each.
    """

    atoms: operators.SpectralAtoms | operators.KernelAtoms
    dt: jax.Array


def _martin_pairwise(batch1, batch2, *, dt, dt2, kernel, block):
    others = None if batch2 is None else (batch2, dt2)
    return ot.pairwise(_martin, (batch1, dt), others, block=block)


def _martin(system1, system2):
    (atoms1, dt), (atoms2, dt2) = system1, system2
    return operators.martin_distance(atoms1, atoms2, dt=dt, dt2=dt2).value


# Distances between all systems ...
BASELINES: dict[str, Callable] = {
    "HS": operators.hs_pairwise,
    "operator norm": operators.operator_norm_pairwise,
    "Martin": _martin_pairwise,
}
# ... and the limits of SGOT, by the share of the eigenvalues.
LIMITS = {"SOT": 1.0, "GOT": 0.0}

_LINES = {
    "SOT": {"color": "#E69F00", "linestyle": (0, (4, 1.2)), "marker": "s"},
    "GOT": {"color": "#009E73", "linestyle": (0, (4, 1.2)), "marker": "^"},
    "HS": {"color": "#D55E00", "linestyle": "-", "marker": "v"},
    "operator norm": {"color": "#CC79A7", "linestyle": "-", "marker": "D"},
    "Martin": {"color": "#000000", "linestyle": (0, (1, 1)), "marker": "x"},
}
_SGOT_LINES = (
    {"color": "#0072B2", "linestyle": "-", "linewidth": 2, "marker": "o", "zorder": 3},
    {"color": "#56B4E9", "linestyle": "-", "marker": "o"},
)


def line_styles(*sgot_names: str) -> dict[str, dict]:
    """Options of ``Axes.plot`` by the name of the distance, in order of a legend."""
    return {**dict(zip(sgot_names, _SGOT_LINES)), **_LINES}


def distance_matrices(
    systems: Systems,
    others: Systems | None = None,
    *,
    etas: Mapping[str, float],
    scaling=HERTZ,
    kernel: Callable | None = None,
    block: int = 1024,
) -> dict[str, jax.Array]:
    """Matrices of all distances within a batch of systems, or between two.

    ``etas`` names the variants of SGOT by their share of the eigenvalues. They and
    the limits are one program, batched over the share, so that overlaps are
    computed once.
    """
    shares = {**etas, **LIMITS}
    atoms, dt = systems
    other_atoms, other_dt = (None, None) if others is None else others
    options = {"kernel": kernel, "block": block}

    def spectral(eta):
        return operators.sgot_pairwise(
            atoms, other_atoms, eta=eta, scaling=scaling, **options
        )

    matrices = jax.vmap(spectral)(jnp.array(list(shares.values())))
    result = dict(zip(shares, matrices))
    for name, distance in BASELINES.items():
        result[name] = distance(atoms, other_atoms, dt=dt, dt2=other_dt, **options)
    return result
