"""Halfway between two oscillators: one in between, not one that dies out.

The mean of two operators by the spectral-Grassmann metric has eigenvalues on straight
lines, so that frequencies glide from one system to the other. The mean of the matrices
(Hilbert-Schmidt) adds vectors that turn at different speeds, and these cancel: it damps
what neither system damps. Two coupled masses show it in closed form, two noisy limit
cycles from recordings in features of a Gaussian kernel.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.operators import (
    interpolate,
    measure_barycenter,
    operator_barycenter,
    operator_from_atoms,
    sgot_pairwise,
    spectral_atoms,
)

from ._distances import HERTZ
from ._pairs import CYCLES, MASSES, cycles, masses
from ._path_figures import EXAMPLES, LINES, QUARTERS, plot

DT = 0.2
# Other steps at which the two masses are averaged.
STEPS = (0.05, 0.1, 0.2)
# Trajectories are drawn at this many steps within one step of the operators.
FINE = 8


@dataclass(frozen=True)
class Config:
    """Settings."""

    eta: float = 0.2
    """Share of the eigenvalues."""
    per_quarter: int = 10
    """Positions in each quarter of the path."""
    n_iter: int = 600
    """Steps of the barycenters."""
    n_steps: int = 4000
    """States in a recording of a limit cycle, 0.2 s apart."""
    n_centres: int = 60
    """Features of the limit cycles."""
    noise: float = 0.15
    """Strength of the noise that drives the limit cycles."""
    gamma: float = 1e-6
    """Regularisation of the regression, relative to the trace of the covariance."""
    duration: float = 8.0
    """Length of the trajectories in seconds."""


QUICK = {"per_quarter": 2, "n_iter": 300, "n_steps": 1500}
PAPERS = ("germain2026spectral", "kostic2022learning")


def slowest_modes(lam):
    """Of the modes that turn, the two slowest, in order of their frequencies."""
    turning = lam.imag > 1e-6 * jnp.max(jnp.abs(lam.imag))
    slowest = jnp.argsort(jnp.where(turning, -lam.real, jnp.inf))[:2]
    pair = lam[slowest]
    return pair[jnp.argsort(pair.imag)]


def trajectory(atoms, pair, n_steps):
    """Two coordinates of the state, as the operator moves them."""
    still = atoms._replace(lam=jnp.zeros_like(atoms.lam))
    start = pair.start @ operator_from_atoms(still, DT)
    operator = operator_from_atoms(atoms, DT / FINE)
    step = lambda z, _: (z @ operator, z @ pair.readout)
    return jax.lax.scan(step, start, length=n_steps)[1]


@functools.partial(jax.jit, static_argnums=0)
def walk(config, pair, ts):
    """All results along the path between a pair, a dict of arrays."""
    options = {"eta": config.eta, "scaling": HERTZ}
    one, other = pair.atoms
    path = interpolate(one, other, ts, n_iter=config.n_iter, **options)
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), one, other)
    bound = jax.vmap(
        lambda t: measure_barycenter(both, jnp.stack([1 - t, t]), **options).objective
    )(ts)
    to_ends = sgot_pairwise(both, path.atoms, convention="quad", **options)

    rank = min(2 * both.lam.shape[1], pair.operators.shape[1])
    mean = lambda t: (1 - t) * pair.operators[0] + t * pair.operators[1]
    hs = jax.vmap(lambda t: spectral_atoms(mean(t), DT, rank=rank))(ts)
    hs = hs._replace(condition=None)

    first, second = by_frequency(one), by_frequency(other)
    line = (1 - ts[:, None]) * first + ts[:, None] * second
    on_path = jax.vmap(by_frequency)(path.atoms)
    quarters = jnp.arange(len(QUARTERS)) * (len(ts) // (len(QUARTERS) - 1))
    n_times = round(config.duration / DT) * FINE
    follow = jax.vmap(lambda atoms: trajectory(atoms, pair, n_times))
    at_quarters = lambda tree: jax.tree.map(lambda leaf: leaf[quarters], tree)
    return {
        "objective": path.objective,
        "bound": bound,
        "history": path.history[quarters],
        "to_first": to_ends[0],
        "to_second": to_ends[1],
        "deviation": jnp.max(jnp.abs(on_path - line), axis=1),
        "SGOT": jax.vmap(slowest_modes)(path.atoms.lam),
        "HS": jax.vmap(slowest_modes)(hs.lam),
        "SGOT, trajectory": follow(at_quarters(path.atoms)),
        "HS, trajectory": follow(at_quarters(hs)),
    }


def by_frequency(atoms):
    """Eigenvalues in order of frequency, 0 for padding."""
    lam = jnp.where(atoms.weight > 0, atoms.lam, 0)
    return lam[jnp.argsort(lam.imag)]


def copies(config):
    """Objective of the mean of three copies, from elsewhere, and its distance."""
    start, system = masses(DT).atoms
    options = {"eta": config.eta, "scaling": HERTZ}
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), system)
    mean = operator_barycenter(batch, init=start, n_iter=config.n_iter, **options)
    one = jax.tree.map(lambda leaf: leaf[None], mean.atoms)
    distance = sgot_pairwise(batch, one, **options)[0, 0]
    return {"objective": mean.objective, "distance": distance}


def halfway(dt):
    """Modes of the mean of the matrices of both masses over a step."""
    mu = np.linalg.eigvals(np.mean(masses(dt).operators, axis=0))
    return np.asarray(slowest_modes(np.log(mu.astype(complex)) / dt))


def at(tables, example, mean, t=0.5):
    """Modes of a mean at one position, slower first."""
    return select_rows(tables["path"], example=example, mean=mean, t=t)


def excess_decay(tables, example):
    """Decay rates of the HS mean halfway, less the larger one of the ends."""
    ends = [at(tables, example, "HS", t)["decay"] for t in (0.0, 1.0)]
    return at(tables, example, "HS")["decay"] - np.maximum(*ends)


def inner(tables, example):
    """Rows of the path without its ends."""
    rows = select_rows(tables["objective"], example=example)
    keep = (rows["t"] > 0) & (rows["t"] < 1)
    return {name: column[keep] for name, column in rows.items()}


def radius(tables, mean, start, stop):
    """Mean distance from the origin on the cycle halfway, between two times."""
    rows = select_rows(tables["trajectories"], example="cycles", mean=mean, t=0.5)
    keep = (rows["time"] >= start) & (rows["time"] < stop)
    return np.mean(np.hypot(rows["first"], rows["second"])[keep])


def detour(tables, example):
    """Length of the way through the mean halfway, relative to the direct one."""
    rows = select_rows(tables["objective"], example=example)
    middle = rows["t"] == 0.5
    through = rows["to_first"][middle] + rows["to_second"][middle]
    return through[0] / rows["to_second"][0]


def last_time(tables):
    """Where the trajectories end."""
    return np.max(tables["trajectories"]["time"])


def of_both(measure):
    """Measure both examples."""
    return lambda tables: np.hstack([measure(tables, example) for example in EXAMPLES])


CLAIMS = [
    Claim(
        "straight",
        "eigenvalues of the SGOT mean move on straight lines (largest deviation)",
        "derivation, closed form of the eigenvalues of a barycenter",
        measure=of_both(lambda tables, e: np.max(inner(tables, e)["deviation"])),
        target=1e-9,
        relation="<=",
    ),
    Claim(
        "bound",
        "its objective lies above the one without bi-orthogonality (least gap)",
        "derivation, a minimum under one constraint less",
        measure=of_both(
            lambda tables, e: np.min(
                inner(tables, e)["objective"] - inner(tables, e)["bound"]
            )
        ),
        target=0.0,
        tolerance=1e-9,
        relation=">=",
    ),
    Claim(
        "near_bound",
        "and by 4 % of the bound at most (largest gap)",
        "measurement, another pair of systems",
        measure=of_both(
            lambda tables, e: np.max(
                inner(tables, e)["objective"] / inner(tables, e)["bound"] - 1
            )
        ),
        target=0.04,
        relation="<=",
    ),
    Claim(
        "copies",
        "the mean of three copies is that system, reached from another one "
        "(objective, distance)",
        "derivation, a distance is 0 between equal systems only",
        measure=lambda tables: [
            tables["copies"][name][0] for name in ("objective", "distance")
        ],
        passed=lambda value: value[0] <= 1e-8 and value[1] <= 1e-6,
        target=[1e-8, 1e-6],
        relation="<=",
        quick=False,
    ),
    Claim(
        "overdamped",
        "halfway the HS mean damps both modes more than either system does (excess "
        "decay rate in 1/s: masses, limit cycles)",
        "paper, interpolation against the mean of matrices",
        measure=of_both(excess_decay),
        target=0.0,
        relation=">",
    ),
    Claim(
        "overdamped_any_step",
        "it does so at any time step, such as 0.05 s (excess, masses)",
        "paper, interpolation against the mean of matrices, read for any step",
        measure=lambda tables: (
            select_rows(tables["steps"], dt=STEPS[0])["decay"]
            - np.maximum(*(np.array(system["decays"]) for system in MASSES))
        ),
        target=0.0,
        relation=">",
        expected=False,
        reason="Over a short step both systems turn by almost the same angle, and the "
        "mean of the matrices nears that of the generators, which damps neither mode "
        "more than the systems do. The excess grows with the step.",
    ),
    Claim(
        "frequencies_of_hs",
        "the frequencies of the HS mean halfway are those in between (deviation in Hz)",
        "derivation, for modes of equal shape",
        measure=lambda tables: np.abs(
            at(tables, "masses", "HS")["frequency"]
            - at(tables, "masses", "SGOT")["frequency"]
        ),
        target=0.0,
        tolerance=0.01,
        expected=False,
        reason="The modes of the two masses differ in shape, and the mean mixes them.",
    ),
    Claim(
        "middle",
        "the SGOT mean halfway is equally far from both systems (relative difference)",
        "derivation, symmetry of equal weights for modes that fit together",
        measure=of_both(
            lambda tables, e: (
                lambda rows, m: abs(rows["to_first"] / rows["to_second"] - 1)[m]
            )(inner(tables, e), inner(tables, e)["t"] == 0.5)
        ),
        target=0.0,
        tolerance=0.01,
    ),
    Claim(
        "geodesic",
        "the way through the mean halfway is as long as the direct one (ratio)",
        "paper, interpolation, read as a shortest path",
        measure=of_both(detour),
        target=1.0,
        tolerance=0.01,
        expected=False,
        reason="Distances of projectors are chords of a sphere. The mean of two lies "
        "on the sphere, not on the chord between them, so the path through barycenters "
        "is a few per cent longer.",
    ),
    Claim(
        "cycle_lives",
        "halfway between two limit cycles, SGOT gives one with the mean radius",
        "derivation, modes of a cycle; the tolerance is ours",
        measure=lambda tables: radius(tables, "SGOT", 0.0, 2.0),
        target=float(np.mean([system["radius"] for system in CYCLES])),
        tolerance=0.05,
    ),
    Claim(
        "cycle_dies",
        "HS gives one that has lost nine tenths of its radius after 8 s (radius)",
        "derivation, decay rate of the mean of two turns",
        measure=lambda tables: radius(
            tables, "HS", last_time(tables) - 1, last_time(tables) + 1
        ),
        target=0.115,
        relation="<=",
    ),
]


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="40 s on two cores",
    plot=plot,
    x64=True,
)
def run(config, out):
    ts = np.arange(4 * config.per_quarter + 1) / (4 * config.per_quarter)
    recorded = cycles(
        out.key,
        DT,
        n_steps=config.n_steps,
        n_centres=config.n_centres,
        noise=config.noise,
        gamma=config.gamma,
    )
    pairs = {"masses": masses(DT, n_features=config.n_centres), "cycles": recorded}
    names = ("path", "objective", "history", "trajectories")
    tables = {name: [] for name in names}
    for example in out.progress(EXAMPLES):
        result = out.cached(example, walk, config, pairs[example], ts)
        for name, rows in rows_of(example, result, ts).items():
            tables[name] += rows
    steps = [
        {"dt": dt, "mode": mode, "frequency": lam.imag * HERTZ[1], "decay": -lam.real}
        for dt in STEPS
        for mode, lam in enumerate(halfway(dt), start=1)
    ]
    result = {name: table_from_rows(rows) for name, rows in tables.items()}
    result["steps"] = table_from_rows(steps)
    if not out.quick:
        mean = out.cached("copies", copies, config)
        result["copies"] = {name: value[None] for name, value in mean.items()}
    return result


def rows_of(example, result, ts):
    """Rows of all tables for one example."""
    columns = ("objective", "bound", "to_first", "to_second", "deviation")
    objective = [
        {"example": example, "t": t, **{name: result[name][i] for name in columns}}
        for i, t in enumerate(ts)
    ]
    path = [
        {
            "example": example,
            "mean": mean,
            "t": t,
            "mode": mode,
            "frequency": lam.imag * HERTZ[1],
            "decay": -lam.real,
        }
        for mean in LINES
        for t, modes in zip(ts, result[mean])
        for mode, lam in enumerate(modes, start=1)
    ]
    history = [
        {"example": example, "t": t, "step": step, "objective": value}
        for t, values in zip(QUARTERS, result["history"])
        for step, value in enumerate(values)
    ]
    trajectories = [
        {
            "example": example,
            "mean": mean,
            "t": t,
            "time": DT / FINE * i,
            "first": state[0],
            "second": state[1],
        }
        for mean in LINES
        for t, states in zip(QUARTERS, result[f"{mean}, trajectory"])
        for i, state in enumerate(states)
    ]
    return {
        "path": path,
        "objective": objective,
        "history": history,
        "trajectories": trajectories,
    }
