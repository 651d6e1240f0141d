"""Contract cases of ``jaxrepro.diffusion``."""

import jax
import jax.numpy as jnp

from jaxrepro import diffusion
from jaxrepro.diffusion.networks import LinearDenoiser, MLPDenoiser, SmallDiT, SmallUNet
from jaxrepro.testing import Case

FLAX = {"strict": False, "reason": "Flax finds the dtype of a mean by promotion"}
ADAM = {"strict": False, "reason": "optax.adam promotes its step count"}


def levels(key, dtype):
    return (jax.random.uniform(key, (3,), dtype, 0.1, 2.0),)


def affine(params, x, sigma):
    """A denoiser of two numbers, for one level or several."""
    size = 1 + sigma**2
    return jnp.tanh(x @ params) / (size[:, None] if size.ndim else size)


PAIR = diffusion.Denoiser(lambda key: jax.random.normal(key, (2, 2)) / 4, affine)


def weights(key, dtype):
    return jax.random.normal(key, (2, 2), dtype) / 4


def flow(params, x, sigmas):
    return diffusion.probability_flow(params, x, sigmas, apply=affine)


def flow_args(key, dtype):
    x = jax.random.normal(key, (3, 2), dtype)
    return weights(key, dtype), x, jnp.asarray([2.0, 1.0, 0.5], dtype)


def to_zero(key, dtype):
    params, x, sigmas = flow_args(key, dtype)
    return params, x, sigmas.at[-1].set(0)


def loss(params, x, noise, sigma):
    return diffusion.denoising_loss(params, x, noise, sigma, apply=affine)


def loss_args(key, dtype):
    x, noise = jax.random.normal(key, (2, 3, 2), dtype)
    return weights(key, dtype), x, noise, *levels(key, dtype)


def network(kind, shape, **options):
    """A case of the denoiser made of a network."""
    pair = diffusion.edm_denoiser(kind, shape, **options)

    def apply(params, x, sigma):
        return pair.apply(params, x, sigma)

    def args(key, dtype):
        params = pair.init(key)
        # Layers that start at 0 would hide all that comes before them.
        params = jax.tree.map(lambda p: p.astype(dtype) + 0.05, params)
        return params, jax.random.normal(key, (3, *shape), dtype), *levels(key, dtype)

    return Case(apply, args, name=f"edm_denoiser[{kind.__name__}]", tol32=1e-3, **FLAX)


def karras(sigma_min, sigma_max, rho):
    return diffusion.karras_levels(5, sigma_min=sigma_min, sigma_max=sigma_max, rho=rho)


def ends_and_power(key, dtype):
    low = jax.random.uniform(key, (), dtype, 0.1, 0.2)
    return low, 30 * low, 20 * low


def data(key, dtype):
    return key, jax.random.normal(key, (9, 2), dtype)


CASES = [
    Case(diffusion.edm_scalings, levels, traced={"sigma_data": 0.5}),
    Case(diffusion.edm_loss_weight, levels, traced={"sigma_data": 0.5}),
    Case(karras, ends_and_power, name="karras_levels"),
    Case(
        diffusion.lognormal_levels,
        lambda key, dtype: (key, (3,)),
        key_argument=0,
        traced={"mean": -1.0, "std": 1.2},
    ),
    Case(flow, flow_args, name="probability_flow", wrt=(0, 1)),
    Case(flow, to_zero, name="probability_flow[to zero]", wrt=(0, 1), grad_tol=1e-4),
    Case(loss, loss_args, name="denoising_loss"),
    Case(
        diffusion.train_denoiser,
        data,
        key_argument=0,
        static={"denoiser": PAIR, "n_steps": 3, "batch_size": 4},
        traced={"lr": 0.1, "sigma_data": 0.5, "decay": 0.9},
        differentiable=("history",),
        grad_tol=1e-4,
        **ADAM,
    ),
    network(LinearDenoiser, (3,), n_bins=2),
    network(MLPDenoiser, (3,), width=4, depth=1),
    network(SmallUNet, (4, 4, 1), channels=4),
    network(SmallDiT, (4, 4, 1), width=4, depth=1, heads=1),
]
SLOW = {
    "edm_denoiser[SmallUNet]",
    "edm_denoiser[SmallDiT]",
    "edm_denoiser[LinearDenoiser]",
    "probability_flow[to zero]",
}

EXEMPT = {}
