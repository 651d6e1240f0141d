"""Matching of spaces by their inner distances."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxrepro import ot


def inner(x):
    return np.sqrt(np.sum((x[:, None] - x[None]) ** 2, axis=2))


def spaces(seed, n=6, m=5):
    rng = np.random.default_rng(seed)
    x, y = rng.random((n, 2)), rng.random((m, 2))
    return (
        inner(x),
        inner(y),
        rng.dirichlet(5 * np.ones(n)),
        rng.dirichlet(5 * np.ones(m)),
    )


def quadratic(cost_x, cost_y, plan):
    """The quadratic term as the sum that it is."""
    gap = cost_x[:, None, :, None] - cost_y[None, :, None, :]
    return np.einsum("ijkl,ij,kl->", gap**2, plan, plan)


@pytest.mark.parametrize("fused", [False, True])
def test_objective_and_stationarity(x64, fused):
    cost_x, cost_y, a, b = spaces(0)
    features = np.random.default_rng(0).random((6, 5))
    options = {"fused_cost": features, "alpha": 0.6} if fused else {}
    result = ot.gromov_wasserstein(
        cost_x, cost_y, a, b, eps=0.1, n_iter=200, n_inner=300, **options
    )
    assert result.converged
    plan = np.asarray(result.plan)
    np.testing.assert_allclose(plan.sum(1), a, atol=1e-12)
    np.testing.assert_allclose(plan.sum(0), b, atol=1e-12)
    alpha = 0.6 if fused else 1.0
    value = alpha * quadratic(cost_x, cost_y, plan) + (1 - alpha) * np.sum(
        features * plan
    )
    assert abs(result.value - value) < 1e-13
    entropy = np.sum(plan * np.log(plan / np.outer(a, b)))
    assert abs(result.reg_value - value - 0.1 * entropy) < 1e-12
    # Stationary: the derivative of the objective is a sum of two potentials.
    gap = cost_x[:, None, :, None] - cost_y[None, :, None, :]
    slope = 2 * alpha * np.einsum("ijkl,kl->ij", gap**2, plan) + (1 - alpha) * features
    slope += 0.1 * np.log(plan / np.outer(a, b))
    slope -= slope.mean(1, keepdims=True)
    slope -= slope.mean(0, keepdims=True)
    np.testing.assert_allclose(slope, 0, atol=1e-10)


def test_a_plan_with_wrong_marginals_has_not_converged(x64):
    # Stationary under the outer steps, but the inner ones are too few.
    rng = np.random.default_rng(308)
    cost_x, cost_y = (inner(rng.normal(size=(n, 2))) for n in (5, 4))
    a, b = (rng.dirichlet(3 * np.ones(n)) for n in (5, 4))
    result = ot.gromov_wasserstein(cost_x, cost_y, a, b, eps=0.1, n_iter=50)
    violation = np.abs(result.plan.sum(0) - b).max()
    assert violation > 5e-3
    assert result.error >= violation
    assert not result.converged


def test_gradients(x64):
    cost_x, cost_y, a, b = spaces(1, 4, 3)
    features = np.random.default_rng(1).random((4, 3))

    def fn(cost_x, cost_y, features, a, eps, alpha):
        symmetric = lambda c: (c + c.T) / 2
        return ot.gromov_wasserstein(
            symmetric(cost_x), symmetric(cost_y), a, b, eps=eps, fused_cost=features,
            alpha=alpha, n_iter=200, n_inner=200,
        ).reg_value  # fmt: skip

    args = (cost_x, cost_y, features, a, 0.2, 0.6)
    check_grads(jax.jit(fn), args, order=1, rtol=1e-6, atol=1e-7, eps=1e-5)


def test_other_derivatives_are_loudly_absent(x64):
    cost_x, cost_y, a, b = spaces(2, 4, 3)
    solve = lambda c: ot.gromov_wasserstein(c, cost_y, a, b, eps=0.2, n_iter=5)
    for field in ("value", "plan"):
        gradient = jax.grad(lambda c: jnp.sum(getattr(solve(c), field)))(cost_x)  # noqa: B023
        assert np.isnan(gradient).all()


def test_an_isometric_copy_is_nearest(x64):
    rng = np.random.default_rng(3)
    shapes = [rng.random((7, 2)) * scale for scale in ([1, 1], [1, 0.2], [2, 1])]
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    order = rng.permutation(7)
    copy = (shapes[0] @ turn.T + 3.0)[order]
    costs = np.stack([inner(s) for s in (*shapes[1:], copy)])
    results = jax.vmap(
        lambda c: ot.gromov_wasserstein(inner(shapes[0]), c, eps=0.005, n_iter=100)
    )(costs)
    assert np.argmin(results.value) == 2
    assert np.array_equal(np.argmax(results.plan[2], axis=1), np.argsort(order))


@pytest.mark.slow
def test_permutation_invariance_and_padding(x64):
    cost_x, cost_y, a, b = spaces(4)
    solve = lambda cx, a: ot.gromov_wasserstein(cx, cost_y, a, b, eps=0.1, n_iter=30)
    result = solve(cost_x, a)
    order = np.random.default_rng(4).permutation(6)
    permuted = solve(cost_x[order][:, order], a[order])
    assert abs(permuted.value - result.value) < 1e-12
    np.testing.assert_allclose(permuted.plan, result.plan[order], atol=1e-12)
    padded = np.pad(cost_x, ((0, 2), (0, 2)), constant_values=np.nan)
    padded_a = np.pad(a, (0, 2))
    padded_result = solve(padded, padded_a)
    np.testing.assert_allclose(padded_result.plan[:6], result.plan, atol=1e-12)
    assert np.all(padded_result.plan[6:] == 0)
    fn = jax.grad(lambda c, a: solve(c, a).reg_value, argnums=(0, 1))
    for g, p in zip(fn(cost_x, a), fn(padded, padded_a)):
        live = tuple(map(slice, g.shape))
        np.testing.assert_allclose(p[live], g, atol=1e-11)
        assert np.all(np.array(p)[6:] == 0)


def test_alpha_zero_is_plain_transport(x64):
    cost_x, cost_y, a, b = spaces(5)
    features = np.random.default_rng(5).random((6, 5))
    result = ot.gromov_wasserstein(
        cost_x, cost_y, a, b, eps=0.1, fused_cost=features, alpha=0.0, n_iter=3
    )
    expected = ot.sinkhorn(features, a, b, eps=0.1)
    np.testing.assert_allclose(result.plan, expected.plan, atol=1e-10)
    assert abs(result.reg_value - expected.reg_value) < 1e-10


@pytest.mark.slow
def test_float32_also_when_x64_is_on(x64):
    args = [np.float32(z) for z in spaces(6)]
    result = ot.gromov_wasserstein(*args, eps=0.1)
    assert result.plan.dtype == result.reg_value.dtype == np.float32
    double = ot.gromov_wasserstein(*spaces(6), eps=0.1)
    assert abs(result.reg_value - double.reg_value) < 1e-5


def test_bad_input(x64):
    cost_x, cost_y, a, b = spaces(7)
    broken = cost_x.copy()
    broken[1, 2] = np.nan
    for bad in (
        (broken, cost_y, a, b),
        (cost_x, cost_y, -a, b),
        (cost_x, cost_y, a, 2 * b),
    ):
        result = ot.gromov_wasserstein(*bad, eps=0.1)
        assert np.isnan(result.reg_value)
        assert np.isnan(result.plan).all()
        assert not result.converged


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"cost_x": np.ones((3, 2))},
            "cost_x: expected shape (3, 3); got shape (3, 2)",
        ),
        ({"cost_y": np.ones(2)}, "cost_y: expected shape (n, n); got shape (2,)"),
        ({"a": np.ones(2)}, "a: expected shape (3,); got shape (2,)"),
        ({"b": np.ones(2)}, "b: expected shape (4,); got shape (2,)"),
        (
            {"fused_cost": np.ones((4, 3))},
            "fused_cost: expected shape (3, 4); got shape (4, 3)",
        ),
        ({"alpha": 0.5}, "alpha: expected None without fused_cost; got a value"),
        (
            {"fused_cost": np.ones((3, 4)), "alpha": 1.5},
            "alpha: expected a value in [0, 1]; got 1.5",
        ),
        ({"eps": 0.0}, "eps: expected a value in (0, inf); got 0.0"),
        ({"n_iter": 0}, "n_iter: expected an integer >= 1; got 0"),
        ({"n_inner": 0}, "n_inner: expected an integer >= 1; got 0"),
    ],
)
def test_errors(plain_errors, arguments, message):
    given = {"cost_x": np.ones((3, 3)), "cost_y": np.ones((4, 4)), "eps": 0.1}
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.gromov_wasserstein(**(given | arguments))
