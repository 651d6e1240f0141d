import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.sweep import (
    Points,
    RandomSearch,
    Sobol,
    SobolSearch,
    Static,
    SuccessiveHalving,
    SweepMismatchError,
    Uniform,
    best,
    search,
    status,
    sweep,
    trial_key,
)
from jaxrepro.sweep._store import Store

X = {"x": Uniform(0.0, 1.0)}


def noisy(key, params):
    return {"loss": (params["x"] - 0.3) ** 2 + 0.01 * jax.random.normal(key)}


def train(key, params):
    """Gradient descent on a parabola; a large rate diverges."""

    def step(i, theta):
        return theta - params["x"] * theta

    theta = jax.lax.fori_loop(0, params["budget"], step, jax.random.normal(key))
    return {"loss": jnp.abs(theta), "steps": params["budget"]}


@pytest.mark.parametrize("mode", ["min", "max"])
def test_equals_one_sweep(mode):
    options = {"seeds": 3, "exact": True, "batch_per_device": 6}
    result = search(
        noisy,
        SobolSearch(0, **X),
        n_rounds=2,
        batch=4,
        value="loss",
        mode=mode,
        **options,
    )
    whole = sweep(noisy, Sobol(8, 0, **X), **options)
    np.testing.assert_array_equal(result.trials["loss"], whole["loss"])
    np.testing.assert_array_equal(result.trials["x"], whole["x"])
    assert result.trials["round"].values.tolist() == [0] * 4 + [1] * 4
    assert result.trials["point"].values.tolist() == list(range(8))
    expected = best(whole, "loss", mode)
    assert (result.params, result.value) == (expected.params, expected.value)


def test_independent_keys_differ_between_rounds():
    class Same:
        def ask(self, n):
            return Points({"x": np.full(n, 0.5)})

        def tell(self, points, values):
            pass

    result = search(
        noisy,
        Same(),
        n_rounds=2,
        batch=2,
        value="loss",
        keys="independent",
        base_seed=7,
    )
    losses = result.trials["loss"].values.ravel()
    assert len(set(losses.tolist())) == 4
    key = trial_key(8, 0, 1, keys="independent")
    expected = noisy(key, {"x": 0.5})["loss"]
    assert losses[3] == pytest.approx(float(expected), rel=1e-5)


def halving():
    # The best rate is 1, which needs a single step; rates above 2 diverge.
    return SuccessiveHalving(4, budget=(2, 128), factor=8, x=Uniform(0.0, 3.0))


def test_successive_halving():
    result = search(
        train, halving(), n_rounds=3, batch=16, value="loss", seeds=2, exact=True
    )
    trials = result.trials
    assert trials["budget"].values.tolist() == [2] * 16 + [16] * 2 + [128]
    assert trials["steps"].values[:, 0].tolist() == trials["budget"].values.tolist()
    closest = np.argsort(np.abs(1 - trials["x"].values[:16]))
    assert (
        trials["x"].values[16:18].tolist() == trials["x"].values[closest[:2]].tolist()
    )
    assert result.params == {"x": trials["x"].values[closest[0]], "budget": 128}


def test_static_budget_and_best_of_the_largest():
    def scan(key, params, budget):
        return {"loss": params["x"] + jnp.ones(budget).sum()}

    sampler = SuccessiveHalving(0, budget=(1, 4), factor=2, static=True, **X)
    result = search(scan, sampler, n_rounds=4, batch=4, value="loss")
    assert result.trials["budget"].values.tolist() == [1] * 4 + [2] * 2 + [4] + [1] * 4
    place = int(np.argmin(result.trials["x"].values[:4]))
    # The loss grows with the budget, and yet that at the largest one counts.
    x = result.trials["x"].values[place]
    assert result.params == {"budget": 4, "x": x}
    assert result.value == pytest.approx(x + 4)


class Told(RandomSearch):
    """Keeps what it is told."""

    def tell(self, points, values):
        self.told = [*getattr(self, "told", []), values]


def test_failed_points_are_worst():
    def fails(key, params):
        seed = jax.random.key_data(key)[1]
        bad = (params["x"] < 0.5) & (seed == first)
        return {"loss": params["x"], "other": jnp.where(bad, jnp.nan, 1.0)}

    first = jax.random.key_data(trial_key(0, 1, 0))[1]
    result = search(fails, Told(0, **X), n_rounds=1, batch=8, value="loss", seeds=2)
    x = result.trials["x"].values
    assert (x < 0.5).any()
    (told,) = result.sampler.told
    np.testing.assert_allclose(told, np.where(x < 0.5, np.nan, x), rtol=1e-6)
    assert result.params["x"] == x[x >= 0.5].min()


def test_all_points_fail():
    def fails(key, params):
        return {"loss": jnp.log(-params["x"])}

    result = search(fails, RandomSearch(0, **X), n_rounds=1, batch=2, value="loss")
    assert result.params == {}
    assert np.isnan(result.value)
    assert result.trials["status"].values.tolist() == [[2], [2]]


def test_value_function_and_static_space():
    class Both:
        def ask(self, n):
            return Static(power=[1, 2]) * Points({"x": np.arange(n) + 2.0})

        def tell(self, points, values):
            self.values = values

    def curve(key, params, power):
        return {"curve": jnp.stack([0 * params["x"], params["x"] ** power])}

    result = search(
        curve,
        Both(),
        n_rounds=1,
        batch=2,
        value=lambda ds: ds["curve"][..., -1],
        mode="max",
    )
    assert result.sampler.values.tolist() == [-2.0, -3.0, -4.0, -9.0]
    assert result.params == {"power": 2, "x": 3.0}
    assert result.trials["curve"].dims == ("point", "seed", "curve_dim_0")


class Stop(Exception):
    pass


@pytest.mark.parametrize("stop", [0, 2, 5])
def test_resumes_after_a_stop(tmp_path, monkeypatch, stop):
    options = {"n_rounds": 3, "batch": 16, "value": "loss", "seeds": 2}
    options |= {"exact": True, "batch_per_device": 6}
    plain = search(train, halving(), out=tmp_path / "plain", **options)
    written, write = [], Store.write_part

    def write_some(self, *arguments):
        if len(written) == stop:
            raise Stop
        written.append(self.folder.name)
        return write(self, *arguments)

    sampler, out = halving(), tmp_path / "stopped"
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write_part", write_some)
        with pytest.raises(Stop):
            search(train, sampler, out=out, **options)
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/parts/*.npz")}
    assert len(before) == stop
    resumed = search(train, sampler, out=out, **options)  # the same object

    for name in ("loss", "status", "x", "budget", "round", "search_value"):
        a, b = resumed.trials[name].values, plain.trials[name].values
        assert a.tobytes() == b.tobytes()
    assert resumed[:2] == plain[:2]
    parts = sorted(p.relative_to(out) for p in out.glob("*/parts/*.npz"))
    whole = sorted(
        p.relative_to(tmp_path / "plain") for p in tmp_path.glob("plain/*/parts/*.npz")
    )
    assert parts == whole  # each trial in one part, none twice
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_status_of_a_search_says_where_its_sweeps_are(tmp_path):
    options = {"n_rounds": 2, "batch": 2, "value": "y", "out": tmp_path}
    search(lambda key, params: {"y": params["x"]}, RandomSearch(0, **X), **options)
    with pytest.raises(FileNotFoundError, match=rf"sweep in {tmp_path}/round-000"):
        status(tmp_path)
    assert status(tmp_path / "round-001").done == 2


def test_goes_on_with_more_rounds(tmp_path):
    options = {"batch": 2, "value": "loss", "out": tmp_path}
    search(noisy, RandomSearch(0, **X), n_rounds=1, **options)
    both = search(noisy, RandomSearch(0, **X), n_rounds=2, **options)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["round-000", "round-001"]
    assert both.trials.sizes["point"] == 4
    with pytest.raises(SweepMismatchError, match="round-000 holds another sweep"):
        search(noisy, RandomSearch(1, **X), n_rounds=1, **options)


def run(fn=noisy, sampler=None, **options):
    defaults = {"n_rounds": 1, "batch": 2, "value": "loss"}
    sampler = RandomSearch(0, **X) if sampler is None else sampler
    return search(fn, sampler, **defaults | options)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_rounds": 0}, "n_rounds: expected"), ({"batch": 0}, "batch: expected")]
    + [({"mode": "least"}, "mode: expected one of 'min', 'max'")]
    + [
        (
            {"value": "acc"},
            "value: expected an output of one real number, loss; got 'acc'",
        )
    ]
    + [({"value": lambda ds: ds["loss"].mean("seed")}, "value: expected an array over")]
    + [({"worker": (0, 2)}, "worker: expected none")],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        run(**options)


def test_one_of_several_workers(monkeypatch, tmp_path):
    monkeypatch.setenv("JAXREPRO_WORKER", "1/4")
    with pytest.raises(ValueError, match="search: expected a single worker.*1 of 4"):
        run(out=tmp_path)


def test_bad_sampler(plain_errors):
    with pytest.raises(TypeError, match="sampler: expected ask and tell; got int"):
        run(sampler=3)

    class Odd:
        def ask(self, n):
            return [0.1] * n

        def tell(self, points, values):
            pass

    with pytest.raises(TypeError, match="sampler: expected ask to return a Space"):
        run(sampler=Odd())
