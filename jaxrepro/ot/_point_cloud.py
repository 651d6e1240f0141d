"""Entropic transport between point clouds whose cost matrix does not fit in memory."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from ..core import (
    check_choice,
    check_integer,
    logsumexp,
    matmul,
    paper,
    safe_log,
    safe_norm,
    safe_sqrt,
)
from ._no_derivative import without_derivative
from ._points import check_points, point_problem
from ._sinkhorn import check_penalties, sinkhorn


class PointCloudResult(NamedTuple):
    r"""Solution of an entropic transport problem between point clouds.

    Attributes
    ----------
    value : array of shape ()
        Transport cost :math:`\langle C, P \rangle`, without the entropy.
    f : array of shape (n,)
        Dual potential of ``x``, :math:`P_{ij} = a_i b_j
        e^{(f_i + g_j - C_{ij})/\varepsilon}`; 0 on padded points.
    g : array of shape (m,)
        Dual potential of ``y``.
    error : array of shape ()
        Largest absolute violation of a marginal.
    converged : bool array of shape ()
        Whether ``error`` is at most the square root of the machine epsilon
        times the mass. False for bad input.
    reg_value : array of shape ()
        Optimal value of the objective; the only field with a derivative.
    """

    value: Float[Array, ""]
    f: Float[Array, " n"]
    g: Float[Array, " m"]
    error: Float[Array, ""]
    converged: Bool[Array, ""]
    reg_value: Float[Array, ""]


class _Problem(NamedTuple):
    x: Float[Array, "n d"]
    y: Float[Array, "m d"]
    a: Float[Array, " n"]
    b: Float[Array, " m"]
    eps: Float[Array, ""]


@paper("cuturi2013sinkhorn", "iterations for entropic transport", uses=(sinkhorn,))
def point_cloud_sinkhorn(
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "m d"],
    a: Real[ArrayLike, " n"] | None = None,
    b: Real[ArrayLike, " m"] | None = None,
    *,
    eps: Real[ArrayLike, ""],
    n_iter: int = 200,
    cost: str = "sqeuclidean",
    block: int = 1024,
) -> PointCloudResult:
    r"""Solve entropic transport between large point clouds without a cost matrix.

    .. math:: \min_P \; \langle C, P \rangle
              + \varepsilon\, \mathrm{KL}(P \,|\, a \otimes b)
              \quad \text{with} \quad P 1 = a, \; P^\top 1 = b, \quad
              C_{ij} = \|x_i - y_j\|^2 \text{ or } \|x_i - y_j\| .

    Parameters
    ----------
    x : array of shape (n, d)
        Source points :math:`x_i`; those of weight 0 may hold anything.
    y : array of shape (m, d)
        Target points :math:`y_j`, likewise.
    a : array of shape (n,), optional
        Source weights; None stands for uniform ones.
    b : array of shape (m,), optional
        Target weights, likewise. Masses must agree to a relative 1e-4.
    eps : float
        Entropic regularisation :math:`\varepsilon > 0`, in the unit of the cost.
    n_iter : int, default 200
        Number of iterations.
    cost : {"sqeuclidean", "euclidean"}, default "sqeuclidean"
        Squared or plain Euclidean distance.
    block : int, default 1024
        Rows of the cost that exist at once.

    Returns
    -------
    PointCloudResult
        ``value``, ``f``, ``g``, ``error``, ``converged``, ``reg_value``; NaN for
        bad input as in :func:`sinkhorn`.

    Raises
    ------
    ValueError
        If shapes do not fit, an array is empty, ``cost`` is unknown,
        ``n_iter < 1``, ``block < 1``, or a concrete ``eps`` is not positive.

    Notes
    -----
    The iterations of :func:`sinkhorn`, with the cost computed anew by blocks of
    rows: :math:`O(nmd)` time each, :math:`O(\mathrm{block} \cdot \max(n, m))`
    memory, also in the backward pass. If the cost matrix fits, :func:`sinkhorn`
    is faster and has derivatives of all fields.

    Only ``reg_value`` has a derivative: with respect to points, weights and
    ``eps``, by the envelope theorem, first order. Derivatives of other fields
    and second derivatives are NaN. In float32 keep ``eps`` above 1e-3 of the
    largest cost.

    References
    ----------
    [cuturi2013sinkhorn]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import point_cloud_sinkhorn
    >>> x = jnp.linspace(0.0, 1.0, 50)[:, None]
    >>> result = point_cloud_sinkhorn(x, x + 2.0, eps=0.1)
    >>> round(float(result.value), 2)
    4.04
    """
    check_points(x, y, a, b)
    check_choice("cost", cost, ("sqeuclidean", "euclidean"))
    check_penalties(eps=eps)
    return _point_cloud_sinkhorn(
        x,
        y,
        a,
        b,
        eps,
        cost=cost,
        n_iter=check_integer("n_iter", n_iter),
        block=check_integer("block", block),
    )


@partial(jax.jit, static_argnames=("n_iter", "cost", "block"))
def _point_cloud_sinkhorn(x, y, a, b, eps, *, n_iter, cost, block):
    x, y, a, b, good = point_problem(x, y, a, b)
    eps = jnp.asarray(eps, x.dtype)
    usable = (eps > 0) & jnp.isfinite(eps)
    problem, good = _Problem(x, y, a, b, jnp.where(usable, eps, 1)), good & usable

    f, g, value, error = without_derivative(
        partial(_solve, n_iter=n_iter, cost=cost, block=block), problem
    )
    nan_if_bad = lambda x: jnp.where(good, x, jnp.nan)
    return PointCloudResult(
        value=nan_if_bad(value),
        f=nan_if_bad(f),
        g=nan_if_bad(g),
        error=nan_if_bad(lax.stop_gradient(error)),
        converged=good & (error <= jnp.finfo(x.dtype).eps ** 0.5 * jnp.sum(problem.a)),
        reg_value=nan_if_bad(_dual_value(f, g, problem, cost, block)),
    )


def _solve(problem, *, n_iter, cost, block):
    """Potentials, and the cost and the violation of the plan that belongs to them."""
    x, y, a, b, eps = problem
    log_a, log_b = safe_log(a), safe_log(b)
    n_anneal = n_iter // 4
    log_start = jnp.log(jnp.maximum(_largest_cost(problem, cost) / eps, 1))

    def step(k, f):
        remaining = jnp.maximum(1 - k.astype(f.dtype) / max(n_anneal, 1), 0)
        e = eps * jnp.exp(remaining * log_start)
        g = _reply(y, x, f / e + log_a, e, cost, block)
        return _reply(x, y, g / e + log_b, e, cost, block)

    f = lax.fori_loop(0, n_iter, step, jnp.zeros_like(a))
    g = _reply(y, x, f / eps + log_a, eps, cost, block)
    shift = (jnp.sum(f * a) - jnp.sum(g * b)) / (jnp.sum(a) + jnp.sum(b))
    f, g = jnp.where(a > 0, f - shift, 0), jnp.where(b > 0, g + shift, 0)
    rows, columns, value = _marginals(f, g, problem, cost, block)
    error = jnp.maximum(jnp.max(jnp.abs(rows - a)), jnp.max(jnp.abs(columns - b)))
    return f, g, value, error


def _largest_cost(problem, cost):
    """Upper bound from the box around all points of positive weight."""
    live = jnp.concatenate([problem.a, problem.b])[:, None] > 0
    points = jnp.concatenate([problem.x, problem.y])
    high = jnp.max(points, axis=0, where=live, initial=-jnp.inf)
    low = jnp.min(points, axis=0, where=live, initial=jnp.inf)
    square = jnp.sum((high - low) ** 2)
    return square if cost == "sqeuclidean" else safe_sqrt(square)


def _reply(u, v, score, eps, cost, block):
    """Potential of the points u against the scores of the points v."""

    def one_block(u):
        return -eps * logsumexp(score[None, :] - _cost(u, v, cost) / eps, axis=1)

    blocks = _blocks(u, min(block, len(u)))
    return lax.map(one_block, blocks).reshape(-1)[: len(u)]


def _cost(u, v, cost):
    """Cost between two sets of points."""
    if cost == "euclidean":
        return safe_norm(u[:, None, :] - v[None, :, :], axis=2)
    squares = jnp.sum(u**2, axis=1)[:, None] + jnp.sum(v**2, axis=1)[None, :]
    return jnp.maximum(squares - 2 * matmul(u, v.T), 0)


def _blocks(array, block):
    """Rows in blocks; the last one is filled up with zeros."""
    widths = [(0, -len(array) % block)] + [(0, 0)] * (array.ndim - 1)
    return jnp.pad(array, widths).reshape(-1, block, *array.shape[1:])


def _marginals(f, g, problem, cost, block):
    """Row sums, column sums and cost of the plan, a block of rows at a time."""
    x, y, a, b, eps = problem
    n = len(x)
    block = min(block, n)

    @partial(jax.checkpoint, prevent_cse=False)
    def one_block(rows):
        x, f, a = rows
        c = _cost(x, y, cost)
        log_weights = safe_log(a)[:, None] + safe_log(b)[None, :]
        plan = jnp.exp(log_weights + (f[:, None] + g[None, :] - c) / eps)
        return jnp.sum(plan, 1), jnp.sum(plan, 0), jnp.sum(plan * c)

    blocks = tuple(_blocks(array, block) for array in (x, f, a))
    rows, columns, value = lax.map(one_block, blocks)
    return rows.reshape(-1)[:n], jnp.sum(columns, 0), jnp.sum(value)


def _dual(f, g, problem, cost, block):
    _, _, a, b, eps = problem
    mass = jnp.sum(_marginals(f, g, problem, cost, block)[0])
    gained = jnp.sum(f * a) + jnp.sum(g * b)
    return gained - eps * (mass - jnp.sum(a) * jnp.sum(b))


@partial(jax.custom_jvp, nondiff_argnums=(3, 4))
def _dual_value(f, g, problem, cost, block):
    """Regularised value at potentials, which its derivative holds fixed."""
    return _dual(f, g, problem, cost, block)


@_dual_value.defjvp
def _dual_value_jvp(cost, block, primals, tangents):
    f, g, problem = primals
    _, d_value = jax.jvp(
        lambda p: _dual(f, g, p, cost, block), (problem,), (tangents[2],)
    )
    return _dual_value(f, g, problem, cost, block), d_value
