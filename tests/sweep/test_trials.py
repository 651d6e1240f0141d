import jax
import numpy as np
import pytest

from jaxrepro.sweep import Grid, Static, sweep, trial_key
from jaxrepro.sweep._trials import Trials, seed_array


@pytest.mark.parametrize("keys", ["common", "independent"])
def test_keys(reference, keys):
    stored = reference["trial_keys"]
    for point, seed, expected in zip(stored["point"], stored["seed"], stored[keys]):
        key = trial_key(stored["base_seed"], seed, point, keys=keys)
        assert jax.random.key_data(key).tolist() == expected


def test_keys_are_traceable():
    traced = jax.jit(lambda seed, point: trial_key(7, seed, point, keys="independent"))
    plain = trial_key(7, 3, 4, keys="independent")
    assert traced(3, 4) == plain


@pytest.mark.parametrize("keys", ["common", "independent"])
def test_small_sweep(reference, keys):
    stored = reference[f"normal_sweep_{keys}"]["value"]
    result = sweep(
        lambda key, params: params["a"] * jax.random.normal(key, dtype=np.float32),
        Grid(a=[1.0, 2.0, 3.0]),
        seeds=2,
        base_seed=7,
        keys=keys,
    )
    np.testing.assert_allclose(result["value"], stored, rtol=1e-6)


def test_trials_are_numbered_group_point_seed():
    space = Static(s=["a", "b"]) * Grid(x=[1.0, 2.0, 3.0])
    trials = Trials(space, seed_array([5, 9]), 0, True)
    assert trials.n_trials == 12
    group, point, seed = trials.split(np.arange(12))
    assert group.tolist() == [0] * 6 + [1] * 6
    assert point.tolist() == [0, 0, 1, 1, 2, 2] * 2
    assert seed.tolist() == [5, 9] * 6


@pytest.mark.parametrize(
    ("seeds", "got"),
    [(0, "got 0"), (-1, "got -1"), ([], "non-empty"), ([1, 1], "each once")]
    + [([0.5], "integers"), ([-1], "2"), ([2**32], "2"), ([[1]], "list")],
)
def test_bad_seeds(seeds, got, plain_errors):
    with pytest.raises(ValueError, match=f"seeds: .*{got}"):
        seed_array(seeds)


def test_bad_keys():
    with pytest.raises(ValueError, match="keys: expected one of 'common'"):
        trial_key(0, 0, 0, keys="other")
