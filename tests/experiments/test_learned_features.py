"""The experiment on learned features: a tiny run, its simulation and its claims."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.operators import learned_features
from jaxrepro.core import DataUnavailableError
from jaxrepro.data import load_basic_motions
from jaxrepro.experiment import experiment_names, run_experiment


@pytest.mark.slow
def test_run(tmp_path, monkeypatch):
    try:
        motions = load_basic_motions()
    except DataUnavailableError as missing:
        pytest.skip(str(missing))
    few = np.concatenate([np.flatnonzero(motions.labels == k)[:4] for k in range(4)])
    small = motions._replace(
        series=motions.series[few, :30], labels=motions.labels[few]
    )
    monkeypatch.setattr(learned_features, "load_basic_motions", lambda: small)
    config = learned_features.Config(
        dampings=(0.5, 3.0), n_speeds=4, n_steps=120, widths=(4,), training_steps=3,
        batch_size=16, n_seeds=2,
    )  # fmt: skip
    result = run_experiment(learned_features.run, config, results=tmp_path, quick=True)
    assert (result.status, result.error, result.plot_error) == ("complete", "", "")
    assert all(claim.verdict != "error" for claim in result.claims), result.claims
    assert (result.folder / "figures" / "features.png").stat().st_size > 5000
    found = np.load(result.folder / "arrays" / "van_der_Pol.npz")
    assert found["VAMP-2, 0, matrix"].shape == (8, 8)
    assert not np.allclose(found["VAMP-2, 0, matrix"], found["VAMP-2, 1, matrix"])


def test_is_registered():
    assert learned_features.run.name in experiment_names("experiments")


def test_oscillator_has_the_known_period():
    simulate = jax.jit(
        lambda mu, speed: learned_features.van_der_pol(
            mu, speed, 1000, 0.04, substeps=4
        )
    )
    # The period at mu = 2 is 7.6299, and 2 pi / (1 - mu^2 / 16) to second order.
    states = jnp.stack([simulate(2.0, 1.0), simulate(2.0, 1.25), simulate(0.1, 1.0)])
    hertz = learned_features.frequency(states, 0.04)
    small = (1 - 0.1**2 / 16) / (2 * np.pi)
    np.testing.assert_allclose(hertz, [1 / 7.6299, 1.25 / 7.6299, small], rtol=2e-4)


def test_claims():
    names = [("linear", 0), ("delays", 0), ("Gaussian kernel", 0)] + [
        (name, seed) for name in ("VAMP-2", "contrastive") for seed in (0, 1, 2)
    ]
    errors = [0.2, 0.02, 0.1, 0.01, 0.05, 0.9, 0.08, 0.1, 0.3]
    features = np.array([name for name, _ in names])
    scores = {"van der Pol": errors, "BasicMotions": [1 - e for e in errors]}
    tables = {
        "family": {"features": features, "frequency_error": np.array(errors)},
        "accuracy": {
            "data": np.repeat(list(scores), len(names)),
            "features": np.tile(features, 2),
            "accuracy": np.concatenate(list(scores.values())),
        },
    }
    expected = {
        "frequency": 0.25,
        "frequency_kernel": 0.5,
        "frequency_delays": 2.5,
        "frequency_contrastive": 2.0,
        "damping": [0.2, 0.02, 0.1],
        "damping_learned": 0.16 - 0.2,
        "motions_linear": (1 - 0.32) - 0.8,
        "motions_kernel": (1 - 0.16) - 0.9,
    }
    assert expected.keys() == {claim.name for claim in learned_features.CLAIMS}
    for claim in learned_features.CLAIMS:
        assert claim.measure(tables) == pytest.approx(expected[claim.name])


def test_windows_of_two_lengths_end_at_the_same_frame():
    series = np.arange(2 * 7 * 3).reshape(2, 7, 3)
    short, long = learned_features.windows_of(series, 2, 4)
    assert (short.shape, long.shape) == ((2, 4, 6), (2, 4, 12))
    np.testing.assert_array_equal(long[1, 2], series[1, 2:6].ravel())
    np.testing.assert_array_equal(short[1, 2], series[1, 4:6].ravel())
