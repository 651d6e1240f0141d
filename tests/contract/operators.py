"""Contract cases of ``jaxrepro.operators``."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro import operators
from jaxrepro.testing import Case


def normal(*shape):
    def make_args(key, dtype):
        return (jax.random.normal(key, shape, dtype),)

    return make_args


# From recordings to operators.


def pairs(key, dtype):
    for_x, for_map = jax.random.split(key)
    x = jax.random.normal(for_x, (12, 3), dtype)
    return x, jnp.sin(x @ jax.random.normal(for_map, (3, 3), dtype))


def with_lengthscale(key, dtype):
    return (*pairs(key, dtype), jnp.ones((), dtype))


def recording(key, n, dtype):
    """Two damped oscillations with random phases, and some noise."""
    for_phase, for_noise = jax.random.split(key)
    t = jnp.arange(n, dtype=dtype)[:, None] / 10
    phase = jax.random.uniform(for_phase, (1, 2), dtype, 0.0, 6.0)
    waves = jnp.exp(-t / 10) * jnp.sin(t * jnp.asarray([[3.0, 5.0]], dtype) + phase)
    return waves + jax.random.normal(for_noise, (n, 2), dtype) / 10


def one_recording(key, dtype):
    return recording(key, 30, dtype), jnp.asarray(0.1, dtype)


def three_recordings(key, dtype):
    keys = jax.random.split(key, 3)
    lengths = (30, 26, 33)
    return [recording(k, n, dtype) for k, n in zip(keys, lengths)], jnp.full(
        3, 0.1, dtype
    )


def on_features(fit):
    return fit.V @ fit.W.T


def on_functions(fit):
    return fit.U @ fit.V.T


MASK = np.arange(12) % 4 != 0
GAUSSIAN = operators.GaussianKernel(1.5)
WINDOWS = {"n_delays": 3, "rank": 4}

RECORDINGS = [
    Case(operators.delay_embed, normal(9, 2), static={"n_delays": 3, "stride": 2}),
    Case(operators.snapshot_pairs, normal(9, 2), static={"lag": 2}),
    Case(
        operators.median_lengthscale,
        lambda key, dtype: (key, *normal(9, 2)(key, dtype)),
        static={"m": 6},
        key_argument=0,
    ),
    Case(
        lambda x, y, scale: operators.PolynomialKernel(3, scale, scale)(x, y),
        with_lengthscale,
        name="PolynomialKernel",
    ),
    Case(
        lambda x, y, scale: operators.GaussianKernel(scale)(x, y),
        with_lengthscale,
        name="GaussianKernel",
    ),
    Case(
        lambda x, y, scale: operators.MaternKernel(scale, 0.5)(x, y),
        with_lengthscale,
        name="MaternKernel",
    ),
    Case(
        lambda x, y, scale: operators.MaternKernel(scale, 0.5)(x, x),
        with_lengthscale,
        name="MaternKernel[equal points]",
        edge=True,
    ),
    *(
        Case(
            fn,
            pairs,
            static=rank | {"kernel": kernel, "gamma_rel": kernel is None, "mask": mask},
            traced={"gamma": 0.1},
            differentiable=on_features if kernel is None else on_functions,
            name=f"{fn.__name__}[{variant}]",
        )
        for fn, rank in [
            (operators.ridge_regression, {}),
            (operators.principal_component_regression, {"rank": 2}),
            (operators.reduced_rank_regression, {"rank": 2}),
        ]
        for variant, kernel, mask in [
            ("features", None, None),
            ("kernel, masked", GAUSSIAN, MASK),
        ]
    ),
    Case(
        operators.sgot_from_trajectory,
        one_recording,
        static=WINDOWS,
        traced={"gamma": 0.1},
        differentiable=("lam",),
        platforms=("cuda",),
    ),
    Case(
        operators.sgot_from_trajectory,
        one_recording,
        static=WINDOWS | {"kernel": GAUSSIAN},
        traced={"gamma": 0.1},
        differentiable=("lam",),
        platforms=("cuda",),
        name="sgot_from_trajectory[kernel]",
    ),
    Case(
        operators.distance_matrix,
        three_recordings,
        static=WINDOWS,
        traced={"gamma": 0.1, "eta": 0.4},
        platforms=("cuda",),
    ),
]

CASES = [*RECORDINGS]

EXEMPT = {}
