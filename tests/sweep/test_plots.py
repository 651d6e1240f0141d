import importlib.util

import numpy as np
import pytest
import xarray

from jaxrepro.core import MissingExtraError
from jaxrepro.sweep import heatmap_plot, learning_curve_plot
from jaxrepro.sweep._plots import nearer_to_geometric

PLOTS = [
    lambda ds: learning_curve_plot(ds, "loss", x="lr"),
    lambda ds: heatmap_plot(ds, "loss", x="lr", y="solver"),
]


@pytest.fixture
def runs():
    """Rates out of order, two solvers, five seeds; three trials failed."""
    values = np.random.default_rng(0).normal(size=(3, 2, 5, 4))
    status = np.ones((3, 2, 5), np.int8)
    status[1, 0, 2], status[1, 0, 3], status[2, 1] = 3, 2, 2
    dims = ("lr", "solver", "seed")
    values[status != 1] = np.nan
    return xarray.Dataset(
        {
            "status": (dims, status),
            "loss": (dims, values[..., -1]),
            "curve": ((*dims, "step"), values),
        },
        {
            "lr": [0.1, 0.01, 1.0],
            "solver": ["heun", "euler"],
            "seed": np.arange(5),
            "step": [0, 10, 20, 30],
        },
    )


def band(collection):
    """Lower and upper end at each place of a filled band."""
    corners = collection.get_paths()[0].vertices
    places = np.unique(corners[:, 0])
    at = [corners[corners[:, 0] == x, 1] for x in places]
    return [v.min() for v in at], [v.max() for v in at]


def test_median_and_quartiles(runs):
    axes = learning_curve_plot(runs.isel(solver=0), "curve", x="step", hue="lr")
    labels = ["lr=0.1", "lr=0.01 (3 of 5)", "lr=1.0"]
    assert [line.get_label() for line in axes.get_lines()] == labels
    assert [text.get_text() for text in axes.get_legend().get_texts()] == labels
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "curve")
    assert axes.get_xscale() == "linear"
    for i, kept in enumerate([[0, 1, 2, 3, 4], [0, 1, 4], [0, 1, 2, 3, 4]]):
        curves = runs.curve.values[i, 0, kept]
        line = axes.get_lines()[i]
        np.testing.assert_array_equal(line.get_xdata(), [0, 10, 20, 30])
        np.testing.assert_allclose(line.get_ydata(), np.median(curves, 0))
        low, high = band(axes.collections[i])
        np.testing.assert_allclose(low, np.quantile(curves, 0.25, 0))
        np.testing.assert_allclose(high, np.quantile(curves, 0.75, 0))


def test_hyperparameter_in_order_on_logarithmic_axis(runs):
    from matplotlib.figure import Figure

    given = Figure().subplots()
    axes = learning_curve_plot(runs.isel(solver=0), "loss", x="lr", axes=given)
    assert axes is given
    assert axes.get_xscale() == "log"
    np.testing.assert_array_equal(axes.get_lines()[0].get_xdata(), [0.01, 0.1, 1.0])
    assert axes.get_legend().get_texts()[0].get_text() == "(13 of 15)"


def test_coordinate_along_points(runs):
    points = runs.isel(solver=0, drop=True).rename(lr="point")
    points = points.assign_coords(rate=points["point"]).drop_vars("point")
    axes = learning_curve_plot(points, "curve", x="step", hue="rate")
    assert axes.get_lines()[2].get_label() == "rate=1.0"
    axes = learning_curve_plot(points, "loss", x="rate")
    np.testing.assert_array_equal(axes.get_lines()[0].get_xdata(), [0.01, 0.1, 1.0])


def test_all_failed_is_a_gap(runs):
    axes = learning_curve_plot(runs.isel(solver=1), "curve", x="step", hue="lr")
    line = axes.get_lines()[2]
    assert line.get_label() == "lr=1.0 (0 of 5)"
    assert np.isnan(line.get_ydata()).all()


def test_heatmap(runs):
    axes = heatmap_plot(runs, "loss", x="lr", y="solver")
    mesh = axes.collections[0]
    order = [1, 0, 2]
    with np.errstate(all="ignore"):
        expected = np.array(
            [
                [
                    np.median(x[np.isfinite(x)]) if np.isfinite(x).any() else np.nan
                    for x in runs.loss.values[order, j]
                ]
                for j in range(2)
            ]
        )
    np.testing.assert_allclose(mesh.get_array().filled(np.nan), expected)
    assert np.isnan(expected[1, 2])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    edges = mesh.get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, 10.0 ** np.array([-2.5, -1.5, -0.5, 0.5]))
    assert [t.get_text() for t in axes.get_yticklabels()] == ["heun", "euler"]
    assert axes.get_yticks().tolist() == [0, 1]
    figure = axes.get_figure()
    assert figure.axes[1].get_ylabel() == "loss"
    figure.canvas.draw()  # all of it can be drawn


def test_heatmap_with_one_value(runs):
    axes = heatmap_plot(runs.isel(lr=[1]), "loss", x="lr", y="solver")
    edges = axes.collections[0].get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, [-0.49, 0.51])


@pytest.mark.parametrize("plot", PLOTS)
def test_without_matplotlib(runs, monkeypatch, plot):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[plots\]"):
        plot(runs)


@pytest.mark.parametrize("plot", PLOTS)
def test_no_result_of_a_sweep(runs, plot):
    with pytest.raises(ValueError, match="ds: expected the result of a sweep"):
        plot(runs.drop_vars("status"))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"var": "acc"}, "var: expected one of loss, curve")]
    + [({"x": "time"}, "expected different dimensions of 'curve'.*got 'time'")]
    + [({"x": "seed"}, "got 'seed'"), ({"hue": "step"}, "got 'step'")]
    + [({}, "ds: expected 'curve' over step, seed only; it has lr, solver, too")],
)
def test_bad_curves(runs, options, message):
    with pytest.raises(ValueError, match=message):
        learning_curve_plot(runs, **{"var": "curve", "x": "step"} | options)


def test_bad_heatmap(runs):
    with pytest.raises(ValueError, match="it has step, too"):
        heatmap_plot(runs, "curve", x="lr", y="solver")
    with pytest.raises(ValueError, match="var: expected one of"):
        heatmap_plot(runs, "acc", x="lr", y="solver")
    with pytest.raises(ValueError, match="x, y: expected dimensions; got 'rate'"):
        heatmap_plot(
            runs.rename(lr="point").assign_coords(rate=("point", [1, 2, 3])),
            "loss",
            x="rate",
            y="solver",
        )


@pytest.mark.parametrize(
    ("values", "geometric"),
    [([1, 2, 4], True), ([1e-4, 3e-4, 1e-3, 3e-3], True), ([1, 2, 3], False)]
    + [([1, 10], False), ([0, 1, 10, 100], False), ([-1, 1, 10], False)]
    + [([100, 1, 10], True), (["a", "b", "c"], False), ([1, 1, 1], False)],
)
def test_nearer_to_geometric(values, geometric):
    assert nearer_to_geometric(np.array(values)) is geometric
