"""Entropic transport without a cost matrix, against the one with it."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro import ot


def clouds(seed, n=23, m=17, d=3):
    rng = np.random.default_rng(seed)
    x, y = rng.random((n, d)), rng.random((m, d)) + 0.5
    return x, y, rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))


def dense(x, y, a, b, eps, cost):
    square = jnp.sum((x[:, None] - y[None]) ** 2, axis=2)
    matrix = square if cost == "sqeuclidean" else jnp.sqrt(square)
    return ot.sinkhorn(matrix, a, b, eps=eps, n_iter=1000)


@pytest.mark.parametrize(
    ("cost", "block"),
    [
        ("sqeuclidean", 1024),
        ("sqeuclidean", 8),
        pytest.param("euclidean", 8, marks=pytest.mark.slow),
    ],
)
def test_equals_the_dense_problem(x64, cost, block):
    args = (*clouds(0), 0.1)
    solve = lambda *p: ot.point_cloud_sinkhorn(
        *p[:4], eps=p[4], n_iter=1000, cost=cost, block=block
    )
    result, expected = solve(*args), dense(*args, cost)
    for field in ("value", "reg_value", "f", "g"):
        np.testing.assert_allclose(
            getattr(result, field), getattr(expected, field), atol=1e-12
        )
    assert result.converged
    assert result.error < 1e-12
    if block == 8:
        got = jax.jit(jax.grad(lambda *p: solve(*p).reg_value, range(5)))(*args)
        want = jax.jit(jax.grad(lambda *p: dense(*p, cost).reg_value, range(5)))(*args)
        for g, w in zip(got, want):
            np.testing.assert_allclose(g, w, atol=1e-11)


def test_far_from_the_origin_in_float32():
    x, y, a, b = (np.float32(z) for z in clouds(1))
    near = ot.point_cloud_sinkhorn(x, y, a, b, eps=0.1)
    far = ot.point_cloud_sinkhorn(x + 1000, y + 1000, a, b, eps=0.1)
    # The points themselves are rounded to 6e-5 there.
    assert abs(near.value - far.value) < 2e-4 * near.value
    assert near.f.dtype == np.float32


def test_padding_reaches_nothing(x64):
    x, y, a, b = clouds(2)
    padded_x = np.concatenate([x, np.full((3, 3), np.nan)])
    padded_a = np.pad(a, (0, 3))
    fn = jax.jit(
        jax.value_and_grad(
            lambda x, y, a, b: (
                ot.point_cloud_sinkhorn(x, y, a, b, eps=0.1, block=7).reg_value
            ),
            argnums=range(4),
        )
    )
    value, gradients = fn(x, y, a, b)
    padded_value, padded_gradients = fn(padded_x, y, padded_a, b)
    assert abs(value - padded_value) < 1e-13
    for g, p in zip(gradients, padded_gradients):
        np.testing.assert_allclose(p[: len(g)], g, atol=1e-12)
        assert np.all(p[len(g) :] == 0)


def test_other_derivatives_are_loudly_absent(x64):
    x, y, a, b = clouds(3, 5, 4)
    solve = lambda x: ot.point_cloud_sinkhorn(x, y, a, b, eps=0.1)
    _, pull_back = jax.vjp(lambda x: solve(x)._asdict(), x)
    zero = jax.tree.map(jnp.zeros_like, solve(x)._asdict())
    for field in ("value", "f", "g"):
        (gradient,) = pull_back(zero | {field: jnp.ones_like(zero[field])})
        assert np.isnan(gradient).all()
    tangent = jax.jvp(solve, (x,), (np.ones_like(x),))[1]
    assert np.isfinite(tangent.reg_value)
    assert np.isnan(tangent.value)
    second = jax.hessian(lambda x: solve(x).reg_value)(x)
    assert np.isnan(second).all()


@pytest.mark.parametrize("backward", [False, True])
def test_memory_grows_with_the_block(backward):
    x = jnp.ones((4000, 2))
    fn = lambda x, block: (
        ot.point_cloud_sinkhorn(x, x, eps=0.1, n_iter=5, block=block).reg_value
    )
    fn = jax.grad(fn) if backward else fn

    def temporary(block):
        compiled = jax.jit(fn, static_argnums=1).lower(x, block).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    # The cost matrix would take 64 MB, a block of 50 rows 0.8 MB.
    assert temporary(50) < 8e6
    assert temporary(2000) > temporary(50)


def test_bad_input(x64):
    x, y, a, b = clouds(4)
    broken = x.copy()
    broken[1, 2] = np.nan
    for bad in ((broken, y, a, b), (x, y, -a, b), (x, y, 2 * a, b)):
        result = ot.point_cloud_sinkhorn(*bad, eps=0.1)
        assert np.isnan(result.reg_value)
        assert np.isnan(result.f).all()
        assert not result.converged
    traced = jax.jit(lambda eps: ot.point_cloud_sinkhorn(x, y, a, b, eps=eps))
    assert np.isnan(traced(-1.0).value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": np.ones(3)}, "x: expected shape (n, d); got shape (3,)"),
        ({"y": np.ones((2, 2))}, "y: expected shape (m, 3); got shape (2, 2)"),
        (
            {"x": np.ones((0, 3))},
            "x: expected at least one element; got shape (0, 3)",
        ),
        ({"a": np.ones(3)}, "a: expected shape (4,); got shape (3,)"),
        ({"b": np.ones(3)}, "b: expected shape (5,); got shape (3,)"),
        ({"eps": 0.0}, "eps: expected a value in (0, inf); got 0.0"),
        ({"n_iter": 0}, "n_iter: expected an integer >= 1; got 0"),
        ({"block": 0}, "block: expected an integer >= 1; got 0"),
        (
            {"cost": "cosine"},
            "cost: expected one of 'sqeuclidean', 'euclidean'; got 'cosine'",
        ),
    ],
)
def test_errors(plain_errors, arguments, message):
    arguments = {"x": np.ones((4, 3)), "y": np.ones((5, 3)), "eps": 0.1} | arguments
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.point_cloud_sinkhorn(**arguments)
