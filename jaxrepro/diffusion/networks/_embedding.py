r"""What a network is told of the noise level."""

import jax.numpy as jnp
import numpy as np
from flax import nnx

# Periods of the features, in units of log(sigma) / 4: noise levels of interest
# span about 3 of them.
_FREQUENCIES = np.geomspace(0.1, 4.0, 16)


class NoiseEmbedding(nnx.Module):
    """Two layers on waves of the noise condition."""

    def __init__(self, width, *, rngs):
        self.first = nnx.Linear(2 * len(_FREQUENCIES), width, rngs=rngs)
        self.second = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, noise):
        phases = 2 * np.pi * _FREQUENCIES.astype(noise.dtype)
        angles = noise[:, None] * jnp.asarray(phases, noise.dtype)[None]
        waves = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)
        return nnx.silu(self.second(nnx.silu(self.first(waves))))


def zeros_linear(n_in, n_out, *, rngs):
    """A layer that starts as the constant 0, for the last layer of a branch."""
    return nnx.Linear(n_in, n_out, kernel_init=nnx.initializers.zeros, rngs=rngs)
