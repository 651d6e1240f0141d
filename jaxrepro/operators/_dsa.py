r"""Dynamical similarity analysis: operators up to an orthogonal change of basis."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, ArrayLike, Float, Key, Real, UInt32

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_key,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_divide,
    safe_norm,
    safe_sqrt,
)
from ._measure import check_real_matrix


class DSAResult(NamedTuple):
    """Distance up to a rotation, and the rotation.

    Attributes
    ----------
    value : array of shape ()
        The smallest distance that a start has reached.
    rotation : array of shape (d, d)
        Orthogonal matrix :math:`C` that reaches it.
    values : array of shape (n_starts,)
        What each start has reached.
    """

    value: Float[Array, ""]
    rotation: Float[Array, "d d"]
    values: Float[Array, " n_starts"]


@paper("ostrow2023beyond", "dynamical similarity analysis")
def dsa(
    key: Key[Array, ""] | UInt32[Array, "2"],
    operator1: Real[ArrayLike, "d d"],
    operator2: Real[ArrayLike, "d d"],
    *,
    lr: Real[ArrayLike, ""] = 0.05,
    metric: str = "frobenius",
    n_starts: int = 16,
    n_iter: int = 400,
) -> DSAResult:
    r"""Distance between two operators, minimised over orthogonal changes of basis.

    .. math:: d = \min_{C^\top C = I} \big\| \hat A - C \hat B C^\top \big\|_F,
              \qquad \hat A = A / \|A\|_F, \quad \hat B = B / \|B\|_F

    Parameters
    ----------
    key : key
        Random key of the starts.
    operator1 : array of shape (d, d)
        Real operator :math:`A`.
    operator2 : array of shape (d, d)
        Real operator :math:`B`.
    lr : float, default 0.05
        First step size of Adam; it falls to 0 along a cosine.
    metric : {"frobenius", "angular"}, default "frobenius"
        The norm above, or the angle
        :math:`\arccos\langle\hat A, C\hat B C^\top\rangle` in radians; both have
        the same minimisers.
    n_starts : int, default 16
        Number of random starts, at least 2. Half of them are rotations, half
        reflections, since no path leads from one to the other.
    n_iter : int, default 400
        Number of steps.

    Returns
    -------
    DSAResult
        ``value``, ``rotation``, ``values``.

    Raises
    ------
    TypeError
        If ``key`` is no random key, or an operator is no matrix of real numbers, or
        has half precision.
    ValueError
        If there are several keys, the operators are not square, empty or of different
        size, ``metric`` is unknown, or a number is out of range.

    Notes
    -----
    The minimum over C is not convex: a start reaches it in a quarter to a third of
    cases for d = 4, and more rarely in higher dimension. Compare ``values``: if
    several starts share the smallest, it is likely the minimum. :math:`C` is
    :math:`(I + S)^{-1}(I - S)\,C_0` for a skew :math:`S`. The distance is the
    paper's; starts in both classes are ours. Derivatives in the operators are
    those of the distance at the rotation found. All fields are NaN for a traced
    ``lr`` that is not a finite positive number.

    References
    ----------
    [ostrow2023beyond]

    Examples
    --------
    A change of basis does not count:

    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import dsa
    >>> a = jnp.array([[0.9, -0.2], [0.3, 0.5]])
    >>> swap = jnp.array([[0.0, 1.0], [1.0, 0.0]])
    >>> result = dsa(jax.random.key(0), a, swap @ a @ swap.T)
    >>> bool(result.value < 1e-3)
    True
    """
    check_key("key", key)
    check_real_matrix("operator1", operator1)
    check_real_matrix("operator2", operator2)
    check_shape("operator2", operator2, np.shape(operator1))
    check_choice("metric", metric, ("frobenius", "angular"))
    check_shape("lr", lr, ())
    check_interval("lr", lr, 0.0, closed="neither")
    return _dsa(
        key, operator1, operator2, lr, metric=metric,
        n_starts=check_integer("n_starts", n_starts, minimum=2),
        n_iter=check_integer("n_iter", n_iter),
    )  # fmt: skip


@functools.partial(jax.jit, static_argnames=("metric", "n_starts", "n_iter"))
def _dsa(key, operator1, operator2, lr, *, metric, n_starts, n_iter) -> Any:
    operator1, operator2 = promote_floating(operator1, operator2)
    a, b = (safe_divide(x, safe_norm(x)) for x in (operator1, operator2))
    fixed = jax.lax.stop_gradient((a, b))
    keys = jax.random.split(key, n_starts)
    sign = jnp.where(jnp.arange(n_starts) % 2 == 0, 1, -1).astype(a.dtype)
    starts = jax.vmap(functools.partial(_orthogonal, len(a)))(keys, sign)
    solve = functools.partial(_descend, *fixed, jnp.asarray(lr, a.dtype), n_iter=n_iter)
    rotations = jax.lax.stop_gradient(jax.vmap(solve)(starts))
    values = jax.vmap(lambda c: _distance(a, b, c, metric))(rotations)
    best = jnp.argmin(values)
    return DSAResult(values[best], rotations[best], jax.lax.stop_gradient(values))


def _orthogonal(d, key, sign):
    """Uniformly random orthogonal matrix whose determinant has the given sign."""
    q, r = jnp.linalg.qr(jax.random.normal(key, (d, d), sign.dtype))
    q = q * jnp.where(jnp.diag(r) < 0, -1, 1).astype(sign.dtype)[None, :]
    flip = sign * jnp.sign(jnp.linalg.det(q))
    return q.at[:, 0].multiply(flip)


def _descend(a, b, lr, start, *, n_iter):
    """Adam on the skew matrix of a Cayley transform."""
    d = len(a)
    rows, columns = jnp.triu_indices(d, 1)
    identity = jnp.eye(d, dtype=a.dtype)
    start = jnp.where((lr > 0) & (lr < jnp.inf), start, jnp.nan)

    def rotation(skew):
        s = jnp.zeros((d, d), a.dtype).at[rows, columns].set(skew)
        s = s - s.T
        return jnp.linalg.solve(identity + s, matmul(identity - s, start))

    def loss(skew):
        return jnp.sum((a - _turned(b, rotation(skew))) ** 2)

    schedule = lambda count: (lr * (1 + jnp.cos(jnp.pi * count / n_iter)) / 2).astype(
        a.dtype
    )
    optimiser = optax.adam(schedule)

    def step(carry, _):
        skew, state = carry
        updates, state = optimiser.update(jax.grad(loss)(skew), state)
        return (optax.apply_updates(skew, updates), state), None

    skew = jnp.zeros(len(rows), a.dtype)
    (skew, _), _ = jax.lax.scan(step, (skew, optimiser.init(skew)), length=n_iter)
    return rotation(skew)


def _turned(b, c):
    return matmul(matmul(c, b), c.T)


def _distance(a, b, c, metric):
    difference = a - _turned(b, c)
    distance = safe_norm(difference)
    if metric == "frobenius":
        return distance
    # |A - B|^2 = 4 sin^2(angle / 2) for unit matrices.
    half = distance / 2
    return 2 * jnp.arctan2(half, safe_sqrt((1 - half) * (1 + half)))
