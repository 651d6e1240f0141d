"""Contract cases of ``jaxrepro.ot``."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro import ot
from jaxrepro.testing import Case, numpy_generator


def uniform(*shape):
    return lambda key, dtype: (numpy_generator(key).uniform(size=shape).astype(dtype),)


def normal(*shapes):
    def make_args(key, dtype):
        rng = numpy_generator(key)
        return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)

    return make_args


def weights(rng, dtype):
    return tuple(rng.dirichlet(np.full(n, 3.0)).astype(dtype) for n in (4, 5))


def weighted(key, dtype):
    rng = numpy_generator(key)
    return (rng.uniform(size=(4, 5)).astype(dtype), *weights(rng, dtype))


def padded(key, dtype):
    cost, a, b = weighted(key, dtype)
    cost[1], a[1] = np.nan, 0
    return cost, a / a.sum(), b


def inner_cost(rng, n):
    x = rng.normal(size=(n, 2))
    return np.sum((x[:, None] - x[None]) ** 2, -1)


def three_costs(key, dtype):
    rng = numpy_generator(key)
    inner = (inner_cost(rng, n).astype(dtype) for n in (4, 5))
    cost, a, b = weighted(key, dtype)
    return cost, *inner, a, b


def points(key, dtype):
    rng = numpy_generator(key)
    x, y = (rng.uniform(size=(n, 2)).astype(dtype) for n in (4, 5))
    return x, y, *weights(rng, dtype)


def keyed_points(key, dtype):
    return (key, *points(key, dtype))


def tokens(key, dtype):
    return points(key, dtype)[:2]


def two_spaces(key, dtype):
    _, inner, other, a, b = three_costs(key, dtype)
    return np.sqrt(1 + inner), np.sqrt(1 + other), a, b


def a_plan(key, dtype):
    (plan,) = uniform(4, 3)(key, dtype)
    plan[:, 1] = 0
    return (plan,)


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
        uniform(4, 4),
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
        normal((5, 3)),
        name="pairwise",
    ),
    Case(
        pairwise_of_two,
        normal((3, 2), (4, 2)),
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
        uniform(4, 3),
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

SLOW = {
    "balanced_assignment[unrolled]",
    "emd[padded]",
    "gromov_wasserstein",
    "low_rank_sinkhorn",
    "point_cloud_sinkhorn",
    "sinkhorn[padded]",
    "sinkhorn[unbalanced]",
    "sinkhorn_divergence",
    "wasserstein",
}

EXEMPT = {
    "check_problem": "looks at concrete values on the host and returns nothing",
}
