"""Newton's method on a bracket, for the logarithm of a resolution."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

_MAX_STEPS = 100


class Bracketed(NamedTuple):
    """Roots of decreasing functions.

    Attributes
    ----------
    root : array
        The roots.
    n_iter : int32 array
        Evaluations of the function that each took.
    """

    root: Float[Array, "..."]
    n_iter: Int32[Array, "..."]


class _State(NamedTuple):
    y: Array
    low: Array
    high: Array
    error: Array
    busy: Array
    n_iter: Array


def bracketed_newton(
    fn: Callable, low: Float[Array, "..."], high: Float[Array, "..."]
) -> Bracketed:
    """Roots of functions that decrease, entry by entry, from the lower ends on.

    A step that would leave the bracket becomes a bisection, so that the number of
    steps is bounded whatever the function. All entries go on until the last is done.

    Parameters
    ----------
    fn : callable
        ``fn(y) -> (value, slope)``, entry by entry.
    low, high : arrays
        Ends of the brackets: the values there are positive and negative, or 0.
    """
    eps = jnp.finfo(low.dtype).eps

    def step(state):
        value, slope = fn(state.y)
        lower = jnp.where(value > 0, state.y, state.low)
        upper = jnp.where(value < 0, state.y, state.high)
        newton = state.y - value / jnp.where(slope == 0, 1, slope)
        inside = (newton >= lower) & (newton <= upper) & (slope != 0)
        y = jnp.where(inside, newton, lower + (upper - lower) / 2)
        tol = 4 * eps * jnp.maximum(1, jnp.abs(state.y))
        error = jnp.abs(value)
        # Where the slope is small, rounding may keep steps from becoming so.
        stalled = (error >= state.error) & (error <= 64 * eps)
        small = (jnp.abs(newton - state.y) <= tol) | (upper - lower <= tol)
        done = (error <= 2 * eps) | small | stalled
        y = jnp.where(done & ~inside, state.y, y)
        n_iter = state.n_iter + state.busy.astype(jnp.int32)
        busy = state.busy & ~done & ~jnp.isnan(value)
        moved = _State(y, lower, upper, error, busy, n_iter)
        return jax.tree.map(lambda x, old: jnp.where(state.busy, x, old), moved, state)

    def unfinished(state):
        return jnp.any(state.busy) & jnp.all(state.n_iter < _MAX_STEPS)

    error, busy = jnp.full_like(low, jnp.inf), jnp.ones(low.shape, bool)
    start = _State(low, low, high, error, busy, jnp.zeros(low.shape, jnp.int32))
    end = jax.lax.while_loop(unfinished, step, start)
    return Bracketed(end.y, end.n_iter)
