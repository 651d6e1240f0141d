r"""Learned features of a state, as a pair of pure functions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..core import check_choice, check_integer


class FeatureMap(NamedTuple):
    r"""A family of feature maps :math:`\phi_\theta`, as two pure functions.

    Any two functions of this form will do: a Flax or Equinox network behind them, or
    a few lines of JAX. Functions take them as static options, so give the same two
    objects again where a compiled program is to be used again.

    Attributes
    ----------
    init : callable
        ``init(key) -> params``: random parameters, a pytree of arrays.
    apply : callable
        ``apply(params, x) -> features``: from states of shape (n, in_dim) to
        features of shape (n, out_dim), row by row.
    """

    init: Callable
    apply: Callable


def koopman_features(
    in_dim: int, widths: Sequence[int], out_dim: int, *, activation: str = "tanh"
) -> FeatureMap:
    r"""Feature network: a multilayer perceptron with a linear last layer.

    .. math:: \phi_\theta(x) = A_L\, \sigma(\cdots \sigma(A_1 x + b_1) \cdots) + b_L

    Parameters
    ----------
    in_dim : int
        Dimension of a state, or length of a delay window.
    widths : sequence of int
        Sizes of the hidden layers; empty gives affine functions.
    out_dim : int
        Number of features :math:`m`, at least the number of modes wanted.
    activation : {"tanh", "gelu", "relu", "sigmoid", "silu", "softplus"}
        The nonlinearity :math:`\sigma`, by default tanh.

    Returns
    -------
    FeatureMap
        ``init(key)`` draws parameters in float32, a ``flax.nnx.State``;
        ``apply(params, x)`` gives features of shape (..., out_dim) in the common
        dtype of both. Equal arguments give the same pair.

    Raises
    ------
    ValueError
        If a size is below 1 or the activation is unknown; from ``apply``, if the
        last axis of ``x`` is not ``in_dim``.
    TypeError
        If a size is not an integer, or ``widths`` no sequence.

    Notes
    -----
    The network is a ``flax.nnx`` module without random or running state; ``apply``
    takes ``key`` and ``train`` as all networks here do, and does not need them. Map
    ``init`` over keys with :func:`jax.vmap` for several seeds. Standardise the
    inputs: the first weights expect entries of size 1.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import koopman_features
    >>> features = koopman_features(2, (16, 16), 4)
    >>> params = features.init(jax.random.key(0))
    >>> features.apply(params, jnp.ones((10, 2))).shape
    (10, 4)
    """
    in_dim = check_integer("in_dim", in_dim)
    if not np.iterable(widths):
        raise TypeError(f"widths: expected a sequence of integers; got {widths!r}")
    widths = tuple(check_integer(f"widths[{i}]", w) for i, w in enumerate(widths))
    out_dim = check_integer("out_dim", out_dim)
    from ._feature_network import ACTIVATIONS, pure_pair

    check_choice("activation", activation, ACTIVATIONS)
    return FeatureMap(*pure_pair(in_dim, widths, out_dim, activation))
