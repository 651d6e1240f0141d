"""The bases that the transportation simplex returns are trees, and optimal."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

from jaxrepro.ot import emd
from jaxrepro.ot._simplex import _CHUNK, transport_simplex, unpack

LIMIT = jnp.int32(10_000)
SHAPES = [(1, 1), (1, 4), (4, 1), (2, 3), (5, 5), (3, 9), (12, 12), (20, 14)]


def linear_program(cost, a, b):
    """Optimal cost by HiGHS: the independent oracle of this file."""
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    solution = linprog(
        cost.ravel(),
        A_eq=np.vstack([rows, columns])[:-1],
        b_eq=np.concatenate([a, b])[:-1],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10},
    )
    assert solution.success
    return solution.fun


def problem(seed, n, m, kind):
    """Random problems, several of them degenerate on purpose."""
    rng = np.random.default_rng(seed)
    cost = rng.random((n, m))
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    if kind == "integer costs":
        cost = rng.integers(0, 3, (n, m)).astype(float)
    if kind == "uniform weights":
        a, b = np.full(n, 1 / n), np.full(m, 1 / m)
    if kind == "integer weights":
        # Both sides are sums of the same unit parcels, so many subsets balance.
        parcels = 3 * max(n, m)
        a = 1.0 + rng.multinomial(parcels - n, np.full(n, 1 / n))
        b = 1.0 + rng.multinomial(parcels - m, np.full(m, 1 / m))
    if kind == "constant cost":
        cost = np.full((n, m), 0.7)
    if kind == "on a line":
        cost = np.abs(rng.random(n)[:, None] - rng.random(m)[None])
    if kind == "padded":
        a[: n // 2] = 0
        b[: m // 3] = 0
        a, b = a / a.sum(), b / b.sum()
    if kind == "negative costs":
        cost = -cost
    return cost, a, b


KINDS = [
    "random",
    "integer costs",
    "uniform weights",
    "integer weights",
    "constant cost",
    "on a line",
    "padded",
    "negative costs",
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_value_is_that_of_the_linear_program(x64, kind, shape):
    for seed in range(3):
        cost, a, b = problem(seed, *shape, kind)
        result = emd(cost, a, b)
        assert result.converged
        assert abs(result.value - linear_program(cost, a, b)) < 1e-9 * a.sum()
        # A feasible plan and dual potentials of equal value prove optimality.
        live = (a > 0)[:, None] & (b > 0)[None]
        slack = cost - np.asarray(result.f)[:, None] - np.asarray(result.g)[None]
        assert slack[live].min() > -1e-12
        dual = np.sum(result.f * a) + np.sum(result.g * b)
        assert abs(dual - result.value) < 1e-13 * max(1, a.sum())
        assert np.min(result.plan) >= 0
        assert result.error < 1e-14 * max(1, a.sum())


def test_a_basis_is_a_spanning_tree_and_its_cuts_are_those_of_the_tree(x64):
    n, m = 5, 7
    cost, a, b = map(jnp.asarray, problem(3, n, m, "integer weights"))
    basis = transport_simplex(cost, a, b, LIMIT)
    cut = np.asarray(unpack(basis.cut, n + m))
    arcs = [(int(c) // m, n + int(c) % m) for c in basis.cell]
    assert len(set(arcs)) == n + m - 1
    for k, (row, _) in enumerate(arcs):
        # Walk over the other arcs, starting from the row of arc k.
        reached = {row}
        others = arcs[:k] + arcs[k + 1 :]
        for _ in range(n + m):
            for i, j in others:
                if (i in reached) != (j in reached):
                    reached |= {i, j}
        assert set(np.flatnonzero(cut[k])) == reached
        assert len(reached) < n + m


def test_bitsets_of_several_words(x64):
    """40 + 50 nodes need three words."""
    cost, a, b = problem(0, 40, 50, "random")
    result = emd(cost, a, b)
    assert transport_simplex(*map(jnp.asarray, (cost, a, b)), LIMIT).cut.shape[1] == 3
    assert result.converged
    assert abs(result.value - linear_program(cost, a, b)) < 1e-9


def test_small_assignments_against_all_permutations(x64):
    rng = np.random.default_rng(5)
    costs = rng.random((20, 5, 5))
    values = jax.vmap(lambda c: emd(c, method="simplex").value)(costs)
    for cost, value in zip(costs, values):
        best = min(
            sum(cost[i, p[i]] for i in range(5)) / 5
            for p in itertools.permutations(range(5))
        )
        assert abs(value - best) < 1e-14


@pytest.mark.parametrize("size", [1, _CHUNK - 1, _CHUNK, _CHUNK + 1, 2 * _CHUNK + 7])
def test_batches_of_every_size_equal_single_problems(x64, size):
    rng = np.random.default_rng(size)
    costs = rng.random((size, 4, 6))
    a = rng.dirichlet(np.ones(4), size)
    b = rng.dirichlet(np.ones(6), size)
    batch = jax.vmap(emd)(costs, a, b)
    for i in {0, size // 2, size - 1}:
        single = emd(costs[i], a[i], b[i])
        # The same basis; sums over it may round differently in a batch.
        np.testing.assert_allclose(batch.plan[i], single.plan, rtol=0, atol=1e-15)
        np.testing.assert_allclose(batch.f[i], single.f, rtol=0, atol=1e-15)
        assert batch.n_iter[i] == single.n_iter


def test_nested_and_partial_batches(x64):
    rng = np.random.default_rng(0)
    costs = rng.random((3, 30, 4, 4))
    a = rng.dirichlet(np.ones(4), 3)
    value = lambda c, w: emd(c, w).value
    inner = jax.vmap(value, in_axes=(0, None))
    nested = jax.vmap(inner)(costs, a)
    assert nested.shape == (3, 30)
    for i, j in [(0, 0), (1, 17), (2, 29)]:
        expected = linear_program(costs[i, j], a[i], np.full(4, 0.25))
        assert abs(nested[i, j] - expected) < 1e-9


def test_large_uniform_assignment_equals_scipy(x64):
    cost = np.random.default_rng(1).random((64, 64))
    rows, columns = linear_sum_assignment(cost)
    result = emd(cost, method="simplex")
    assert result.converged
    assert abs(result.value - cost[rows, columns].mean()) < 1e-13


@pytest.mark.parametrize("shape", [(5, 5), (10, 10), (40, 70)])
@pytest.mark.parametrize("kind", ["random", "integer costs", "uniform weights"])
def test_float32_is_within_rounding_of_float64(x64, kind, shape):
    for seed in range(3):
        cost, a, b = problem(seed, *shape, kind)
        single = emd(*(x.astype(np.float32) for x in (cost, a, b)))
        double = emd(cost, a, b)
        assert single.value.dtype == jnp.float32
        assert single.converged
        # Costs within 1e-6 of optimal may stay; the masses carry 1e-7 each.
        assert abs(single.value - double.value) < 2e-6 * np.abs(cost).max() + 1e-7


def test_pivot_limit_is_reported(x64):
    cost, a, b = problem(0, 12, 12, "random")
    result = emd(cost, a, b, max_pivots=1)
    assert result.n_iter == 1
    assert not result.converged
    # What is returned is still a feasible plan.
    assert result.error < 1e-14
    assert result.value > emd(cost, a, b).value
