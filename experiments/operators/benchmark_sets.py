"""Movements and speech: how the distances rank over several real data sets.

Recordings of a smart watch and of voices become operators on delay windows, by
reduced rank regression, once on the windows as they are and once in the space of a
Gaussian kernel. Each recording is classified by its nearest neighbour in stratified
random splits, and the distances are ranked by accuracy within each set. The settings
are the same for all distances and were not tuned for any.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from scipy.stats import rankdata

from jaxrepro import ot
from jaxrepro.core import DataUnavailableError
from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.operators import (
    GaussianKernel,
    median_lengthscale,
    monte_carlo_cv,
    sgot_from_trajectories,
    spectral_w2,
)

from ._distances import Systems, distance_matrices
from ._recordings import LOADERS, load_set, windows_of
from ._state_space import model_distances, state_spaces

ETAS = {"SGOT(0.05)": 0.05, "SGOT(0.2)": 0.2}
PAPER = ("SGOT(0.05)", "SOT", "GOT", "HS", "operator norm", "Martin")
EIGENVALUES = ("SOT", "Martin", "spectral W2")
GAUSSIAN, LINEAR = "Gaussian", "linear"
# Mean rank of SGOT in the paper: 14 sets with a linear, 5 with a Gaussian kernel.
PUBLISHED = {LINEAR: 1.34, GAUSSIAN: 1.48}
SPEECH = ("JapaneseVowels", "SpokenDigits")
# Time counts in tens of frames: seconds, for the two sets that are at 10 Hz here.
# Speech has more frames a second; in seconds its rates would be so large that a share
# of 0.05 left nothing to the subspaces.
DT = 0.1
FACTS = (
    *("recordings", "shortest", "longest", "n_delays", "rank", "lengthscale"),
    *("live", "unstable"),
)


@dataclass(frozen=True)
class Config:
    """Settings."""

    sets: tuple[str, ...] = tuple(LOADERS)
    """Data sets; those that are not on this machine are left out. Beside those that
    packages ship, any of the UEA archive in the folder JAXREPRO_DATA."""
    kernels: tuple[str, ...] = (LINEAR, GAUSSIAN)
    """Kernels of the regression."""
    per_class: int = 20
    """Most recordings of a class, drawn at random."""
    max_steps: int = 100
    """Most frames of a recording, the first."""
    n_delays: int = 5
    """Frames in a window."""
    rank: int = 8
    """Rank of the operators."""
    short: int = 25
    """Sets with a recording of fewer frames have short windows and a low rank."""
    short_n_delays: int = 2
    """Frames in a short window."""
    short_rank: int = 4
    """Low rank."""
    gamma: float = 1e-3
    """Regularisation, relative to the trace of the covariance or kernel matrix."""
    n_splits: int = 10
    """Random splits."""
    train_frac: float = 0.7
    """Share of each class that is used for training."""
    dsa_iterations: int = 100
    """Steps of dynamical similarity analysis (DSA); 0 leaves it out."""


QUICK = {
    "sets": ("BasicMotions", "JapaneseVowels"),
    "per_class": 8,
    "dsa_iterations": 0,
}
PAPERS = (
    "germain2026spectral",
    "kostic2022learning",
    "redman2024identifying",
    "martin2000metric",
    "ostrow2023beyond",
    "vishwanathan2007binet",
)


# Distances


def compare(key, series, config, kernel_name):
    """Matrices of all distances between recordings, and facts on the operators."""
    short = min(map(len, series)) < config.short
    n_delays = config.short_n_delays if short else config.n_delays
    rank = config.short_rank if short else config.rank
    kernel, lengthscale = None, np.nan
    windows = [windows_of(x, n_delays) for x in series]
    if kernel_name == GAUSSIAN:
        lengthscale = median_lengthscale(key, np.concatenate(windows))
        kernel = GaussianKernel(lengthscale)
    atoms = sgot_from_trajectories(
        series, DT, n_delays=n_delays, rank=rank, gamma=config.gamma, kernel=kernel
    )
    systems = Systems(atoms, jnp.full(len(series), DT))
    matrices = distance_matrices(systems, etas=ETAS, kernel=kernel, block=256)
    matrices["spectral W2"] = ot.pairwise(raw_eigenvalues, systems, block=1024)
    if kernel is None:
        models = state_spaces(atoms, np.array([w[0] for w in windows]), DT)
        iterations = config.dsa_iterations
        matrices |= model_distances(key, models, dsa_iterations=iterations)
    live = jnp.asarray(atoms.weight) > 0
    lengths = [len(recording) for recording in series]
    facts = (
        *(len(series), min(lengths), max(lengths), n_delays, rank, lengthscale),
        jnp.mean(live),
        jnp.mean(jnp.any(live & (atoms.lam.real >= 0), axis=1)),
    )
    return {**matrices, **dict(zip(FACTS, facts, strict=True))}


def raw_eigenvalues(system1, system2):
    """Wasserstein distance between eigenvalues over one step."""
    return spectral_w2(system1.atoms, system2.atoms, dt=system1.dt, dt2=system2.dt)


# What the claims measure


def ranks(table, kernel, names):
    """Ranks of distances by accuracy, ties averaged, one row a set."""
    sets = dict.fromkeys(select_rows(table, kernel=kernel)["set"])
    return np.array(
        [
            rankdata(-np.round([accuracy(table, kernel, s, n) for n in names], 9))
            for s in sets
        ]
    )


def accuracy(table, kernel, data_set, name):
    """Mean accuracy of one distance on one set."""
    rows = select_rows(table, kernel=kernel, set=data_set, distance=name)
    return rows["mean"].item()


def mean_rank(kernel, *names):
    """Measure the mean ranks over sets among the six distances of the paper."""

    def measure(tables):
        means = ranks(tables["accuracy"], kernel, PAPER).mean(0)
        return np.squeeze([means[PAPER.index(name)] for name in names])

    return measure


def lead_in_rank(kernel):
    """Measure by how much SGOT is ahead of the best other distance of the paper."""

    def measure(tables):
        sgot, *others = mean_rank(kernel, *PAPER)(tables)
        return min(others) - sgot

    return measure


def share_of_subspaces(tables):
    """Accuracy on speech by eigenvalues alone, relative to that by subspaces alone."""
    table = tables["accuracy"]
    sets = [name for name in SPEECH if name in table["set"]]
    return [
        max(accuracy(table, kernel, name, alone) for alone in EIGENVALUES)
        / accuracy(table, kernel, name, "GOT")
        for kernel in dict.fromkeys(table["kernel"])
        for name in sets
    ]


def ahead_of_sgot(tables):
    """Mean ranks of HS and of observability angles, less that of SGOT."""
    names = list(dict.fromkeys(select_rows(tables["ranks"], kernel=LINEAR)["distance"]))
    means = ranks(tables["accuracy"], LINEAR, names).mean(0)
    sgot = means[names.index("SGOT(0.05)")]
    return [means[names.index(name)] - sgot for name in ("HS", "observability")]


TABLE = "paper (through summaries)"
SETS_REASON = (
    "The paper's sets are others, of which packages ship BasicMotions and "
    "JapaneseVowels alone, and its windows, ranks and eta are not known to us; here "
    "eta is 0.05 throughout."
)
CLAIMS = [
    Claim(
        "published_linear",
        "mean rank of SGOT among the paper's six distances, linear kernel",
        f"{TABLE}, 14 sets",
        measure=mean_rank(LINEAR, "SGOT(0.05)"),
        target=PUBLISHED[LINEAR],
        tolerance=0.3,
        expected=False,
        reason=f"{SETS_REASON} With a linear kernel HS does better.",
    ),
    Claim(
        "published_gaussian",
        "mean rank of SGOT among the paper's six distances, Gaussian kernel",
        f"{TABLE}, 5 sets",
        measure=mean_rank(GAUSSIAN, "SGOT(0.05)"),
        target=PUBLISHED[GAUSSIAN],
        tolerance=0.3,
        expected=False,
        reason=f"{SETS_REASON} On speech, HS and subspaces alone do better.",
    ),
    Claim(
        "first_linear",
        "SGOT has the lowest mean rank of the six, linear kernel (lead)",
        TABLE,
        measure=lead_in_rank(LINEAR),
        target=0.0,
        relation=">=",
        expected=False,
        reason="Operators on the same windows, standardised alike, differ in size and "
        "direction as well, which HS sees directly.",
    ),
    Claim(
        "first_gaussian",
        "SGOT has the lowest mean rank of the six, Gaussian kernel (lead)",
        TABLE,
        measure=lead_in_rank(GAUSSIAN),
        target=0.0,
        relation=">=",
        quick=False,
        expected=False,
        reason="Subspaces alone (GOT) are a little ahead on exercises and on speech, "
        "where rates say little; SGOT leads on BasicMotions.",
    ),
    Claim(
        "simpler_linear",
        "with a linear kernel HS and observability angles have a lower mean rank than "
        "SGOT (difference)",
        "measurement",
        measure=ahead_of_sgot,
        target=0.0,
        relation="<",
    ),
    Claim(
        "speech",
        "on speech, eigenvalues alone (SOT, Martin, spectral W2) are at most half as "
        "accurate as subspaces alone (GOT)",
        "measurement",
        measure=share_of_subspaces,
        target=0.5,
        relation="<=",
    ),
]


def plot(tables, out):
    """Accuracy of every distance on every set, in order of the mean ranks."""
    kernels = list(dict.fromkeys(tables["ranks"]["kernel"]))
    sets = list(dict.fromkeys(tables["accuracy"]["set"]))
    caption = (
        "Mean accuracy of the nearest neighbour over random splits, one mark a data "
        "set. Distances are in order of their mean rank over the sets, on the right; "
        "a rank of 1 is the best. Bold: the distances of the paper's table."
    )
    with out.figure(
        "ranks",
        width="page",
        height=3.2,
        caption=caption,
        ncols=len(kernels),
        squeeze=False,
    ) as (figure, axes):
        for kernel, panel in zip(kernels, axes[0]):
            draw_kernel(tables, kernel, sets, panel)
        figure.supxlabel("accuracy", fontsize=8)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(sets))


def draw_kernel(tables, kernel, sets, axes):
    """One row a distance, one mark a set."""
    rows = select_rows(tables["ranks"], kernel=kernel)
    order = np.argsort(rows["mean_rank"], kind="stable")
    names = rows["distance"][order]
    for y, rank in enumerate(rows["mean_rank"][order]):
        axes.text(1.04, y, f"{rank:.2f}", va="center", fontsize=7)
        axes.axhline(y, color="0.9", linewidth=0.6, zorder=0)
    colors = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
    for k, name in enumerate(sets):
        values = [accuracy(tables["accuracy"], kernel, name, n) for n in names]
        marker, color = "os^Dvx"[k % 6], colors[k % 6]
        axes.plot(values, range(len(names)), marker, color=color, label=name, alpha=0.9)
    axes.set_yticks(range(len(names)), names)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in PAPER else "normal")
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.02), xticks=[0, 0.5, 1])
    axes.set_title(f"{kernel} kernel", fontsize=8)
    axes.text(1.02, 1.02, "rank", transform=axes.transAxes, fontsize=7)


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="3 min on two cores",
    plot=plot,
    x64=True,
)
def run(config, out):
    scores, facts = [], []
    for name, series, labels in out.progress(available_sets(config, out)):
        for kernel in config.kernels:
            stage = out.cached(
                f"{name}_{kernel}", compare, out.key, series, config, kernel
            )
            about = {"set": name, "kernel": kernel}
            facts.append({**about, **{fact: stage.pop(fact) for fact in FACTS}})
            scores += score(out.key, stage, labels, config, about)
    table = table_from_rows(scores)
    return {
        "accuracy": table,
        "ranks": table_from_rows(mean_ranks(table)),
        "operators": table_from_rows(facts),
    }


def available_sets(config, out):
    """Sets that are on this machine; the others are named in the log."""
    found = []
    for name in config.sets:
        try:
            options = {"per_class": config.per_class, "max_steps": config.max_steps}
            found.append((name, *load_set(name, out.seed, **options)))
        except DataUnavailableError as missing:
            out.log("set left out", set=name, reason=str(missing))
            if name == config.sets[-1] and not found:
                raise
    return found


def score(key, matrices, labels, config, about):
    """Mean and range of the accuracy of every distance over the same splits."""
    options = {"n_splits": config.n_splits, "train_frac": config.train_frac}
    rows = []
    for name, matrix in matrices.items():
        right = monte_carlo_cv(key, matrix, labels, **options)
        spread = {"mean": right.mean(), "lowest": right.min(), "highest": right.max()}
        rows.append({**about, "distance": name, **spread})
    return rows


def mean_ranks(table):
    """Mean rank of every distance over the sets, among all of one kernel."""
    rows = []
    for kernel in dict.fromkeys(table["kernel"]):
        names = list(dict.fromkeys(select_rows(table, kernel=kernel)["distance"]))
        means = ranks(table, kernel, names).mean(0)
        rows += [
            {"kernel": kernel, "distance": name, "mean_rank": mean}
            for name, mean in zip(names, means)
        ]
    return rows
