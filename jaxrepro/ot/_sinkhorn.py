"""Entropic optimal transport in the logarithmic domain."""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Int32, Real

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_shape,
    is_concrete,
    paper,
    promote_floating,
)
from ._entropic import (
    counting_problem,
    dual_value,
    entropic_problem,
    iterate,
    marginal_error,
    solve_potentials,
    transport_plan,
)
from ._problem import check_static, fill_weights


class SinkhornResult(NamedTuple):
    r"""Solution of an entropic transport problem.

    The fields of :class:`OTResult` and the regularised value. All but
    ``n_iter``, ``error`` and ``converged`` are differentiable.

    Attributes
    ----------
    value : array of shape ()
        Transport cost :math:`\langle C, P \rangle`, without the penalties.
    plan : array of shape (n, m)
        Plan :math:`P`.
    f : array of shape (n,)
        Dual potential of the rows; 0 on padded atoms. If the problem is
        balanced, the pair with :math:`\langle f, a \rangle = \langle g, b
        \rangle` is returned.
    g : array of shape (m,)
        Dual potential of the columns.
    n_iter : int32 array of shape ()
        Iterations that were made.
    error : array of shape ()
        Largest absolute violation of a marginal (of its optimality condition,
        if it is relaxed) by ``plan``.
    converged : bool array of shape ()
        Whether ``error`` is at most ``tol`` times the mass of ``a`` (default:
        the square root of the machine epsilon). False for bad input.
    reg_value : array of shape ()
        Optimal value of the whole objective.
    """

    value: Float[Array, ""]
    plan: Float[Array, "n m"]
    f: Float[Array, " n"]
    g: Float[Array, " m"]
    n_iter: Int32[Array, ""]
    error: Float[Array, ""]
    converged: Bool[Array, ""]
    reg_value: Float[Array, ""]


@paper("cuturi2013sinkhorn", "iterations for entropic transport", uses=(iterate,))
def sinkhorn(
    cost: Real[ArrayLike, "n m"],
    a: Real[ArrayLike, " n"] | None = None,
    b: Real[ArrayLike, " m"] | None = None,
    *,
    eps: Real[ArrayLike, ""],
    rho_a: Real[ArrayLike, ""] = math.inf,
    rho_b: Real[ArrayLike, ""] = math.inf,
    tol: Real[ArrayLike, ""] | None = None,
    n_iter: int = 200,
    anneal: bool = True,
    reference: str = "product",
) -> SinkhornResult:
    r"""Solve a balanced or unbalanced entropic transport problem.

    .. math:: \min_{P \ge 0} \; \langle C, P \rangle
              + \varepsilon \, \mathrm{KL}(P \,|\, a \otimes b)
              + \rho_a \mathrm{KL}(P 1 \,|\, a)
              + \rho_b \mathrm{KL}(P^\top 1 \,|\, b), \qquad
              \mathrm{KL}(p \,|\, q) = \sum p \log \tfrac{p}{q} - p + q .

    Parameters
    ----------
    cost : array of shape (n, m)
        Cost :math:`C`. Cells of atoms with weight 0 may hold anything.
    a : array of shape (n,), optional
        Source weights, at least 0; None stands for uniform ones of the mass of
        ``b`` (1 if both are absent).
    b : array of shape (m,), optional
        Target weights, likewise.
    eps : float
        Entropic regularisation :math:`\varepsilon > 0`, in the unit of the cost
        (see :func:`scale_eps`).
    rho_a, rho_b : float, default inf
        Marginal penalties in :math:`(0, \infty]`; infinity is a hard
        constraint. If both are, the masses must agree to a relative 1e-4, and
        ``b`` is rescaled to the mass of ``a``.
    tol : float, optional
        Stop once ``error <= tol * sum(a)``, which is looked at every ten
        iterations; None makes ``n_iter`` iterations.
    n_iter : int, default 200
        Number of iterations (with ``tol``: at most).
    anneal : bool, default True
        Whether the first quarter of the iterations lowers the regularisation
        from the largest difference of two costs to ``eps``.
    reference : {"product", "counting"}, default "product"
        Measure to which the entropy is relative. "counting" replaces the second
        term by :math:`\varepsilon \sum_{ij} P_{ij} (\log P_{ij} - 1)`. Balanced
        problems have the same plan either way, unbalanced ones do not.

    Returns
    -------
    SinkhornResult
        ``value``, ``plan``, ``f``, ``g``, ``n_iter``, ``error``, ``converged``,
        ``reg_value``. A negative, NaN or infinite weight, weights that are all
        0, a NaN or infinite cost between atoms that carry mass, masses that
        differ, and traced hyper-parameters out of range give NaN and
        ``converged=False``.

    Raises
    ------
    ValueError
        If shapes do not fit, ``n_iter < 1``, ``reference`` is unknown, or a
        concrete ``eps``, ``rho_a``, ``rho_b`` or ``tol`` is out of range.

    Notes
    -----
    With :math:`\tau = 1 / (1 + \varepsilon / \rho)` an iteration is

    .. math:: g_j \leftarrow -\tau_b \varepsilon \log \sum_i a_i
                  e^{(f_i - C_{ij}) / \varepsilon}, \qquad
              f_i \leftarrow -\tau_a \varepsilon \log \sum_j b_j
                  e^{(g_j - C_{ij}) / \varepsilon},

    followed, if a marginal is relaxed, by the best common shift
    :math:`(f + t, g - t)`. The plan is
    :math:`P_{ij} = a_i b_j e^{(f_i + g_j - C_{ij})/\varepsilon}`; with the
    counting reference :math:`P_{ij} = e^{(f_i + g_j - C_{ij})/\varepsilon}`. Cost
    :math:`O(nm)` time an iteration, :math:`O(nm)` memory. A fixed number of
    iterations is what vectorises well: under ``vmap`` the loop of ``tol`` waits
    for the slowest problem.

    Derivatives, forward and reverse, with respect to the cost, weights, ``eps``,
    ``rho_a`` and ``rho_b``: ``reg_value`` by the envelope theorem
    (:math:`\partial C = P`; balanced with mass 1: :math:`\partial a = f`,
    :math:`\partial b = g`), all other fields by the implicit derivative of the
    fixed point, one linear solve of the size of the smaller side. Both are as
    exact as the iteration has converged, and can be differentiated again.
    Weights of balanced problems are defined on mass-preserving directions; ``b``
    follows the mass of ``a``. Padded atoms have derivative 0. Use infinity, not
    a huge number, for a hard constraint.

    In float32 keep ``eps`` above 1e-3 of the largest cost: an entry of the plan
    has a relative error of about 1e-7 :math:`\max |C| / \varepsilon`.

    References
    ----------
    [cuturi2013sinkhorn], [chizat2018scaling], [sejourne2022faster]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import sinkhorn
    >>> cost = jnp.array([[0.0, 1.0], [1.0, 0.0]])
    >>> result = sinkhorn(cost, eps=0.5)
    >>> [round(float(mass), 4) for mass in result.plan[0]]
    [0.4404, 0.0596]
    >>> round(float(result.value), 4), bool(result.converged)
    (0.1192, True)
    """
    check_static(cost, a, b)
    n_iter = check_integer("n_iter", n_iter)
    check_choice("reference", reference, ("product", "counting"))
    check_penalties(eps=eps, rho_a=rho_a, rho_b=rho_b)
    check_tolerance(tol)
    return solve_sinkhorn(
        cost,
        a,
        b,
        eps,
        rho_a,
        rho_b,
        tol,
        n_iter=n_iter,
        anneal=bool(anneal),
        relaxed=is_relaxed(rho_a, rho_b),
        reference=reference,
    )


def check_penalties(*, eps, **rho):
    """Raise unless penalties are scalars and, where concrete, in range."""
    check_shape("eps", eps, ())
    check_interval("eps", eps, 0, closed="neither")
    for name, value in rho.items():
        check_shape(name, value, ())
        check_interval(name, value, 0, closed="right")


def check_tolerance(tol):
    """Raise unless a tolerance is absent, or a scalar that is at least 0."""
    if tol is not None:
        check_shape("tol", tol, ())
        check_interval("tol", tol, 0)


def is_relaxed(*rho):
    """Whether a penalty may be finite, as far as tracing can tell."""
    return not all(is_concrete(r) and np.isinf(r) for r in rho)


@partial(
    jax.jit, static_argnames=("reference", "unroll", "n_iter", "anneal", "relaxed")
)
def solve_sinkhorn(
    cost, a, b, eps, rho_a, rho_b, tol=None, *, reference, unroll=False, **options
):
    """Traced part of :func:`sinkhorn`; ``options`` are those of the loop."""
    cost, a, b = promote_floating(cost, a, b)
    a, b = fill_weights(cost, a, b)
    problem, good = entropic_problem(cost, a, b, eps=eps, rho_a=rho_a, rho_b=rho_b)
    cost, constant = problem.cost, jnp.zeros_like(problem.eps)
    if reference == "counting":
        constant = problem.eps * jnp.sum(problem.a) * jnp.sum(problem.b)
        problem = counting_problem(problem)
    tol = None if tol is None else jnp.asarray(tol, cost.dtype)
    f, g, n_iter = solve_potentials(problem, tol, unroll=unroll, **options)

    plan = transport_plan(f, g, problem)
    error = lax.stop_gradient(marginal_error(f, g, problem))
    allowed = jnp.finfo(cost.dtype).eps ** 0.5 if tol is None else tol
    nan_if_bad = lambda x: jnp.where(good, x, jnp.nan)
    return SinkhornResult(
        value=nan_if_bad(jnp.sum(cost * plan)),
        plan=nan_if_bad(plan),
        f=nan_if_bad(f),
        g=nan_if_bad(g),
        n_iter=n_iter,
        error=nan_if_bad(error),
        converged=good & (error <= allowed * jnp.sum(problem.a)),
        reg_value=nan_if_bad(dual_value(f, g, problem) - constant),
    )
