"""Contract cases of ``jaxrepro.kernels``."""

import jax
import jax.numpy as jnp

from jaxrepro import kernels
from jaxrepro.testing import Case


def angles(key, dtype):
    return (jax.random.uniform(key, (4,), dtype, 0.2, 1.8),)


def ends(key, dtype):
    """Equal and opposite inputs."""
    return (jnp.asarray([0.0, 2.0], dtype),)


def angles_and_branches(key, dtype):
    return *angles(key, dtype), jax.random.uniform(key, (5,), dtype, 0.2, 1.0)


def ends_and_branches(key, dtype):
    """Equal and opposite inputs; a branch that does nothing."""
    return *ends(key, dtype), jnp.asarray([0.0, 0.5, 1.0], dtype)


def inputs(key, dtype):
    x, y = jax.random.normal(key, (2, 4, 3), dtype)
    return x, y[:2]


def of_inputs(function):
    """A function of inputs and branch scalings."""

    def call(x1, x2, alphas, sigma_b):
        return function(x1, x2, alphas=alphas, sigma_b=sigma_b)

    return call


def inputs_and_branches(key, dtype):
    alphas = jax.random.uniform(key, (5,), dtype, 0.2, 1.0)
    return *inputs(key, dtype), alphas, jnp.asarray(0.5, dtype)


def duplicates(key, dtype):
    x, _, alphas, sigma_b = inputs_and_branches(key, dtype)
    return x, jnp.stack([x[0], -x[1]]), alphas, sigma_b


def without_biases(x1, x2, alphas):
    return kernels.resnet_kernels(x1, x2, alphas=alphas)


def branches(key, dtype):
    return (jax.random.uniform(key, (5,), dtype, 0.2, 1.0),)


def spectrum(alphas):
    dual = lambda delta: kernels.rntk_dual(delta, alphas).ntk
    return kernels.sphere_eigenvalues(dual, 3, 3, n_quad=16, dtype=alphas.dtype)


def schedule(c, gamma):
    return kernels.branch_schedule(4, "layer_power", c=c, gamma=gamma)


def two_numbers(key, dtype):
    return tuple(jax.random.uniform(key, (2,), dtype, 0.3, 0.9))


def critical(delta, T):
    return kernels.limit_dual("critical", delta, T=T)


def angles_and_depth(key, dtype):
    return *angles(key, dtype), jnp.asarray(1.5, dtype)


SIMPLE = ("theta_from_delta", "kappa0", "kappa1", "kappa1_minus_rho")
DIFFRAX = {"strict": False, "reason": "diffrax promotes its step sizes"}
CASES = [
    *(Case(getattr(kernels, name), angles) for name in SIMPLE),
    *(
        Case(getattr(kernels, name), ends, name=f"{name}[ends]", edge=True)
        for name in SIMPLE
    ),
    Case(kernels.rntk_dual, angles_and_branches),
    Case(kernels.rntk_dual, ends_and_branches, name="rntk_dual[ends]", edge=True),
    Case(kernels.mlp_ntk_dual, angles, static={"depth": 3}),
    Case(kernels.pairwise_delta, inputs),
    Case(
        kernels.pairwise_delta,
        inputs,
        name="pairwise_delta[difference]",
        static={"mode": "difference", "tile": 2},
    ),
    Case(of_inputs(kernels.resnet_kernels), inputs_and_branches, name="resnet_kernels"),
    Case(
        of_inputs(kernels.resnet_kernels),
        duplicates,
        name="resnet_kernels[duplicates]",
        edge=True,
        tol32=2e-3,
    ),
    Case(
        without_biases,
        lambda key, dtype: inputs_and_branches(key, dtype)[:3],
        name="resnet_kernels[angle]",
    ),
    Case(of_inputs(kernels.resnet_ntk), inputs_and_branches, name="resnet_ntk"),
    Case(of_inputs(kernels.resnet_nngp), inputs_and_branches, name="resnet_nngp"),
    Case(schedule, two_numbers, name="branch_schedule"),
    Case(kernels.cusp_slope, branches),
    Case(critical, angles_and_depth, name="limit_dual", tol32=1e-3, **DIFFRAX),
    Case(jax.jit(spectrum), branches, name="sphere_eigenvalues"),
    Case(
        lambda t: kernels.gegenbauer(4, 3, t),
        lambda key, dtype: (jax.random.uniform(key, (3,), dtype, -0.9, 0.9),),
        name="gegenbauer",
    ),
]
SLOW = {
    "limit_dual",
    "pairwise_delta[difference]",
    "resnet_kernels[angle]",
    "resnet_kernels[duplicates]",
    "resnet_nngp",
    "resnet_ntk",
    "sphere_eigenvalues",
    *(f"{name}[ends]" for name in SIMPLE),
}

EXEMPT = {"multiplicity": "counts on the host"}
