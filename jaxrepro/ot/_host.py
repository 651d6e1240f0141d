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
    dtype = np.dtype(cost.dtype)
    if importlib.util.find_spec("ot") is not None:
        solve = _solve_with_pot
    elif is_assignment:
        solve = _solve_assignment
    else:
        solve = _solve_with_highs

    def call(*problem):
        cost, a, b = (_of_words(x, dtype).astype(np.float64) for x in problem)
        # The solvers have absolute tolerances, made for costs and masses around 1.
        scale, mass = np.abs(cost).max() or 1.0, a.sum()
        plan, f, g, converged = solve(cost / scale, a / mass, b / b.sum())
        plan, f, g = plan * mass, f * scale, g * scale
        f, g = np.where(a > 0, f, 0), np.where(b > 0, g, 0)
        found = (_to_words(np.asarray(x, dtype)) for x in (plan, f, g))
        return *found, np.asarray(converged, np.bool_)

    # JAX may call from a thread that does not know of ``enable_x64`` and would cut
    # float64 to float32, so the numbers travel as 32-bit words.
    words = [
        jax.lax.bitcast_convert_type(x, jnp.uint32).reshape(*x.shape, -1)
        for x in jax.lax.stop_gradient((cost, a, b))
    ]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in words]
    flag = jax.ShapeDtypeStruct((), jnp.bool_)
    *found, converged = jax.pure_callback(
        call, (*shapes, flag), *words, vmap_method="sequential"
    )
    plan, f, g = (
        jax.lax.bitcast_convert_type(x if x.shape[-1] > 1 else x[..., 0], cost.dtype)
        for x in found
    )
    return plan, f, g, converged


def _to_words(x):
    """Bits of an array, with a last axis of one or two 32-bit words."""
    return np.ascontiguousarray(x)[..., None].view(np.uint32)


def _of_words(words, dtype):
    return np.ascontiguousarray(words).view(dtype)[..., 0]


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
