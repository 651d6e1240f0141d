r"""The entropic problem behind every Sinkhorn function: loop, derivative, dual value.

.. math:: \min_{P \ge 0} \langle P, C \rangle + \varepsilon\,
          \mathrm{KL}(P \,|\, a \otimes b) + \rho_a \mathrm{KL}(P 1 \,|\, a)
          + \rho_b \mathrm{KL}(P^\top 1 \,|\, b)

is solved by :math:`P_{ij} = a_i b_j e^{(f_i + g_j - C_{ij})/\varepsilon}` at the
fixed point of two updates. The loop itself carries no derivative:
:func:`attach_derivative` gives the potentials the derivative of their fixed
point, and :func:`dual_value` has the envelope derivative, which needs none of
theirs. Both rules are made of differentiable parts, so second derivatives are
right as well.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..core import logsumexp, matmul, paper, safe_divide, safe_log
from ._problem import MASS_TOLERANCE, live_cells, make_admissible

# With a tolerance, the error is looked at only so often.
_STEPS_PER_TEST = 10


class EntropicProblem(NamedTuple):
    """What defines the plan; padded atoms have weight 0 and cost 0.

    Attributes
    ----------
    cost : array of shape (n, m)
        Finite everywhere.
    a, b : arrays of shape (n,) and (m,)
        Weights; of equal mass if the problem is balanced.
    eps : array of shape ()
        Entropic regularisation.
    inv_rho_a, inv_rho_b : arrays of shape ()
        Inverse marginal penalties; 0 stands for a hard constraint.
    """

    cost: Float[Array, "n m"]
    a: Float[Array, " n"]
    b: Float[Array, " m"]
    eps: Float[Array, ""]
    inv_rho_a: Float[Array, ""]
    inv_rho_b: Float[Array, ""]


def entropic_problem(cost, a, b, *, eps, rho_a=jnp.inf, rho_b=jnp.inf):
    """Mask padded atoms, match the masses of a balanced problem, judge the values.

    Returns the problem and whether its values made sense; if not, the problem
    is a harmless one.
    """
    eps, rho_a, rho_b = (jnp.asarray(x, cost.dtype) for x in (eps, rho_a, rho_b))
    cost, a, b, good = make_admissible(cost, a, b, balanced=False)
    balanced = jnp.isinf(rho_a) & jnp.isinf(rho_b)
    mass_a, mass_b = jnp.sum(a), jnp.sum(b)
    gap = jnp.abs(mass_a - mass_b)
    good &= ~balanced | (gap <= MASS_TOLERANCE * jnp.maximum(mass_a, mass_b))
    b = jnp.where(balanced, b * safe_divide(mass_a, mass_b), b)

    usable = jnp.isfinite(eps) & (eps > 0) & (rho_a > 0) & (rho_b > 0)
    eps, rho_a, rho_b = (jnp.where(usable, x, 1) for x in (eps, rho_a, rho_b))
    return EntropicProblem(cost, a, b, eps, 1 / rho_a, 1 / rho_b), good & usable


def counting_problem(problem):
    r"""Problem whose entropy relative to :math:`a \otimes b` is the plain entropy.

    Since :math:`\log (P / a b) = \log P - \log a - \log b`, the two differ by
    the cost :math:`\varepsilon (\log a_i + \log b_j)` and by the constant
    :math:`\varepsilon m_a m_b`. The potentials are those of the plain entropy.
    """
    _, a, b, eps, _, _ = problem
    log_weights = safe_log(a)[:, None] + safe_log(b)[None, :]
    return problem._replace(
        cost=problem.cost + eps * jnp.where(live_cells(a, b), log_weights, 0)
    )


def transport_plan(f, g, problem):
    """Plan that belongs to a pair of potentials."""
    log_weights = safe_log(problem.a)[:, None] + safe_log(problem.b)[None, :]
    exponent = (f[:, None] + g[None, :] - problem.cost) / problem.eps
    return jnp.exp(log_weights + exponent)


def marginal_error(f, g, problem):
    """Largest violation of the optimality condition of a marginal."""
    plan = transport_plan(f, g, problem)
    # Padded atoms have any potential here, which must not overflow.
    f, g = jnp.where(problem.a > 0, f, 0), jnp.where(problem.b > 0, g, 0)
    rows = jnp.sum(plan, 1) - problem.a * jnp.exp(-problem.inv_rho_a * f)
    columns = jnp.sum(plan, 0) - problem.b * jnp.exp(-problem.inv_rho_b * g)
    return jnp.maximum(jnp.max(jnp.abs(rows)), jnp.max(jnp.abs(columns)))


# --- potentials: the loop, and the derivative of its fixed point --------------


def solve_potentials(problem, tol=None, *, unroll=False, **options):
    """Potentials of a problem, and how many iterations they took.

    Derivatives are those of the fixed point, or with ``unroll`` those of the
    loop. Of the potentials of a balanced problem, which are defined up to a
    constant, the pair with ``<f, a> = <g, b>`` is returned. They are 0 on
    padded atoms. ``options`` are those of :func:`iterate`.
    """
    a, b = problem.a, problem.b
    if unroll:
        f, g, n_iter = iterate(problem, tol, **options)
    else:
        f, g, n_iter = iterate(lax.stop_gradient(problem), tol, **options)
        f, g = jnp.where(a > 0, f, 0), jnp.where(b > 0, g, 0)
        f, g = attach_derivative(f, g, problem)
    balanced = (problem.inv_rho_a == 0) & (problem.inv_rho_b == 0)
    # The masses agree in a balanced problem, and nothing is shifted in another.
    shift = (jnp.sum(f * a) - jnp.sum(g * b)) / (jnp.sum(a) + jnp.sum(b))
    shift = jnp.where(balanced, shift, 0)
    f, g = jnp.where(a > 0, f - shift, 0), jnp.where(b > 0, g + shift, 0)
    return f, g, n_iter


@paper("sejourne2022faster", "best common shift of the potentials")
def best_shift(f, g, problem):
    """Shift of the potentials that a weak penalty alone would find slowly."""
    _, a, b, _, inv_rho_a, inv_rho_b = problem
    excess = logsumexp(safe_log(a) - inv_rho_a * f)
    excess -= logsumexp(safe_log(b) - inv_rho_b * g)
    return safe_divide(excess, inv_rho_a + inv_rho_b)


@paper("chizat2018scaling", "updates with relaxed marginals", uses=(best_shift,))
def iterate(problem, tol, *, n_iter, anneal, relaxed, symmetric=False):
    """Run the updates; returns ``(f, g, number of iterations)``.

    A fixed number of steps, or with ``tol`` until no marginal is violated by
    more than ``tol`` times the mass. ``relaxed`` says that a marginal penalty
    may be finite; ``symmetric`` that both sides are one measure, so that
    ``f = g`` and the averaged update applies.
    """
    cost, a, b, eps, inv_rho_a, inv_rho_b = problem
    log_a, log_b = safe_log(a), safe_log(b)
    n_anneal = n_iter // 4 if anneal else 0
    n_anneal = n_anneal if tol is None else min(n_anneal, 50)
    log_start = lax.stop_gradient(jnp.log(jnp.maximum(_spread(problem) / eps, 1)))

    def step(k, potentials):
        f, g = potentials
        e = eps
        if n_anneal:
            remaining = jnp.maximum(1 - k.astype(a.dtype) / n_anneal, 0)
            e = eps * jnp.exp(remaining * log_start)
        g = _update(f, log_a, cost, e, inv_rho_b, 0)
        if symmetric:
            f = (f + g) / 2
            return f, f
        f = _update(g, log_b, cost, e, inv_rho_a, 1)
        if relaxed:
            shift = best_shift(f, g, problem)
            f, g = f + shift, g - shift
        return f, g

    start = jnp.zeros_like(a), jnp.zeros_like(b)
    if tol is None:
        return *lax.fori_loop(0, n_iter, step, start), jnp.asarray(n_iter, jnp.int32)

    def unfinished(state):
        k, _, error = state
        return (k < n_iter) & (error > tol * jnp.sum(a))

    def body(state):
        k, potentials, _ = state
        stop = jnp.minimum(k + _STEPS_PER_TEST, n_iter)
        potentials = lax.fori_loop(k, stop, step, potentials)
        return stop, potentials, marginal_error(*potentials, problem)

    first = jnp.asarray(0, jnp.int32), start, jnp.full_like(eps, jnp.inf)
    n_done, (f, g), _ = lax.while_loop(unfinished, body, first)
    return f, g, n_done


def _spread(problem):
    """Largest difference of two live costs, where the annealing of eps begins."""
    live = live_cells(problem.a, problem.b)
    high = jnp.max(problem.cost, where=live, initial=-jnp.inf)
    return high - jnp.min(problem.cost, where=live, initial=jnp.inf)


def _update(potential, log_weight, cost, eps, inv_rho, axis):
    """Best reply to ``potential``, which lives on ``axis`` of the cost."""
    scores = jnp.expand_dims(potential / eps + log_weight, 1 - axis) - cost * (1 / eps)
    top = lax.stop_gradient(jnp.max(scores, axis, keepdims=True))
    # Also keeps XLA from computing the maximum inside the sum: 1.5 times faster.
    top = jnp.where(jnp.isfinite(top), top, 0)
    log_sum = jnp.squeeze(top, axis) + jnp.log(jnp.sum(jnp.exp(scores - top), axis))
    return -eps / (1 + eps * inv_rho) * log_sum


def _both_updates(f, g, problem):
    """Best replies to g and to f: at the fixed point, f and g themselves."""
    cost, a, b, eps, inv_rho_a, inv_rho_b = problem
    return (
        _update(g, safe_log(b), cost, eps, inv_rho_a, 1),
        _update(f, safe_log(a), cost, eps, inv_rho_b, 0),
    )


@jax.custom_jvp
def attach_derivative(f, g, problem):
    """Return the potentials, differentiable as the fixed point of the updates."""
    return f, g


@attach_derivative.defjvp
def _attach_derivative_jvp(primals, tangents):
    r"""Solve the linearised updates for the tangents of the potentials.

    With the replies :math:`T_f(g)`, :math:`T_g(f)` and the conditional plans
    :math:`W` (rows sum to 1), :math:`Z` (columns of :math:`P^\top` alike),
    :math:`df + \tau_a W dg = \partial T_f`, :math:`dg + \tau_b Z df = \partial T_g`,
    where :math:`\partial` varies the problem at fixed potentials. The size that
    is smaller is solved for.
    """
    f, g, problem = primals
    f, g = attach_derivative(f, g, problem)
    d_f, d_g = jax.jvp(lambda p: _both_updates(f, g, p), (problem,), (tangents[2],))[1]
    cost, a, b, eps, inv_rho_a, inv_rho_b = problem
    w = jax.nn.softmax((g[None, :] - cost) / eps + safe_log(b)[None, :], axis=1)
    z = jax.nn.softmax((f[:, None] - cost) / eps + safe_log(a)[:, None], axis=0).T
    w, z = w / (1 + eps * inv_rho_a), z / (1 + eps * inv_rho_b)
    d_f, d_g = jnp.where(a > 0, d_f, 0), jnp.where(b > 0, d_g, 0)
    balanced = (inv_rho_a == 0) & (inv_rho_b == 0)
    if len(g) <= len(f):
        d_g = _solve_loop(z, w, d_g - matmul(z, d_f), b, balanced)
        d_f = d_f - matmul(w, d_g)
    else:
        d_f = _solve_loop(w, z, d_f - matmul(w, d_g), a, balanced)
        d_g = d_g - matmul(z, d_f)
    d_f, d_g = jnp.where(a > 0, d_f, 0), jnp.where(b > 0, d_g, 0)
    return (f, g), (d_f, d_g)


def _solve_loop(left, right, rhs, weight, balanced):
    r"""Solve :math:`(I - L R) y` = ``rhs``, where balanced rows of L R sum to 1.

    The common shift of a balanced problem is then fixed by ``<weight, y> = 0``,
    through a rank-one term that changes nothing else. The matrix is formed and
    factorised inside the linear solve, so that a derivative which does not use
    the potentials pays for neither.
    """
    fix = jnp.where(balanced, weight / jnp.sum(weight), 0)

    def matvec(y):
        return y - matmul(left, matmul(right, y)) + jnp.sum(fix * y)

    def solve(rhs, transpose):
        n = len(rhs)
        matrix = jnp.eye(n, dtype=rhs.dtype) - matmul(left, right) + fix[None, :]
        # Nearly separate blocks make the matrix singular to rounding; what the
        # jitter changes, one step of refinement restores.
        jitter = 4 * n * jnp.finfo(rhs.dtype).eps
        factors = jax.scipy.linalg.lu_factor(
            matrix + jitter * jnp.eye(n, dtype=rhs.dtype)
        )
        trans = 1 if transpose else 0
        matrix = matrix.T if transpose else matrix
        y = jax.scipy.linalg.lu_solve(factors, rhs, trans=trans)
        residual = rhs - matmul(matrix, y)
        return y + jax.scipy.linalg.lu_solve(factors, residual, trans=trans)

    return lax.custom_linear_solve(
        matvec,
        rhs,
        solve=lambda _, x: solve(x, transpose=False),
        transpose_solve=lambda _, x: solve(x, transpose=True),
    )


# --- the optimal value --------------------------------------------------------


@jax.custom_jvp
def dual_value(f, g, problem):
    """Regularised value at potentials, with the envelope derivative.

    At the optimum the value does not feel a change of the potentials, so only
    the problem is varied; they are not differentiated unless a second
    derivative asks for it.
    """
    return _dual(f, g, problem)


@dual_value.defjvp
def _dual_value_jvp(primals, tangents):
    f, g, problem = primals
    _, d_value = jax.jvp(lambda p: _dual(f, g, p), (problem,), (tangents[2],))
    return dual_value(f, g, problem), d_value


def _dual(f, g, problem):
    _, a, b, eps, inv_rho_a, inv_rho_b = problem
    gained = _marginal_term(f, a, inv_rho_a) + _marginal_term(g, b, inv_rho_b)
    excess = jnp.sum(transport_plan(f, g, problem)) - jnp.sum(a) * jnp.sum(b)
    return gained - eps * excess


def _marginal_term(potential, weight, inv_rho):
    """Dual of the marginal penalty: ``rho (1 - exp(-f / rho))``, or ``f``."""
    hard = inv_rho == 0
    safe = jnp.where(hard, 1, inv_rho)
    relaxed = -jnp.expm1(-safe * potential) / safe
    return jnp.sum(weight * jnp.where(hard, potential, relaxed))
