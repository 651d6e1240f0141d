"""Contract cases of ``jaxrepro.rmt.empirical``."""

import jax
import jax.numpy as jnp

from jaxrepro.diffusion import Denoiser
from jaxrepro.rmt import empirical
from jaxrepro.testing import Case

ADAM = {"strict": False, "reason": "optax.adam promotes its step count"}
PAIR = Denoiser(
    lambda key: jax.random.normal(key, (2, 2)) / 4,
    lambda params, x, sigma: jnp.tanh(x @ params),
)


def outputs(key, dtype):
    x1, x2 = jax.random.normal(key, (2, 5, 4), dtype)
    return x1, x2, jnp.linalg.qr(jax.random.normal(key, (4, 4), dtype))[0][:, :3]


def samples(key, dtype):
    x, y = jax.random.normal(key, (2, 6, 4), dtype)
    return x[:3], y


def gains(key, dtype):
    gain, eigs = jax.random.uniform(key, (2, 4), dtype, 0.2, 0.9)
    return gain, eigs


CASES = [
    Case(empirical.disagreement, outputs),
    Case(empirical.mode_gain, outputs),
    Case(empirical.fitted_kappa, gains),
    Case(
        empirical.memorisation,
        samples,
        traced={"threshold": 0.4},
        differentiable=("distance", "ratio"),
        wrt=(0, 1),
    ),
    Case(
        empirical.stratified_split,
        lambda key, dtype: (jax.random.normal(key, (9,), dtype), 2),
        differentiable=False,
    ),
    Case(
        empirical.train_splits,
        lambda key, dtype: (key, jax.random.normal(key, (2, 9, 2), dtype)),
        key_argument=0,
        static={"denoiser": PAIR, "n_steps": 2, "batch_size": 4},
        traced={"lr": 0.1},
        differentiable=("history",),
        grad_tol=1e-4,
        **ADAM,
    ),
]
SLOW = {"train_splits"}

EXEMPT = {"split_indices": "returns row numbers and takes no array"}
