"""Derivatives of a root that is known already."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def attach(equation: Callable, root, params):
    r"""A root, with the derivatives of the equation that it solves, to any order.

    .. math:: h(u, \theta) = 0, \qquad du = -\frac{\partial_\theta h}{\partial_u h}\,
              d\theta

    Parameters
    ----------
    equation : callable
        ``equation(u, params)``, entry by entry, real or holomorphic; closes over
        nothing that is traced.
    root : array
        Its roots; no derivative flows to them.
    params : pytree
        What derivatives flow to.
    """
    return root


@attach.defjvp
def _attach_jvp(equation, primals, tangents):
    _, params = primals
    _, params_dot = tangents
    root = attach(equation, *primals)
    _, slope = jax.jvp(lambda u: equation(u, params), (root,), (jnp.ones_like(root),))
    _, change = jax.jvp(lambda p: equation(root, p), (params,), (params_dot,))
    return root, -change / slope
