"""Arguments that cannot be right end in an error that names them."""

import functools
import importlib.util
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.core._files import RecordError
from jaxrepro.sweep import Grid, Random, Sobol, Static, Uniform, load, sweep
from jaxrepro.sweep._spec import check_same_sweep

SPACE = Grid(x=[1.0, 2.0])


def line(key, params):
    return {"y": params["x"] * jnp.arange(3.0)}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"exact": "yes"}, ValueError, "exact: expected one of True, False; got 'yes'"),
        ({"progress": "x"}, ValueError, "progress: expected one of None, True, False"),
        ({"devices": []}, TypeError, "devices: expected devices of JAX"),
        ({"devices": "cpu"}, TypeError, "devices: .*; got 'cpu'"),
        ({"devices": 3}, TypeError, "devices: .*; got 3"),
        ({"cost": 3}, TypeError, "cost: expected a function of the columns; got 3"),
        ({"cost": lambda _: "ab"}, ValueError, "cost: expected 2 finite numbers"),
        ({"cost": lambda _: [1, np.nan]}, ValueError, "cost: .*; got .1, nan"),
        ({"dims": {"y": "step"}}, TypeError, "dims: .* names for 'y'; got 'step'"),
        ({"dims": {"y": 3}}, TypeError, "dims: .* names for 'y'; got 3"),
        ({"dims": ["y"]}, TypeError, "dims: expected a dict"),
        ({"dims": {"y": ("status",)}}, ValueError, "dims: .* free; got 'status'"),
        ({"dims": {"y": ("point",)}}, ValueError, "dims: .* free; got 'point'"),
        (
            {"dims": {"y": ("step",)}, "coords": {"step": [object()] * 3}},
            TypeError,
            "coords: expected a list of numbers or texts for 'step'",
        ),
        ({"attrs": [1]}, TypeError, "attrs: expected a dict"),
        ({"attrs": {"a": object()}}, TypeError, "attrs: expected texts and numbers"),
        ({"attrs": {"fn": "mine"}}, ValueError, "attrs: expected names other than fn"),
        ({"out": 3}, TypeError, "out: expected the path of a folder; got 3"),
        ({"out": ""}, TypeError, "out: expected the path of a folder; got ''"),
    ],
)
@pytest.mark.usefixtures("plain_errors")
def test_sweep(options, error, message):
    with pytest.raises(error, match=message):
        sweep(line, SPACE, **options)


@pytest.mark.usefixtures("plain_errors")
def test_functions():
    with pytest.raises(TypeError, match="fn: expected a function; got None"):
        sweep(None, SPACE)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="fn: expected arrays of numbers; got str in"):
        sweep(lambda key, params: {"a": "b"}, SPACE)


def test_outputs_beyond_the_memory():
    with pytest.raises(
        MemoryError, match=r"fn: 2 trials with outputs y \[\d+\] do not"
    ):
        sweep(lambda key, params: {"y": jnp.zeros(2**40) * params["x"]}, SPACE)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Grid(x=[1.0], dtype="foo"), TypeError, "dtype: .*; got 'foo'"),
        (lambda: Grid(x=[1.5], dtype=int), ValueError, "x: .* int64 holds; got 1.5$"),
        (lambda: Grid(x=[1.0, 2.0, 1.0]), ValueError, "x: .* once.*; got 1.0 2 times"),
        (lambda: Grid(**{"": [1.0]}), ValueError, "without a slash; got ''"),
        (lambda: Grid(**{"a/b": [1.0]}), ValueError, "without a slash; got 'a/b'"),
        (lambda: Static(a=["u", "v", "u"]), ValueError, "a: .* once; got 'u' twice"),
        (lambda: Random(3, -1, x=Uniform(0, 1)), ValueError, "seed: .*>= 0; got -1"),
        (lambda: Sobol(4, -1, x=Uniform(0, 1)), ValueError, "seed: .*>= 0; got -1"),
    ],
)
def test_spaces(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_values_that_the_dtype_of_the_program_does_not_hold(x64):
    tiny, near = Grid(x=[1e-50, 1.0]), Grid(x=[1.0, 1.0 + 1e-12])
    with jax.enable_x64(False):
        with pytest.raises(
            ValueError, match="x: .*float32 holds; got 1e-50; enable 64"
        ):
            sweep(line, tiny)
        with pytest.warns(UserWarning, match="x: some values are equal once"):
            sweep(line, near)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(sweep(line, tiny)["y"][0, 0, 1]) == 1e-50
        sweep(line, near)


def test_labels_of_functions_that_share_a_name():
    def act(key, params, f):
        return {"y": f(params["x"])}

    static = Static(f=[lambda x: x, lambda x: 2 * x, jnp.tanh])
    result = sweep(act, static * SPACE)
    labels = result["f"].values.tolist()
    assert len(set(labels)) == 3
    assert [label[-4:] for label in labels[:2]] == [" [0]", " [1]"]
    assert result["y"].sel(f=labels[1]).values.ravel().tolist() == [2.0, 4.0]


ONE_LINE = "first, second = lambda key, params: params['x'], lambda x: x\n"


def test_the_source_of_a_lambda_is_its_own(tmp_path):
    def made(number, body):
        path = tmp_path / f"module{number}.py"
        path.write_text(body)
        spec = importlib.util.spec_from_file_location("one_line", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.first

    out = tmp_path / "out"
    sweep(made(0, ONE_LINE), SPACE, out=out)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sweep(
            made(1, ONE_LINE.replace("x: x", "x: x + 1")),
            SPACE,
            out=out,
            resume="strict",
        )
    changed = ONE_LINE.replace("params['x']", "params['x'] + 0")
    with pytest.warns(UserWarning, match=r"source of one_line.<lambda> has changed"):
        sweep(made(2, changed), SPACE, out=out)


def test_differences_are_shown_where_they_are():
    old = {"axes": "x" * 100 + "old" + "y" * 100}
    new = {"axes": "x" * 100 + "new" + "y" * 100}
    with pytest.raises(ValueError, match=r"\.\.\.x+oldy+\.\.\. there, \.\.\.x+newy+"):
        check_same_sweep(old, new, "folder")


def test_a_damaged_specification_can_be_written_anew(tmp_path):
    run = functools.partial(sweep, line, SPACE, out=tmp_path)
    expected = run()
    path = tmp_path / "spec.json"
    path.write_text("garbage")
    for use in (run, lambda: load(tmp_path)):
        with pytest.raises(
            RecordError, match="damaged; the parts .* are intact"
        ) as got:
            use()
        assert re.search(r"rm (.*)", str(got.value))[1] == str(path)
    path.unlink()
    assert run().equals(expected)
