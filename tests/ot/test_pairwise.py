"""All pairs in blocks: values, derivatives, memory, errors."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.sharding import Mesh
from jax.tree_util import Partial

from jaxrepro import ot


def objects(seed, n):
    rng = np.random.default_rng(seed)
    return {"x": rng.random((n, 4, 2)), "w": rng.random((n, 4))}


def distance(p, q):
    return jnp.sum(jnp.abs(p["x"] - q["x"]) ** 3) + jnp.sum((p["w"] - q["w"]) ** 2)


def directed(p, q):
    return jnp.sum(p["x"] * jnp.sin(q["x"])) + p["w"][0]


def loop(fn, xs, ys):
    pick = lambda batch, i: {k: v[i] for k, v in batch.items()}
    rows, columns = len(xs["w"]), len(ys["w"])
    return np.array(
        [[fn(pick(xs, i), pick(ys, j)) for j in range(columns)] for i in range(rows)]
    )


@given(
    n=st.integers(1, 6),
    m=st.integers(1, 6),
    block=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_equals_the_double_loop(x64, n, m, block, seed):
    xs, ys = objects(seed, n), objects(seed + 1, m)
    got = ot.pairwise(distance, xs, block=block)
    np.testing.assert_allclose(got, loop(distance, xs, xs), atol=1e-13)
    assert np.array_equal(got, got.T)
    assert np.all(np.diag(got) == 0)
    got = ot.pairwise(directed, xs, ys, block=block)
    np.testing.assert_allclose(got, loop(directed, xs, ys), atol=1e-13)
    got = ot.pairwise(directed, xs, symmetric=False, block=block)
    np.testing.assert_allclose(got, loop(directed, xs, xs), atol=1e-13)


def test_symmetric_evaluates_the_upper_triangle(x64):
    xs = objects(0, 4)
    got = np.asarray(ot.pairwise(directed, xs))
    expected = np.triu(loop(directed, xs, xs), 1)
    np.testing.assert_allclose(got, expected + expected.T, atol=1e-14)


def test_gradients(x64):
    xs, ys = objects(1, 5), objects(2, 3)
    rng = np.random.default_rng(0)
    pick = lambda batch, i: {k: v[i] for k, v in batch.items()}
    for second, weights in ((None, rng.random((5, 5))), (ys, rng.random((5, 3)))):

        def total(xs, fn):
            other = xs if second is None else second  # noqa: B023
            rows, columns = weights.shape  # noqa: B023
            return sum(
                weights[i, j] * fn(pick(xs, i), pick(other, j))  # noqa: B023
                for i in range(rows)
                for j in range(columns)
            )

        def blocked(xs, fn):
            return jnp.sum(weights * ot.pairwise(fn, xs, second, block=4))  # noqa: B023

        fn = distance if second is None else directed
        got = jax.jit(jax.grad(blocked), static_argnums=1)(xs, fn)
        expected = jax.jit(jax.grad(total), static_argnums=1)(xs, fn)
        for k in xs:
            np.testing.assert_allclose(got[k], expected[k], atol=1e-12)


def test_derivatives_in_what_the_function_holds(x64):
    xs = objects(3, 5)
    total = float(np.sum(loop(distance, xs, xs)))
    scaled = lambda p, q, *, eta: eta * distance(p, q)

    closure = lambda eta: jnp.sum(
        ot.pairwise(lambda p, q: scaled(p, q, eta=eta), xs, block=3)
    )
    partial = lambda eta: jnp.sum(ot.pairwise(Partial(scaled, eta=eta), xs, block=3))
    for fn in (closure, partial):
        for transform in (jax.grad, jax.jacfwd):
            assert abs(transform(fn)(0.3) - total) < 1e-11
    batch = jax.vmap(partial)(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(batch, [total, 2 * total], rtol=1e-13)


class Scaled(eqx.Module):
    eta: jax.Array

    def __call__(self, p, q):
        return self.eta * distance(p, q)


def test_bound_values_compile_once(x64):
    xs = objects(4, 4)
    traces = []

    def scaled(p, q, *, eta):
        traces.append(eta)
        return eta * distance(p, q)

    first = ot.pairwise(Partial(scaled, eta=1.0), xs)
    second = ot.pairwise(Partial(scaled, eta=2.5), xs)
    assert len(traces) == 1
    np.testing.assert_allclose(second, 2.5 * first)
    for eta in (1.0, 2.5):
        got = ot.pairwise(Scaled(jnp.asarray(eta)), xs)
        np.testing.assert_allclose(got, eta * first)


def test_no_list_of_pairs_is_part_of_the_program():
    def program(n):
        fn = lambda x: ot.pairwise(lambda p, q: jnp.sum(p * q), x, block=64)
        return jax.jit(fn).lower(jax.ShapeDtypeStruct((n, 2), np.float32)).as_text()

    # Two million pairs; constants would be printed in full, byte by byte.
    assert len(program(2000)) < len(program(20)) + 2000


@pytest.mark.parametrize("backward", [False, True])
def test_memory_grows_with_the_block_alone(backward):
    def value(x, block):
        difference = lambda p, q: jnp.sum(jnp.tanh(p[:, None] - q[None]))
        return jnp.sum(ot.pairwise(difference, x, block=block))

    fn = jax.grad(value) if backward else value

    def temporary(n, block):
        x = jnp.ones((n, 40))
        compiled = jax.jit(fn, static_argnums=1).lower(x, block).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    one_pair = 40 * 40 * 4
    for n in (100, 200):
        # All pairs at once would take n^2 / 2 of these.
        assert temporary(n, 64) < 16 * n**2 + (200 if backward else 100) * one_pair
    assert temporary(200, 1024) > temporary(200, 64)


def test_exact_transport_inside(x64):
    clouds = np.random.default_rng(5).random((5, 3, 2))
    fn = lambda x, y: ot.emd_value(jnp.sum((x[:, None] - y[None]) ** 2, axis=2))
    got = ot.pairwise(fn, clouds, block=4)
    for i in range(5):
        for j in range(5):
            assert abs(got[i, j] - fn(clouds[i], clouds[j])) < 1e-14
    gradient = jax.grad(lambda c: jnp.sum(ot.pairwise(fn, c, block=4)))(clouds)
    whole = jax.grad(
        lambda c: jnp.sum(jax.vmap(lambda x: jax.vmap(lambda y: fn(x, y))(c))(c))
    )(jnp.asarray(clouds))
    np.testing.assert_allclose(gradient, whole, atol=1e-13)


def test_dtype_of_the_function_is_kept(x64):
    x = np.float32(np.random.default_rng(6).random((3, 2)))
    assert ot.pairwise(lambda p, q: jnp.sum(p * q), x).dtype == np.float32
    assert ot.pairwise(lambda p, q: jnp.sum(p * q), x[:1]).dtype == np.float32
    count = ot.pairwise(lambda p, q: jnp.sum(p > q), x, x)
    assert jnp.issubdtype(count.dtype, jnp.integer)
    phase = ot.pairwise(lambda p, q: jnp.exp(1j * jnp.sum(p - q)), x, x)
    assert phase.dtype == np.complex64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"xs": np.ones((0, 2))}, "xs: expected at least one object; got 0"),
        ({"ys": np.ones((0, 2))}, "ys: expected at least one object; got 0"),
        (
            {"xs": [np.ones((2, 3)), np.ones(3)]},
            "xs: expected arrays with one common leading axis; "
            "got shapes [(2, 3), (3,)]",
        ),
        (
            {"xs": np.ones(())},
            "xs: expected arrays with one common leading axis; got shapes [()]",
        ),
        ({"block": 0}, "block: expected an integer >= 1; got 0"),
        (
            {"ys": np.ones((2, 2)), "symmetric": True},
            "symmetric: expected False with ys; got True",
        ),
        (
            {"fn": lambda x, y: x + y},
            "fn: expected a scalar for each pair; got shape (2,)",
        ),
        (
            {"fn": lambda x, y: (x[0], y)},
            "fn: expected a scalar for each pair; got shape ((), (2,))",
        ),
        (
            {"xs": np.ones(50_000)},
            "xs: expected at most 1073741824 pairs; got 1249975000",
        ),
        (
            {"mesh": Mesh(np.array(jax.devices()[0]), ())},
            "mesh: expected at least one axis",
        ),
    ],
)
def test_errors(plain_errors, arguments, message):
    arguments = {"fn": lambda x, y: jnp.sum(x - y), "xs": np.ones((3, 2))} | arguments
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.pairwise(**arguments)


def test_bad_type_of_mesh(plain_errors):
    with pytest.raises(TypeError, match=r"mesh: expected a jax.sharding.Mesh or None"):
        ot.pairwise(distance, objects(0, 3), mesh=4)  # pyright: ignore
