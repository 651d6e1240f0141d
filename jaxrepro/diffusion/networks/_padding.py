r"""Pictures whose sides are multiples of a power of two, or of a patch."""

import jax.numpy as jnp


def pad_to_multiple(x, size):
    """Add zeros around pictures (n, h, w, c) until ``size`` divides both sides."""
    _, height, width, _ = x.shape
    edges = [(-n % size // 2, -n % size - -n % size // 2) for n in (height, width)]
    return jnp.pad(x, ((0, 0), *edges, (0, 0)))


def crop_centre(x, height, width):
    """What was there before :func:`pad_to_multiple`."""
    top, left = (x.shape[1] - height) // 2, (x.shape[2] - width) // 2
    return x[:, top : top + height, left : left + width]
