"""A grid of oscillators in the plane: two parameters, seen through distances alone.

Damped oscillators on a grid of frequencies and decay rates are placed in the plane by
classical scaling of the distances between their operators. If a distance sees both
parameters, the picture is a bent copy of the grid. With scikit-learn, t-SNE draws a
second one. (Pictures of BasicMotions are with ``classification``.)
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import rankdata

from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.operators import classical_mds, distance_correlation

from ._distances import Systems, distance_matrices, line_styles
from ._modes import mode_atoms
from ._tsne import tsne

SGOT = "SGOT(0.5)"
DRAWN = (SGOT, "HS")


@dataclass(frozen=True)
class Config:
    """Settings."""

    max_frequency: float = 2.5
    """Largest frequency in Hz; the smallest is 0.5 Hz."""
    n_frequencies: int = 13
    """Number of frequencies."""
    max_decay: float = 2.0
    """Largest decay rate in 1/s; the smallest is 0.1/s."""
    n_decays: int = 9
    """Number of decay rates."""
    n_delays: int = 50
    """Samples in a window."""
    spacing: float = 0.02
    """Time between the samples of a window in seconds."""
    dt: float = 0.005
    """Time step of the operators that HS, operator norm and Martin compare."""


QUICK = {"n_frequencies": 9, "n_decays": 6}
PAPERS = (
    "germain2026spectral",
    "redman2024identifying",
    "martin2000metric",
    "szekely2007measuring",
)


@functools.partial(jax.jit, static_argnums=0)
def compare(config, frequencies, decays):
    """Points in the plane, distance correlations with the parameters, distances."""

    def exact(frequency, decay):
        window = {"n_delays": config.n_delays, "spacing": config.spacing}
        return mode_atoms(frequency[None], decay[None], jnp.array([True]), **window)

    steps = jnp.full(len(decays), config.dt, decays.dtype)
    systems = Systems(jax.vmap(exact)(frequencies, decays), steps)
    matrices = distance_matrices(systems, etas={SGOT: 0.5})
    truth = jnp.hypot(
        frequencies[:, None] - frequencies[None], decays[:, None] - decays[None]
    )
    correlations = {
        f"{name}, correlation": distance_correlation(matrix, truth)
        for name, matrix in matrices.items()
    }
    points = {name: classical_mds(matrix) for name, matrix in matrices.items()}
    drawn = {f"{name}, distances": matrices[name] for name in DRAWN}
    return {**points, **correlations, **drawn}


def alignment(parameter, *distances):
    """Measure the largest rank correlation of an axis of a picture with a parameter."""

    def largest(rows):
        ranks = [rankdata(rows[column]) for column in (parameter, "x", "y")]
        return np.max(np.abs(np.corrcoef(ranks)[0, 1:]))

    return lambda tables: np.array(
        [largest(select_rows(tables["points"], distance=name)) for name in distances]
    )


def correlations(*distances):
    """Measure the correlation of distances with those of the parameters."""
    return lambda tables: np.squeeze(
        [
            select_rows(tables["correlations"], distance=name)["correlation"]
            for name in distances
        ]
    )


CLAIMS = [
    Claim(
        "both_parameters",
        "one axis of the picture by SGOT orders the frequencies, one the decay rates "
        "(rank correlations)",
        "derivation, exact operators",
        measure=lambda tables: [
            *alignment("frequency", SGOT)(tables),
            *alignment("decay", SGOT)(tables),
        ],
        target=0.95,
        relation=">=",
    ),
    Claim(
        "hidden_decay",
        "no axis of the pictures by HS, operator norm, GOT orders the decay rates",
        "derivation, exact operators",
        measure=alignment("decay", "HS", "operator norm", "GOT"),
        target=0.3,
        relation="<=",
    ),
    Claim(
        "correlation",
        "SGOT has a distance correlation of 0.966 with the distances of parameters",
        "derivation, exact operators",
        measure=correlations(SGOT),
        target=0.966,
        tolerance=0.01,
    ),
    Claim(
        "correlation_of_others",
        "HS, operator norm, Martin and GOT have distance correlations below 0.9",
        "derivation, exact operators",
        measure=correlations("HS", "operator norm", "Martin", "GOT"),
        target=0.9,
        relation="<",
    ),
]


def plot(tables, out):
    """Pictures by SGOT and by HS, coloured by frequency and by decay rate."""
    caption = (
        "Oscillators placed by {} of distances between their operators; lines join "
        "equal decay rates."
    )
    classical = (
        f"{caption.format('classical scaling')} The eigenvalues hold both parameters, "
        "so SOT, not shown, gives the grid itself."
    )
    neighbours = (
        f"{caption.format('t-SNE')} Its axes have no unit; it keeps neighbours, not "
        "large distances."
    )
    draw_pictures(tables["points"], out, "grid", classical)
    if "tsne" in tables:
        draw_pictures(tables["tsne"], out, "grid_tsne", neighbours)


def draw_pictures(table, out, name, caption):
    """One column a distance, one row a parameter."""
    with out.figure(
        name, width="page", height=4.6, caption=caption, nrows=2, ncols=2
    ) as (figure, axes):
        labels = {"frequency": "frequency (Hz)", "decay": "decay rate (1/s)"}
        for row, (parameter, label) in zip(axes, labels.items()):
            for panel, distance in zip(row, DRAWN):
                points = draw(select_rows(table, distance=distance), panel, parameter)
                panel.set(xlabel="first axis", title=distance)
                if name == "grid_tsne":
                    panel.set(xticks=[], yticks=[])
            row[0].set(ylabel="second axis")
            figure.colorbar(points, ax=row, label=label)


def draw(rows, axes, parameter):
    """Points coloured by a parameter; returns them for the scale."""
    for decay in np.unique(rows["decay"]):
        line = select_rows(rows, decay=decay)
        axes.plot(line["x"], line["y"], color="0.75", linewidth=0.7, zorder=1)
    axes.set_aspect("equal", adjustable="datalim")
    return axes.scatter(rows["x"], rows["y"], c=rows[parameter], s=14, zorder=2)


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
    grid = np.meshgrid(
        np.linspace(0.5, config.max_frequency, config.n_frequencies),
        np.linspace(0.1, config.max_decay, config.n_decays),
        indexing="ij",
    )
    frequency, decay = (values.ravel() for values in grid)
    results = out.cached("results", compare, config, frequency, decay)
    names = list(line_styles(SGOT))
    correlation = [results[f"{name}, correlation"] for name in names]
    tables = {
        "points": points_of(results, names, frequency, decay),
        "correlations": {"distance": names, "correlation": correlation},
    }
    neighbours = {name: tsne(results[f"{name}, distances"], out.seed) for name in DRAWN}
    if neighbours[SGOT] is not None:
        tables["tsne"] = points_of(neighbours, DRAWN, frequency, decay)
    return tables


def points_of(pictures, names, frequency, decay):
    """Table of the points of several pictures."""
    return table_from_rows(
        {"distance": name, "frequency": f, "decay": d, "x": x, "y": y}
        for name in names
        for f, d, (x, y) in zip(frequency, decay, pictures[name])
    )
