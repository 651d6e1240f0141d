r"""Convolutions as products of matrices, which a CPU is quicker at."""

import jax.numpy as jnp
from flax import nnx


class MatmulConv(nnx.Conv):
    """A convolution of stride 1, padded with zeros, as patches times a matrix.

    Its weights are those of ``nnx.Conv``. Mapped over several sets of weights, as in
    the training of several networks side by side, it stays one batched product,
    where XLA's convolution becomes a slow grouped one. A native one is left to XLA.
    """

    def __init__(self, n_in, n_out, *, size=3, native=False, kernel_init=None, rngs):
        self.native = native
        if kernel_init is None:
            kernel_init = nnx.initializers.lecun_normal()
        super().__init__(n_in, n_out, (size, size), kernel_init=kernel_init, rngs=rngs)

    def __call__(self, x):
        if self.native:
            return super().__call__(x)
        _, height, width, n_in = x.shape
        size = self.kernel_size[0]
        before, after = (size - 1) // 2, size // 2
        edge = before, after
        padded = jnp.pad(x, ((0, 0), edge, edge, (0, 0)))
        shifted = [
            padded[:, i : i + height, j : j + width]
            for i in range(size)
            for j in range(size)
        ]
        patches = jnp.concatenate(shifted, axis=-1)
        matrix = self.kernel[...].reshape(size * size * n_in, -1)
        assert self.bias is not None
        return patches @ matrix + jnp.expand_dims(self.bias[...], (0, 1, 2))
