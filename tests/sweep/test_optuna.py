import importlib.util

import numpy as np
import pytest

from jaxrepro.core import MissingExtraError
from jaxrepro.sweep import (
    Choice,
    IntUniform,
    LogUniform,
    OptunaSearch,
    Sampler,
    Uniform,
    search,
)

BOX = {
    "lr": LogUniform(1e-3, 1.0),
    "x": Uniform(-1.0, 1.0),
    "k": IntUniform(1, 4),
    "c": Choice([2.0, 8.0]),
}


def test_without_optuna(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[search\]"):
        OptunaSearch(0, **BOX)


def test_bad_distributions(plain_errors):
    pytest.importorskip("optuna")
    with pytest.raises(ValueError, match="distributions: expected at least one"):
        OptunaSearch(0)
    with pytest.raises(ValueError, match="x: expected finite low <= high"):
        OptunaSearch(0, x=Uniform(1.0, 0.0))
    with pytest.raises(TypeError, match="x: expected Uniform"):
        OptunaSearch(0, x=1.0)


@pytest.mark.peer
def test_points_are_in_the_box():
    pytest.importorskip("optuna")
    sampler = OptunaSearch(0, **BOX)
    assert isinstance(sampler, Sampler)
    columns = sampler.ask(20).columns
    assert columns["k"].dtype == np.int64
    assert set(columns["k"].tolist()) <= {1, 2, 3, 4}
    assert set(columns["c"].tolist()) == {2.0, 8.0}
    assert columns["lr"].min() >= 1e-3
    assert columns["lr"].max() <= 1.0
    assert np.abs(columns["x"]).max() <= 1.0


@pytest.mark.peer
def test_failed_points_are_told_as_worst():
    optuna = pytest.importorskip("optuna")
    sampler = OptunaSearch(0, **BOX)
    points = sampler.ask(3)
    sampler.tell(points, np.array([1.0, np.nan, -2.0]))
    trials = sampler.study.get_trials()
    assert [trial.value for trial in trials] == [1.0, np.inf, -2.0]
    assert {trial.state for trial in trials} == {optuna.trial.TrialState.COMPLETE}
    assert sampler.study.best_trial.number == 2


@pytest.mark.peer
def test_tell_without_ask():
    pytest.importorskip("optuna")
    sampler = OptunaSearch(0, **BOX)
    points = sampler.ask(3)
    sampler.tell(points, np.zeros(3))
    with pytest.raises(
        ValueError, match="points: expected the 0 of the last ask; got 3"
    ):
        sampler.tell(points, np.zeros(3))


def failing(key, params):
    """The logarithm fails on half of the box; the optimum is at x = 0.3."""
    import jax.numpy as jnp

    gap = (params["x"] - 0.3) ** 2
    return {"score": -gap - 0 * jnp.log(params["x"]), "gap": gap}


@pytest.mark.peer
def test_finds_the_optimum_and_is_deterministic():
    optuna = pytest.importorskip("optuna")
    options = {"n_rounds": 5, "batch": 8, "value": "score", "mode": "max"}
    sampler = OptunaSearch(3, x=Uniform(-1.0, 1.0))
    first, second = (search(failing, sampler, **options) for _ in range(2))
    assert first.trials.equals(second.trials)
    assert abs(first.params["x"] - 0.3) < 0.05
    assert first.value == pytest.approx(-((first.params["x"] - 0.3) ** 2), rel=1e-4)
    study = first.sampler.study
    assert len(study.get_trials()) == 40
    assert study.best_trial.params == first.params
    last = first.trials["x"].values[-8:]
    assert np.mean(last > 0) > 0.7  # it has learned where points fail
    assert optuna.logging.get_verbosity() == optuna.logging.INFO


@pytest.mark.peer
def test_another_sampler():
    optuna = pytest.importorskip("optuna")
    own = optuna.samplers.RandomSampler(seed=1)
    points = OptunaSearch(0, sampler=own, x=Uniform(-1.0, 1.0)).ask(4)
    own = optuna.samplers.RandomSampler(seed=1)
    again = OptunaSearch(7, sampler=own, x=Uniform(-1.0, 1.0)).ask(4)
    assert points.columns["x"].tolist() == again.columns["x"].tolist()
