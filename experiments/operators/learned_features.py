"""Learned features against fixed ones: what does training on pairs of states buy.

The metric needs one space of features for all systems. Here it is the states
themselves, windows of ten delays, a Gaussian kernel on 64 centres, or a network trained
without labels on the pairs of all recordings, with the VAMP-2 or the spectral
contrastive loss. The family is the van der Pol oscillator,
x'' = s mu (1 - x^2) x' - s^2 x, observed with noise in x and x'/s at several mu and
speeds s; the real data are BasicMotions. One regression for all, with all features of
the network, one setting for each data set, several seeds in one program.

More centres cost more and serve the kernel: with 512 of them its accuracy on
BasicMotions is 0.95 to 0.96, that of VAMP-2 features.
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
    distance_correlation,
    feature_atoms,
    koopman_features,
    median_lengthscale,
    monte_carlo_cv,
    nystrom_features,
    sample_centres,
    sgot_pairwise,
    train_features,
)

from ._distances import HERTZ

LINEAR, DELAYS, KERNEL = "linear", "delays", "Gaussian kernel"
FIXED = (LINEAR, DELAYS, KERNEL)
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
    long_delays: int = 10
    """Frames in a window of the row with delays."""
    n_centres: int = 64
    """Centres of the features of the Gaussian kernel."""
    eta: float = 0.2
    """Share of the eigenvalues."""
    gamma: float = 1e-4
    """Regularisation of the regression on the family, relative."""
    motions_gamma: float = 1e-3
    """Regularisation of the regression on BasicMotions, relative."""
    widths: tuple[int, ...] = (32, 32)
    """Hidden layers of the network."""
    n_features: int = 8
    """Features of the network, and rank of all operators."""
    training_steps: int = 1000
    """Steps of Adam."""
    lr: float = 3e-3
    """Step size of Adam."""
    batch_size: int = 256
    """Pairs in a step."""
    n_seeds: int = 5
    """Networks trained for each row."""


QUICK = {"training_steps": 300, "n_seeds": 2}
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


def windows_of(series, short, long):
    """Delay windows of two lengths, as many of the one as of the other."""
    frames = np.arange(series.shape[1] - long + 1)[:, None]
    return tuple(
        series[:, frames + np.arange(long - n, long)].reshape(
            len(series), len(frames), -1
        )
        for n in (short, long)
    )


def fixed_features(key, config, windows, long_windows):
    """Features that are chosen beforehand: arrays with axes system, time, feature."""
    pooled = windows.reshape(-1, windows.shape[-1])
    key_scale, key_centres = jax.random.split(key)
    kernel = GaussianKernel(median_lengthscale(key_scale, pooled))
    centres = sample_centres(key_centres, pooled, m=config.n_centres)
    of_kernel = nystrom_features(centres, kernel=kernel)(pooled)
    return {
        LINEAR: windows,
        DELAYS: long_windows,
        KERNEL: of_kernel.reshape(*windows.shape[:2], -1),
    }


@functools.partial(jax.jit, static_argnames=("config", "loss"))
def learned_features(keys, windows, *, config, loss):
    """Features of networks with several seeds, with a leading axis."""
    features = koopman_features(windows.shape[-1], config.widths, config.n_features)
    x, y = (z.reshape(-1, z.shape[-1]) for z in (windows[:, :-1], windows[:, 1:]))

    def one(key):
        fit = train_features(
            key, x, y, lr=config.lr, features=features, loss=loss,
            n_steps=config.training_steps, batch_size=config.batch_size,
        )  # fmt: skip
        return features.apply(fit.params, windows)

    return jax.vmap(one)(keys)


def same(params, z):
    return z


@functools.partial(jax.jit, static_argnames=("rank",))
def atoms_in(features, dt, gamma, *, rank):
    """Atoms of all systems in given features."""
    atoms = functools.partial(
        feature_atoms, None, dt=dt, gamma=gamma, apply=same, rank=rank
    )
    return jax.vmap(atoms)(features)


def systems(key, config, windows, long_windows, dt, gamma) -> Iterator[tuple]:
    """Yield the name of the features, the seed, and atoms.

    All features are padded with zeros to one number, which changes neither atoms nor
    distances, so that one program serves them all.
    """
    key_fixed, key_learned = jax.random.split(key)
    windows, long_windows = (
        (z - z.mean((0, 1))) / z.std((0, 1)) for z in (windows, long_windows)
    )
    fixed = fixed_features(key_fixed, config, windows, long_windows)
    found = [(name, 0, features) for name, features in fixed.items()]
    keys = jax.vmap(functools.partial(jax.random.fold_in, key_learned))(
        jnp.arange(config.n_seeds)
    )
    for name, loss in LEARNED.items():
        learned = learned_features(keys, windows, config=config, loss=loss)
        found += [(name, seed, learned[seed]) for seed in range(config.n_seeds)]
    size = max(features.shape[-1] for _, _, features in found)
    for name, seed, features in found:
        padding = ((0, 0), (0, 0), (0, size - features.shape[-1]))
        padded = jnp.pad(features, padding)
        yield name, seed, atoms_in(padded, dt, gamma, rank=config.n_features)


def fundamental(atoms):
    """Frequency in Hz of the least damped oscillation of each system."""
    turning = jnp.where(atoms.lam.imag > 0, atoms.lam.real, -jnp.inf)
    slowest = jnp.argmax(turning, axis=1)[:, None]
    return jnp.take_along_axis(atoms.lam.imag, slowest, axis=1)[:, 0] / (2 * pi)


def compare(key, config, windows, long_windows, dt, gamma, label):
    """Distances, fundamental frequencies and accuracies in all features."""
    result = {}
    key, key_splits = jax.random.split(key)
    for name, seed, atoms in systems(key, config, windows, long_windows, dt, gamma):
        matrix = sgot_pairwise(atoms, eta=config.eta, scaling=HERTZ)
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
        measure=ratio("VAMP-2", LINEAR),
        target=0.5,
        relation="<=",
    ),
    Claim(
        "frequency_kernel",
        "and it is closer than with a Gaussian kernel",
        "measurement",
        measure=ratio("VAMP-2", KERNEL),
        target=1.0,
        relation="<",
    ),
    Claim(
        "frequency_delays",
        "and by half of what it is in delay windows, or less",
        "measurement",
        measure=ratio("VAMP-2", DELAYS),
        target=0.5,
        relation="<=",
        expected=False,
        reason="ten frames show the phase on the cycle, and linear functions of them "
        "find the frequency as well as a network does",
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
            lead(FAMILY, name, LINEAR)(tables) for name in LEARNED
        ),
        target=0.0,
        relation=">=",
        expected=False,
        reason="fixed features make no error here, so that a single one counts",
    ),
    Claim(
        "motions_linear",
        "VAMP-2 features classify BasicMotions at least as well as windows themselves",
        "measurement",
        measure=lead(MOTIONS, "VAMP-2", LINEAR),
        target=0.0,
        relation=">=",
    ),
    Claim(
        "motions_kernel",
        "learned features classify BasicMotions better than a Gaussian kernel on 64 "
        "centres (on 512 centres the kernel is level with them)",
        "measurement",
        measure=lambda tables: max(
            lead(MOTIONS, name, KERNEL)(tables) for name in LEARNED
        ),
        target=0.0,
        relation=">",
        quick=False,
    ),
]


def plot(tables, out):
    """A dot for each seed, in three panels."""
    caption = (
        "Fixed and learned features: median error of the frequency of van der Pol "
        "oscillators, and accuracy of the nearest neighbour by SGOT. A dot is a seed, "
        "moved a little up or down."
    )
    panels = [
        (tables["family"], "frequency_error", FAMILY, "error of frequency (relative)"),
        *(
            (
                select_rows(tables["accuracy"], data=data),
                "accuracy",
                data,
                "accuracy (share of 1)",
            )
            for data in (FAMILY, MOTIONS)
        ),
    ]
    names = [*FIXED, *LEARNED]
    with out.figure(
        "features", width="page", height=2.0, caption=caption, ncols=3, sharey=True
    ) as (_, axes):
        for (table, column, title, label), panel in zip(panels, axes):
            for i, name in enumerate(names):
                x = select_rows(table, features=name)[column]
                shift = (
                    0.15 * (np.arange(len(x)) - (len(x) - 1) / 2) / max(len(x) / 2, 1)
                )
                panel.plot(x, i + shift, "o", alpha=0.7)
            panel.set(xlabel=label, title=title)
        axes[0].set_xscale("log")
        axes[0].set_yticks(range(len(names)), names)
        axes[0].invert_yaxis()


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="40 s on two cores",
    plot=plot,
)
def run(config, out):
    key_noise, *keys = jax.random.split(out.key, 3)
    series, mu, speed, hertz = family(key_noise, config)
    motions = load_basic_motions()
    dampings = np.unique(mu, return_inverse=True)[1]
    data = {
        FAMILY: (
            *windows_of(series, 1, config.long_delays),
            config.dt, config.gamma, dampings,
        ),
        MOTIONS: (
            *windows_of(
                np.asarray(motions.series, series.dtype),
                config.n_delays, config.long_delays,
            ),
            1 / motions.sampling_rate, config.motions_gamma, motions.labels,
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
