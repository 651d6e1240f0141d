"""Root of a scalar function on a bracket, differentiated implicitly."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int32, PyTree, Real

from ._checks import check_integer, check_shape, promote_floating
from ._status import Status


class RootResult(NamedTuple):
    """Root of a scalar function.

    Attributes
    ----------
    root : array of shape ()
        The root, NaN where the bracket holds no change of sign.
    residual : array of shape ()
        ``fn(root, args)``, for diagnosis; carries no derivative.
    status : int32 array of shape ()
        A code of :class:`jaxrepro.core.Status`: ``OK``, ``BAD_INPUT`` without a
        change of sign, ``NON_FINITE`` if ``fn`` is not finite at an end or at
        the root (a pole), or NaN on the way.
    """

    root: Float[Array, ""]
    residual: Float[Array, ""]
    status: Int32[Array, ""]


def scalar_root(
    fn: Callable,
    lower: Real[ArrayLike, ""],
    upper: Real[ArrayLike, ""],
    args: PyTree = None,
    *,
    n_iter: int | None = None,
) -> RootResult:
    r"""Find the root of a scalar function on a bracket, with implicit derivatives.

    .. math:: h(u, \theta) = 0, \qquad
              \frac{du}{d\theta} = -\frac{\partial_\theta h}{\partial_u h}

    Parameters
    ----------
    fn : callable
        ``fn(u, args) -> scalar``, continuous on the bracket.
    lower, upper : float
        Ends of the bracket, where ``fn`` has opposite signs (or is 0).
    args : pytree, optional
        Parameters :math:`\theta`; derivatives flow to them to any order. Values
        that ``fn`` closes over are differentiated as well.
    n_iter : int, optional
        Number of bisections; by default as many as the floating-point numbers
        of the dtype need, whatever the bracket.

    Returns
    -------
    RootResult
        ``root``, ``residual``, ``status``.

    Raises
    ------
    ValueError
        If ``lower``, ``upper`` or the value of ``fn`` is not a scalar.

    Notes
    -----
    Bisection of fixed length, so a ``vmap`` costs no more than its members. The
    bracket is halved on a logarithmic scale until its ends are within a factor
    of 4, then on a linear one, so that a root far smaller than the bracket is
    found to full relative accuracy, too. Two guarded Newton steps follow.
    :func:`jax.lax.custom_root` supplies the derivative: forward and reverse, to
    any order, without a loop; NaN at a root where :math:`\partial_u h = 0`. No
    derivative flows to the bracket.

    Call it under ``jit``: an eager call compiles its loop anew. The dtype is that
    of the bracket and of the arrays in ``args``.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import scalar_root
    >>> cube_root = lambda c: scalar_root(lambda u, c: u**3 - c, 0.0, 9.0, c).root
    >>> round(float(cube_root(8.0)), 5), round(float(jax.grad(cube_root)(8.0)), 5)
    (2.0, 0.08333)
    """
    check_shape("lower", lower, ())
    check_shape("upper", upper, ())
    lower, upper = _promote_bracket(lower, upper, args)
    dtype = lower.dtype
    if n_iter is None:
        n_iter = jnp.finfo(dtype).nmant + jnp.finfo(dtype).nexp + 4
    n_iter = check_integer("n_iter", n_iter)

    def h(u):
        value = fn(u, args)
        check_shape("fn(u, args)", value, ())
        return jnp.asarray(value, dtype)

    at_lower, at_upper = jax.lax.stop_gradient((h(lower), h(upper)))
    finite = jnp.isfinite(at_lower) & jnp.isfinite(at_upper)
    bracketed = jnp.sign(at_lower) * jnp.sign(at_upper) <= 0

    def solve(h, _):
        def bisect(_, state):
            low, high, met_nan = state
            middle = _middle(low, high)
            value = h(middle)
            on_left = jnp.sign(value) == jnp.sign(at_lower)
            low, high = (
                jnp.where(on_left, middle, low),
                jnp.where(on_left, high, middle),
            )
            return low, high, met_nan | jnp.isnan(value)

        start = lower, upper, jnp.isnan(at_lower)
        low, high, met_nan = jax.lax.fori_loop(0, n_iter, bisect, start)
        u = low + (high - low) / 2
        for _ in range(2):
            value, slope = jax.jvp(h, (u,), (jnp.ones_like(u),))
            newton = u - value / jnp.where(slope == 0, 1, slope)
            inside = (newton - lower) * (newton - upper) <= 0
            closer = jnp.abs(h(newton)) < jnp.abs(value)
            u = jnp.where(inside & closer, newton, u)
        # A root that sits on an end of the bracket is met by no bisection.
        u = jnp.where(at_lower == 0, lower, u)
        u = jnp.where(at_upper == 0, upper, u)
        return jnp.where(met_nan, jnp.nan, u)

    def tangent_solve(g, y):
        slope = g(jnp.ones_like(y))
        # A factor, and not a choice between y / slope and NaN: the transpose of
        # that would forget the NaN.
        singular = (slope == 0) & bracketed
        usable = (slope != 0) & jnp.isfinite(slope)
        inverse = jnp.where(usable, 1 / jnp.where(usable, slope, 1), 0)
        return jnp.where(singular, jnp.nan, inverse) * y

    root = jax.lax.custom_root(h, lower, solve, tangent_solve)
    residual = jax.lax.stop_gradient(h(root))
    finite = finite & (jnp.isfinite(residual) | ~bracketed)
    status = jnp.where(bracketed, Status.OK, Status.BAD_INPUT)
    status = jnp.where(finite, status, Status.NON_FINITE).astype(jnp.int32)
    root = jnp.where(status == Status.OK, root, jnp.nan)
    return RootResult(root, jnp.where(status == Status.OK, residual, jnp.nan), status)


def _promote_bracket(lower, upper, args):
    """Bring the ends to one real dtype, that of the parameters if they are numbers."""
    parameters = [
        jnp.zeros((), x.dtype)
        for x in jax.tree.leaves(args)
        if jnp.issubdtype(getattr(x, "dtype", bool), jnp.floating)
    ]
    lower, upper, *_ = promote_floating(lower, upper, *parameters)
    return jax.lax.stop_gradient((lower, upper))


def _middle(low, high):
    """Halve a bracket: at 0, on a logarithmic scale, or on a linear one."""
    tiny = jnp.finfo(low.dtype).tiny
    small = jnp.maximum(jnp.minimum(jnp.abs(low), jnp.abs(high)), tiny)
    large = jnp.maximum(jnp.abs(low), jnp.abs(high))
    geometric = jnp.sign(low + high) * jnp.sqrt(small) * jnp.sqrt(large)
    middle = jnp.where(large > 4 * small, geometric, low + (high - low) / 2)
    return jnp.where(jnp.sign(low) * jnp.sign(high) < 0, 0, middle)
