r"""A small convolutional network with skips between equal resolutions."""

import functools
from collections.abc import Sequence

import jax.numpy as jnp
from flax import nnx

from ...core import check_choice, check_integer
from ._conv import MatmulConv
from ._embedding import NoiseEmbedding
from ._padding import crop_centre, pad_to_multiple


class SmallUNet(nnx.Module):
    r"""Convolutional network of two or three resolutions, with skips between equals.

    Parameters
    ----------
    shape : sequence of int
        Height, width and channels of an item.
    channels : int, default 32
        Channels at the finest resolution; twice as many at all others.
    levels : int, default 2
        Number of resolutions, each half of the one before.
    native : bool, default False
        Whether to leave convolutions to the compiler, as accelerators may prefer;
        else they are written as products of matrices.
    rngs : nnx.Rngs
        Source of the first weights.

    Notes
    -----
    Residual blocks of two 3 x 3 convolutions, normalised in groups of channels and
    shifted by the noise level; halved by means of 2 x 2 pixels, doubled by repeating
    them; no attention. Items are padded with zeros until their sides can be halved.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.diffusion import edm_denoiser
    >>> from jaxrepro.diffusion.networks import SmallUNet
    >>> denoiser = edm_denoiser(SmallUNet, (7, 7, 1), channels=4)
    >>> params = denoiser.init(jax.random.key(0))
    >>> denoiser.apply(params, jnp.ones((3, 7, 7, 1)), 0.5).shape
    (3, 7, 7, 1)
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        channels: int = 32,
        levels: int = 2,
        native: bool = False,
        rngs: nnx.Rngs,
    ):
        channels = check_integer("channels", channels)
        levels = check_integer("levels", levels)
        check_choice("native", native, (True, False))
        if len(shape) != 3:
            raise ValueError(
                f"shape: expected (height, width, channels); got {tuple(shape)}"
            )
        self.factor = 2 ** (levels - 1)
        widths = [channels, *[2 * channels] * (levels - 1)]
        conv = functools.partial(MatmulConv, native=native, rngs=rngs)
        block = functools.partial(_Block, conv=conv, condition=4 * channels, rngs=rngs)
        self.embedding = NoiseEmbedding(4 * channels, rngs=rngs)
        self.first = conv(shape[-1], channels)
        before = [channels, *widths]
        self.down = nnx.List([block(a, b) for a, b in zip(before, widths)])
        self.middle = block(widths[-1], widths[-1])
        after = [widths[-1], *reversed(widths)]
        self.up = nnx.List([block(a + b, b) for a, b in zip(after, reversed(widths))])
        self.norm = _norm(channels, rngs=rngs)
        zeros = nnx.initializers.zeros
        self.last = conv(channels, shape[-1], kernel_init=zeros)

    def __call__(self, x, noise):
        _, height, width, _ = x.shape
        condition = self.embedding(noise)
        h = self.first(pad_to_multiple(x, self.factor))
        skips = []
        for level, block in enumerate(self.down):
            h = block(_halved(h) if level else h, condition)
            skips.append(h)
        h = self.middle(h, condition)
        for level, block in enumerate(self.up):
            h = _doubled(h) if level else h
            h = block(jnp.concatenate([h, skips.pop()], axis=-1), condition)
        return crop_centre(self.last(nnx.silu(self.norm(h))), height, width)


class _Block(nnx.Module):
    def __init__(self, n_in, n_out, *, conv, condition, rngs):
        self.norms = nnx.List([_norm(n, rngs=rngs) for n in (n_in, n_out)])
        self.convs = nnx.List([conv(n, n_out) for n in (n_in, n_out)])
        self.condition = nnx.Linear(condition, n_out, rngs=rngs)
        self.skip = nnx.Linear(n_in, n_out, rngs=rngs) if n_in != n_out else None

    def __call__(self, x, condition):
        h = self.convs[0](nnx.silu(self.norms[0](x)))
        h = h + self.condition(condition)[:, None, None]
        h = self.convs[1](nnx.silu(self.norms[1](h)))
        return h + (x if self.skip is None else self.skip(x))


def _norm(channels, *, rngs):
    """Groups of at least four channels, at most eight groups."""
    groups = max(
        g for g in range(1, 9) if channels % g == 0 and channels >= 4 * g or g == 1
    )
    return nnx.GroupNorm(channels, num_groups=groups, rngs=rngs)


def _halved(x):
    n, height, width, channels = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).mean((2, 4))


def _doubled(x):
    return x.repeat(2, axis=1).repeat(2, axis=2)
