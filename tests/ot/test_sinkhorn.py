"""Entropic transport: reference values, oracles, derivatives, padding, bad input."""

import json
import math
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.test_util import check_grads
from scipy.optimize import linprog

from jaxrepro import ot

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "sgot.json").read_text()
)["sinkhorn"][0]
PENALTIES = [(math.inf, math.inf), (0.4, 0.2), (math.inf, 0.3), (0.3, math.inf)]
COMBINATIONS = [
    (PENALTIES[0], "product"),
    (PENALTIES[0], "counting"),
    (PENALTIES[1], "product"),
    (PENALTIES[1], "counting"),
    (PENALTIES[2], "product"),
]
FIELDS = ("value", "plan", "f", "g", "reg_value")


def random_problem(seed, n=4, m=5):
    rng = np.random.default_rng(seed)
    a, b = (rng.dirichlet(np.full(size, 3.0)) for size in (n, m))
    return rng.random((n, m)), a, b


def kl(p, q):
    return np.sum(p * np.log(p / q) - p + q)


def primal(cost, a, b, plan, eps, rho_a, rho_b, reference):
    """The objective of the docstring, term by term."""
    total = np.sum(cost * plan)
    if reference == "product":
        total += eps * kl(plan, np.outer(a, b))
    else:
        total += eps * np.sum(plan * (np.log(plan) - 1))
    for rho, marginal, weight in ((rho_a, plan.sum(1), a), (rho_b, plan.sum(0), b)):
        if math.isfinite(rho):
            total += rho * kl(marginal, weight)
    return total


def scaling_loop(cost, a, b, eps, rho_a, rho_b, reference, n_iter=20000):
    """Plan by the plain scaling iterations, with the kernel in the open."""
    kernel = np.exp(-cost / eps)
    if reference == "product":
        kernel = kernel * np.outer(a, b)
    power_a = 1.0 if math.isinf(rho_a) else rho_a / (rho_a + eps)
    power_b = 1.0 if math.isinf(rho_b) else rho_b / (rho_b + eps)
    u, v = np.ones(len(a)), np.ones(len(b))
    for _ in range(n_iter):
        v = (b / (kernel.T @ u)) ** power_b
        u = (a / (kernel @ v)) ** power_a
    return u[:, None] * kernel * v[None, :]


def test_reference_values(x64):
    cost, a, b = (np.array(REFERENCE[k]) for k in ("cost", "a", "b"))
    result = ot.sinkhorn(cost, a, b, eps=REFERENCE["eps"], n_iter=2000)
    np.testing.assert_allclose(result.plan, REFERENCE["plan"], atol=1e-8)
    assert abs(result.reg_value - REFERENCE["reg_value"]) < 1e-9
    assert abs(result.value - REFERENCE["transport_cost"]) < 1e-9
    assert result.converged
    assert result.n_iter == 2000

    entry = REFERENCE["unbalanced"]
    penalties = {k: entry[k] for k in ("rho_a", "rho_b")}
    result = ot.sinkhorn(
        cost, 1.5 * a, b, eps=REFERENCE["eps"], n_iter=2000, **penalties
    )
    np.testing.assert_allclose(result.plan, entry["plan"], atol=1e-8)
    assert abs(result.reg_value - entry["reg_value"]) < 1e-9


@pytest.mark.parametrize("reference", ["product", "counting"])
@pytest.mark.parametrize("rho", PENALTIES)
def test_against_scaling_loop_and_objective(x64, rho, reference):
    cost, a, b = random_problem(0)
    if math.isfinite(sum(rho)):
        a = 1.7 * a
    options = {"eps": 0.1, "rho_a": rho[0], "rho_b": rho[1], "reference": reference}
    result = ot.sinkhorn(cost, a, b, n_iter=2000, **options)
    plan = scaling_loop(cost, a, b, 0.1, *rho, reference)
    np.testing.assert_allclose(result.plan, plan, atol=1e-12)
    objective = primal(cost, a, b, plan, 0.1, *rho, reference)
    assert abs(result.reg_value - objective) < 1e-12
    assert abs(result.value - np.sum(cost * plan)) < 1e-12
    weights = np.outer(a, b) if reference == "product" else 1.0
    f, g = np.asarray(result.f), np.asarray(result.g)
    from_potentials = weights * np.exp((f[:, None] + g[None, :] - cost) / 0.1)
    np.testing.assert_allclose(from_potentials, plan, atol=1e-12)


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_against_pot(x64):
    pot = pytest.importorskip("ot", reason="POT is not installed")
    cost, a, b = random_problem(1)
    plan = pot.sinkhorn(a, b, cost, 0.1, stopThr=1e-15, numItermax=100000)
    balanced = ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000)
    np.testing.assert_allclose(balanced.plan, plan, atol=1e-12)
    a = 1.5 * a
    plans = {}
    for reference, reg_type in (("product", "kl"), ("counting", "entropy")):
        plan = pot.unbalanced.sinkhorn_unbalanced(
            a, b, cost, 0.1, [0.4, 0.2], reg_type=reg_type, stopThr=1e-15,
            numItermax=100000,
        )  # fmt: skip
        result = ot.sinkhorn(
            cost, a, b, eps=0.1, rho_a=0.4, rho_b=0.2, reference=reference, n_iter=2000
        )
        np.testing.assert_allclose(result.plan, plan, atol=1e-12)
        plans[reference] = plan
    assert abs(plans["product"].sum() - plans["counting"].sum()) > 0.05


@pytest.mark.peer
def test_against_ott(x64):
    from ott.geometry import geometry
    from ott.solvers import linear

    cost, a, b = random_problem(2)
    geom = geometry.Geometry(jnp.asarray(cost), epsilon=0.1)
    limits = {"threshold": 1e-13, "max_iterations": 20000}
    out = linear.solve(geom, jnp.asarray(a), jnp.asarray(b), **limits)
    result = ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000)
    np.testing.assert_allclose(result.plan, out.matrix, atol=1e-12)
    assert abs(result.reg_value - out.reg_ot_cost) < 1e-12
    tau = 0.3 / (0.3 + 0.1)
    out = linear.solve(
        geom, jnp.asarray(a), jnp.asarray(b), tau_a=tau, tau_b=tau, **limits
    )
    result = ot.sinkhorn(
        cost, a, b, eps=0.1, rho_a=0.3, rho_b=0.3, reference="counting", n_iter=2000
    )
    np.testing.assert_allclose(result.plan, out.matrix, atol=1e-12)


# --- derivatives ----------------------------------------------------------------


def fields(rho, reference):
    """All differentiable fields as a function of everything that is traced."""

    def fn(cost, a, b, eps, rho_a, rho_b):
        result = ot.sinkhorn(
            cost,
            a,
            b,
            eps=eps,
            rho_a=rho[0] if math.isinf(rho[0]) else rho_a,
            rho_b=rho[1] if math.isinf(rho[1]) else rho_b,
            n_iter=2000,
            reference=reference,
        )
        return [getattr(result, field) for field in FIELDS]

    return fn


@pytest.mark.parametrize(
    ("rho", "reference"),
    [
        *COMBINATIONS[:4:3],
        *(pytest.param(*COMBINATIONS[k], marks=pytest.mark.slow) for k in (1, 2, 4)),
    ],
)
def test_gradients_of_all_fields(x64, rho, reference):
    cost, a, b = random_problem(3)
    args = (cost, a, b, 0.1, 0.4, 0.2)
    fn = jax.jit(fields(rho, reference))
    check_grads(fn, args, order=1, rtol=1e-6, atol=1e-7, eps=1e-5)


def test_gradient_of_regularised_value_is_the_envelope(x64):
    cost, a, b = random_problem(4)

    def relaxed(*p):
        result = ot.sinkhorn(*p[:3], eps=p[3], rho_a=p[4], rho_b=p[5], n_iter=2000)
        return result.reg_value, result

    args = (cost, 1.5 * a, b, 0.1, 0.4, 0.2)
    gradient, result = jax.jit(jax.grad(relaxed, range(6), has_aux=True))(*args)
    plan = np.asarray(result.plan)
    np.testing.assert_allclose(gradient[0], plan, atol=1e-12)
    assert abs(gradient[3] - kl(plan, np.outer(1.5 * a, b))) < 1e-10
    assert abs(gradient[4] - kl(plan.sum(1), 1.5 * a)) < 1e-10
    assert abs(gradient[5] - kl(plan.sum(0), b)) < 1e-10

    def balanced(cost, a):
        result = ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000)
        return result.reg_value, result

    gradient, result = jax.jit(jax.grad(balanced, (0, 1), has_aux=True))(cost, a)
    np.testing.assert_allclose(gradient[0], result.plan, atol=1e-12)
    # b follows the mass of a, which adds the same to every entry.
    np.testing.assert_allclose(
        gradient[1] - gradient[1][0], result.f - result.f[0], atol=1e-12
    )


def test_second_derivatives(x64):
    cost, a, b = random_problem(5)
    direction = np.random.default_rng(0).normal(size=cost.shape)

    def fn(cost):
        result = ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000)
        return jnp.stack([result.reg_value, result.value])

    gradient = jax.jit(jax.jacrev(fn))
    hessian = jax.jit(jax.jacfwd(jax.jacrev(fn)))(cost)
    step = 1e-5 * direction
    difference = (gradient(cost + step) - gradient(cost - step)) / 2e-5
    product = np.tensordot(hessian, direction, 2)
    np.testing.assert_allclose(product, difference, rtol=1e-6, atol=1e-7)


def test_only_mass_preserving_directions_count(x64):
    cost, a, b = random_problem(6)
    fn = jax.jit(lambda a: ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000).reg_value)
    # Within the tolerance of the masses b is rescaled, so any direction will do.
    step = 1e-6 * np.random.default_rng(0).normal(size=4)
    difference = fn(a + step) - fn(a - step)
    assert abs(difference - 2 * jax.grad(fn)(a) @ step) < 1e-14


# --- padding --------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "reference"), COMBINATIONS[3:4])
def test_padding_reaches_nothing(x64, rho, reference):
    cost, a, b = random_problem(7)
    padded = np.full((6, 7), np.nan)
    padded[:4, :5] = cost
    padded[4, 1], padded[0, 5] = np.inf, -np.inf
    args = (cost, a, b, 0.1, 0.4, 0.2)
    padded_args = (padded, np.pad(a, (0, 2)), np.pad(b, (0, 2)), 0.1, 0.4, 0.2)

    def total(*args):
        values = fields(rho, reference)(*args)
        return sum(jnp.sum(jnp.sin(x)) for x in values), values

    fn = jax.jit(jax.value_and_grad(total, tuple(range(6)), has_aux=True))
    (_, values), gradients = fn(*args)
    (_, padded_values), padded_gradients = fn(*padded_args)
    for x, y in zip((*values, *gradients), (*padded_values, *padded_gradients)):
        y = np.array(y)
        live = tuple(map(slice, x.shape))
        np.testing.assert_allclose(y[live], x, atol=1e-11)
        y[live] = 0
        assert np.all(y == 0)


def test_padding_and_absent_weights(x64):
    cost, a, _ = random_problem(19)
    padded = np.full((6, 5), np.nan)
    padded[:4] = cost
    fn = lambda c, a: ot.sinkhorn(c, a, eps=0.1, rho_a=0.5).reg_value
    gradient = jax.grad(fn, 1)(cost, a)
    padded_gradient = jax.grad(fn, 1)(padded, np.pad(a, (0, 2)))
    np.testing.assert_allclose(padded_gradient, np.pad(gradient, (0, 2)), atol=1e-12)
    assert np.all(padded_gradient[4:] == 0)


# --- limits ---------------------------------------------------------------------


def exact_value(cost, a, b):
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    return linprog(
        cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.r_[a, b], method="highs"
    ).fun


def test_small_eps_is_exact_transport(x64):
    cost, a, b = random_problem(8)
    exact = exact_value(cost, a, b)
    entropy = min(-np.sum(w * np.log(w)) for w in (a, b))

    @jax.jit
    def solve(cost, eps):
        result = ot.sinkhorn(cost, a, b, eps=eps, n_iter=20000)
        return result.value, result.reg_value

    for eps in (1e-1, 1e-2, 1e-3):
        (value, reg_value), derivative = jax.jvp(solve, (cost, eps), (cost, 0.0))
        # The exact plan has at most this relative entropy.
        assert -1e-7 < value - exact < eps * entropy
        assert -1e-7 < reg_value - exact < eps * entropy
        assert np.isfinite(derivative).all()


@pytest.mark.parametrize("reference", ["product", "counting"])
def test_large_eps_is_independence(x64, reference):
    cost, a, b = random_problem(9)
    result = ot.sinkhorn(cost, a, b, eps=1e9, reference=reference)
    np.testing.assert_allclose(result.plan, np.outer(a, b), atol=1e-9)


def test_small_float32_eps(x64):
    @jax.jit
    def solve(cost, a, b, eps):
        fn = lambda c: ot.sinkhorn(c, a, b, eps=eps, n_iter=2000)
        gradient = jax.grad(lambda c: fn(c).value)(cost)
        return fn(cost).value, fn(cost).reg_value, gradient

    for seed in range(5):
        problem = random_problem(seed, 10, 10)
        largest = problem[0].max()
        eps = 1e-3 * largest
        single = solve(*(np.float32(x) for x in (*problem, eps)))
        double = solve(*problem, eps)
        assert all(x.dtype == np.float32 for x in single)
        # Half an ulp of each of four terms, seen through max|C| / eps.
        bound = 4 * np.finfo(np.float32).eps * largest / eps
        assert abs(single[0] / double[0] - 1) < bound
        assert abs(single[1] / double[1] - 1) < bound
        assert np.isfinite(single[2]).all()


@pytest.mark.parametrize("rho", [(math.inf, math.inf), (0.5, 0.3)])
def test_one_atom(x64, rho):
    cost, a, b = random_problem(10, 1, 5)
    penalties = {"rho_a": rho[0], "rho_b": rho[1]}
    result = ot.sinkhorn(cost, a, b, eps=0.1, **penalties)
    transposed = ot.sinkhorn(cost.T, b, a, eps=0.1, rho_a=rho[1], rho_b=rho[0])
    np.testing.assert_allclose(result.plan, transposed.plan.T, atol=1e-12)
    if math.isinf(rho[0]):
        np.testing.assert_allclose(result.plan, b[None, :], atol=1e-15)
        assert abs(result.reg_value - cost[0] @ b) < 1e-14
    single = ot.sinkhorn(np.array([[0.7]]), eps=0.1, **penalties)
    if math.isinf(rho[0]):
        assert abs(single.value - 0.7) < 1e-15
    else:
        # p^(eps + rho_a + rho_b) = exp(-cost), from the derivative of the objective.
        assert abs(single.plan[0, 0] - math.exp(-0.7 / 0.9)) < 1e-14


def test_weak_penalty_converges_fast(x64):
    cost, a, b = random_problem(11)
    penalties = {"rho_a": 100.0, "rho_b": 50.0}
    result = ot.sinkhorn(cost, 1.2 * a, b, eps=0.1, n_iter=200, **penalties)
    # The updates alone shrink the common shift by 1 - eps (1/100 + 1/50) a step.
    assert result.error < 1e-12
    assert result.converged


def test_relaxed_tends_to_balanced(x64):
    cost, a, b = random_problem(12)
    balanced = ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000)
    for rho in (1e2, 1e4):
        result = ot.sinkhorn(cost, a, b, eps=0.1, rho_a=rho, rho_b=rho, n_iter=2000)
        assert abs(result.value - balanced.value) < 1 / rho
    traced = jax.jit(lambda r: ot.sinkhorn(cost, a, b, eps=0.1, rho_a=r, rho_b=r))
    result = traced(math.inf)
    np.testing.assert_allclose(result.plan, balanced.plan, atol=1e-9)
    np.testing.assert_allclose(result.f, balanced.f, atol=1e-9)


# --- stopping, batches, weights -------------------------------------------------


def test_tolerance_stops_early(x64):
    cost, a, b = random_problem(13)
    for penalties in ({"rho_a": 0.5}, {}):
        loose = ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000, tol=1e-10, **penalties)
        assert loose.n_iter < 1000
        assert loose.n_iter % 10 == 0
        assert loose.error <= 1e-10
        assert loose.converged
    fixed = ot.sinkhorn(cost, a, b, eps=0.1, n_iter=2000)
    np.testing.assert_allclose(loose.plan, fixed.plan, atol=1e-8)
    short = ot.sinkhorn(cost, a, b, eps=1e-3, n_iter=13, tol=1e-10)
    assert short.n_iter == 13
    assert not short.converged


@pytest.mark.slow
def test_gradient_of_an_early_stop(x64):
    cost, a, b = random_problem(13)
    gradient = jax.grad(lambda c: ot.sinkhorn(c, a, b, eps=0.1, tol=1e-10).value)(cost)
    exact = jax.grad(lambda c: ot.sinkhorn(c, a, b, eps=0.1, n_iter=2000).value)(cost)
    np.testing.assert_allclose(gradient, exact, atol=1e-7)


def test_too_few_iterations_are_reported(x64):
    cost, a, b = random_problem(14)
    result = ot.sinkhorn(cost, a, b, eps=1e-3, n_iter=5)
    assert not result.converged
    assert result.error > 1e-3
    plan = np.asarray(result.plan)
    violation = max(abs(plan.sum(1) - a).max(), abs(plan.sum(0) - b).max())
    assert abs(result.error - violation) < 1e-15


def test_annealing_helps_at_small_eps(x64):
    errors = {True: [], False: []}
    for seed in range(10):
        cost, a, b = random_problem(seed, 10, 10)
        for anneal, seen in errors.items():
            result = ot.sinkhorn(cost, a, b, eps=5e-3, n_iter=200, anneal=anneal)
            seen.append(float(result.error))
    assert np.mean(errors[True]) < np.mean(errors[False])


@pytest.mark.parametrize("tol", [None, 1e-9])
def test_batch_equals_loop(x64, tol):
    problems = [np.stack(x) for x in zip(*(random_problem(s) for s in range(4)))]
    solve = lambda c, a, b: ot.sinkhorn(c, a, b, eps=0.1, tol=tol)
    batch = jax.jit(jax.vmap(solve))(*problems)
    for i in range(4):
        single = solve(*(x[i] for x in problems))
        np.testing.assert_allclose(batch.plan[i], single.plan, atol=1e-12)
        assert batch.n_iter[i] == single.n_iter


def test_default_weights_and_masses(x64):
    cost, a, b = random_problem(15)
    uniform = ot.sinkhorn(cost, eps=0.1)
    given_weights = ot.sinkhorn(cost, np.full(4, 0.25), np.full(5, 0.2), eps=0.1)
    np.testing.assert_allclose(uniform.plan, given_weights.plan, atol=1e-15)
    half = ot.sinkhorn(cost, 3 * a, eps=0.1, n_iter=2000)
    np.testing.assert_allclose(half.plan.sum(0), 0.6, atol=1e-12)
    close = ot.sinkhorn(cost, a, b * (1 + 5e-5), eps=0.1, n_iter=2000)
    np.testing.assert_allclose(close.plan.sum(0), b, atol=1e-12)
    assert close.converged
    far = ot.sinkhorn(cost, a, b * (1 + 2e-4), eps=0.1)
    assert np.isnan(far.value)
    assert not far.converged
    relaxed = ot.sinkhorn(cost, a, 2 * b, eps=0.1, rho_b=1.0)
    assert relaxed.converged


# --- properties -----------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_properties(x64, seed):
    cost, a, b = random_problem(seed)
    rng = np.random.default_rng(seed)
    solve = lambda *p: ot.sinkhorn(*p, eps=0.2, n_iter=2000)
    result = solve(cost, a, b)
    np.testing.assert_allclose(result.plan.sum(1), a, atol=1e-9)
    np.testing.assert_allclose(result.plan.sum(0), b, atol=1e-9)
    assert np.all(np.asarray(result.plan) >= 0)
    assert abs(result.f @ a - result.g @ b) < 1e-12
    rows, columns = rng.permutation(4), rng.permutation(5)
    permuted = solve(cost[rows][:, columns], a[rows], b[columns])
    np.testing.assert_allclose(permuted.plan, result.plan[rows][:, columns], atol=1e-9)
    shifted = solve(cost + 3.0, a, b)
    assert abs(shifted.reg_value - result.reg_value - 3.0) < 1e-9
    transposed = solve(cost.T, b, a)
    np.testing.assert_allclose(transposed.plan.T, result.plan, atol=1e-8)


# --- bad input ------------------------------------------------------------------


def with_entry(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize("rho", [math.inf, 0.5])
@pytest.mark.parametrize("name", ["negative", "nan", "inf", "zero", "cost", "costs"])
def test_bad_values_give_nan(x64, name, rho):
    cost, a, b = random_problem(16)
    bad = {
        "negative": (cost, with_entry(a, 1, -0.1), b),
        "nan": (cost, a, with_entry(b, 1, np.nan)),
        "inf": (cost, with_entry(a, 1, np.inf), b),
        "zero": (cost, a, 0 * b),
        "cost": (with_entry(cost, (1, 2), np.nan), a, b),
        "costs": (with_entry(cost, (1, 2), np.inf), a, b),
    }[name]
    solve = jax.vmap(lambda *p: ot.sinkhorn(*p, eps=0.1, rho_a=rho, rho_b=rho))
    results = solve(*(np.stack(pair) for pair in zip(bad, (cost, a, b))))
    assert not results.converged[0]
    assert results.converged[1]
    for field in (*FIELDS, "error"):
        bad_one, good_one = getattr(results, field)
        assert np.isnan(bad_one).all()
        assert np.isfinite(good_one).all()


def test_bad_traced_parameters_give_nan(x64):
    cost, a, b = random_problem(17)
    solve = lambda eps, rho: ot.sinkhorn(cost, a, b, eps=eps, rho_a=rho)
    results = jax.jit(jax.vmap(solve))(
        np.array([0.0, -0.1, np.nan, np.inf, 0.1, 0.1, 0.1]),
        np.array([1.0, 1.0, 1.0, 1.0, 0.0, -1.0, 1.0]),
    )
    assert results.converged.tolist() == [False] * 6 + [True]
    assert np.isnan(results.reg_value).tolist() == [True] * 6 + [False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost": np.ones(3)}, "cost: expected shape (n, m); got shape (3,)"),
        (
            {"cost": np.ones((0, 3))},
            "cost: expected at least one element; got shape (0, 3)",
        ),
        ({"a": np.ones(5)}, "a: expected shape (4,); got shape (5,)"),
        ({"b": np.ones((5, 1))}, "b: expected shape (5,); got shape (5, 1)"),
        ({"eps": 0.0}, "eps: expected a value in (0, inf); got 0.0"),
        ({"eps": np.ones(2)}, "eps: expected shape (); got shape (2,)"),
        ({"tol": np.ones(2)}, "tol: expected shape (); got shape (2,)"),
        ({"eps": math.inf}, "eps: expected a value in (0, inf); got inf"),
        ({"rho_a": 0.0}, "rho_a: expected a value in (0, inf]; got 0.0"),
        ({"rho_b": -1.0}, "rho_b: expected a value in (0, inf]; got -1.0"),
        ({"tol": -1.0}, "tol: expected a value in [0, inf]; got -1.0"),
        ({"n_iter": 0}, "n_iter: expected an integer >= 1; got 0"),
        (
            {"reference": "uniform"},
            "reference: expected one of 'product', 'counting'; got 'uniform'",
        ),
    ],
)
def test_errors(plain_errors, arguments, message):
    cost, a, b = random_problem(18)
    arguments = {"cost": cost, "a": a, "b": b, "eps": 0.1} | arguments
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.sinkhorn(**arguments)
