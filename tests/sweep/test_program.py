import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.sweep import Grid, Static, sweep


def counted():
    """A trial that counts how often it is traced, and the count."""
    traces = []

    def trial(key, params, *, power):
        traces.append(power)
        return {"y": params["x"] ** power}

    return trial, traces


def test_a_second_sweep_of_a_function_traces_nothing():
    trial, traces = counted()
    options = Static(power=[1, 2])
    sweep(trial, options * Grid(x=[1.0, 2.0]))
    seen = len(traces)
    result = sweep(trial, options * Grid(x=[3.0, 4.0]))
    assert len(traces) == seen
    np.testing.assert_allclose(result["y"].squeeze(), [[3, 4], [9, 16]])


def test_what_is_kept_belongs_to_its_settings():
    trial, _ = counted()
    one = sweep(trial, Static(power=[1]) * Grid(x=[2.0]))
    with jax.enable_x64(True):
        wide = sweep(trial, Static(power=[1]) * Grid(x=[2.0]))
    # Equal values of other types are other options.
    real = sweep(trial, Static(power=[1.0]) * Grid(x=[2], dtype=np.int32))
    assert one["y"].dtype == np.float32
    assert wide["y"].dtype == np.float64
    assert real["y"].dtype == np.float32
    draw = lambda key, params: params["x"] * jax.random.normal(key)
    first, second = (sweep(draw, Grid(x=[1.0]), base_seed=s)["value"] for s in (0, 1))
    assert first.item() != second.item()


def test_a_function_that_has_no_hash():
    class Scale:
        __hash__ = None

        def __init__(self, factor):
            self.factor = jnp.asarray(factor)

        def __call__(self, key, params):
            return self.factor * params["x"]

    values = [sweep(Scale(factor), Grid(x=[2.0])).value.item() for factor in (1.0, 5.0)]
    assert values == [2.0, 10.0]
    partial = functools.partial(lambda key, params, factor: factor * params["x"])
    assert sweep(functools.partial(partial, factor=3.0), Grid(x=[2.0])).value == 6.0
