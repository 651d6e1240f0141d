"""Contract cases of ``jaxrepro.ot``."""

import jax

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
]

EXEMPT = {
    "check_problem": "looks at concrete values on the host and returns nothing",
}
