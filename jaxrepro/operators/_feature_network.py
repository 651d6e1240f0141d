"""The network behind :func:`koopman_features`; this module alone imports Flax."""

import functools

import jax
from flax import nnx

from ..core import check_shape, promote_floating

ACTIVATIONS = {
    "tanh": nnx.tanh,
    "gelu": nnx.gelu,
    "relu": nnx.relu,
    "sigmoid": nnx.sigmoid,
    "silu": nnx.silu,
    "softplus": nnx.softplus,
}


class KoopmanFeatures(nnx.Module):
    """Multilayer perceptron whose last layer is linear."""

    def __init__(self, in_dim, widths, out_dim, activation, *, rngs):
        sizes = in_dim, *widths, out_dim
        self.layers = nnx.List(
            [nnx.Linear(a, b, rngs=rngs) for a, b in zip(sizes, sizes[1:])]
        )
        self.activation = ACTIVATIONS[activation]

    def __call__(self, x):
        *hidden, last = self.layers
        for layer in hidden:
            x = self.activation(layer(x))
        return last(x)


@functools.cache
def pure_pair(in_dim, widths, out_dim, activation):
    """One pair for equal arguments, so that programs compiled for it are found."""

    def network(key):
        rngs = nnx.Rngs(params=key)
        return KoopmanFeatures(in_dim, widths, out_dim, activation, rngs=rngs)

    def init(key):
        return nnx.state(network(key), nnx.Param)

    graph = nnx.graphdef(nnx.eval_shape(lambda: network(0)))

    def apply(params, x, key=None, train=False):
        del key, train  # the same at all times, but callers need not know
        leaves, tree = jax.tree.flatten(params)
        x, *leaves = promote_floating(x, *leaves)
        check_shape("x", x, (*[None] * (x.ndim - 1), in_dim))
        return nnx.merge(graph, jax.tree.unflatten(tree, leaves))(x)

    return init, apply
