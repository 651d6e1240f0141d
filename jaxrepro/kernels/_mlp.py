r"""Kernels of a deep network without residual branches, to compare with."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_integer,
    check_interval,
    check_precision,
    check_real,
    paper,
    promote_floating,
)
from ._arc_cosine import excess, ramp, step


class PlainDual(NamedTuple):
    """Kernels of a plain network, as functions of the angle of two inputs.

    Attributes
    ----------
    delta : array
        One minus the normalised kernel of the Gaussian process.
    ntk : array
        The neural tangent kernel, 1 at equal inputs.
    """

    delta: Float[Array, "*shape"]
    ntk: Float[Array, "*shape"]


@paper("jacot2018neural", "neural tangent kernel of a multilayer perceptron")
def mlp_ntk_dual(delta: Real[ArrayLike, "*shape"], *, depth: int) -> PlainDual:
    r"""Neural tangent kernel of a wide multilayer perceptron, at inputs of one angle.

    .. math:: \Theta_l = \Theta_{l-1}\, \kappa_0(\delta_{l-1}) + \kappa_1(\delta_{l-1}),
              \qquad \delta_l = \delta_{l-1} - g(\delta_{l-1}),
              \qquad \Theta_0 = 1 - \delta_0

    Parameters
    ----------
    delta : array
        One minus the cosine of the angle between two inputs, in [0, 2].
    depth : int
        Number of hidden layers L.

    Returns
    -------
    PlainDual
        ``delta`` and ``ntk`` :math:`= \Theta_L / (L + 1)`, in the shape of ``delta``.

    Raises
    ------
    ValueError
        If ``delta`` is out of range or ``depth`` below 1.
    TypeError
        If ``delta`` is not real or in half precision, or ``depth`` no integer.

    Notes
    -----
    All layers are trained; rectifiers, no biases.

    References
    ----------
    [jacot2018neural]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import mlp_ntk_dual
    >>> print(round(float(mlp_ntk_dual(np.array(1.0), depth=3).ntk), 3))
    0.265
    """
    check_real("delta", delta)
    check_precision("delta", delta)
    check_interval("delta", delta, 0.0, 2.0)
    return _dual(*promote_floating(delta), depth=check_integer("depth", depth))


@functools.partial(jax.jit, static_argnames="depth")
def _dual(delta, *, depth):
    def layer(carry, _):
        delta, mean, count = carry
        # The mean of all terms so far: it stays 1 at equal inputs.
        total = count * mean * step(delta) + ramp(delta)
        mean = total / (count + 1)
        return (delta - excess(delta), mean, count + 1), None

    start = delta, 1 - delta, jnp.ones((), delta.dtype)
    delta, mean, _ = jax.lax.scan(layer, start, length=depth)[0]
    return PlainDual(delta, mean)
