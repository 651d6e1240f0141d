"""Gromov-Wasserstein transport between spaces that share no coordinates."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from ..core import (
    check_integer,
    check_interval,
    check_nonempty,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
)
from ._entropic import (
    EntropicProblem,
    dual_value,
    entropic_problem,
    solve_potentials,
    transport_plan,
)
from ._no_derivative import without_derivative
from ._problem import check_weights, fill_weights, mask_cost
from ._sinkhorn import check_penalties


class GromovResult(NamedTuple):
    r"""Stationary point of an entropic Gromov-Wasserstein problem.

    Attributes
    ----------
    value : array of shape ()
        The objective without its entropy.
    plan : array of shape (n, m)
        Plan :math:`P`.
    error : array of shape ()
        The larger of two: the largest change of an entry of the plan in one more
        outer step, and the largest violation of a marginal.
    converged : bool array of shape ()
        Whether ``error`` is at most the square root of the machine epsilon
        times the mass. False for bad input.
    reg_value : array of shape ()
        The whole objective, from the potentials: that of ``plan`` once the
        marginals hold. The only field with a derivative.
    """

    value: Float[Array, ""]
    plan: Float[Array, "n m"]
    error: Float[Array, ""]
    converged: Bool[Array, ""]
    reg_value: Float[Array, ""]


class _Problem(NamedTuple):
    cost_x: Float[Array, "n n"]
    cost_y: Float[Array, "m m"]
    fused_cost: Float[Array, "n m"]
    a: Float[Array, " n"]
    b: Float[Array, " m"]
    eps: Float[Array, ""]
    alpha: Float[Array, ""]


def _inner_cost(plan, problem):
    """Half the derivative of the quadratic term: sum_kl (C_ik - C_jl)^2 P_kl."""
    cost_x, cost_y = problem.cost_x, problem.cost_y
    rows, columns = jnp.sum(plan, axis=1), jnp.sum(plan, axis=0)
    squares = matmul(cost_x**2, rows)[:, None] + matmul(cost_y**2, columns)[None, :]
    return squares - 2 * matmul(matmul(cost_x, plan), cost_y.T)


@paper("vayer2019optimal", "objective with features")
def _linear_problem(plan, problem):
    """Transport problem whose solution is ``plan`` if that is stationary."""
    inner, alpha = _inner_cost(plan, problem), problem.alpha
    cost = mask_cost(inner, problem.a, problem.b)
    cost = 2 * alpha * cost + (1 - alpha) * problem.fused_cost
    zero = jnp.zeros_like(problem.eps)
    return EntropicProblem(cost, problem.a, problem.b, problem.eps, zero, zero)


@paper(
    "peyre2016gromov",
    "entropic problem and its linearisation",
    uses=(_linear_problem,),
)
def gromov_wasserstein(
    cost_x: Real[ArrayLike, "n n"],
    cost_y: Real[ArrayLike, "m m"],
    a: Real[ArrayLike, " n"] | None = None,
    b: Real[ArrayLike, " m"] | None = None,
    *,
    eps: Real[ArrayLike, ""],
    fused_cost: Real[ArrayLike, "n m"] | None = None,
    alpha: Real[ArrayLike, ""] | None = None,
    n_iter: int = 50,
    n_inner: int = 200,
) -> GromovResult:
    r"""Match two weighted spaces by their inner distances, and optionally by features.

    .. math:: \min_P \; \alpha \sum_{ijkl} (C^x_{ik} - C^y_{jl})^2 P_{ij} P_{kl}
              + (1 - \alpha) \langle M, P \rangle
              + \varepsilon\, \mathrm{KL}(P \,|\, a \otimes b)
              \quad \text{with} \quad P 1 = a, \; P^\top 1 = b

    Parameters
    ----------
    cost_x : array of shape (n, n)
        Symmetric dissimilarities :math:`C^x` within the first space. Rows and
        columns of points of weight 0 may hold anything.
    cost_y : array of shape (m, m)
        Those of the second space.
    a : array of shape (n,), optional
        Weights of the first space; None stands for uniform ones.
    b : array of shape (m,), optional
        Weights of the second. Masses must agree to a relative 1e-4.
    eps : float
        Entropic regularisation :math:`\varepsilon > 0`, in the unit of
        ``cost_x**2``.
    fused_cost : array of shape (n, m), optional
        Cost :math:`M` between features of the points.
    alpha : float, optional
        Share of the inner distances in [0, 1]; by default 0.5 with a
        ``fused_cost`` and 1 without, where no other value is possible.
    n_iter : int, default 50
        Number of outer steps, each a transport problem.
    n_inner : int, default 200
        Number of Sinkhorn iterations of each. Where ``eps`` is below a few per
        cent of ``cost_x**2`` it takes thousands until the marginals hold.

    Returns
    -------
    GromovResult
        ``value``, ``plan``, ``error``, ``converged``, ``reg_value``; NaN for bad
        input as in :func:`sinkhorn`.

    Raises
    ------
    ValueError
        If shapes do not fit, an array is empty, ``alpha`` is given without
        ``fused_cost``, ``n_iter < 1`` or ``n_inner < 1``, or a concrete ``eps``
        or ``alpha`` is out of range.

    Notes
    -----
    The problem is not convex: the result is a stationary point reached from
    :math:`a \otimes b`, and other solvers may find another. Solved by ott-jax
    with loops of fixed length, then one more step by :func:`sinkhorn`, which
    also measures ``error``. Time :math:`O(n^2 m + n m^2)` an outer step, memory
    :math:`O(n^2 + m^2)`. The first call compiles for seconds.

    ``reg_value`` has first derivatives with respect to all arrays, ``eps`` and
    ``alpha``, by the envelope theorem (exact at a stationary point). Derivatives
    of other fields and second derivatives are NaN.

    References
    ----------
    [peyre2016gromov], [vayer2019optimal]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import gromov_wasserstein
    >>> x, y = jnp.array([0.0, 1.0, 3.0]), jnp.array([9.0, 6.0, 7.0])
    >>> inner = lambda z: jnp.abs(z[:, None] - z[None, :])
    >>> result = gromov_wasserstein(inner(x), inner(y), eps=0.01)
    >>> result.plan.argmax(axis=1).tolist()
    [1, 2, 0]
    """
    n, m = _check_spaces(cost_x, cost_y, a, b)
    if fused_cost is not None:
        check_shape("fused_cost", fused_cost, (n, m))
        check_real("fused_cost", fused_cost)
        alpha = 0.5 if alpha is None else alpha
    elif alpha is not None:
        raise ValueError("alpha: expected None without fused_cost; got a value")
    else:
        alpha = 1.0
    check_penalties(eps=eps)
    check_shape("alpha", alpha, ())
    check_interval("alpha", alpha, 0, 1)
    return _gromov_wasserstein(
        cost_x,
        cost_y,
        a,
        b,
        eps,
        fused_cost,
        alpha,
        n_iter=check_integer("n_iter", n_iter),
        n_inner=check_integer("n_inner", n_inner),
    )


def _check_spaces(cost_x, cost_y, a, b):
    for name, cost in (("cost_x", cost_x), ("cost_y", cost_y)):
        check_shape(name, cost, ("n", "n"))
        check_shape(name, cost, (jnp.shape(cost)[0],) * 2)
        check_nonempty(name, cost)
        check_real(name, cost)
    n, m = jnp.shape(cost_x)[0], jnp.shape(cost_y)[0]
    check_weights(a, b, n, m)
    return n, m


@partial(jax.jit, static_argnames=("n_iter", "n_inner"))
def _gromov_wasserstein(
    cost_x, cost_y, a, b, eps, fused_cost, alpha, *, n_iter, n_inner
):
    cost_x, cost_y, a, b, fused_cost = promote_floating(
        cost_x, cost_y, a, b, fused_cost
    )
    n, m = len(cost_x), len(cost_y)
    if fused_cost is None:
        fused_cost = jnp.zeros((n, m), cost_x.dtype)
    a, b = fill_weights(fused_cost, a, b)
    alpha = jnp.asarray(alpha, cost_x.dtype)
    linear, good = entropic_problem(fused_cost, a, b, eps=eps)
    cost_x, cost_y = mask_cost(cost_x, a, a), mask_cost(cost_y, b, b)
    good &= jnp.all(jnp.isfinite(cost_x)) & jnp.all(jnp.isfinite(cost_y))
    good &= (alpha >= 0) & (alpha <= 1)
    cost_x, cost_y = jnp.where(good, cost_x, 0), jnp.where(good, cost_y, 0)
    alpha = jnp.where(good, alpha, 1)
    problem = _Problem(
        cost_x, cost_y, linear.cost, linear.a, linear.b, linear.eps, alpha
    )

    plan, f, g, value, error = without_derivative(
        partial(_solve, n_iter=n_iter, n_inner=n_inner), problem
    )
    allowed = jnp.finfo(cost_x.dtype).eps ** 0.5 * jnp.sum(problem.a)
    nan_if_bad = lambda x: jnp.where(good, x, jnp.nan)
    return GromovResult(
        value=nan_if_bad(value),
        plan=nan_if_bad(plan),
        error=nan_if_bad(lax.stop_gradient(error)),
        converged=good & (error <= allowed),
        reg_value=nan_if_bad(_reg_value(plan, f, g, problem)),
    )


def _solve(problem, *, n_iter, n_inner):
    """Plan by ott-jax, and one more step from it by our own Sinkhorn."""
    from ott.geometry.geometry import Geometry
    from ott.problems.quadratic.quadratic_problem import QuadraticProblem
    from ott.solvers.linear.sinkhorn import Sinkhorn
    from ott.solvers.quadratic.gromov_wasserstein import GromovWasserstein

    # ott-jax linearises the quadratic term without its factor 2, and keeps its
    # own regularisation static: so the costs carry alpha and eps.
    scale = jnp.sqrt(2 * problem.alpha / problem.eps)
    fused_cost = (1 - problem.alpha) / problem.eps * problem.fused_cost
    # Equal limits make a scan; it drops a rest modulo inner_iterations.
    inner = Sinkhorn(min_iterations=n_inner, max_iterations=n_inner, inner_iterations=1)
    solver = GromovWasserstein(
        inner, epsilon=1.0, min_iterations=n_iter, max_iterations=n_iter
    )
    out = solver(
        QuadraticProblem(
            Geometry(problem.cost_x * scale, epsilon=1.0),
            Geometry(problem.cost_y * scale, epsilon=1.0),
            Geometry(fused_cost, epsilon=1.0),
            a=problem.a,
            b=problem.b,
        )
    )
    last = out.matrix.astype(problem.cost_x.dtype)
    linear = _linear_problem(last, problem)
    f, g, _ = solve_potentials(linear, n_iter=n_inner, anneal=True, relaxed=False)
    plan = transport_plan(f, g, linear)
    value = problem.alpha * _inner_value(plan, problem)
    value += (1 - problem.alpha) * jnp.sum(plan * problem.fused_cost)
    rows, columns = jnp.sum(plan, axis=1), jnp.sum(plan, axis=0)
    errors = (plan - last, rows - problem.a, columns - problem.b)
    error = jnp.max(jnp.stack([jnp.max(jnp.abs(e)) for e in errors]))
    return plan, f, g, value, error


def _inner_value(plan, problem):
    return jnp.sum(plan * _inner_cost(plan, problem))


@jax.custom_jvp
def _reg_value(plan, f, g, problem):
    """Objective at a stationary plan, which its derivative holds fixed."""
    return _objective(plan, f, g, problem)


@_reg_value.defjvp
def _reg_value_jvp(primals, tangents):
    plan, f, g, problem = primals
    _, d_value = jax.jvp(
        lambda p: _objective(plan, f, g, p), (problem,), (tangents[3],)
    )
    return _reg_value(plan, f, g, problem), d_value


def _objective(plan, f, g, problem):
    """Value of the linear problem, which counts the quadratic term twice."""
    linear = dual_value(f, g, _linear_problem(plan, problem))
    return linear - problem.alpha * _inner_value(plan, problem)
