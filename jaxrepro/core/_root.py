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
        change of sign, ``NON_FINITE`` if ``fn`` is not finite at an end.
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
        Number of bisections; by default as many as the mantissa of the dtype
        has bits, plus a few.

    Returns
    -------
    RootResult
        ``root``, ``residual``, ``status``.

    Raises
    ------
    ValueError
        If ``lower`` or ``upper`` is not a scalar.

    Notes
    -----
    Bisection of fixed length, so a ``vmap`` costs no more than its members,
    then two guarded Newton steps, which leave the error at rounding level.
    :func:`jax.lax.custom_root` supplies the derivative: forward and reverse, to
    any order, without a loop. No derivative flows to the bracket.

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
    lower, upper = promote_floating(lower, upper)
    lower, upper = jax.lax.stop_gradient((lower, upper))
    dtype = lower.dtype
    if n_iter is None:
        n_iter = jnp.finfo(dtype).nmant + 4
    n_iter = check_integer("n_iter", n_iter)

    def h(u):
        return jnp.asarray(fn(u, args), dtype)

    def solve(h, _):
        sign_lower = jnp.sign(h(lower))

        def bisect(_, bracket):
            low, high = bracket
            middle = low + (high - low) / 2
            on_left = jnp.sign(h(middle)) == sign_lower
            return jnp.where(on_left, middle, low), jnp.where(on_left, high, middle)

        low, high = jax.lax.fori_loop(0, n_iter, bisect, (lower, upper))
        u = low + (high - low) / 2
        for _ in range(2):
            value, slope = jax.jvp(h, (u,), (jnp.ones_like(u),))
            newton = u - value / jnp.where(slope == 0, 1, slope)
            closer = jnp.abs(h(newton)) < jnp.abs(value)
            u = jnp.where(closer, newton, u)
        # A root that sits on an end of the bracket is met by no bisection.
        u = jnp.where(h(lower) == 0, lower, u)
        return jnp.where(h(upper) == 0, upper, u)

    def tangent_solve(g, y):
        slope = g(jnp.ones_like(y))
        return jnp.where(slope == 0, jnp.nan, y / jnp.where(slope == 0, 1, slope))

    root = jax.lax.custom_root(h, lower, solve, tangent_solve)
    at_lower, at_upper = jax.lax.stop_gradient((h(lower), h(upper)))
    finite = jnp.isfinite(at_lower) & jnp.isfinite(at_upper)
    bracketed = jnp.sign(at_lower) * jnp.sign(at_upper) <= 0
    status = jnp.where(bracketed, Status.OK, Status.BAD_INPUT)
    status = jnp.where(finite, status, Status.NON_FINITE).astype(jnp.int32)
    root = jnp.where(status == Status.OK, root, jnp.nan)
    return RootResult(root, jax.lax.stop_gradient(h(root)), status)
