"""Transport problems that are given by points instead of costs."""

import jax
import jax.numpy as jnp
from jax import lax

from ..core import check_nonempty, check_real, check_shape, promote_floating
from ._problem import check_weights, fill_weights, is_admissible


def check_points(x, y, a, b):
    """Raise unless the shapes of two weighted point clouds fit."""
    check_shape("x", x, ("n", "d"))
    check_shape("y", y, ("m", jnp.shape(x)[1]))
    for name, points in (("x", x), ("y", y)):
        check_nonempty(name, points)
        check_real(name, points)
    check_weights(a, b, jnp.shape(x)[0], jnp.shape(y)[0])


def point_problem(x, y, a, b):
    """Fill weights, mask padded points, match the masses, judge the values.

    Returns points around the origin, where expanded squares lose no digits,
    weights, and whether the values made sense; if not, the problem is a
    harmless one.
    """
    x, y, a, b = promote_floating(x, y, a, b)
    a, b = fill_weights(jax.ShapeDtypeStruct((len(x), len(y)), x.dtype), a, b)
    live_a, live_b = (a > 0)[:, None], (b > 0)[:, None]
    centre = jnp.sum(jnp.where(live_a, a[:, None] * x, 0), 0, keepdims=True)
    centre = lax.stop_gradient(centre / jnp.sum(a))
    x, y = jnp.where(live_a, x - centre, 0), jnp.where(live_b, y - centre, 0)
    good = is_admissible(jnp.concatenate([x, y]), a, b)
    x, y = jnp.where(good, x, 0), jnp.where(good, y, 0)
    a, b = jnp.where(good, a, 1 / len(a)), jnp.where(good, b, 1 / len(b))
    return x, y, a, b * (jnp.sum(a) / jnp.sum(b)), good
