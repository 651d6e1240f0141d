"""Transport by a plan of low rank."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro import ot

FAST = {"n_iter": 150, "n_inner": 30}


def clouds(seed, n=40, m=30):
    rng = np.random.default_rng(seed)
    return rng.random((n, 3)), rng.random((m, 3)) + 0.5


def square(x, y):
    return np.sum((x[:, None] - y[None]) ** 2, axis=2)


def plan(result):
    q, r, inner = (np.asarray(z) for z in (result.q, result.r, result.inner))
    return (q / inner) @ r.T


def test_factors_make_a_plan_that_improves_with_rank(x64):
    x, y = clouds(0)
    values = []
    for rank in (1, 3, 10):
        result = ot.low_rank_sinkhorn(
            jax.random.key(0), x, y, eps=0.0, rank=rank, **FAST
        )
        whole = plan(result)
        assert np.linalg.matrix_rank(whole, tol=1e-9) == rank
        assert abs(result.value - np.sum(whole * square(x, y))) < 1e-12
        violation = max(
            np.abs(whole.sum(1) - 1 / 40).max(), np.abs(whole.sum(0) - 1 / 30).max()
        )
        assert abs(result.error - violation) < 1e-14
        assert result.error < 2e-2 / 30
        values.append(float(result.value))
        if rank == 1:
            np.testing.assert_allclose(whole, 1 / 1200, atol=1e-6)
    # The marginals are violated by less than 2 per cent.
    assert 0.98 * ot.emd_value(square(x, y)) < values[2] < values[1] < values[0]


@pytest.mark.slow
def test_padding_and_mass(x64):
    x, y = clouds(2)
    a = np.full(40, 1 / 40)
    solve = lambda x, a, b, eps: ot.low_rank_sinkhorn(
        jax.random.key(2), x, y, a, b, eps=eps, rank=3, **FAST
    )
    padded = np.concatenate([x, np.full((5, 3), np.nan)])
    for eps in (0.0, 0.01):
        value = solve(x, a, None, eps).value
        result = solve(padded, np.pad(a, (0, 5)), None, eps)
        assert abs(result.value - value) < 1e-9
        assert np.all(result.q[40:] == 0)
    tripled = solve(x, 3 * a, np.full(30, 3 / 30), 0.01)
    assert abs(tripled.value - 3 * value) < 1e-9
    np.testing.assert_allclose(np.sum(tripled.inner), 3, rtol=1e-4)


@pytest.mark.slow
def test_float32_also_when_x64_is_on(x64):
    x, y = (np.float32(z) for z in clouds(3))
    single = ot.low_rank_sinkhorn(jax.random.key(3), x, y, eps=0.01, rank=3, **FAST)
    assert all(z.dtype == np.float32 for z in single)
    with jax.enable_x64(False):
        same = ot.low_rank_sinkhorn(jax.random.key(3), x, y, eps=0.01, rank=3, **FAST)
    np.testing.assert_allclose(single.value, same.value, rtol=1e-5)


def test_key_decides_and_derivatives_are_absent(x64):
    x, y = clouds(4)
    solve = lambda key, x: ot.low_rank_sinkhorn(key, x, y, eps=0.01, rank=3, **FAST)
    keys = jax.random.split(jax.random.key(4), 3)
    first, again, other = (solve(k, x).value for k in (keys[0], keys[0], keys[1]))
    assert first == again
    assert first != other
    gradient = jax.grad(lambda x: solve(keys[0], x).value)(jnp.asarray(x))
    assert np.isnan(gradient).all()
    batch = jax.vmap(lambda k: solve(k, x).value)(keys[:2])
    np.testing.assert_allclose(batch, [first, other], rtol=1e-9)


def test_bad_input(x64):
    x, y = clouds(5)
    a = np.full(40, 1 / 40)
    for bad in (-a, 2 * a):
        result = ot.low_rank_sinkhorn(
            jax.random.key(0), x, y, bad, np.full(30, 1 / 30), eps=0.1, rank=2, **FAST
        )
        assert np.isnan(result.value)
        assert np.isnan(result.q).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": np.ones(3)}, "x: expected shape (n, d); got shape (3,)"),
        ({"y": np.ones((2, 2))}, "y: expected shape (m, 3); got shape (2, 2)"),
        ({"a": np.ones(3)}, "a: expected shape (4,); got shape (3,)"),
        ({"rank": 0}, "rank: expected an integer >= 1; got 0"),
        ({"n_iter": 0}, "n_iter: expected an integer >= 1; got 0"),
        ({"n_inner": 0}, "n_inner: expected an integer >= 1; got 0"),
        ({"eps": -0.1}, "eps: expected a value in [0, inf]; got -0.1"),
    ],
)
def test_errors(plain_errors, arguments, message):
    given = {"x": np.ones((4, 3)), "y": np.ones((5, 3)), "eps": 0.1, "rank": 2}
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.low_rank_sinkhorn(jax.random.key(0), **(given | arguments))
    with pytest.raises(TypeError, match="key: expected a random key, .*; got 0"):
        ot.low_rank_sinkhorn(0, **given)
