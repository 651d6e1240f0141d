"""Transport between large point clouds by a plan of low rank."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key, Real, UInt32

from ..core import (
    check_integer,
    check_interval,
    check_key,
    check_shape,
    matmul,
    paper,
)
from ._no_derivative import without_derivative
from ._points import check_points, point_problem


class LowRankResult(NamedTuple):
    r"""Plan :math:`P = Q \operatorname{diag}(1/w) R^\top` of rank r; no derivatives.

    Attributes
    ----------
    value : array of shape ()
        Transport cost :math:`\langle C, P \rangle`.
    q : array of shape (n, r)
        Plan :math:`Q` from the source to r inner atoms; 0 on padded points.
    r : array of shape (m, r)
        Plan :math:`R` from the target to the inner atoms.
    inner : array of shape (r,)
        Weights :math:`w` of the inner atoms.
    error : array of shape ()
        Largest absolute violation of a marginal.
    """

    value: Float[Array, ""]
    q: Float[Array, "n r"]
    r: Float[Array, "m r"]
    inner: Float[Array, " r"]
    error: Float[Array, ""]


@paper("scetbon2021low", "mirror descent on the factors of the plan")
def low_rank_sinkhorn(
    key: Key[Array, ""] | UInt32[Array, "2"],
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "m d"],
    a: Real[ArrayLike, " n"] | None = None,
    b: Real[ArrayLike, " m"] | None = None,
    *,
    eps: Real[ArrayLike, ""],
    rank: int,
    n_iter: int = 300,
    n_inner: int = 50,
) -> LowRankResult:
    r"""Transport point clouds by a plan of given rank, in linear time.

    .. math:: \min_{Q, R, w} \; \langle C, Q \operatorname{diag}(1/w) R^\top \rangle
              - \varepsilon \big(H(Q) + H(R) + H(w)\big), \qquad
              Q 1 = a, \; R 1 = b, \; Q^\top 1 = R^\top 1 = w, \quad
              C_{ij} = \|x_i - y_j\|^2

    with the entropy :math:`H(p) = -\sum p (\log p - 1)`.

    Parameters
    ----------
    key : key array
        Random key for the first factors.
    x : array of shape (n, d)
        Source points :math:`x_i`; those of weight 0 may hold anything.
    y : array of shape (m, d)
        Target points :math:`y_j`, likewise.
    a : array of shape (n,), optional
        Source weights; None stands for uniform ones.
    b : array of shape (m,), optional
        Target weights, likewise. Masses must agree to a relative 1e-4.
    eps : float
        Entropic regularisation :math:`\varepsilon \ge 0`, in the unit of the
        cost.
    rank : int
        Rank r of the plan.
    n_iter : int, default 300
        Number of mirror-descent steps.
    n_inner : int, default 50
        Number of projections onto the constraints in each step.

    Returns
    -------
    LowRankResult
        ``value``, ``q``, ``r``, ``inner``, ``error``; NaN for bad input as in
        :func:`sinkhorn`.

    Raises
    ------
    ValueError
        If shapes do not fit, an array is empty, ``rank``, ``n_iter`` or
        ``n_inner`` is below 1, a concrete ``eps`` is negative, or there are several
        keys.
    TypeError
        If ``key`` is no random key.

    Notes
    -----
    Solved by ott-jax with loops of fixed length: :math:`O((n + m) d r)` time a
    step, :math:`O((n + m)(d + r))` memory; no matrix of size n by m is made. The
    problem is not convex, so the value is an upper bound of the optimum at this
    rank, and depends a little on ``key``. Masses are scaled to 1 for the solve.
    Points of weight 0 take part with 1e-12 of the mass, since ott-jax would
    otherwise shrink its steps, and are removed from the result.

    A derivative of any field is NaN. To differentiate the cost at a fixed plan,
    form it from the factors.

    References
    ----------
    [scetbon2021low]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.ot import low_rank_sinkhorn
    >>> x = jnp.repeat(jnp.array([0.0, 10.0]), 20)[:, None]
    >>> result = low_rank_sinkhorn(jax.random.key(0), x, x + 1.0, eps=0.0, rank=2)
    >>> round(float(result.value), 2)
    1.0
    """
    check_key("key", key)
    check_points(x, y, a, b)
    check_shape("eps", eps, ())
    check_interval("eps", eps, 0)
    return _low_rank_sinkhorn(
        key,
        x,
        y,
        a,
        b,
        eps,
        rank=check_integer("rank", rank),
        n_iter=check_integer("n_iter", n_iter),
        n_inner=check_integer("n_inner", n_inner),
    )


@partial(jax.jit, static_argnames=("rank", "n_iter", "n_inner"))
def _low_rank_sinkhorn(key, x, y, a, b, eps, **options):
    x, y, a, b, good = point_problem(x, y, a, b)
    eps = jnp.asarray(eps, x.dtype)
    usable = (eps >= 0) & jnp.isfinite(eps)
    inputs = x, y, a, b, jnp.where(usable, eps, 1)
    result = without_derivative(partial(_solve, key, **options), *inputs)
    return jax.tree.map(lambda z: jnp.where(good & usable, z, jnp.nan), result)


def _solve(key, x, y, a, b, eps, *, rank, n_iter, n_inner):
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn_lr

    mass = jnp.sum(a)
    # With a weight of 0 the logarithm of the plan would set the step size.
    live_a, live_b = jnp.maximum(a / mass, 1e-12), jnp.maximum(b / mass, 1e-12)
    solver = sinkhorn_lr.LRSinkhorn(
        rank=rank,
        epsilon=eps,
        # Equal limits make scans; they drop a rest modulo inner_iterations.
        min_iterations=n_iter,
        max_iterations=n_iter,
        inner_iterations=1,
        kwargs_dys={"min_iter": n_inner, "max_iter": n_inner, "inner_iter": 1},
    )
    problem = linear_problem.LinearProblem(
        pointcloud.PointCloud(x, y, epsilon=eps), live_a, live_b
    )
    solution = solver(problem, init=_first_factors(key, live_a, live_b, rank))
    q, r, inner = (
        z.astype(x.dtype) * mass for z in (solution.q, solution.r, solution.g)
    )
    q, r = jnp.where((a > 0)[:, None], q, 0), jnp.where((b > 0)[:, None], r, 0)

    rows = matmul(q, jnp.sum(r, axis=0) / inner)
    columns = matmul(r, jnp.sum(q, axis=0) / inner)
    error = jnp.maximum(jnp.max(jnp.abs(rows - a)), jnp.max(jnp.abs(columns - b)))
    squares = jnp.sum(rows * jnp.sum(x**2, axis=1))
    squares += jnp.sum(columns * jnp.sum(y**2, axis=1))
    cross = jnp.sum(matmul(q.T, x) * matmul(r.T, y) / inner[:, None])
    return LowRankResult(squares - 2 * cross, q, r, inner, error)


def _first_factors(key, a, b, rank):
    """Random plans to inner atoms of random weights."""
    key_q, key_r, key_inner = jax.random.split(key, 3)

    def plan(key, weight):
        share = jax.random.uniform(key, (len(weight), rank), weight.dtype, 0.1, 1)
        return weight[:, None] * share / jnp.sum(share, axis=1, keepdims=True)

    inner = jax.random.uniform(key_inner, (rank,), a.dtype, 1, 2)
    return plan(key_q, a), plan(key_r, b), inner / jnp.sum(inner)
