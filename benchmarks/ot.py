"""Exact transport against POT, optax and ott-jax.

POT solves one problem a call, so that its users write the loops timed here.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import ot as pot
from ott.geometry import geometry
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn as ott_sinkhorn

from benchmarks._harness import Contender, compare, version
from jaxrepro import ot

POT, OPTAX, OTT = (version(name) for name in ("POT", "optax", "ott-jax"))


def problems(seed, count, n):
    """Random costs and weights of ``count`` problems of n by n atoms."""
    rng = np.random.default_rng(seed)
    cost = rng.random((count, n, n))
    a, b = (rng.dirichlet(np.ones(n), count) for _ in range(2))
    return cost, a, b


def pot_loop(costs, a, b):
    """Values of all problems, one call of POT each."""
    return lambda: [pot.emd2(x, y, c) for c, x, y in zip(costs, a, b)]


def ott_values(costs, n_iter=100, relative_eps=0.05):
    """Sinkhorn of ott-jax with a fixed number of iterations, which vectorises."""

    def value(cost):
        eps = relative_eps * jnp.mean(cost)
        geom = geometry.Geometry(cost, epsilon=eps)  # pyright: ignore[reportArgumentType]
        solver = ott_sinkhorn.Sinkhorn(
            threshold=0.0, min_iterations=n_iter, max_iterations=n_iter
        )
        return solver(linear_problem.LinearProblem(geom)).primal_cost

    run = jax.jit(jax.vmap(value))
    return lambda: run(costs)


def assignment(count=2500, n=10) -> bool:
    """Uniform weights: the assignment problem."""
    costs, _, _ = problems(0, count, n)
    uniform = np.full((count, n), 1 / n)
    device_costs = jnp.asarray(costs)

    def with_optax(cost):
        rows, columns = optax.assignment.hungarian_algorithm(cost)
        return jnp.mean(cost[rows, columns])

    def entropic(cost):
        eps = 0.05 * jnp.mean(cost)
        return ot.sinkhorn(cost, eps=eps, n_iter=100, anneal=False).value

    ours = jax.jit(jax.vmap(ot.emd_value))
    simplex = jax.jit(jax.vmap(lambda c: ot.emd_value(c, method="simplex")))
    library = jax.jit(jax.vmap(with_optax))
    sinkhorn = jax.jit(jax.vmap(entropic))
    return compare(
        f"uniform {n} x {n}, {count} problems, float64",
        Contender("ot.emd_value", lambda: ours(device_costs)),
        Contender(
            f"loop over {POT} emd2", pot_loop(costs, uniform, uniform), 3.0, True
        ),
        Contender(f"{OTT} Sinkhorn, eps 5 %, 100 steps", ott_values(device_costs), 1.0),
        Contender("ot.sinkhorn, eps 5 %, 100 steps", lambda: sinkhorn(device_costs)),
        Contender(
            f"{OPTAX} Hungarian alone", lambda: library(device_costs), exact=True
        ),
        Contender(
            "ot.emd_value, method='simplex'", lambda: simplex(device_costs), exact=True
        ),
    )


def weighted(count, n, target) -> bool:
    """General weights: the transportation simplex."""
    batch = problems(1, count, n)
    device_batch = [jnp.asarray(x) for x in batch]
    value = jax.jit(jax.vmap(ot.emd_value))
    gradient = jax.jit(jax.vmap(jax.value_and_grad(ot.emd_value, argnums=(0, 1, 2))))
    return compare(
        f"weighted {n} x {n}, {count} problems, float64",
        Contender("ot.emd_value", lambda: value(*device_batch)),
        Contender(f"loop over {POT} emd2", pot_loop(*batch), target, True),
        Contender("ot.emd_value with gradients", lambda: gradient(*device_batch)),
    )


def main() -> bool:
    """Run every comparison of this file."""
    with jax.enable_x64(True):
        return all(
            [
                assignment(),
                weighted(2500, 5, 10.0),
                weighted(2500, 10, 3.0),
                weighted(1000, 20, None),
            ]
        )
