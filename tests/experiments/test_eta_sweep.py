"""The sweep over eta: kinds by hand, a tiny run, what the claims measure."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.operators import eta_sweep as module
from jaxrepro import operators
from jaxrepro.core import DataUnavailableError
from jaxrepro.data import load_basic_motions
from jaxrepro.experiment import experiment_names, read_table, run_experiment
from jaxrepro.sweep import load

CLAIMS = {claim.name: claim for claim in module.CLAIMS}


@pytest.mark.parametrize("kind", module.KINDS)
def test_kinds_are_those_of_the_library(kind, x64, getkey):
    matrices = jax.random.normal(getkey(), (2, 4, 4)) / 4
    one, other = (operators.spectral_atoms(matrix, 0.1) for matrix in matrices)
    s = operators.overlap(one, other)
    expected = operators.ground_cost(one, other, eta=0.0, kind=kind)
    np.testing.assert_allclose(
        module.KINDS[kind](jnp.abs(s), s.real), expected, rtol=1e-10
    )


def test_distances_are_those_of_the_library(x64, getkey):
    matrices = jax.random.normal(getkey(), (3, 4, 4)) / 4
    x = jax.random.normal(getkey(), (3, 12, 4))
    kernel = operators.GaussianKernel(2.0)

    def atoms_of(x, matrix):
        fit = operators.reduced_rank_regression(
            x, x @ matrix, gamma=1e-3, rank=4, kernel=kernel
        )
        return operators.spectral_atoms(fit, 0.1, kernel=kernel)

    atoms = jax.vmap(atoms_of)(x, matrices)._replace(condition=None)
    pairs = np.triu_indices(3, 1)
    gaps, *overlaps = module.parts_of_cost(atoms, kernel, pairs, block=3)
    weights = tuple(jnp.asarray(atoms.weight)[i] for i in pairs)
    projectors = module.KINDS["chordal"](*overlaps)
    options = {"scaling": module.HERTZ, "kernel": kernel, "kind": "chordal"}
    for eta in (0.1, 0.7):
        values = module.transport(gaps, projectors, weights, eta)
        matrix = operators.sgot_pairwise(atoms, eta=eta, **options)
        np.testing.assert_allclose(values, matrix[pairs], rtol=1e-9)


@pytest.mark.slow
def test_run(tmp_path, monkeypatch, optimised):
    try:
        motions = load_basic_motions()
    except DataUnavailableError as missing:
        pytest.skip(str(missing))
    few = np.concatenate([np.flatnonzero(motions.labels == k)[:5] for k in range(4)])
    small = motions._replace(
        series=np.asarray(motions.series)[few, :30], labels=motions.labels[few]
    )
    monkeypatch.setattr(module, "load_basic_motions", lambda: small)
    config = module.Config(
        kinds=("projector", "chordal"), n_delays=(5,), rank=4, n_etas=3, n_seeds=4,
        n_splits=2, n_compared=6,
    )  # fmt: skip
    result = run_experiment(module.run, config, results=tmp_path, quick=True)
    assert (result.status, result.error, result.plot_error) == ("complete", "", "")
    assert all(claim.verdict != "error" for claim in result.claims), result.claims
    assert (result.folder / "figures" / "accuracy.png").stat().st_size > 5000
    stored = load(result.folder / "sweep" / "delays_5")["accuracy"]
    # 0, 0.25, 1 and the heuristic.
    assert dict(stored.sizes) == {"kind": 2, "eta": 4, "seed": 1, "split": 4}
    assert np.all((stored > 0.3) & (stored <= 1))
    deviations = read_table(result.folder / "tables" / "ends.csv")["deviation"]
    assert np.all(deviations < 1e-12)


def test_claims():
    eta = np.tile([0.0, 0.1, 0.2, 1.0], 2)
    kind = np.repeat(["projector", "chordal"], 4)
    means = np.array([0.5, 0.9, 0.8, 0.6, 0.6, 0.7, 0.8, 0.95])
    chosen = np.array([0.5, 0.8, 0.9, 0.6, 0.6, 0.9, 0.8, 0.7])
    scored = np.array([0.4, 0.9, 0.75, 0.7, 0.8, 0.7, 0.9, 0.6])
    table = {
        "n_delays": np.full(8, 5), "kind": kind, "eta": eta,
        "heuristic": np.full(8, 0.2), "mean": means, "chosen_by": chosen,
        "scored_by": scored,
    }  # fmt: skip
    one_frame = {**table, "n_delays": np.full(8, 1), "mean": means[::-1]}
    accuracy = {name: np.append(table[name], one_frame[name]) for name in table}
    tables = {
        "accuracy": accuracy,
        "ends": {"deviation": np.array([1e-15, 3e-13])},
    }
    expected = {
        "ends": 3e-13,
        "interior": [0.05, -0.1],
        "interior_one_frame": [0.05, -0.1],
        "upper_end": [0.3, -0.15],
        "upper_end_one_frame": [0.35, 0.4],
        "at_heuristic": [0.1, 0.15],
        "kinds": 0.05,
    }
    assert expected.keys() == CLAIMS.keys()
    for name, value in expected.items():
        got = CLAIMS[name].measure(tables)
        np.testing.assert_allclose(got, value, rtol=1e-9, err_msg=name)
    assert not CLAIMS["interior"].holds(expected["interior"])
    assert CLAIMS["upper_end"].holds([0.0, 0.1])


def test_is_registered():
    assert module.run.name in experiment_names("experiments")
    assert module.run.x64
