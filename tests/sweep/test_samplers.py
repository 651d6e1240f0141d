import numpy as np
import pytest

from jaxrepro.sweep import (
    Choice,
    IntUniform,
    LogUniform,
    Random,
    RandomSearch,
    Sampler,
    Sobol,
    SobolSearch,
    SuccessiveHalving,
    Uniform,
)

BOX = {"lr": LogUniform(1e-3, 1.0), "k": IntUniform(1, 4), "c": Choice([2.0, 8.0])}


@pytest.mark.parametrize(
    ("kind", "space"), [(RandomSearch, Random), (SobolSearch, Sobol)]
)
def test_rounds_continue_one_space(kind, space):
    sampler = kind(5, **BOX)
    assert isinstance(sampler, Sampler)
    parts = []
    for n in (4, 1, 3):
        parts.append(sampler.ask(n))
        sampler.tell(parts[-1], np.zeros(n))
    for name, column in space(8, 5, **BOX).columns.items():
        joined = np.concatenate([part.columns[name] for part in parts])
        np.testing.assert_array_equal(joined, column)


def halving(**options):
    return SuccessiveHalving(0, budget=(5, 50), x=Uniform(0.0, 1.0), **options)


def test_halving_keeps_the_best():
    sampler, asked = halving(factor=3), []
    assert sampler.budgets == (5, 15, 45)
    for _ in range(4):
        asked.append(sampler.ask(10).columns)
        values = np.sin(40 * asked[-1]["x"])
        sampler.tell(sampler_points(asked[-1]), values)
    sizes = [len(columns["x"]) for columns in asked]
    assert sizes == [10, 3, 1, 10]
    assert [set(columns["budget"].tolist()) for columns in asked] == [
        {5},
        {15},
        {45},
        {5},
    ]
    values = np.sin(40 * asked[0]["x"])
    best = asked[0]["x"][np.argsort(values)]
    np.testing.assert_array_equal(asked[1]["x"], best[:3])
    np.testing.assert_array_equal(asked[2]["x"], best[:1])
    assert not set(asked[3]["x"]) & set(asked[0]["x"])  # a new bracket


def sampler_points(columns):
    from jaxrepro.sweep import Points

    return Points(columns)


def test_halving_counts_failed_points_as_worst():
    sampler = halving(factor=2)
    points = sampler.ask(6)
    sampler.tell(points, np.array([np.nan, 5.0, np.nan, 1e30, 4.0, np.nan]))
    kept = sampler.ask(6).columns["x"]
    np.testing.assert_array_equal(kept, points.columns["x"][[4, 1, 3]])


def test_halving_with_static_budget():
    sampler = halving(static=True)
    points = sampler.ask(3)
    assert (points.options, list(points.columns)) == ({"budget": (5,)}, ["x"])
    sampler.tell(points, np.array([2.0, 1.0, np.nan]))
    points_after = sampler.ask(3)
    assert points_after.options == {"budget": (15,)}
    assert points_after.columns["x"].tolist() == points.columns["x"][[1]].tolist()


def test_halving_with_one_rung():
    sampler = SuccessiveHalving(0, budget=(7, 7), x=Uniform(0.0, 1.0))
    assert sampler.n_rungs == 1
    first = sampler.ask(2)
    sampler.tell(first, np.zeros(2))
    assert sampler.ask(2).columns["x"].tolist() != first.columns["x"].tolist()


@pytest.mark.parametrize("kind", [RandomSearch, SobolSearch])
def test_bad_distributions(kind, plain_errors):
    with pytest.raises(ValueError, match="distributions: expected at least one"):
        kind(0)
    with pytest.raises(ValueError, match="x: expected finite low <= high"):
        kind(0, x=Uniform(1.0, 0.0))
    with pytest.raises(TypeError, match="x: expected Uniform"):
        kind(0, x=1.0)
    with pytest.raises(ValueError, match="n: expected"):
        kind(0, x=Uniform(0.0, 1.0)).ask(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"budget": (0, 5)}, "budget: expected"), ({"budget": (6, 5)}, "budget: expected")]
    + [({"budget": (1, 5), "factor": 1}, "factor: expected")]
    + [({"budget": (1, 5), "x": Uniform(1.0, 0.0)}, "x: expected finite")],
)
def test_bad_halving(options, message):
    with pytest.raises(ValueError, match=message):
        SuccessiveHalving(0, **{"x": Uniform(0.0, 1.0)} | options)


def test_bad_kinds_for_halving(plain_errors):
    with pytest.raises(ValueError, match="distributions: expected at least one"):
        SuccessiveHalving(0, budget=(1, 5))
    with pytest.raises(TypeError, match="x: expected Uniform"):
        SuccessiveHalving(0, budget=(1, 5), x=1.0)
    with pytest.raises(TypeError, match="budget: expected"):
        SuccessiveHalving(0, budget=(1.5, 5), x=Uniform(0.0, 1.0))


def test_values_of_another_shape():
    sampler = halving()
    with pytest.raises(ValueError, match=r"values: expected shape \(4,\); got \(3,\)"):
        sampler.tell(sampler.ask(4), np.zeros(3))
