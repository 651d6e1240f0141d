r"""A small transformer on patches of a picture."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from flax import nnx

from ...core import check_integer, paper
from ._embedding import NoiseEmbedding, zeros_linear
from ._padding import crop_centre, pad_to_multiple


@paper("peebles2023scalable", "diffusion transformer with adaptive normalisation")
class SmallDiT(nnx.Module):
    r"""Transformer on patches of an item, normalised as the noise level says.

    Parameters
    ----------
    shape : sequence of int
        Height, width and channels of an item.
    patch : int, default 2
        Side of a patch.
    width : int, default 128
        Size of the vector of a patch, a multiple of 4 and of ``heads``.
    depth : int, default 4
        Number of blocks.
    heads : int, default 4
        Number of attention heads.
    rngs : nnx.Rngs
        Source of the first weights.

    Notes
    -----
    The noise level gives shift, scale and gate of every branch, all gates being 0 at
    first (adaLN-Zero). Positions are told by fixed waves. Items are padded with zeros
    until a patch divides their sides.

    References
    ----------
    [peebles2023scalable]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.diffusion import edm_denoiser
    >>> from jaxrepro.diffusion.networks import SmallDiT
    >>> denoiser = edm_denoiser(SmallDiT, (7, 7, 1), width=8, depth=1, heads=2)
    >>> params = denoiser.init(jax.random.key(0))
    >>> denoiser.apply(params, jnp.ones((3, 7, 7, 1)), 0.5).shape
    (3, 7, 7, 1)
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        patch: int = 2,
        width: int = 128,
        depth: int = 4,
        heads: int = 4,
        rngs: nnx.Rngs,
    ):
        self.patch = check_integer("patch", patch)
        self.width = check_integer("width", width)
        depth = check_integer("depth", depth)
        heads = check_integer("heads", heads)
        if width % 4 or width % heads:
            raise ValueError(
                f"width: expected a multiple of 4 and of heads = {heads}; got {width}"
            )
        if len(shape) != 3:
            raise ValueError(
                f"shape: expected (height, width, channels); got {tuple(shape)}"
            )
        size = patch * patch * shape[-1]
        self.embedding = NoiseEmbedding(width, rngs=rngs)
        self.first = nnx.Linear(size, width, rngs=rngs)
        self.blocks = nnx.List([_Block(width, heads, rngs=rngs) for _ in range(depth)])
        self.norm = _plain_norm(width, rngs=rngs)
        self.modulation = zeros_linear(width, 2 * width, rngs=rngs)
        self.last = zeros_linear(width, size, rngs=rngs)

    def __call__(self, x, noise):
        _, height, width, _ = x.shape
        condition = self.embedding(noise)
        x = pad_to_multiple(x, self.patch)
        rows, columns = (n // self.patch for n in x.shape[1:3])
        places = jnp.asarray(_positions(rows, columns, self.width), x.dtype)
        h = self.first(_to_patches(x, self.patch)) + places[None]
        for block in self.blocks:
            h = block(h, condition)
        shift, scale = jnp.split(self.modulation(condition)[:, None], 2, axis=-1)
        patches = self.last(self.norm(h) * (1 + scale) + shift)
        return crop_centre(
            _from_patches(patches, rows, columns, self.patch), height, width
        )


class _Block(nnx.Module):
    def __init__(self, width, heads, *, rngs):
        self.norms = nnx.List([_plain_norm(width, rngs=rngs) for _ in range(2)])
        self.attention = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.first = nnx.Linear(width, 4 * width, rngs=rngs)
        self.second = nnx.Linear(4 * width, width, rngs=rngs)
        self.modulation = zeros_linear(width, 6 * width, rngs=rngs)

    def __call__(self, h, condition):
        parts = jnp.split(self.modulation(condition)[:, None], 6, axis=-1)
        shift, scale, gate = parts[:3]
        h = h + gate * self.attention(self.norms[0](h) * (1 + scale) + shift)
        shift, scale, gate = parts[3:]
        inner = self.first(self.norms[1](h) * (1 + scale) + shift)
        return h + gate * self.second(nnx.gelu(inner))


def _plain_norm(width, *, rngs):
    return nnx.LayerNorm(width, use_bias=False, use_scale=False, rngs=rngs)


def _to_patches(x, size):
    n, height, width, channels = x.shape
    x = x.reshape(n, height // size, size, width // size, size, channels)
    return x.swapaxes(2, 3).reshape(n, -1, size * size * channels)


def _from_patches(patches, rows, columns, size):
    n = len(patches)
    x = patches.reshape(n, rows, columns, size, size, -1).swapaxes(2, 3)
    return x.reshape(n, rows * size, columns * size, -1)


def _positions(rows, columns, width):
    """Waves in both directions, a quarter of ``width`` each of sines and cosines."""
    frequencies = 1e4 ** -np.linspace(0, 1, width // 4, endpoint=False)
    place = np.indices((rows, columns)).reshape(2, -1, 1) * frequencies
    return np.concatenate([*np.sin(place), *np.cos(place)], axis=-1)
