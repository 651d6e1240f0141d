"""Learned features against fixed ones: what does training on pairs of states buy.

The metric needs one space of features for all systems. Here it is the states
themselves, a Gaussian kernel, or a network trained without labels on the pairs of all
recordings, with the VAMP-2 or the spectral contrastive loss. The family is the van der
Pol oscillator, x'' = s mu (1 - x^2) x' - s^2 x, observed with noise in x and x'/s at
several mu and speeds s; the real data are BasicMotions. One regression for all, one
setting for each data set, several seeds of the network in one program.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from math import pi

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.data import load_basic_motions
from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.operators import (
    GaussianKernel,
    delay_embed,
    distance_correlation,
    feature_atoms,
    koopman_features,
    median_lengthscale,
    monte_carlo_cv,
    reduced_rank_regression,
    sgot_pairwise,
    snapshot_pairs,
    spectral_atoms,
    train_features,
)

from ._distances import HERTZ

FIXED = ("linear", "Gaussian kernel")
LEARNED = {"VAMP-2": "vamp2", "contrastive": "contrastive"}
FAMILY, MOTIONS = "van der Pol", "BasicMotions"


@dataclass(frozen=True)
class Config:
    """Settings."""

    dampings: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0)
    """Values of mu; the larger, the further from a sine."""
    n_speeds: int = 8
    """Speeds s between 0.8 and 1.25, for each mu."""
    n_steps: int = 200
    """Length of a recording of the family."""
    dt: float = 0.2
    """Time step of the family in seconds."""
    noise: float = 0.02
    """Standard deviation of the noise of observation."""
    n_delays: int = 5
    """Frames in a window of BasicMotions; the family needs one."""
    rank: int = 4
    """Rank of the operators of the family; 2 on the two states themselves."""
    motions_rank: int = 8
    """Rank of the operators of BasicMotions."""
    eta: float = 0.2
    """Share of the eigenvalues."""
    gamma: float = 1e-4
    """Regularisation of the regression on the family, relative."""
    motions_gamma: float = 1e-3
    """Regularisation of the regression on BasicMotions, relative."""
    widths: tuple[int, ...] = (32, 32)
    """Hidden layers of the network."""
    n_features: int = 8
    """Features of the network."""
    training_steps: int = 1000
    """Steps of Adam."""
    lr: float = 3e-3
    """Step size of Adam."""
    batch_size: int = 256
    """Pairs in a step."""
    n_seeds: int = 5
    """Networks trained for each row."""


QUICK = {"n_speeds": 4, "training_steps": 500, "n_seeds": 2}
PAPERS = (
    "germain2026spectral",
    "kostic2022learning",
    "mardt2018vampnets",
    "wu2020variational",
    "haochen2021provable",
    "turri2025self",
)


def van_der_pol(mu, speed, n_steps, dt, substeps=20):
    """States (x, x'/s) on the limit cycle, by the classical Runge-Kutta method."""
    h = dt / substeps

    def field(u):
        x, v = u
        return speed * jnp.stack([v, mu * (1 - x**2) * v - x])

    def substep(u, _):
        k1 = field(u)
        k2 = field(u + h / 2 * k1)
        k3 = field(u + h / 2 * k2)
        k4 = field(u + h * k3)
        return u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    def step(u, _):
        return jax.lax.scan(substep, u, length=substeps)[0], u

    start = jnp.array([2.0, 0.0])
    first = int(60 / dt)  # long enough to forget the start
    return jax.lax.scan(step, start, length=first + n_steps)[1][first:]


def frequency(recordings, dt):
    """Frequency of each periodic recording in Hz, from its upward zero crossings."""
    result = []
    for x in np.asarray(recordings)[..., 0]:
        (up,) = np.nonzero((x[:-1] < 0) & (x[1:] >= 0))
        time = up - x[up] / (x[up + 1] - x[up])
        result.append((len(time) - 1) / (time[-1] - time[0]) / dt)
    return np.array(result)


def family(key, config):
    """Recordings of the oscillators, their parameters and frequencies."""
    speeds = np.geomspace(0.8, 1.25, config.n_speeds)
    mu, speed = (g.ravel() for g in np.meshgrid(config.dampings, speeds, indexing="ij"))
    simulate = functools.partial(
        van_der_pol, n_steps=config.n_steps * 5, dt=config.dt / 5, substeps=4
    )
    fine = jax.jit(jax.vmap(simulate))(jnp.asarray(mu), jnp.asarray(speed))
    series = fine[:, ::5]
    series = series + config.noise * jax.random.normal(key, series.shape)
    return series, mu, speed, frequency(fine, config.dt / 5)


def kernel_atoms(kernel, z, dt, gamma, rank):
    x, y = snapshot_pairs(z)
    fit = reduced_rank_regression(
        x, y, gamma=gamma, rank=rank, kernel=kernel, gamma_rel=True
    )
    return spectral_atoms(fit, dt, kernel=kernel)


def fixed_atoms(key, name, windows, dt, gamma, rank) -> tuple:
    """Atoms of all recordings in fixed features, and the kernel if there is one."""
    if name == "linear":
        atoms = functools.partial(
            feature_atoms, None, dt=dt, gamma=gamma, apply=lambda params, z: z,
            rank=min(rank, windows.shape[-1]),
        )  # fmt: skip
        return jax.vmap(atoms)(windows), None
    pooled = windows.reshape(-1, windows.shape[-1])
    kernel = GaussianKernel(median_lengthscale(key, pooled))
    atoms = functools.partial(kernel_atoms, kernel, dt=dt, gamma=gamma, rank=rank)
    return jax.lax.map(atoms, windows), kernel


@functools.partial(jax.jit, static_argnames=("config", "loss", "rank"))
def learned_atoms(keys, windows, dt, gamma, *, config, loss, rank):
    """Atoms in features of several seeds, and the history of their training."""
    features = koopman_features(windows.shape[-1], config.widths, config.n_features)
    x, y = (z.reshape(-1, z.shape[-1]) for z in (windows[:, :-1], windows[:, 1:]))

    def one(key):
        fit = train_features(
            key, x, y, lr=config.lr, features=features, loss=loss,
            n_steps=config.training_steps, batch_size=config.batch_size,
        )  # fmt: skip
        atoms = functools.partial(
            feature_atoms, fit.params, dt=dt, gamma=gamma, apply=features.apply,
            rank=rank,
        )  # fmt: skip
        return jax.vmap(atoms)(windows), fit.history

    return jax.vmap(one)(keys)


def systems(key, config, windows, dt, gamma, rank) -> Iterator[tuple]:
    """Yield the name of the features, the seed, atoms and their kernel."""
    standard = (windows - windows.mean((0, 1))) / windows.std((0, 1))
    key_fixed, key_learned = jax.random.split(key)
    for name in FIXED:
        yield name, 0, *fixed_atoms(key_fixed, name, standard, dt, gamma, rank)
    keys = jax.vmap(functools.partial(jax.random.fold_in, key_learned))(
        jnp.arange(config.n_seeds)
    )
    for name, loss in LEARNED.items():
        atoms, _ = learned_atoms(
            keys, standard, dt, gamma, config=config, loss=loss, rank=rank
        )
        for seed in range(config.n_seeds):
            yield name, seed, jax.tree.map(lambda x, k=seed: x[k], atoms), None


def fundamental(atoms):
    """Frequency in Hz of the least damped oscillation of each system."""
    turning = jnp.where(atoms.lam.imag > 0, atoms.lam.real, -jnp.inf)
    slowest = jnp.argmax(turning, axis=1)[:, None]
    return jnp.take_along_axis(atoms.lam.imag, slowest, axis=1)[:, 0] / (2 * pi)


def compare(key, config, windows, dt, gamma, rank, label):
    """Distances, fundamental frequencies and accuracies in all features."""
    result = {}
    key, key_splits = jax.random.split(key)
    for name, seed, atoms, kernel in systems(key, config, windows, dt, gamma, rank):
        matrix = sgot_pairwise(atoms, eta=config.eta, scaling=HERTZ, kernel=kernel)
        correct = monte_carlo_cv(key_splits, matrix, jnp.asarray(label))
        result |= {
            f"{name}, {seed}, matrix": matrix,
            f"{name}, {seed}, accuracy": jnp.mean(correct),
            f"{name}, {seed}, frequency": fundamental(atoms),
        }
    return result


def rows(config):
    """Features and seeds, in order."""
    return [(name, 0) for name in FIXED] + [
        (name, seed) for name in LEARNED for seed in range(config.n_seeds)
    ]


def about_family(config, found, mu, speed, hertz):
    """Errors of the frequency, and how distances follow those of the parameters."""
    truth = np.log(np.stack([mu, speed], axis=1))
    truth = truth / truth.std(axis=0)
    gaps = np.linalg.norm(truth[:, None] - truth[None], axis=-1)
    table = []
    for name, seed in rows(config):
        frequency, matrix = (
            found[f"{name}, {seed}, {what}"] for what in ("frequency", "matrix")
        )
        table.append({
            "features": name, "seed": seed,
            "frequency_error": np.median(np.abs(frequency / hertz - 1)),
            "correlation": float(distance_correlation(matrix, gaps)),
        })  # fmt: skip
    return table_from_rows(table)


def frequency_error(tables, name):
    """Median over seeds of the error of the frequency."""
    of_name = select_rows(tables["family"], features=name)
    return np.median(of_name["frequency_error"])


def ratio(name, other):
    """Measure the error of the frequency in units of that in other features."""
    return lambda tables: frequency_error(tables, name) / frequency_error(tables, other)


def mean_accuracy(data, *names):
    """Measure the accuracy of each kind of features, a mean over seeds."""
    return lambda tables: np.squeeze([
        np.mean(select_rows(tables["accuracy"], data=data, features=name)["accuracy"])
        for name in names
    ])  # fmt: skip


def lead(data, name, other):
    """Measure by how much one kind of features is ahead of another."""
    return lambda tables: float(-np.diff(mean_accuracy(data, name, other)(tables))[0])


CLAIMS = [
    Claim(
        "frequency",
        "in VAMP-2 features the frequency is off by half of what it is on the states "
        "themselves, or less (median over seeds)",
        "derivation, eigenfunctions of a limit cycle are no linear functions of states",
        measure=ratio("VAMP-2", "linear"),
        target=0.5,
        relation="<=",
    ),
    Claim(
        "frequency_kernel",
        "and it is closer than with a Gaussian kernel",
        "measurement",
        measure=ratio("VAMP-2", "Gaussian kernel"),
        target=1.0,
        relation="<",
    ),
    Claim(
        "frequency_contrastive",
        "contrastive features find the frequency as well as VAMP-2 features do",
        "derivation, the minimisers of both losses span the same functions",
        measure=ratio("contrastive", "VAMP-2"),
        target=1.1,
        relation="<=",
        expected=False,
        reason="its matrix is symmetric, so it sees only the part of an operator that "
        "is reversible in time, where turning left and right are one",
    ),
    Claim(
        "damping",
        "by nearest neighbours fixed features tell the four dampings apart",
        "measurement",
        measure=mean_accuracy(FAMILY, *FIXED),
        target=0.95,
        relation=">=",
    ),
    Claim(
        "damping_learned",
        "and learned features do no worse",
        "measurement",
        measure=lambda tables: min(
            lead(FAMILY, name, "linear")(tables) for name in LEARNED
        ),
        target=0.0,
        relation=">=",
        expected=False,
        reason="the network sees all systems as one, and keeps what they share",
    ),
    Claim(
        "motions_linear",
        "VAMP-2 features classify BasicMotions at least as well as windows themselves",
        "measurement",
        measure=lead(MOTIONS, "VAMP-2", "linear"),
        target=0.0,
        relation=">=",
    ),
    Claim(
        "motions_kernel",
        "learned features classify BasicMotions better than a Gaussian kernel",
        "measurement",
        measure=lambda tables: max(
            lead(MOTIONS, name, "Gaussian kernel")(tables) for name in LEARNED
        ),
        target=0.0,
        relation=">",
        expected=False,
        reason="trained without labels, on what can be predicted rather than on what "
        "differs, and 8 features are few",
    ),
]


def plot(tables, out):
    """A dot for each seed, in three panels."""
    caption = (
        "Fixed and learned features: median error of the frequency of van der Pol "
        "oscillators, and accuracy of the nearest neighbour by SGOT. A dot is a seed."
    )
    panels = [
        (tables["family"], "frequency_error", "frequency error"),
        *(
            (
                select_rows(tables["accuracy"], data=data),
                "accuracy",
                f"accuracy,\n{data}",
            )
            for data in (FAMILY, MOTIONS)
        ),
    ]
    names = [*FIXED, *LEARNED]
    with out.figure(
        "features", width="page", height=2.0, caption=caption, ncols=3, sharey=True
    ) as (_, axes):
        for (table, column, label), panel in zip(panels, axes):
            for i, name in enumerate(names):
                x = select_rows(table, features=name)[column]
                panel.plot(x, np.full(len(x), i), "o", alpha=0.7)
            panel.set(xlabel=label)
        axes[0].set_xlim(left=0)
        axes[0].set_yticks(range(len(names)), names)
        axes[0].invert_yaxis()


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="30 s on two cores",
    plot=plot,
)
def run(config, out):
    key_noise, *keys = jax.random.split(out.key, 3)
    series, mu, speed, hertz = family(key_noise, config)
    motions = load_basic_motions()
    windows = jnp.stack([delay_embed(x, config.n_delays) for x in motions.series])
    dampings = np.unique(mu, return_inverse=True)[1]
    data = {
        FAMILY: (series, config.dt, config.gamma, config.rank, dampings),
        MOTIONS: (
            windows.astype(series.dtype), 1 / motions.sampling_rate,
            config.motions_gamma, config.motions_rank, motions.labels,
        ),
    }  # fmt: skip
    found = {
        name: out.cached(name.replace(" ", "_"), compare, key, config, *arguments)
        for key, (name, arguments) in zip(keys, out.progress(data.items()))
    }
    accuracy = [
        {
            "data": name, "features": features, "seed": seed,
            "accuracy": float(result[f"{features}, {seed}, accuracy"]),
        }
        for name, result in found.items()
        for features, seed in rows(config)
    ]  # fmt: skip
    return {
        "family": about_family(config, found[FAMILY], mu, speed, hertz),
        "accuracy": table_from_rows(accuracy),
    }
