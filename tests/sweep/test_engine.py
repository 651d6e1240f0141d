"""Launches: order, batches, memory, failures, compilations."""

import dataclasses
import json
import logging
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.sweep import Grid, Static, Zip, load, status, sweep
from jaxrepro.sweep._batch import automatic_batch
from jaxrepro.sweep._program import Program
from jaxrepro.sweep._schedule import Worker, launches, missing, union
from jaxrepro.sweep._store import Store


def draw(key, params):
    return {"y": params["x"] * jax.random.normal(key, (2,)), "n": jnp.int32(3)}


SPACE = Grid(x=np.arange(1.0, 9.0))


@pytest.fixture(scope="module")
def expected():
    """The sweep that others below must reproduce."""
    return sweep(draw, SPACE, seeds=2, exact=True, batch_per_device=16)


# Schedule


def test_intervals():
    assert union([(4, 6), (0, 2), (1, 3), (6, 7)]) == [(0, 3), (4, 7)]
    assert missing([(4, 6), (0, 2)], 8) == [(2, 4), (6, 8)]
    assert missing([(0, 8)], 8) == []


@pytest.mark.parametrize("size", [1, 3, 4, 7])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("done", [[], [(0, 5)], [(3, 4), (10, 12)]])
def test_workers_share_what_is_missing(size, count, done):
    total, group_size, block_size = 24, 8, 3
    held = np.zeros(total, int)
    for interval in done:
        held[slice(*interval)] += 1
    for index in range(count):
        for start, stop in launches(
            missing(done, total),
            size=size,
            group_size=group_size,
            block_size=block_size,
            worker=Worker(index, count),
        ):
            held[start:stop] += 1
            assert 0 < stop - start <= size
            assert start // group_size == (stop - 1) // group_size
            if count > 1:
                assert start // block_size == (stop - 1) // block_size
                assert start // block_size % count == index
    assert held.tolist() == [1] * total


def test_groups_start_launches_anew():
    todo = launches([(0, 18)], size=5, group_size=9, block_size=5, worker=Worker(0, 1))
    assert list(todo) == [(0, 5), (5, 9), (9, 14), (14, 18)]


class Sized(NamedTuple):
    size: int

    def memory(self):
        return 100 + 10 * self.size


class Device(NamedTuple):
    platform: str
    limit: int | None

    def memory_stats(self):
        return None if self.limit is None else {"bytes_limit": self.limit}


@pytest.mark.parametrize(
    ("platform", "limit", "n", "count", "batch"),
    [
        ("gpu", 10**9, 1000, 4, 250),  # all at once
        ("gpu", 1250, 1000, 1, 84),  # 90 fit: twelve launches of 84
        ("gpu", 1250, 91, 1, 46),  # two launches
        ("gpu", 100, 1000, 1, 1),  # nothing fits; one is tried
        ("cpu", 10**9, 1000, 2, 63),  # 64 at most: eight launches
    ],
)
def test_automatic_batch(platform, limit, n, count, batch):
    asked = []

    def program(size):
        asked.append(size)
        return Sized(size)

    devices = (Device(platform, limit),) * count
    assert automatic_batch(program, devices, n) == batch  # pyright: ignore
    assert batch in (asked[-1], 1)


def test_automatic_batch_where_the_compiler_gives_up():
    def program(size):
        if size > 10:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: no")
        return Sized(size)

    assert automatic_batch(program, (Device("gpu", 10**9),), 64) == 8  # pyright: ignore

    def broken(size):
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        automatic_batch(broken, (Device("gpu", 10**9),), 64)


# Compilation


def test_a_group_compiles_once(monkeypatch, tmp_path):
    traces, compiled = [], []
    made = Program.__init__

    def counted(self, *args):
        made(self, *args)
        compiled.append(self.size)

    def fn(key, params, width):
        traces.append(width)
        return params["x"] * jnp.ones(2) * width

    monkeypatch.setattr(Program, "__init__", counted)
    space = Static(width=[2, 3]) * Grid(x=np.arange(7.0))
    result = sweep(fn, space, batch_per_device=2, out=tmp_path)
    assert compiled == [2, 2]  # eight launches
    assert traces == [2, 3, 2, 3]  # for the shapes, for the programs
    assert result["value"].dims == ("width", "x", "seed", "value_dim_0")
    x, width = np.arange(7.0), np.asarray([2, 3])
    np.testing.assert_array_equal(result["value"][:, :, 0, 1], width[:, None] * x)
    sweep(fn, space, batch_per_device=2, out=tmp_path)
    assert len(compiled) == 2  # nothing is left to run


def test_outputs_must_not_depend_on_static_options():
    def fn(key, params, width):
        return jnp.zeros(width)

    with pytest.raises(ValueError, match=r"\[3\] for .*'width': 3.*\[2\] for"):
        sweep(fn, Static(width=[2, 3]))


@pytest.mark.parametrize("batch", [1, 3, 5, 16, 100])
def test_padding(batch, expected):
    result = sweep(draw, SPACE, seeds=2, exact=True, batch_per_device=batch)
    assert result.equals(expected)


def test_double_precision(x64, tmp_path):
    def fn(key, params):
        return params["x"] / 3, jax.random.normal(key)

    result = sweep(fn, Grid(x=[1.0, 2.0]), out=tmp_path)
    assert {str(v.dtype) for k, v in result.items() if k != "status"} == {"float64"}
    np.testing.assert_array_equal(result["0"].values[:, 0], np.asarray([1.0, 2.0]) / 3)
    with (
        jax.enable_x64(False),
        pytest.raises(ValueError, match="(?s)columns_sha256:.*x64: True there"),
    ):
        sweep(fn, Grid(x=[1.0, 2.0]), out=tmp_path)


# Outputs


class Inner(NamedTuple):
    c: jax.Array
    d: tuple


@dataclasses.dataclass
class Outer:
    a: dict
    e: jax.Array


def test_trees_of_outputs():
    def fn(key, params):
        x = params["x"]
        inner = Inner(x + 1, (x + 2, {"f/g": x + 3}))
        return Outer({"b": inner}, x)

    result = sweep(fn, Grid(x=[1.0]))
    values = {name: v.item() for name, v in result.items() if name != "status"}
    assert values == {"a.b.c": 2, "a.b.d.0": 3, "a.b.d.1.f.g": 4, "e": 1}


def test_dtypes_of_outputs(tmp_path):
    def fn(key, params):
        x = params["x"]
        return {
            "bf": x.astype(jnp.bfloat16),
            "f8": x.astype(jnp.float8_e5m2),
            "half": x.astype(jnp.float16),
            "i4": x.astype(jnp.int4),
            "complex": x * 1j,
            "bool": x > 0,
            "python": 2,
            "_ok": x,
        }

    result = sweep(fn, Grid(x=[1.5]), out=tmp_path)
    kinds = {name: str(v.dtype) for name, v in result.items()}
    assert kinds == {
        "status": "int8",
        "bf": "float32",
        "f8": "float32",
        "half": "float16",
        "i4": "int32",
        "complex": "complex64",
        "bool": "bool",
        "python": "int32",
        "_ok": "float32",
    }
    values = [result[name].item() for name in ("bf", "f8", "i4", "_ok", "complex")]
    assert values == [1.5, 1.5, 1, 1.5, 1.5j]


@pytest.mark.parametrize(
    ("fn", "error", "message"),
    [
        (lambda k, p: {"k": k}, TypeError, "arrays of numbers; got a key in 'k'"),
        (lambda k, p: {"s": "no"}, TypeError, "arrays of numbers; got str in 's'"),
        (lambda k, p: jnp.zeros((2, 0)), ValueError, r"with elements.*\(2, 0\)"),
        (lambda k, p: {}, ValueError, "at least one output"),
        (lambda k, p: {"x": p["x"]}, ValueError, "other names than .*; got 'x'"),
        (lambda k, p: {"seed": p["x"]}, ValueError, "other names than .*; got 'seed'"),
        (lambda k, p: {"status": p["x"]}, ValueError, "got 'status'"),
        (
            lambda k, p: {"a.b": p["x"], "a": {"b": p["x"]}},
            ValueError,
            "different names; got 'a.b'",
        ),
    ],
)
def test_bad_outputs(fn, error, message):
    with pytest.raises(error, match=message):
        sweep(fn, Grid(x=[1.0]))


# Memory


def faulty_launches(monkeypatch, fail):
    """Let launches fail where ``fail(size)`` says; return their sizes."""
    launch, sizes = Program.launch, []

    def faulty(self, *args):
        sizes.append(self.size)
        if fail(self.size):
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")
        return launch(self, *args)

    monkeypatch.setattr(Program, "launch", faulty)
    return sizes


def test_memory_errors_halve_the_batch(monkeypatch, expected, tmp_path, caplog):
    sizes = faulty_launches(monkeypatch, lambda size: size > 2)
    with caplog.at_level(logging.WARNING, logger="jaxrepro.sweep"):
        result = sweep(
            draw, SPACE, seeds=2, exact=True, batch_per_device=16, out=tmp_path
        )
    assert list(dict.fromkeys(sizes)) == [16, 8, 4, 2]
    assert [record.args[0] for record in caplog.records] == [8, 4, 2]
    assert result.equals(expected)
    assert [p.stop - p.start for p in Store(tmp_path).parts()] == [2] * 8


def test_memory_that_ends_in_the_middle(monkeypatch, expected):
    sizes = faulty_launches(monkeypatch, lambda size: size > 2 and len(sizes) > 2)
    result = sweep(draw, SPACE, seeds=2, exact=True, batch_per_device=4)
    assert sizes[:3] == [4] * 3
    assert result.equals(expected)


def test_memory_errors_of_the_compiler(monkeypatch, expected):
    made = Program.__init__

    def faulty(self, one, devices, batch, *args):
        if batch > 4:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Ran out of memory")
        made(self, one, devices, batch, *args)

    monkeypatch.setattr(Program, "__init__", faulty)
    result = sweep(draw, SPACE, seeds=2, exact=True, batch_per_device=16)
    assert result.equals(expected)


def test_a_trial_that_does_not_fit(monkeypatch):
    faulty_launches(monkeypatch, lambda size: True)
    with pytest.raises(MemoryError, match=r"single trial a device; .* \d+ bytes"):
        sweep(draw, SPACE, batch_per_device=2)


# Trials that fail


def picky(key, params):
    """Raise in the trial x = 5; not finite in the trial x = 2."""

    def host(x):
        if np.any(x == 5):
            raise ValueError("five is not served")
        return x

    shape = jax.ShapeDtypeStruct((), jnp.float32)
    x = jax.pure_callback(host, shape, params["x"], vmap_method="expand_dims")
    return {"y": jnp.where(x == 2, jnp.inf, x), "n": jnp.int32(7)}


@pytest.mark.parametrize("exact", [True, False])
def test_bad_trials_spoil_no_others(exact, tmp_path):
    options = {"exact": exact, "batch_per_device": 3}
    result = sweep(picky, SPACE, out=tmp_path, **options)
    assert result["status"].values[:, 0].tolist() == [1, 2, 1, 1, 3, 1, 1, 1]
    y = result["y"].values[:, 0]
    np.testing.assert_array_equal(y, [1, np.inf, 3, 4, np.nan, 6, 7, 8])
    assert result["n"].values[:, 0].tolist() == [7] * 4 + [0] + [7] * 3
    (record,) = map(json.loads, (tmp_path / "errors.jsonl").read_text().splitlines())
    assert record["trial"] == 4
    assert record["params"] == {"x": 5.0}
    assert record["error"] == "JaxRuntimeError: ValueError: five is not served"
    state = status(tmp_path)
    assert (state.ok, state.non_finite, state.raised) == (6, 1, 1)
    assert sweep(picky, SPACE, **options).equals(result)  # in memory, and once more


@pytest.mark.parametrize("batch", [1, 2, 3, 8])
def test_raising_keeps_what_is_complete(batch, tmp_path):
    options = {"batch_per_device": batch, "out": tmp_path}
    with pytest.raises(Exception, match="five is not served") as caught:
        sweep(picky, SPACE, on_error="raise", **options)
    assert "'x': 5.0" in caught.value.__notes__[0]
    held = load(tmp_path, partial=True)["status"].values[:, 0]
    assert held[:4].tolist() == [1, 2, 1, 1]
    assert held[4] == 0
    # The launch that was in flight is complete, too.
    after = {1: (5, 6), 2: (6, 8), 3: (6, 8), 8: (8, 8)}[batch]
    assert np.flatnonzero(held[5:] == 1).tolist() == [x - 5 for x in range(*after)]
    assert sweep(picky, SPACE, **options)["status"].values[4, 0] == 3


def test_launches_that_fail_one_after_the_other(tmp_path):
    def fn(key, params):
        def host(x):
            if np.any((x > 2) & (x < 6)):
                raise ValueError("no")
            return x

        shape = jax.ShapeDtypeStruct((), jnp.float32)
        return jax.pure_callback(host, shape, params["x"], vmap_method="expand_dims")

    result = sweep(fn, SPACE, batch_per_device=2)
    assert result["status"].values[:, 0].tolist() == [1, 1, 3, 3, 3, 1, 1, 1]
    with pytest.raises(Exception, match="ValueError: no"):
        sweep(fn, SPACE, batch_per_device=2, on_error="raise", out=tmp_path)
    assert status(tmp_path).done == 2


def served_later(refused):
    """A trial that raises where its value is in ``refused``."""

    def fn(key, params):
        def host(x):
            if np.isin(x, refused).any():
                raise ValueError("not served")
            return x

        shape = jax.ShapeDtypeStruct((), jnp.float32)
        x = jax.pure_callback(host, shape, params["x"], vmap_method="expand_dims")
        return {"y": x, "draw": jax.random.normal(key)}

    return fn


@pytest.mark.parametrize("workers", [1, 2])
def test_trials_that_raised_run_again_when_asked(workers, tmp_path):
    options = {"seeds": 2, "batch_per_device": 3, "exact": True}
    refused = [2.0, 5.0, 6.0]
    fn = served_later(refused)
    sweep(fn, SPACE, out=tmp_path, **options)
    assert status(tmp_path).raised == 6
    refused.remove(5.0)
    assert (sweep(fn, SPACE, out=tmp_path, **options)["status"] == 3).sum() == 6
    for i in range(workers):
        again = {"resume": "retry", "worker": (i, workers)}
        sweep(fn, SPACE, out=tmp_path, **again, **options)
    state = status(tmp_path)
    assert (state.ok, state.raised) == (12, 4)
    refused.clear()
    with pytest.raises(FileExistsError):
        sweep(fn, SPACE, out=tmp_path, resume=False, **options)
    result = sweep(fn, SPACE, out=tmp_path, resume="retry", **options)
    assert result.equals(sweep(fn, SPACE, **options))


def test_retry_keeps_a_part_until_its_trials_have_run(monkeypatch, tmp_path):
    refused = [2.0]
    fn, options = served_later(refused), {"out": tmp_path, "batch_per_device": 8}
    before = sweep(fn, SPACE, **options)
    monkeypatch.setattr(Store, "write_part", lambda *args: 1 / 0)  # killed here
    refused.clear()
    with pytest.raises(ZeroDivisionError):
        sweep(fn, SPACE, resume="retry", **options)
    assert load(tmp_path).equals(before)


@pytest.mark.parametrize("batch", [1, 3])
def test_an_interrupt_within_a_callback_stops_the_sweep(batch, tmp_path):
    def fn(key, params):
        def host(x):
            if np.any(x == 5):
                raise KeyboardInterrupt
            return x

        shape = jax.ShapeDtypeStruct((), jnp.float32)
        return jax.pure_callback(host, shape, params["x"], vmap_method="expand_dims")

    with pytest.raises(KeyboardInterrupt):
        sweep(fn, SPACE, batch_per_device=batch, out=tmp_path)
    held = load(tmp_path, partial=True)["status"].values[:, 0]
    assert set(held[:3]) == {1}
    assert held[4] == 0
    assert not (tmp_path / "errors.jsonl").exists()


def test_messages_of_errors_are_told_from_what_surrounds_them(tmp_path):
    def fn(key, params):
        return eqx.error_if(params["x"], params["x"] > 7, "above seven")

    sweep(fn, SPACE, out=tmp_path)
    (record,) = map(json.loads, (tmp_path / "errors.jsonl").read_text().splitlines())
    assert record["error"] == "JaxRuntimeError: _EquinoxRuntimeError: above seven"


def test_launches_are_not_larger_than_the_sweep(monkeypatch):
    sizes = faulty_launches(monkeypatch, lambda size: False)
    sweep(draw, SPACE, seeds=2, batch_per_device=10**9)
    assert sizes == [16]


def test_a_bug_in_a_later_program_keeps_the_launch_before(monkeypatch, tmp_path):
    made, count = Program.__init__, iter(range(9))

    def faulty(self, *args):
        if next(count) == 1:
            raise TypeError("a bug in fn")
        made(self, *args)

    monkeypatch.setattr(Program, "__init__", faulty)

    def fn(key, params, name):
        return params["x"]

    space = Static(name=["a", "b"]) * Grid(x=[1.0, 2.0])
    with pytest.raises(TypeError, match="a bug in fn"):
        sweep(fn, space, batch_per_device=1, out=tmp_path)
    assert status(tmp_path).done == 2


# Order


def test_cost_orders_launches(monkeypatch, tmp_path):
    seen, launch = [], Program.launch

    def noted(self, seed, point, params):
        seen.append(params["x"].tolist())
        return launch(self, seed, point, params)

    monkeypatch.setattr(Program, "launch", noted)
    space = Zip(x=[3.0, 1.0, 2.0])

    def fn(key, params):
        return params["x"] * 10

    options = {"batch_per_device": 2, "seeds": 2, "out": tmp_path}
    cost = lambda columns: columns["x"]
    result = sweep(fn, space, cost=cost, **options)
    assert seen == [[3, 3], [2, 2], [1, 1]]
    assert result["value"].values.tolist() == [[30, 30], [10, 10], [20, 20]]
    assert load(tmp_path).equals(result)
    assert np.load(tmp_path / "order.npy").tolist() == [0, 1, 4, 5, 2, 3]
    with pytest.raises(ValueError, match="order_sha256: .* there, None now"):
        sweep(fn, space, **options)


@pytest.mark.parametrize(
    "cost", [lambda c: [1.0], lambda c: [np.nan] * 8, lambda c: 1.0]
)
def test_bad_cost(cost):
    with pytest.raises(ValueError, match="cost: expected 8 finite numbers"):
        sweep(draw, SPACE, cost=cost)


def test_progress_shows_on_a_terminal_only(capfd):
    sweep(draw, SPACE)
    assert capfd.readouterr() == ("", "")
    sweep(draw, SPACE, progress=False)
    assert capfd.readouterr() == ("", "")
    sweep(draw, SPACE, progress=True)
    assert "8/8" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, "seeds: expected at least 1; got 0"),
        ({"batch_per_device": 0}, "batch_per_device: expected .*; got 0"),
        ({"keys": "other"}, "keys: expected one of"),
        ({"on_error": "ignore"}, "on_error: expected one of"),
        ({"resume": "never"}, "resume: expected one of"),
        ({"base_seed": -1}, "base_seed: expected .*; got -1"),
        ({"worker": (0, 2)}, r"out: expected a folder for worker \(0, 2\)"),
        ({"worker": (2, 2), "out": "."}, r"worker: expected \(i, n\)"),
        ({"dims": {"z": ("a",)}}, "dims: expected names of outputs, .*; got 'z'"),
        ({"dims": {"n": ("a",)}}, "dims: expected at most 0 names for 'n'"),
        ({"dims": {"y": ("x",)}}, "dims: expected a name that is free; got 'x'"),
        ({"coords": {"a": [1]}}, "coords: expected one of .* for 'a'"),
        ({"coords": {"y_dim_0": [1]}}, "coords: expected length 2 for 'y_dim_0'"),
    ],
)
def test_bad_options(options, message, plain_errors):
    with pytest.raises(ValueError, match=message):
        sweep(draw, SPACE, **options)


def test_a_space_is_needed(plain_errors):
    with pytest.raises(TypeError, match="space: expected a Space, .*; got dict"):
        sweep(draw, {"x": [1.0]})  # pyright: ignore
