import numpy as np
import pytest
import scipy.stats
import xarray

from jaxrepro.sweep import Static, paired_difference, sweep


@pytest.fixture
def runs():
    """Two solvers, three rates, six seeds, and a curve; two trials failed."""
    generator = np.random.default_rng(3)
    noise = 10 * generator.normal(size=(1, 3, 6, 1))
    values = noise + generator.normal(size=(2, 3, 6, 4))
    status = np.ones((2, 3, 6), np.int8)
    status[0, 1, 2], status[1, 1, 4] = 2, 3
    status[0, 2, 1:] = 2
    dims = ("solver", "lr", "seed")
    return xarray.Dataset(
        {
            "status": (dims, status),
            "loss": (dims, values[..., 0]),
            "curve": ((*dims, "step"), values),
        },
        {"solver": ["euler", "heun"], "lr": [0.1, 0.2, 0.3], "seed": np.arange(6)},
        {"keys": "common"},
    )


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_equals_scipy(runs, level):
    result = paired_difference(runs, "curve", "solver", "heun", "euler", level=level)
    assert result.mean.dims == ("lr", "step")
    for point, kept in ((0, [0, 1, 2, 3, 4, 5]), (1, [0, 1, 3, 5])):
        a, b = (runs.curve.values[i, point][kept] for i in (1, 0))
        test = scipy.stats.ttest_rel(a, b)
        interval = test.confidence_interval(level)
        np.testing.assert_allclose(result.mean[point], (a - b).mean(0), rtol=1e-10)
        sem = scipy.stats.sem(a - b)
        np.testing.assert_allclose(result.sem[point], sem, rtol=1e-10)
        np.testing.assert_allclose(result.low[point], interval.low, rtol=1e-9)
        np.testing.assert_allclose(result.high[point], interval.high, rtol=1e-9)
        assert (result.n[point] == len(kept)).all()


def test_single_pair_has_no_interval(runs):
    result = paired_difference(runs, "loss", "solver", "heun", "euler")
    assert result.n.values.tolist() == [6, 4, 1]
    assert np.isfinite(result.mean[2])
    for field in (result.sem, result.low, result.high):
        assert np.isnan(field[2])


def test_no_pair_is_nan(runs):
    result = paired_difference(runs.isel(seed=[1, 2]), "loss", "lr", 0.3, 0.1)
    assert result.n.values.tolist() == [0, 2]
    assert np.isnan(result.mean[0])


def test_common_numbers_cancel():
    def fn(key, params, shift):
        import jax

        return {"loss": 1e3 * jax.random.normal(key) + shift}

    result = sweep(fn, Static(shift=[0.0, 1.0]), seeds=4)
    difference = paired_difference(result, "loss", "shift", 1.0, 0.0)
    assert difference.mean.shape == ()
    assert float(difference.mean) == pytest.approx(1.0, abs=1e-3)
    assert float(difference.sem) < 1e-3


@pytest.mark.parametrize("keys", ["independent", None])
def test_refuses_independent_keys(runs, keys):
    runs.attrs = {} if keys is None else {"keys": keys}
    with pytest.raises(ValueError, match=f"keys='common', .*got keys={keys!r}"):
        paired_difference(runs, "loss", "lr", 0.1, 0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"var": "acc"}, "var: expected one of loss, curve")]
    + [({"dim": "step"}, "dim: expected one of solver, lr, seed; got 'step'")]
    + [({"over": "step"}, "over: expected one of"), ({"over": "lr"}, "over: expected")]
    + [({"b": 0.5}, r"lr: expected one of \[0.1, 0.2, 0.3\]; got 0.5")]
    + [({"b": "x"}, "lr: expected one of"), ({"level": 1.0}, "level: expected")],
)
def test_bad_arguments(runs, options, message):
    arguments = {"var": "loss", "dim": "lr", "a": 0.1, "b": 0.2} | options
    with pytest.raises(ValueError, match=message):
        paired_difference(runs, **arguments)


def test_no_result_of_a_sweep(runs):
    with pytest.raises(ValueError, match="ds: expected the result of a sweep"):
        paired_difference(runs.drop_vars("status"), "loss", "lr", 0.1, 0.2)
