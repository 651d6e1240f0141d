"""Balanced soft assignment of tokens to prototypes."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.test_util import check_grads
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from jaxrepro import ot


def data(seed, n=64, k=10, d=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(k, d))


def cosine_cost(tokens, prototypes):
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    return 1 - unit(tokens) @ unit(prototypes).T


def test_marginals_in_float32():
    for seed in range(3):
        tokens, prototypes = (np.float32(x) for x in data(seed))
        result = ot.balanced_assignment(tokens, prototypes, n_iter=200)
        np.testing.assert_allclose(result.plan.sum(0), 1 / 10, atol=1e-6)
        np.testing.assert_allclose(result.plan.sum(1), 1 / 64, atol=1e-6)
        assert result.error < 1e-6


def test_large_eps_is_independence(x64):
    result = ot.balanced_assignment(*data(0), eps=1e7)
    np.testing.assert_allclose(result.plan, 1 / 640, atol=1e-9)


def test_small_eps_is_exact_assignment(x64):
    tokens, prototypes = data(1, 12, 12)
    cost = cosine_cost(tokens, prototypes)
    _, columns = linear_sum_assignment(cost)
    exact = cost[np.arange(12), columns].mean()
    for eps in (1e-2, 1e-3):
        plan = ot.balanced_assignment(tokens, prototypes, eps=eps, n_iter=5000).plan
        assert np.array_equal(np.argmax(plan, axis=1), columns)
        # The exact plan has entropy log 12 relative to independence.
        assert -1e-6 < np.sum(plan * cost) - exact < eps * np.log(12)


@given(st.integers(0, 2**32 - 1))
def test_permutation_equivariance(x64, seed):
    tokens, prototypes = data(seed, 9, 4, 3)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(9), rng.permutation(4)
    for assign in (lambda *p: ot.balanced_assignment(*p).plan, ot.softmax_assignment):
        plan = assign(tokens, prototypes)
        permuted = assign(tokens[rows], prototypes[columns])
        np.testing.assert_allclose(permuted, plan[rows][:, columns], atol=1e-12)


@pytest.mark.peer
@pytest.mark.parametrize("tau", [np.inf, 1.0, 0.1])
def test_against_ott(x64, tau):
    from ott.geometry import geometry
    from ott.solvers import linear

    tokens, prototypes = data(2)
    geom = geometry.Geometry(jnp.asarray(cosine_cost(tokens, prototypes)), epsilon=0.05)
    power = 1.0 if np.isinf(tau) else tau / (tau + 0.05)
    out = linear.solve(
        geom, tau_a=power, tau_b=power, threshold=1e-13, max_iterations=20000
    )
    result = ot.balanced_assignment(tokens, prototypes, tau=tau, n_iter=500)
    np.testing.assert_allclose(result.plan, out.matrix, atol=1e-12)
    f, g = np.asarray(result.f), np.asarray(result.g)
    exponent = (f[:, None] + g[None, :] - cosine_cost(tokens, prototypes)) / 0.05
    np.testing.assert_allclose(np.exp(exponent), result.plan, atol=1e-13)
    single = ot.balanced_assignment(
        np.float32(tokens), np.float32(prototypes), tau=tau, n_iter=500
    )
    assert single.plan.dtype == np.float32
    np.testing.assert_allclose(single.plan, out.matrix, atol=1e-5)


def test_squared_distance_and_shares(x64):
    tokens, prototypes = data(3, 20, 4, 3)
    rng = np.random.default_rng(3)
    a, b = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(4))
    result = ot.balanced_assignment(
        tokens, prototypes, eps=0.5, a=a, b=b, metric="sqeuclidean", n_iter=1000
    )
    np.testing.assert_allclose(result.plan.sum(0), b, atol=1e-12)
    cost = np.sum((tokens[:, None] - prototypes[None]) ** 2, axis=2)
    kernel = np.exp(-cost / 0.5)
    u, v = np.ones(20), np.ones(4)
    for _ in range(5000):
        u = a / (kernel @ v)
        v = b / (kernel.T @ u)
    np.testing.assert_allclose(result.plan, u[:, None] * kernel * v, atol=1e-12)


def loss(diff, n_iter, tau=np.inf):
    def fn(tokens, prototypes, eps):
        result = ot.balanced_assignment(
            tokens, prototypes, eps=eps, tau=tau, n_iter=n_iter, diff=diff
        )
        return jnp.sum(jnp.sin(30 * result.plan)) + result.f[0] * result.g[1]

    return fn


@pytest.mark.slow
@pytest.mark.parametrize("tau", [np.inf, 0.5])
def test_three_kinds_of_derivative(x64, tau):
    tokens, prototypes = data(4, 16, 5, 4)
    gradients = {
        diff: jax.jit(jax.grad(loss(diff, 400, tau), range(3)))(tokens, prototypes, 0.1)
        for diff in ("implicit", "unroll", "none")
    }
    for implicit, unrolled in zip(gradients["implicit"], gradients["unroll"]):
        scale = np.abs(unrolled).max()
        np.testing.assert_allclose(implicit, unrolled, atol=1e-9 * scale)
    assert all(np.all(g == 0) for g in gradients["none"])
    args = (tokens, prototypes, 0.1)
    check_grads(
        jax.jit(loss("implicit", 400, tau)), args, 1, rtol=1e-6, atol=1e-6, eps=1e-5
    )


@pytest.mark.parametrize("diff", ["implicit", "unroll"])
def test_zero_tokens_are_safe(x64, diff):
    tokens, prototypes = data(5, 8, 3, 4)
    tokens[2] = 0
    prototypes[1] = 0
    fn = loss(diff, 100)
    gradients = jax.jit(jax.grad(fn, (0, 1)))(tokens, prototypes, 0.1)
    assert all(np.isfinite(g).all() for g in gradients)
    plan = ot.balanced_assignment(tokens, prototypes, n_iter=1000).plan
    np.testing.assert_allclose(plan.sum(1), 1 / 8, atol=1e-12)
    gradient = jax.grad(lambda t: jnp.sum(ot.softmax_assignment(t, prototypes)[:, 0]))
    assert np.isfinite(gradient(tokens)).all()


def test_padded_tokens_do_not_count(x64):
    tokens, prototypes = data(6, 9, 4, 3)
    padded = np.concatenate([tokens, np.full((3, 3), np.nan)])
    a = np.r_[np.full(9, 1 / 9), np.zeros(3)]
    for assign in (
        lambda t, a: ot.balanced_assignment(t, prototypes, a=a).plan,
        lambda t, a: ot.softmax_assignment(t, prototypes, a=a),
    ):
        plan = assign(padded, a)
        np.testing.assert_allclose(plan[:9], assign(tokens, None), atol=1e-14)
        assert np.all(plan[9:] == 0)


def test_fewer_tokens_than_prototypes(x64):
    tokens, prototypes = data(7, 3, 10)
    plan = ot.balanced_assignment(tokens, prototypes, n_iter=2000).plan
    np.testing.assert_allclose(plan.sum(0), 0.1, atol=1e-9)


def test_softmax_rows(x64):
    tokens, prototypes = data(8, 7, 3)
    a = np.random.default_rng(8).dirichlet(np.ones(7))
    expected = a[:, None] * softmax(-cosine_cost(tokens, prototypes) / 0.2, axis=1)
    got = ot.softmax_assignment(tokens, prototypes, eps=0.2, a=a)
    np.testing.assert_allclose(got, expected, atol=1e-15)
    bad = ot.softmax_assignment(tokens, prototypes, eps=0.2, a=-a)
    assert np.isnan(bad).all()


def test_usage(x64):
    usage = ot.prototype_usage(np.array([[0.1, 0.0, 0.3], [0.1, 0.0, 0.5]]))
    np.testing.assert_allclose(usage.mass, [0.2, 0.0, 0.8])
    expected = np.exp(-0.2 * np.log(0.2) - 0.8 * np.log(0.8))
    assert abs(usage.perplexity - expected) < 1e-14
    assert abs(ot.prototype_usage(np.eye(6)).perplexity - 6) < 1e-13
    assert np.isnan(ot.prototype_usage(np.zeros((2, 2))).perplexity)
    gradient = jax.grad(lambda p: ot.prototype_usage(p).perplexity)
    assert np.isfinite(gradient(np.array([[1.0, 0.0], [2.0, 0.0]]))).all()


def test_balance_keeps_prototypes_alive(x64):
    # Eight clusters of very unequal frequency, as in the paper's setting.
    rng = np.random.default_rng(9)
    centres = rng.normal(size=(8, 32))
    share = [0.5, 0.2, 0.1, 0.06, 0.05, 0.04, 0.03, 0.02]
    tokens = centres[rng.choice(8, 512, p=share)] + 0.25 * rng.normal(size=(512, 32))
    prototypes = rng.normal(size=(10, 32))
    usage = lambda plan: ot.prototype_usage(plan).perplexity
    balanced = usage(ot.balanced_assignment(tokens, prototypes).plan)
    relaxed = usage(ot.balanced_assignment(tokens, prototypes, tau=0.1).plan)
    alone = usage(ot.softmax_assignment(tokens, prototypes))
    assert abs(balanced - 10) < 1e-3
    assert alone < relaxed < balanced
    assert alone < 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens": np.ones(4)}, "tokens: expected shape (N, d); got shape (4,)"),
        (
            {"prototypes": np.ones((2, 5))},
            "prototypes: expected shape (K, 3); got shape (2, 5)",
        ),
        (
            {"tokens": np.ones((0, 3))},
            "tokens: expected at least one element; got shape (0, 3)",
        ),
        ({"a": np.ones(3)}, "a: expected shape (4,); got shape (3,)"),
        ({"b": np.ones(3)}, "b: expected shape (2,); got shape (3,)"),
        ({"eps": 0.0}, "eps: expected a value in (0, inf); got 0.0"),
        ({"tau": -1.0}, "tau: expected a value in (0, inf]; got -1.0"),
        ({"n_iter": 0}, "n_iter: expected an integer >= 1; got 0"),
        (
            {"metric": "dot"},
            "metric: expected one of 'cosine', 'sqeuclidean'; got 'dot'",
        ),
        (
            {"diff": "auto"},
            "diff: expected one of 'implicit', 'unroll', 'none'; got 'auto'",
        ),
    ],
)
def test_errors(plain_errors, arguments, message):
    shapes = {"tokens": np.ones((4, 3)), "prototypes": np.ones((2, 3))}
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.balanced_assignment(**(shapes | arguments))
    if {"tokens", "prototypes", "a", "eps", "metric"} >= set(arguments):
        with pytest.raises(ValueError, match=re.escape(message)):
            ot.softmax_assignment(**(shapes | arguments))


def test_usage_errors(plain_errors):
    message = "plan: expected shape (N, K); got shape (3,)"
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.prototype_usage(np.ones(3))
    message = "plan: expected at least one element; got shape (0, 3)"
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.prototype_usage(np.ones((0, 3)))
