"""Contract cases of ``jaxrepro.ot``."""

import jax
import jax.numpy as jnp

from jaxrepro import ot
from jaxrepro.testing import Case


def square_cost(key, dtype):
    return (jax.random.uniform(key, (4, 4), dtype),)


def weighted(key, dtype):
    c, a, b = jax.random.split(key, 3)
    return (
        jax.random.uniform(c, (4, 5), dtype),
        jax.nn.softmax(jax.random.normal(a, (4,), dtype)),
        jax.nn.softmax(jax.random.normal(b, (5,), dtype)),
    )


def padded(key, dtype):
    cost, a, b = weighted(key, dtype)
    cost = cost.at[1].set(jax.numpy.nan)
    return cost, a.at[1].set(0.0) / (1 - a[1]), b


def three_costs(key, dtype):
    cost, a, b = weighted(key, dtype)
    points = jax.random.normal(key, (5, 2), dtype)
    inner = jnp.sum((points[:, None] - points[None]) ** 2, -1)
    return cost, inner[:4, :4], inner, a, b


def points(key, dtype):
    x, y, w = jax.random.split(key, 3)
    _, a, b = weighted(w, dtype)
    return (
        jax.random.uniform(x, (4, 2), dtype),
        jax.random.uniform(y, (5, 2), dtype),
        a,
        b,
    )


def keyed_points(key, dtype):
    return (key, *points(key, dtype))


def tokens(key, dtype):
    return points(key, dtype)[:2]


def two_spaces(key, dtype):
    _, inner, other, a, b = three_costs(key, dtype)
    return jnp.sqrt(1 + inner), jnp.sqrt(1 + other), a, b


def a_plan(key, dtype):
    plan = jax.random.uniform(key, (4, 3), dtype)
    return (plan.at[:, 1].set(0),)


@jax.jit
def pairwise(xs):
    distance = lambda x, y: jnp.sum(jnp.abs(x - y) ** 1.5)
    return ot.pairwise(distance, xs, block=4)


@jax.jit
def pairwise_of_two(xs, ys):
    return ot.pairwise(lambda x, y: jnp.sum(jnp.sin(x * y)), xs, ys, block=7)


SINKHORN_FIELDS = ("value", "plan", "f", "g", "reg_value")
OTT = {"strict": False, "reason": "ott-jax promotes ranks and dtypes"}
OPTAX = {"strict": False, "reason": "optax's Hungarian solver promotes integers"}

CASES = [
    Case(ot.emd, weighted, differentiable=("value", "plan")),
    Case(
        ot.emd,
        padded,
        differentiable=("value", "plan", "f", "g"),
        edge=True,
        name="emd[padded]",
    ),
    Case(
        ot.emd,
        square_cost,
        differentiable=("value",),
        name="emd[assignment]",
        **OPTAX,
    ),
    Case(ot.emd_value, weighted),
    Case(ot.wasserstein, weighted, traced={"p": 2.0}),
    Case(
        ot.sinkhorn,
        weighted,
        differentiable=SINKHORN_FIELDS,
        traced={"eps": 0.3},
    ),
    Case(
        ot.sinkhorn,
        weighted,
        differentiable=SINKHORN_FIELDS,
        traced={"eps": 0.3, "rho_a": 0.5, "rho_b": 1.0},
        static={"reference": "counting"},
        name="sinkhorn[unbalanced]",
    ),
    Case(
        ot.sinkhorn,
        padded,
        differentiable=SINKHORN_FIELDS,
        edge=True,
        traced={"eps": 0.3, "tol": 1e-6},
        name="sinkhorn[padded]",
    ),
    Case(ot.sinkhorn_plan, weighted, traced={"eps": 0.3, "rho_b": 1.0}),
    Case(ot.sinkhorn_divergence, three_costs, traced={"eps": 0.5}),
    Case(ot.scale_eps, weighted, traced={"rel": 0.1}),
    Case(
        pairwise,
        lambda key, dtype: (jax.random.normal(key, (5, 3), dtype),),
        name="pairwise",
    ),
    Case(
        pairwise_of_two,
        lambda key, dtype: (
            jax.random.normal(key, (3, 2), dtype),
            jax.random.normal(key, (4, 2), dtype),
        ),
        name="pairwise[two batches]",
    ),
    Case(
        ot.balanced_assignment,
        tokens,
        differentiable=("plan", "f", "g"),
        traced={"eps": 0.3},
    ),
    Case(
        ot.balanced_assignment,
        tokens,
        differentiable=("plan",),
        traced={"eps": 0.3, "tau": 1.0},
        static={"diff": "unroll", "metric": "sqeuclidean"},
        name="balanced_assignment[unrolled]",
    ),
    Case(ot.softmax_assignment, tokens, traced={"eps": 0.3}),
    Case(ot.prototype_usage, a_plan, edge=True),
    Case(
        ot.prototype_usage,
        lambda key, dtype: (jax.random.uniform(key, (4, 3), dtype),),
        name="prototype_usage[all in use]",
    ),
    Case(
        ot.point_cloud_sinkhorn,
        points,
        differentiable=("reg_value",),
        traced={"eps": 0.3},
        static={"block": 3},
    ),
    Case(
        ot.low_rank_sinkhorn,
        keyed_points,
        differentiable=False,
        key_argument=0,
        traced={"eps": 0.01},
        static={"rank": 2, "n_iter": 20, "n_inner": 10},
        **OTT,
    ),
    Case(
        ot.gromov_wasserstein,
        two_spaces,
        differentiable=("reg_value",),
        traced={"eps": 0.5},
        static={"n_iter": 30, "n_inner": 100},
        **OTT,
    ),
]

EXEMPT = {
    "check_problem": "looks at concrete values on the host and returns nothing",
}
