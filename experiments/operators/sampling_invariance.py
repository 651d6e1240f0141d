"""One system observed at two sampling rates, below and beyond the Nyquist limit.

A system is a generator G; observed every dt its operator is expm(G dt). Distances
between generators do not see dt, as long as every mode turns by less than half a
circle in one step; beyond this limit a mode appears at another frequency.
Distances between operators over one step do see it.
"""

import functools
from dataclasses import dataclass
from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.operators import spectral_atoms

from ._distances import Systems, distance_matrices, line_styles

SGOT = "SGOT(0.5)"
ETA = 0.5
# Two modes: decay rates in 1/s, angular frequencies in rad/s.
DECAYS = (0.5, 0.2)
TURNS = (2.0, 7.5)
NYQUIST = pi / max(TURNS)
REFERENCE = 0.01


@dataclass(frozen=True)
class Config:
    """Settings."""

    n_systems: int = 50
    """Systems with the same modes in different bases; the first basis is orthogonal."""
    skewness: float = 0.2
    """How far the other bases are from orthogonal ones."""
    n_steps: int = 60
    """Time steps between 0.005 s and 0.6 s, beside those of the claims."""


QUICK = {"n_systems": 10, "n_steps": 24}
PAPERS = ("germain2026spectral", "redman2024identifying", "martin2000metric")
# Time steps in seconds that the claims are about.
BELOW = (0.005, 0.1, 0.2)
BEYOND = 0.5


def generators(key, *, n_systems, skewness):
    """Real generators with the given modes, in orthogonal and in skew bases."""
    blocks = [np.array([[-d, w], [-w, -d]]) for d, w in zip(DECAYS, TURNS)]
    block = jax.scipy.linalg.block_diag(*blocks)
    shape = (n_systems, *block.shape)
    skew = skewness * jax.random.normal(key, shape, block.dtype).at[0].set(0)
    basis = jnp.eye(len(block)) + skew
    return basis @ block @ jnp.linalg.inv(basis)


@jax.jit
def distances_to_reference(generators, steps):
    """Distances between each system at the reference step and at another one.

    By name, of shape (number of steps, number of systems).
    """

    def at(generator, step):
        atoms = spectral_atoms(jax.scipy.linalg.expm(generator * step), step)
        return jax.tree.map(lambda leaf: leaf[None], Systems(atoms, step))

    def compare(generator, step):
        matrices = distance_matrices(
            at(generator, jnp.asarray(REFERENCE, step.dtype)),
            at(generator, step),
            etas={SGOT: ETA},
            scaling=(1.0, 1.0),
        )
        return {name: matrix[0, 0] for name, matrix in matrices.items()}

    return jax.lax.map(
        lambda step: jax.vmap(functools.partial(compare, step=step))(generators), steps
    )


def aliased():
    """SGOT of the orthogonal system beyond the limit.

    The fast mode w appears at w - 2 pi / dt: an eigenvalue either keeps its vector
    and moves far, or keeps its sign and moves to the orthogonal vector, which costs
    less. The slow mode does not move.
    """
    gap = abs(2 * max(TURNS) - 2 * pi / BEYOND)
    return (ETA * gap + (1 - ETA) * sqrt(2)) / 2


def at_step(tables, step, distance=SGOT, column="largest"):
    """A statistic over systems at one step."""
    rows = select_rows(tables["distances"], distance=distance, step=step)
    return rows[column][0]


CLAIMS = [
    Claim(
        "invariance",
        "below the Nyquist limit SGOT between two sampling steps of one system is 0 up "
        "to rounding, for all systems",
        "paper, invariance of the metric; the bound follows from rounding",
        measure=lambda tables: [at_step(tables, step) for step in BELOW],
        target=1e-12,
        relation="<",
    ),
    Claim(
        "aliasing",
        "beyond it (0.5 s and 7.5 rad/s) SGOT of the system in an orthogonal basis is "
        "(eta (2 w - 2 pi / dt) + (1 - eta) sqrt 2) / 2",
        "derivation, alias of the fast mode",
        measure=lambda tables: at_step(tables, BEYOND, column="orthogonal"),
        target=aliased(),
        tolerance=1e-9,
    ),
    Claim(
        "aliasing_skew",
        "beyond it SGOT is about 0.95 for systems in other bases (mean)",
        "measurement, on one generator with other vectors",
        measure=lambda tables: at_step(tables, BEYOND, column="mean"),
        target=0.95,
        tolerance=0.1,
    ),
    Claim(
        "others",
        "HS, operator norm and Martin see the step: at 0.1 s they are not 0",
        "derivation, distances between operators over one step",
        measure=lambda tables: [
            at_step(tables, 0.1, name, "smallest")
            for name in ("HS", "operator norm", "Martin")
        ],
        target=0.1,
        relation=">",
    ),
]


def plot(tables, out):
    """Mean distances against the step, with the range over systems."""
    caption = (
        f"Distance between one system observed every {REFERENCE} s and every dt: mean "
        "and range over systems with the same modes in different bases. Values below "
        "1e-16 are drawn there. Beyond the dashed line the fast mode is aliased."
    )
    with out.figure("steps", width="page", height=3.0, caption=caption) as (_, axes):
        for name, style in line_styles(SGOT).items():
            rows = select_rows(tables["distances"], distance=name)
            low, mean, high = (
                np.maximum(rows[c], 1e-16) for c in ("smallest", "mean", "largest")
            )
            line = {**style, "marker": "", "label": name}
            band = {"color": style["color"], "alpha": 0.15, "linewidth": 0}
            axes.plot(rows["step"], mean, **line)
            axes.fill_between(rows["step"], low, high, **band)
        axes.axvline(NYQUIST, color="0.4", linestyle="--", linewidth=0.8)
        axes.text(NYQUIST + 0.01, 1e-8, "beyond the\nNyquist limit", color="0.3")
        axes.set(
            yscale="log",
            xlabel="sampling step dt (s)",
            ylabel=f"distance to dt = {REFERENCE} s",
        )
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="15 s on two cores",
    plot=plot,
    x64=True,
)
def run(config, out):
    steps = np.unique([*BELOW, BEYOND, *np.linspace(0.005, 0.6, config.n_steps)])
    systems = generators(out.key, n_systems=config.n_systems, skewness=config.skewness)
    distances = out.cached("distances", distances_to_reference, systems, steps)
    table = [
        {
            "distance": name,
            "step": step,
            "orthogonal": row[0],
            "smallest": np.min(row),
            "mean": np.mean(row),
            "largest": np.max(row),
        }
        for name in line_styles(SGOT)
        for step, row in zip(steps, distances[name])
    ]
    return {"distances": table_from_rows(table)}
