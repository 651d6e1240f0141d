"""Experiments on operators: tiny runs, what the claims measure, closed forms."""

import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.operators import (
    classification,
    embedding,
    oscillators,
    sampling_invariance,
)
from experiments.operators._distances import (
    BASELINES,
    LIMITS,
    Systems,
    distance_matrices,
    line_styles,
)
from experiments.operators._modes import mode_atoms
from jaxrepro import operators
from jaxrepro.core import DataUnavailableError
from jaxrepro.data import load_basic_motions
from jaxrepro.experiment import experiment_names, run_experiment

REFERENCE = Path(__file__).parents[1] / "reference" / "sgot.json"
SGOT = "SGOT(0.5)"
OTHERS = ["SOT", "GOT", "HS", "operator norm", "Martin"]


def measure(module, name, tables):
    """What a claim measures on given tables."""
    claims = {claim.name: claim for claim in module.CLAIMS}
    return claims[name].measure(tables)


def holds(module, name, value):
    claims = {claim.name: claim for claim in module.CLAIMS}
    return claims[name].holds(value)


def rows(columns, *entries):
    return {name: np.array(column) for name, column in zip(columns, zip(*entries))}


def check_run(module, config, tmp_path, *figures):
    """A run in a folder of its own: tables, figures, and claims that can be judged."""
    result = run_experiment(module.run, config, results=tmp_path, quick=True)
    assert (result.status, result.error, result.plot_error) == ("complete", "", "")
    assert all(claim.verdict != "error" for claim in result.claims), result.claims
    for name in figures:
        assert (result.folder / "figures" / f"{name}.png").stat().st_size > 5000
    return result


# Tiny runs


def test_oscillators_run(tmp_path):
    config = oscillators.Config(
        n_frequencies=3, n_decays=2, rates=(100.0, 200.0), n_delays=25, spacing=0.04,
        duration=2.0, repeats=2,
    )  # fmt: skip
    result = check_run(oscillators, config, tmp_path, "exact", "noisy_data")
    distances = np.load(result.folder / "arrays" / "distances.npz")
    assert sorted(distances) == sorted([SGOT, "SGOT(heuristic)", *OTHERS])
    for name in (SGOT, "HS", "operator norm"):
        exact, clean, *noisy = distances[name]
        assert len(noisy) == 2
        # 3 frequencies, 2 decay rates, square waves of 1 to 5 terms, 2 rates
        np.testing.assert_allclose(exact[[0, 3, 5, 11]], 0, atol=1e-7)
        assert np.all(exact[[1, 2, 4, 6, 7, 8, 9]] > 0.1)
        np.testing.assert_allclose(clean, exact, atol=1e-4)
        assert not np.allclose(noisy[0], noisy[1], atol=1e-6)
    np.testing.assert_allclose(distances[SGOT][0, 10], 0, atol=1e-12)
    assert distances["HS"][0, 10] > 1e-3


def test_sampling_run(tmp_path):
    config = sampling_invariance.Config(n_systems=2, n_steps=2)
    result = check_run(sampling_invariance, config, tmp_path, "steps")
    assert [str(claim.verdict) for claim in result.claims] == ["held"] * 4


@pytest.mark.slow
def test_embedding_run(tmp_path):
    config = embedding.Config(n_frequencies=4, n_decays=3, n_delays=15)
    check_run(embedding, config, tmp_path, "grid")


def test_classification_run(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    try:
        motions = load_basic_motions()
    except DataUnavailableError as missing:
        pytest.skip(str(missing))
    # Five recordings of each activity, 3 s each.
    few = np.concatenate([np.flatnonzero(motions.labels == k)[:5] for k in range(4)])
    small = motions._replace(
        series=motions.series[few, :30], labels=motions.labels[few]
    )
    monkeypatch.setattr(classification, "load_basic_motions", lambda: small)
    config = classification.Config(
        n_delays=(5,), ranks=(4,), raw_n_delays=(), raw_ranks=(), n_splits=3
    )
    result = check_run(classification, config, tmp_path, "accuracy", "pictures")
    distances = np.load(result.folder / "arrays" / "Gaussian_5.npz")
    for name in ["SGOT(0.05)", "SGOT(0.2)", *OTHERS]:
        assert distances[name].shape == (20, 20)
        np.testing.assert_array_equal(np.diag(distances[name]), 0)
    # Running is far from standing in every sense.
    names = np.array(motions.label_names)[small.labels]
    run, stand = names == "Running", names == "Standing"
    sgot = distances["SGOT(0.2)"]
    assert sgot[np.ix_(run, stand)].mean() > 2 * sgot[np.ix_(run, run)].mean()


def test_all_are_registered():
    names = experiment_names("experiments")
    for module in (classification, embedding, oscillators, sampling_invariance):
        assert module.run.name in names
        assert module.run.x64


# What the claims measure


def test_oscillator_claims():
    columns = ("operators", "shift", "distance", "parameter", "mean", "std")

    def curves(operators, shift, name, parameters, values):
        pairs = zip(parameters, values, strict=True)
        return [(operators, shift, name, p, v, 0.0) for p, v in pairs]

    grid = (1.0, 2.0, 2.5)
    heuristic = "SGOT(heuristic)"
    rates = (100.0, 200.0)
    table = rows(
        columns,
        *curves("exact", "frequency", SGOT, grid, (0.0, 0.9, 0.8)),
        *curves("exact", "decay", SGOT, grid, (0.0, 0.1, 0.39765)),
        *curves("exact", "square wave", SGOT, grid, (0.3, 0.2, 0.1)),
        *curves("exact", "frequency", heuristic, grid, (0.0, 1.1, 1.0)),
        *curves("exact", "frequency", "GOT", grid, (0.0, 1.2, 1.1)),
        *curves("exact", "frequency", "HS", grid, (0.0, 1.2, 1.3)),
        *curves("clean data", "frequency", SGOT, grid, (0.0, 1.0, 2.0)),
        *curves("clean data", "frequency", "HS", grid, (0.0, 1.0, 0.5)),
        *curves("clean data", "frequency", "GOT", grid, (0.0, 1.0, 1.0)),
        *curves("clean data", "sampling", SGOT, rates, (0.0, 3e-7)),
        *curves("clean data", "sampling", "SOT", rates, (2e-7, 0.0)),
        *curves("clean data", "sampling", "GOT", rates, (2e-6, 1e-7)),
        *curves("clean data", "sampling", "HS", rates, (0.0649, 0.02)),
        *curves("clean data", "sampling", "Martin", rates, (3.5, 0.0)),
        *curves("noisy data", "sampling", SGOT, rates, (0.06, 0.08)),
    )
    tables = {"distances": table}
    expected = {
        "growth": [0.5, 1.0, 0.0],
        "growth_heuristic": 0.5,
        "peak_heuristic": 2.0,
        "turning_back": [2.0, 2.5],
        "growth_from_data": [1.0, 0.5, 0.5],
        "largest": [0.9, 0.39765],
        "square_wave": [0.3, 0.2, 0.1],
        "sampling_blind": [3e-7, 2e-7, 2e-6],
        "sampling_hs": 0.0649,
        "sampling_martin": 3.5,
        "sampling_noise": [0.06, 0.08],
    }
    assert expected.keys() == {claim.name for claim in oscillators.CLAIMS}
    for name, value in expected.items():
        np.testing.assert_allclose(measure(oscillators, name, tables), value, atol=0)
    held = {name for name, value in expected.items() if name != "square_wave"}
    held = {name for name in held if holds(oscillators, name, expected[name])}
    assert held == {"peak_heuristic", "sampling_hs", "sampling_noise"}
    assert holds(oscillators, "growth", [1.0, 1.0, 1.0])
    assert not holds(oscillators, "sampling_noise", [0.06, 0.1])


def test_sampling_claims():
    columns = ("distance", "step", "orthogonal", "smallest", "mean", "largest")
    others = [(name, 0.1, 0, 0.2, 0.4, 0.5) for name in OTHERS[2:]]
    steps = [(SGOT, step, 0, 0, 1e-13, 2e-13) for step in (0.005, 0.1)]
    table = rows(
        columns,
        *steps,
        (SGOT, 0.2, 0, 0, 1e-13, 2e-12),
        (SGOT, 0.5, 0.962, 0.5, 0.99, 2),
        *others,
    )
    tables = {"distances": table}
    value = measure(sampling_invariance, "invariance", tables)
    assert value == [2e-13, 2e-13, 2e-12]
    assert not holds(sampling_invariance, "invariance", value)
    assert measure(sampling_invariance, "aliasing", tables) == 0.962
    assert measure(sampling_invariance, "aliasing_skew", tables) == 0.99
    assert measure(sampling_invariance, "others", tables) == [0.2, 0.2, 0.2]


def test_aliasing_by_hand():
    # The four atoms at 0.01 s and at 0.5 s in an orthogonal basis, all matchings.
    eta, alias = 0.5, 7.5 - 4 * math.pi
    before, after = [2.0, -2.0, 7.5, -7.5], [2.0, -2.0, alias, -alias]
    decay = [0.5, 0.5, 0.2, 0.2]
    cost = np.array(
        [
            [
                eta * math.hypot(decay[i] - decay[j], before[i] - after[j])
                + (1 - eta) * (0 if i == j else math.sqrt(2))
                for j in range(4)
            ]
            for i in range(4)
        ]
    )
    from scipy.optimize import linear_sum_assignment

    value = cost[linear_sum_assignment(cost)].sum() / 4
    assert sampling_invariance.aliased() == pytest.approx(value, rel=1e-12)
    assert value == pytest.approx(0.962, abs=1e-3)


def test_embedding_claims():
    decay = [0.1, 1.0, 2.0, 0.1, 1.0, 2.0]
    frequency = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    flat = [0.0] * 5 + [1.0]
    columns = ("distance", "frequency", "decay", "x", "y")
    points = [
        *zip([SGOT] * 6, frequency, decay, decay, np.negative(frequency)),
        *zip(["HS"] * 6, frequency, decay, frequency, flat),
        *zip(["operator norm"] * 6, frequency, decay, frequency, decay),
        *zip(["GOT"] * 6, frequency, decay, frequency, frequency),
    ]
    tables = {
        "points": rows(columns, *points),
        "correlations": {
            "distance": np.array([SGOT, *OTHERS]),
            "correlation": np.array([0.9, 1.0, 0.8, 0.7, 0.6, 0.5]),
        },
    }
    both = measure(embedding, "both_parameters", tables)
    np.testing.assert_allclose(both, [1, 1], rtol=1e-12)
    # Ranks of decay are 1.5 1.5 3.5 3.5 5.5 5.5, those of flat 3 3 3 3 3 6.
    centred_decay, centred_flat = np.array([-2, 0, 2, -2, 0, 2]), np.array([-0.5] * 6)
    centred_flat[5] = 2.5
    tied = centred_decay @ centred_flat / math.sqrt(16 * centred_flat @ centred_flat)
    hidden = measure(embedding, "hidden_decay", tables)
    np.testing.assert_allclose(hidden, [tied, 1, 0], atol=1e-12)
    assert measure(embedding, "correlation", tables) == 0.9
    others = measure(embedding, "correlation_of_others", tables)
    assert others.tolist() == [0.7, 0.6, 0.5, 0.8]


def test_classification_claims():
    means = {
        "SGOT(0.05)": 0.9, "SGOT(0.2)": 0.8, "SOT": 0.7, "GOT": 0.95, "HS": 0.2,
        "operator norm": 0.3, "Martin": 0.6,
    }  # fmt: skip
    places = [
        ("Gaussian", 5, 0.0), ("Gaussian", 1, 0.01), ("Gaussian", 10, 0.02),
        ("none, raw data", 20, 0.03), ("none, raw data", 1, 0.04),
    ]  # fmt: skip
    table = rows(
        ("kernel", "n_delays", "distance", "mean"),
        *((*p[:2], name, mean + p[2]) for p in places for name, mean in means.items()),
    )
    expected = {
        "sgot": 0.9,
        "best": -0.05,
        "lead_over_hs": 0.7,
        "published_order": "GOT > SGOT > SOT > Martin > HS",
        "published_others": [0.7, 0.6, 0.95, 0.2],
        "five_frames": [0.7, 0.95, 0.9, 0.8, 0.2],
        "one_frame": [0.71, 0.96, 0.91, 0.81, 0.21],
        "ten_frames": [0.72, 0.97, 0.92, 0.82, 0.22],
        "best_one_frame": -0.05,
        "raw_hs": [0.98, 0.93, 0.23],
        "raw_martin": [0.64, 0.84],
    }
    assert expected.keys() == {claim.name for claim in classification.CLAIMS}
    for name, value in expected.items():
        got = measure(classification, name, {"accuracy": table})
        if isinstance(value, str):
            assert got == value
        else:
            np.testing.assert_allclose(got, value, rtol=1e-12)
    assert not holds(classification, "published_order", expected["published_order"])
    assert holds(classification, "published_order", "SGOT > SOT > Martin > GOT > HS")
    assert not holds(classification, "best", expected["best"])


# The parts that the experiments share


@pytest.mark.parametrize("padding", [0, 2])
def test_mode_atoms_move_windows(x64, padding):
    hertz, decays = np.array([0.5, 1.3]), np.array([0.1, 0.4])
    amplitudes, phases = np.array([1.0, 0.7]), np.array([0.3, 2.0])
    step, n_delays, spacing = 0.013, 20, 0.05

    def window(start):
        t = start + spacing * np.arange(n_delays)[:, None]
        return np.sum(
            amplitudes * np.exp(-decays * t) * np.sin(2 * np.pi * hertz * t + phases), 1
        )

    pad = (0, padding)
    atoms = mode_atoms(
        jnp.pad(hertz, pad),
        jnp.pad(decays, pad),
        jnp.pad(np.array([True, True]), pad),
        n_delays=n_delays,
        spacing=spacing,
    )
    assert int(jnp.sum(atoms.weight > 0)) == 4
    np.testing.assert_allclose(jnp.sum(atoms.weight), 1, rtol=1e-14)
    mu = jnp.where(atoms.weight > 0, jnp.exp(atoms.lam * step), 0)
    moved = atoms.right @ (mu * (atoms.left.conj().T @ window(0.2)))
    np.testing.assert_allclose(moved, window(0.2 + step), atol=1e-12)


@pytest.mark.reference
def test_exact_curves_equal_reference(x64):
    stored = json.loads(REFERENCE.read_text())["oscillator_curves"]
    expected = [*stored["sgot_freq"], *stored["sgot_decay"], *stored["sgot_square"]]
    config = oscillators.Config()
    shifts = [system for _, copies in oscillators.shifted(config).values()
              for system in copies]  # fmt: skip
    parts = [oscillators.oscillator(config), *shifts[: len(expected)]]
    systems = jax.tree.map(lambda *leaves: jnp.array(leaves), *parts)
    atoms = jax.vmap(lambda system: oscillators.exact(config, system))(systems)
    first, others = (
        jax.tree.map(lambda leaf, p=part: leaf[p], atoms)
        for part in (slice(0, 1), slice(1, None))
    )
    scaling = (1.0, 1 / (2 * np.pi))
    matrix = operators.sgot_pairwise(first, others, eta=0.5, scaling=scaling)
    np.testing.assert_allclose(matrix[0], expected, atol=1e-6)


def test_distance_matrices_equal_single_calls(x64, getkey):
    matrices = jax.random.normal(getkey(), (3, 4, 4)) / 4
    dt = jnp.array([0.1, 0.1, 0.2])
    atoms = jax.vmap(operators.spectral_atoms)(matrices, dt)
    result = distance_matrices(
        Systems(atoms, dt), etas={"low": 0.1, "high": 0.7}, scaling=(1.0, 0.5)
    )
    assert set(result) == {"low", "high", *LIMITS, *BASELINES}
    single = [jax.tree.map(lambda leaf, i=i: leaf[i], atoms) for i in range(3)]
    for i, j in [(0, 1), (0, 2), (2, 1)]:
        a, b, steps = single[i], single[j], {"dt": dt[i], "dt2": dt[j]}
        expected = {
            "low": operators.sgot(a, b, eta=0.1, scaling=(1.0, 0.5)),
            "high": operators.sgot(a, b, eta=0.7, scaling=(1.0, 0.5)),
            "SOT": operators.sot(a, b, scaling=(1.0, 0.5)),
            "GOT": operators.got(a, b),
            "HS": operators.hs_distance(a, b, **steps),
            "operator norm": operators.operator_norm_distance(a, b, **steps),
            "Martin": operators.martin_distance(a, b, **steps).value,
        }
        for name, value in expected.items():
            np.testing.assert_allclose(result[name][i, j], value, rtol=1e-7)


def test_every_distance_has_a_line():
    styles = line_styles("SGOT(0.05)", "SGOT(0.2)")
    assert set(styles) == {"SGOT(0.05)", "SGOT(0.2)", *LIMITS, *BASELINES}
    assert len({style["color"] for style in styles.values()}) == len(styles)
