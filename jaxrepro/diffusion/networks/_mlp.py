r"""A multilayer perceptron on pixels."""

import math
from collections.abc import Sequence

from flax import nnx

from ...core import check_integer
from ._embedding import NoiseEmbedding, zeros_linear


class MLPDenoiser(nnx.Module):
    r"""Residual multilayer perceptron on an item as a vector.

    Parameters
    ----------
    shape : sequence of int
        Shape of an item.
    width : int, default 192
        Size of the hidden layers.
    depth : int, default 3
        Number of residual blocks.
    rngs : nnx.Rngs
        Source of the first weights.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.diffusion import edm_denoiser
    >>> from jaxrepro.diffusion.networks import MLPDenoiser
    >>> denoiser = edm_denoiser(MLPDenoiser, (6,), width=8, depth=1)
    >>> params = denoiser.init(jax.random.key(0))
    >>> denoiser.apply(params, jnp.ones((3, 6)), 0.5).shape
    (3, 6)
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        width: int = 192,
        depth: int = 3,
        rngs: nnx.Rngs,
    ):
        width = check_integer("width", width)
        depth = check_integer("depth", depth)
        d = math.prod(shape)
        self.embedding = NoiseEmbedding(width, rngs=rngs)
        self.first = nnx.Linear(d, width, rngs=rngs)
        self.blocks = nnx.List([_Block(width, rngs=rngs) for _ in range(depth)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.last = zeros_linear(width, d, rngs=rngs)

    def __call__(self, x, noise):
        condition = self.embedding(noise)
        h = self.first(x.reshape(len(x), -1))
        for block in self.blocks:
            h = block(h, condition)
        return self.last(nnx.silu(self.norm(h))).reshape(x.shape)


class _Block(nnx.Module):
    def __init__(self, width, *, rngs):
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.condition = nnx.Linear(width, width, rngs=rngs)
        self.first = nnx.Linear(width, width, rngs=rngs)
        self.second = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, h, condition):
        inner = self.first(nnx.silu(self.norm(h))) + self.condition(condition)
        return h + self.second(nnx.silu(inner))
