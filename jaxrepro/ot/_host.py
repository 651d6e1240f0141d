"""Exact transport on the host, by POT or SciPy: for single large problems.

This is the one numerical function of the package that calls back to the host.
"""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np


def host_plan(cost, a, b, *, is_assignment: bool):
    """Optimal plan, potentials and success flag, computed outside of JAX."""
    n, m = cost.shape
    shapes = (
        jax.ShapeDtypeStruct((n, m), cost.dtype),
        jax.ShapeDtypeStruct((n,), cost.dtype),
        jax.ShapeDtypeStruct((m,), cost.dtype),
        jax.ShapeDtypeStruct((), jnp.bool_),
    )
    if importlib.util.find_spec("ot") is not None:
        solve = _solve_with_pot
    elif is_assignment:
        solve = _solve_assignment
    else:
        solve = _solve_with_highs

    def call(*problem):
        cost, a, b = (np.asarray(x, np.float64) for x in problem)
        # The solvers have absolute tolerances, made for costs and masses around 1.
        scale, mass = np.abs(cost).max() or 1.0, a.sum()
        plan, f, g, converged = solve(cost / scale, a / mass, b / b.sum())
        plan, f, g = plan * mass, f * scale, g * scale
        f, g = np.where(a > 0, f, 0), np.where(b > 0, g, 0)
        return tuple(
            np.asarray(x, shape.dtype)
            for x, shape in zip((plan, f, g, converged), shapes)
        )

    problem = jax.lax.stop_gradient((cost, a, b))
    return jax.pure_callback(call, shapes, *problem, vmap_method="sequential")


def _solve_with_pot(cost, a, b):
    import ot  # POT

    plan, log = ot.emd(a, b, cost, numItermax=10_000_000, log=True)
    return plan, log["u"], log["v"], log["warning"] is None


def _solve_assignment(cost, a, b):
    from scipy.optimize import linear_sum_assignment

    n = len(a)
    rows, columns = linear_sum_assignment(cost)
    plan = np.zeros_like(cost)
    plan[rows, columns] = a
    return plan, np.full(n, np.nan), np.full(n, np.nan), True


def _solve_with_highs(cost, a, b):
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n, m = cost.shape
    marginals = vstack(
        [kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m))]
    )
    solution = linprog(
        cost.ravel(), A_eq=marginals, b_eq=np.concatenate([a, b]), method="highs"
    )
    if solution.x is None:
        nan = np.full(n + m, np.nan)
        return np.full_like(cost, np.nan), nan[:n], nan[n:], False
    duals = solution.eqlin.marginals
    return solution.x.reshape(n, m), duals[:n], duals[n:], solution.success
