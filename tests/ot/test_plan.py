"""The implicit derivative of the entropic plan."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxrepro import ot
from jaxrepro.ot._sinkhorn import solve_sinkhorn


def random_problem(seed, n=5, m=4):
    rng = np.random.default_rng(seed)
    return rng.random((n, m)), rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))


def test_is_the_plan_of_sinkhorn(x64):
    cost, a, b = random_problem(0)
    options = {"eps": 0.1, "rho_b": 0.5, "n_iter": 50, "reference": "counting"}
    plan = ot.sinkhorn_plan(cost, a, b, **options)
    assert np.array_equal(plan, ot.sinkhorn(cost, a, b, **options).plan)
    assert np.isnan(ot.sinkhorn_plan(cost, -a, b, **options)).all()


def tangent_by_optimality(cost, a, b, plan, eps, d_cost, d_a, d_b, d_eps):
    """Solve the symmetric system of the docstring as it stands."""
    n, m = cost.shape
    d = d_cost / eps - cost * d_eps / eps**2
    matrix = np.block([[np.diag(plan.sum(1)), plan], [plan.T, np.diag(plan.sum(0))]])
    null = np.r_[np.ones(n), -np.ones(m)]
    matrix += np.outer(null, null) / (n + m)
    rhs = np.r_[d_a + (plan * d).sum(1), d_b + (plan * d).sum(0)]
    phi, psi = np.split(np.linalg.solve(matrix, rhs), [n])
    return plan * (phi[:, None] + psi[None, :] - d)


@pytest.mark.parametrize("shape", [(5, 4), (3, 6)])
def test_tangent_solves_the_optimality_conditions(x64, shape):
    cost, a, b = random_problem(1, *shape)
    rng = np.random.default_rng(0)
    d_cost, d_a, d_b = (rng.normal(size=x.shape) for x in (cost, a, b))
    d_a, d_b, d_eps = d_a - d_a.mean(), d_b - d_b.mean(), 0.3
    plan, tangent = jax.jvp(
        lambda c, a, b, eps: ot.sinkhorn_plan(c, a, b, eps=eps, n_iter=1000),
        (cost, a, b, 0.1),
        (d_cost, d_a, d_b, d_eps),
    )
    expected = tangent_by_optimality(
        cost, a, b, np.asarray(plan), 0.1, d_cost, d_a, d_b, d_eps
    )
    scale = np.abs(expected).max()
    np.testing.assert_allclose(tangent, expected, atol=1e-9 * scale)


def test_cotangents_solve_the_optimality_conditions(x64):
    cost, a, b = random_problem(2)
    rng = np.random.default_rng(0)
    g = rng.normal(size=cost.shape)
    plan, pull = jax.vjp(
        lambda c, a, b: ot.sinkhorn_plan(c, a, b, eps=0.1, n_iter=1000), cost, a, b
    )
    d_cost, d_a, d_b = pull(jnp.asarray(g))
    plan = np.asarray(plan)
    n, m = plan.shape
    scaled = g * plan / 0.1
    matrix = np.block([[np.diag(plan.sum(1)), plan], [plan.T, np.diag(plan.sum(0))]])
    null = np.r_[np.ones(n), -np.ones(m)]
    x, y = np.split(
        np.linalg.solve(
            matrix + np.outer(null, null) / (n + m), np.r_[scaled.sum(1), scaled.sum(0)]
        ),
        [n],
    )
    np.testing.assert_allclose(
        d_cost, plan * (x[:, None] + y[None, :]) - scaled, atol=1e-9
    )
    # Weights: along directions that keep the mass.
    for got, expected in ((d_a, 0.1 * x), (d_b, 0.1 * y)):
        np.testing.assert_allclose(got - got[0], expected - expected[0], atol=1e-9)


@pytest.mark.parametrize(
    ("rho", "reference"), [((math.inf, math.inf), "product"), ((0.4, 0.2), "counting")]
)
def test_implicit_equals_unrolled(x64, rho, reference):
    cost, a, b = random_problem(3)
    weights = np.random.default_rng(0).normal(size=cost.shape)
    relaxed = math.isfinite(rho[0])

    def gradient(unroll):
        def loss(cost, a, b, eps):
            result = solve_sinkhorn(
                cost, a, b, eps, *rho, reference=reference, unroll=unroll, n_iter=400,
                anneal=True, relaxed=relaxed,
            )  # fmt: skip
            return jnp.sum(weights * result.plan) + result.f[0] * result.g[1]

        return jax.jit(jax.grad(loss, range(4)))(cost, a, b, 0.1)

    for implicit, unrolled in zip(gradient(False), gradient(True)):
        np.testing.assert_allclose(implicit, unrolled, atol=1e-9)


def test_relaxed_gradients(x64):
    cost, a, b = random_problem(4)
    fn = lambda c, a, b, eps, rho_a, rho_b: ot.sinkhorn_plan(
        c, a, b, eps=eps, rho_a=rho_a, rho_b=rho_b, n_iter=1000
    )
    args = (cost, 1.3 * a, b, 0.1, 0.4, 0.2)
    check_grads(jax.jit(fn), args, order=1, rtol=1e-6, atol=1e-7, eps=1e-5)


def test_isolated_atom_has_the_right_derivative(x64):
    # Its mass underflows to 0, and with it every quotient by the marginal.
    cost, a, b = random_problem(5)
    cost[0] += 1000.0
    solve = jax.jit(
        lambda c: ot.sinkhorn(c, a, b, eps=0.1, rho_a=0.5, rho_b=0.5, n_iter=1000)
    )
    assert solve(cost).plan[0].max() == 0
    step = np.zeros_like(cost)
    step[0, 1] = 1e-3
    derivative = jax.jvp(solve, (cost,), (step,))[1].f[0]
    difference = (solve(cost + step).f[0] - solve(cost - step).f[0]) / 2
    assert abs(derivative) > 1e-7
    assert abs(derivative / difference - 1) < 1e-4


def test_nearly_a_permutation(x64):
    # The linear system is singular to rounding: every block stands alone.
    rng = np.random.default_rng(6)
    cost = rng.random((8, 8)) + 5 * (1 - np.eye(8)[rng.permutation(8)])
    for eps in (1e-1, 1e-2, 1e-3):
        fn = lambda c: jnp.sum(jnp.sin(9 * ot.sinkhorn_plan(c, eps=eps)))  # noqa: B023
        gradient = jax.grad(fn)(cost)
        assert np.abs(gradient).max() < 1e-6
        gradient = jax.grad(fn)(np.float32(cost))
        assert np.abs(gradient).max() < 1e-2


def test_wide_problem_solves_for_the_smaller_side(x64):
    cost, a, b = random_problem(7, 3000, 3)
    gradient = jax.jit(
        jax.grad(lambda c: jnp.sum(ot.sinkhorn_plan(c, a, b, eps=0.1) ** 2))
    )
    memory = gradient.lower(cost).compile().memory_analysis()
    # A matrix of size 3003 would take 72 MB.
    assert memory.temp_size_in_bytes < 4e6
    transposed = jax.jit(
        jax.grad(lambda c: jnp.sum(ot.sinkhorn_plan(c, b, a, eps=0.1) ** 2))
    )(cost.T)
    np.testing.assert_allclose(gradient(cost), transposed.T, atol=1e-9)


def test_value_gradient_does_not_pay_for_the_linear_system(x64):
    cost, a, b = random_problem(8)

    def solves(field):
        fn = lambda c: getattr(ot.sinkhorn(c, a, b, eps=0.1, n_iter=10), field)
        text = jax.jit(jax.grad(fn)).lower(cost).compile().as_text()
        return text.count("getrf")

    assert solves("value") > 0
    assert solves("reg_value") == 0


def test_float32(x64):
    cost, a, b = random_problem(9)
    fn = jax.jit(
        jax.grad(lambda *p: jnp.sum(ot.sinkhorn_plan(*p, eps=0.05) ** 2), range(3))
    )
    single = fn(*(np.float32(x) for x in (cost, a, b)))
    for x, y in zip(single, fn(cost, a, b)):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, atol=1e-3 * np.abs(y).max())
