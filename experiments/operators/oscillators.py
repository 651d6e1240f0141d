"""Distances between a two-mode oscillator and four kinds of shifted copies.

The reference has modes of 0.5 and 1 Hz and is sampled at 200 Hz. The second mode
moves to higher frequencies, or decays faster, or becomes a square wave of more and
more terms; or only the sampling rate changes. A good distance grows with the first
three shifts and does not see the last. Operators act on delay windows of 1 s: exact
ones from the modes, and estimates by reduced rank regression from recordings
without and with observation noise.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.data import make_oscillator, square_wave
from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.operators import (
    LinearOperatorFit,
    eta_heuristic,
    reduced_rank_regression,
    spectral_atoms,
)

from ._distances import Systems, distance_matrices, line_styles
from ._modes import mode_atoms

RATE = 200.0
DECAY = 0.1
SGOT, SGOT_HEURISTIC = "SGOT(0.5)", "SGOT(heuristic)"


@dataclass(frozen=True)
class Config:
    """Settings."""

    max_frequency: float = 2.5
    """Largest frequency of the second mode in Hz."""
    n_frequencies: int = 16
    """Number of frequencies, from 1 Hz on."""
    max_decay: float = 1.0
    """Largest decay rate of the second mode in 1/s."""
    n_decays: int = 10
    """Number of decay rates, from 0.1/s on."""
    n_terms: int = 5
    """Largest number of terms of the square wave."""
    rates: tuple[float, ...] = (100.0, 150.0, 200.0, 250.0, 300.0)
    """Sampling rates in Hz, multiples of 1 / spacing."""
    n_delays: int = 50
    """Samples in a window."""
    spacing: float = 0.02
    """Time between the samples of a window in seconds."""
    duration: float = 6.0
    """Length of a recording in seconds."""
    noise: float = 0.01
    """Standard deviation of the observation noise."""
    gamma: float = 1e-4
    """Regularisation of the regression on noisy recordings."""
    clean_gamma: float = 1e-8
    """Regularisation of the regression on recordings without noise."""
    repeats: int = 100
    """Draws of the noise."""


QUICK = {"repeats": 40}
PAPERS = (
    "germain2026spectral",
    "kostic2022learning",
    "redman2024identifying",
    "martin2000metric",
)

SHIFTS = {
    "frequency": "frequency of the second mode (Hz)",
    "decay": "decay rate of the second mode (1/s)",
    "square wave": "terms of the square wave",
    "sampling": "sampling rate (Hz)",
}


class Oscillator(NamedTuple):
    """Modes, padded by modes of amplitude 0, and sampling rate of one system."""

    frequencies: np.ndarray
    decays: np.ndarray
    amplitudes: np.ndarray
    rate: float


def oscillator(config, hertz=(1.0,), amplitudes=(1.0,), *, decay=DECAY, rate=RATE):
    """A mode of 0.5 Hz, and one with the given harmonics, decay and sampling."""
    padding = (0, config.n_terms - len(hertz))
    return Oscillator(
        np.pad(np.array([0.5, *hertz]), padding),
        np.pad(np.array([DECAY, *[decay] * len(hertz)]), padding),
        np.pad(np.array([1.0, *amplitudes]), padding),
        rate,
    )


def shifted(config):
    """For each shift its parameters and its systems."""
    frequencies = np.linspace(1, config.max_frequency, config.n_frequencies)
    decays = np.linspace(DECAY, config.max_decay, config.n_decays)
    terms = range(1, config.n_terms + 1)
    waves = [square_wave(np.float64(1), n_terms=n) for n in terms]
    return {
        "frequency": (frequencies, [oscillator(config, (f,)) for f in frequencies]),
        "decay": (decays, [oscillator(config, decay=decay) for decay in decays]),
        "square wave": (terms, [oscillator(config, *wave) for wave in waves]),
        "sampling": (config.rates, [oscillator(config, rate=r) for r in config.rates]),
    }


def exact(config, system):
    """Atoms of the operator on windows, from the modes."""
    return mode_atoms(
        system.frequencies,
        system.decays,
        system.amplitudes != 0,
        n_delays=config.n_delays,
        spacing=config.spacing,
    )


def estimated(config, systems, key, noise, gamma):
    """Atoms of the operators estimated from one recording of each system.

    Rates, and with them strides and numbers of windows, are traced, so that all
    systems share one program; so do ranks, as the first columns of a fit of larger
    rank are the fit of smaller rank.
    """
    span = (config.n_delays - 1) * config.spacing
    most_samples = round(config.duration * max(config.rates))
    most_windows = round((config.duration - span) * max(config.rates))
    most_atoms = 2 * (config.n_terms + 1)

    def estimate(key, system):
        x = make_oscillator(
            key, *system[:3], dt=1 / system.rate, noise=noise, n_steps=most_samples
        )
        stride = jnp.round(config.spacing * system.rate).astype(int)
        delays = stride * jnp.arange(config.n_delays)
        samples = jnp.arange(most_windows)[:, None] + delays[None, :]
        recorded = samples[1:, -1] < jnp.round(config.duration * system.rate)
        z = x[jnp.minimum(samples, most_samples - 1)]
        fit = reduced_rank_regression(
            z[:-1], z[1:], gamma=gamma, rank=most_atoms, mask=recorded
        )
        rank = 2 * jnp.sum(system.amplitudes != 0)
        kept = jnp.arange(most_atoms)[None, :] < rank
        v, w = (jnp.where(kept, factor, 0) for factor in fit[:2])
        fit = LinearOperatorFit(v, w, fit.singular_values)
        return spectral_atoms(fit, 1 / system.rate)._replace(condition=None)

    return jax.vmap(estimate)(jax.random.split(key, len(systems.rate)), systems)


@functools.partial(jax.jit, static_argnums=0)
def distances_from_reference(config, keys, systems):
    """Distances from the first system to the others, by name, one a column.

    The first row is for exact operators, the second for recordings without noise,
    and one row a further key for recordings with noise.
    """
    clean = jnp.arange(len(keys)) == 0
    noise = jnp.where(clean, 0, config.noise)
    gamma = jnp.where(clean, config.clean_gamma, config.gamma)
    estimate = functools.partial(estimated, config, systems)
    atoms = jax.tree.map(
        lambda first, others: jnp.concatenate([first[None], others]),
        jax.vmap(functools.partial(exact, config))(systems),
        jax.lax.map(lambda draw: estimate(*draw), (keys, noise, gamma)),
    )
    etas = {SGOT: 0.5, SGOT_HEURISTIC: eta_heuristic(RATE)}

    def distances(atoms):
        batch = Systems(atoms, 1 / systems.rate)
        first = jax.tree.map(lambda leaf: leaf[:1], batch)
        others = jax.tree.map(lambda leaf: leaf[1:], batch)
        matrices = distance_matrices(first, others, etas=etas)
        return {name: matrix[0] for name, matrix in matrices.items()}

    return jax.lax.map(distances, atoms)


def rows_of(tables, operators, shift, name):
    """The curve of one distance: rows with parameter, mean and std."""
    row = {"operators": operators, "shift": shift, "distance": name}
    return select_rows(tables["distances"], **row)


def measured(reduce, operators, shift, *names):
    """Measure one number a distance: what ``reduce`` makes of its curve."""
    return lambda tables: np.squeeze(
        [reduce(rows_of(tables, operators, shift, name)) for name in names]
    )


def growth(rows):
    """Share of steps at which a curve grows."""
    return np.mean(np.diff(rows["mean"]) > 0)


def peak(rows):
    """Parameter at which a curve is largest."""
    return rows["parameter"][np.argmax(rows["mean"])]


def largest(rows):
    """Largest value of a curve."""
    return np.max(rows["mean"])


def growth_of_sgot(tables):
    """Share of growing steps between exact operators, shift by shift."""
    shifts = ("frequency", "decay", "square wave")
    return [growth(rows_of(tables, "exact", shift, SGOT)) for shift in shifts]


CLAIMS = [
    Claim(
        "growth",
        "SGOT (eta = 0.5, exact operators) grows at every step of the frequency, the "
        "decay and the square-wave shift",
        "paper, figure 1; the value of eta is ours",
        measure=growth_of_sgot,
        target=1.0,
    ),
    Claim(
        "growth_heuristic",
        "SGOT at the heuristic eta grows at every step of the frequency shift",
        "paper, figure 1, read at the eta of its heuristic",
        measure=measured(growth, "exact", "frequency", SGOT_HEURISTIC),
        target=1.0,
        expected=False,
        reason="At this eta (0.014) the distance is nearly that of subspaces alone, "
        "which saturates in windows of 1 s and turns back after about 2 Hz.",
    ),
    Claim(
        "peak_heuristic",
        "at the heuristic eta SGOT is largest at 2.0 Hz and falls from there",
        "derivation, exact operators",
        measure=measured(peak, "exact", "frequency", SGOT_HEURISTIC),
        target=2.0,
        tolerance=0.05,
    ),
    Claim(
        "turning_back",
        "GOT and HS are largest before 2.5 Hz and turn back",
        "derivation, exact operators",
        measure=measured(peak, "exact", "frequency", "GOT", "HS"),
        target=2.5,
        relation="<",
    ),
    Claim(
        "growth_from_data",
        "from recordings SGOT, HS and GOT grow at 100 %, 87 % and 67 % of the steps of "
        "the frequency shift",
        "measurement, recordings without noise",
        measure=measured(growth, "clean data", "frequency", SGOT, "HS", "GOT"),
        target=[1.0, 0.87, 0.67],
        tolerance=0.01,
    ),
    Claim(
        "largest",
        "SGOT reaches 0.92951 at 2.5 Hz and 0.39765 at a decay rate of 1/s",
        "derivation, exact operators",
        measure=lambda tables: [
            largest(rows_of(tables, "exact", shift, SGOT))
            for shift in ("frequency", "decay")
        ],
        target=[0.92951, 0.39765],
        tolerance=1e-5,
    ),
    Claim(
        "square_wave",
        "SGOT to the square wave of 1 to 5 terms",
        "derivation, exact operators",
        measure=lambda tables: rows_of(tables, "exact", "square wave", SGOT)["mean"],
        target=[0, 0.72691, 1.26931, 1.78819, 2.29874],
        tolerance=1e-5,
    ),
    Claim(
        "sampling_blind",
        "SGOT, SOT and GOT from recordings without noise do not see the sampling rate",
        "paper, figure 1; the bound is an earlier measurement",
        measure=measured(largest, "clean data", "sampling", SGOT, "SOT", "GOT"),
        target=1e-6,
        relation="<",
    ),
    Claim(
        "sampling_hs",
        "HS changes by up to 0.065 with the sampling rate alone",
        "measurement, recordings without noise",
        measure=measured(largest, "clean data", "sampling", "HS"),
        target=0.065,
        tolerance=5e-4,
    ),
    Claim(
        "sampling_martin",
        "Martin's distance changes by 3.6 or more with the sampling rate alone",
        "measurement, recordings without noise",
        measure=measured(largest, "clean data", "sampling", "Martin"),
        target=3.6,
        relation=">=",
    ),
    Claim(
        "sampling_noise",
        "with noise SGOT is about 0.05 to 0.09 at all sampling rates",
        "measurement of one draw; here the mean over draws",
        measure=lambda tables: rows_of(tables, "noisy data", "sampling", SGOT)["mean"],
        target=0.07,
        tolerance=0.025,
    ),
]


def plot(tables, out):
    """One figure for exact operators, one for noisy recordings."""
    kinds = {"exact": "exact operators", "noisy data": "noisy recordings"}
    for operators, kind in kinds.items():
        caption = (
            f"Distance to the reference, {kind}. First three panels: divided by the "
            "largest value of each curve, so that shapes compare. Last panel: "
            "absolute; values below 1e-4 are drawn there."
        )
        if operators == "noisy data":
            caption += " Bands: one standard deviation over draws of the noise."
        name = operators.replace(" ", "_")
        grid = {"nrows": 2, "ncols": 2}
        panels = out.figure(name, width="page", height=4.8, caption=caption, **grid)
        with panels as (figure, axes):
            for shift, panel in zip(SHIFTS, axes.flat):
                draw(tables, panel, shift, operators)
            handles, labels = axes[0, 0].get_legend_handles_labels()
            figure.legend(
                handles, labels, loc="outside lower center", ncols=7, columnspacing=1.2
            )


def draw(tables, axes, shift, operators):
    """Curves of all distances for one shift."""
    for name, style in line_styles(SGOT, SGOT_HEURISTIC).items():
        rows = rows_of(tables, operators, shift, name)
        x, mean, std = rows["parameter"], rows["mean"], rows["std"]
        if shift == "sampling":
            lower, middle, upper = np.maximum([mean - std, mean, mean + std], 1e-4)
        else:
            lower, middle, upper = np.array([mean - std, mean, mean + std]) / max(mean)
        axes.plot(x, middle, label=name, **style)
        if std.any():
            color = style["color"]
            axes.fill_between(x, lower, upper, color=color, alpha=0.15, linewidth=0)
    axes.set(
        xlabel=SHIFTS[shift], ylabel="distance / largest", title=shift.capitalize()
    )
    if shift == "sampling":
        axes.set(yscale="log", ylabel="distance")
    return axes


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="30 s on two cores",
    plot=plot,
    x64=True,
)
def run(config, out):
    shifts = shifted(config)
    labels = [(shift, p) for shift, (grid, _) in shifts.items() for p in grid]
    copies = [system for _, systems in shifts.values() for system in systems]
    systems = jax.tree.map(
        lambda *leaves: jnp.array(leaves), oscillator(config), *copies
    )
    keys = jax.random.split(out.key, 1 + config.repeats)
    distances = out.cached("distances", distances_from_reference, config, keys, systems)
    kinds = {"exact": [0], "clean data": [1], "noisy data": slice(2, None)}
    table = [
        {
            "shift": shift,
            "operators": operators,
            "distance": name,
            "parameter": float(parameter),
            "mean": np.mean(values[rows, i]),
            "std": np.std(values[rows, i]),
        }
        for operators, rows in kinds.items()
        for name, values in distances.items()
        for i, (shift, parameter) in enumerate(labels)
    ]
    return {"distances": table_from_rows(table)}
