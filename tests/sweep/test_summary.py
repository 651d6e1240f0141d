import warnings

import numpy as np
import pytest
import xarray

from jaxrepro.sweep import Grid, Points, Static, best, summarise, sweep


@pytest.fixture
def runs():
    """Three points, five seeds; the last point fails but for one seed."""
    values = np.random.default_rng(0).normal(size=(3, 5, 2))
    status = np.ones((3, 5), np.int8)
    status[1, 2], status[2, 1:] = 3, [2, 2, 3, 0]
    values[status != 1] = 1e6
    return xarray.Dataset(
        {
            "status": (("lr", "seed"), status),
            "loss": (("lr", "seed"), values[..., 0]),
            "curve": (("lr", "seed", "step"), values),
            "steps": (("lr", "seed"), np.arange(15).reshape(3, 5)),
            "z": (("lr", "seed"), values[..., 0] + 1j),
        },
        {"lr": [0.1, 0.2, 0.4], "seed": np.arange(5), "step": [10, 20]},
        {"keys": "common"},
    )


def test_equals_loop(runs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = summarise(runs, quantiles=(0.1, 0.9))
    assert result.n_ok.values.tolist() == [5, 4, 1]
    assert result["curve_quantile"].dims == ("lr", "step", "quantile")
    assert not [name for name in result if str(name).startswith("z")]
    for name in ("loss", "curve", "steps"):
        for point in range(3):
            kept = runs[name].values[point][runs.status.values[point] == 1]
            kept = kept.astype(float)
            got = {
                k: result[f"{name}_{k}"].values[point]
                for k in ("mean", "std", "sem", "median", "quantile")
            }
            np.testing.assert_allclose(got["mean"], kept.mean(0), rtol=1e-12)
            np.testing.assert_allclose(got["median"], np.median(kept, 0), rtol=1e-12)
            quantiles = np.moveaxis(np.quantile(kept, [0.1, 0.9], 0), 0, -1)
            np.testing.assert_allclose(got["quantile"], quantiles, rtol=1e-12)
            if len(kept) == 1:
                assert np.isnan(got["std"]).all()
                assert np.isnan(got["sem"]).all()
            else:
                std = kept.std(0, ddof=1)
                np.testing.assert_allclose(got["std"], std, rtol=1e-12)
                np.testing.assert_allclose(got["sem"], std / len(kept) ** 0.5)


def test_says_what_is_left_out(runs):
    text = "5 of 15 trials: 1 not run, 2 not finite, 2 raised"
    result = summarise(runs)
    assert result.attrs == {"keys": "common", "over": "seed", "left_out": text}
    assert result.step.values.tolist() == [10, 20]
    right = summarise(runs.isel(lr=[0]))
    assert right.attrs["left_out"] == "none of 5 trials"


def test_point_without_right_trials_is_nan(runs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = summarise(runs.isel(seed=[1, 2]))
    assert result.n_ok.values.tolist() == [2, 1, 0]
    for name in ("mean", "std", "sem", "median", "quantile"):
        assert np.isnan(result[f"loss_{name}"].values[2]).all()


def test_over_another_dimension(runs):
    result = summarise(runs, over="lr")
    assert result.n_ok.values.tolist() == [3, 2, 1, 2, 2]
    np.testing.assert_allclose(result.loss_mean[0], runs.loss[:, 0].mean())


@pytest.mark.parametrize(
    ("options", "message"),
    [({"over": "step"}, "over: expected one of lr, seed")]
    + [({"quantiles": [0.5, 1.5]}, r"quantiles: expected every entry in \[0, 1\]")],
)
def test_bad_options(runs, options, message):
    with pytest.raises(ValueError, match=message):
        summarise(runs, **options)


def test_no_result_of_a_sweep(runs):
    with pytest.raises(ValueError, match="ds: expected the result of a sweep"):
        summarise(runs.drop_vars("status"))


def test_best(runs):
    means = [runs.loss.values[i][runs.status.values[i] == 1].mean() for i in range(3)]
    for mode, place in (("min", np.argmin(means)), ("max", np.argmax(means))):
        result = best(runs, "loss", mode)
        assert result.params == {"lr": [0.1, 0.2, 0.4][place]}
        assert result.value == pytest.approx(means[place], rel=1e-12)
        assert result.n_ok == [5, 4, 1][place]
        sem = summarise(runs).loss_sem.values[place]
        assert result.sem == pytest.approx(sem, nan_ok=True)


def test_best_passes_over_points_with_few_right_trials(runs):
    runs["loss"][2, 0] = -1e3
    assert best(runs, "loss").params == {"lr": 0.4}
    assert best(runs, "loss", min_ok=2).n_ok > 1


def test_best_single_trial(runs):
    runs["loss"][1, 3] = -9.0
    result = best(runs, "loss", over=None)
    assert result[:2] == ({"lr": 0.2, "seed": 3}, -9.0)
    assert np.isnan(result.sem)
    assert result.n_ok == 1


def test_best_of_a_sweep_of_points_and_options():
    def fn(key, params, power):
        return {"loss": abs(params["a"] - 2) ** power / params["b"]}

    space = Static(power=[1, 2]) * Points({"a": [0.0, 2.5, 1.0], "b": [0.0, 1.0, 1.0]})
    result = best(sweep(fn, space), "loss")
    assert result == ({"power": 2, "a": 2.5, "b": 1.0}, 0.25, result.sem, 1)


@pytest.mark.parametrize(
    ("var", "options", "message"),
    [("acc", {}, "var: expected one of loss, curve, steps; got 'acc'")]
    + [("z", {}, "var: expected one of"), ("status", {}, "var: expected one of")]
    + [("curve", {}, r"var: expected a number a trial; .*ds.isel\(step=-1\)")]
    + [("loss", {"mode": "least"}, "mode: expected one of")]
    + [("loss", {"over": "step"}, "over: expected one of")]
    + [("loss", {"min_ok": 6}, "ds: expected a point with at least 6 right trials")]
    + [("loss", {"min_ok": 0}, "min_ok: expected")],
)
def test_bad_best(runs, var, options, message):
    with pytest.raises(ValueError, match=message):
        best(runs, var, **options)


def test_failing_trials_of_a_sweep_are_left_out():
    result = sweep(lambda key, p: {"y": 1 / p["x"]}, Grid(x=[0.0, 2.0]), seeds=2)
    summary = summarise(result)
    assert summary.n_ok.values.tolist() == [0, 2]
    assert summary.y_mean.values[1] == 0.5
    assert summary.attrs["left_out"] == "2 of 4 trials: 2 not finite"
