"""Soft assignment of tokens to prototypes, with balanced use of the prototypes."""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_integer,
    check_nonempty,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_divide,
    safe_log,
    safe_norm,
)
from ._problem import uniform_weights
from ._sinkhorn import check_penalties, is_relaxed, sinkhorn, solve_sinkhorn

_METRICS = ("cosine", "sqeuclidean")


class AssignmentResult(NamedTuple):
    r"""Balanced soft assignment of N tokens to K prototypes.

    Attributes
    ----------
    plan : array of shape (N, K)
        Mass :math:`T_{nk}` of token n that goes to prototype k. Rows sum to
        ``a`` and columns to ``b``, unless ``tau`` relaxes them.
    f : array of shape (N,)
        Potential of the tokens, :math:`T_{nk} = e^{(f_n + g_k - C_{nk}) /
        \varepsilon}`; 0 on tokens of weight 0.
    g : array of shape (K,)
        Potential of the prototypes.
    error : array of shape ()
        Largest absolute violation of a marginal (of its optimality condition,
        if it is relaxed); carries no derivative.
    """

    plan: Float[Array, "N K"]
    f: Float[Array, " N"]
    g: Float[Array, " K"]
    error: Float[Array, ""]


class PrototypeUsage(NamedTuple):
    """How evenly an assignment uses its prototypes.

    Attributes
    ----------
    mass : array of shape (K,)
        Share of the total mass that each prototype receives.
    perplexity : array of shape ()
        Exponential of the entropy of ``mass``: K if all are used alike, 1 if
        one takes everything.
    """

    mass: Float[Array, " K"]
    perplexity: Float[Array, ""]


@paper("cuturi2013sinkhorn", "optimal plan of entropic transport", uses=(sinkhorn,))
def balanced_assignment(
    tokens: Real[ArrayLike, "N d"],
    prototypes: Real[ArrayLike, "K d"],
    *,
    eps: Real[ArrayLike, ""] = 0.05,
    a: Real[ArrayLike, " N"] | None = None,
    b: Real[ArrayLike, " K"] | None = None,
    tau: Real[ArrayLike, ""] = math.inf,
    n_iter: int = 100,
    metric: str = "cosine",
    diff: str = "implicit",
) -> AssignmentResult:
    r"""Assign tokens softly to prototypes so that every prototype gets its share.

    .. math:: \min_{T \ge 0} \; \langle C, T \rangle
              + \varepsilon \sum_{nk} T_{nk} (\log T_{nk} - 1)
              \quad \text{with} \quad T 1 = a, \; T^\top 1 = b,

    where :math:`C_{nk} = 1 - \cos(z_n, p_k)`, or the squared distance. Without
    the second constraint the solution is :func:`softmax_assignment`, which may
    leave prototypes unused.

    Parameters
    ----------
    tokens : array of shape (N, d)
        Tokens :math:`z_n`. A token of norm 0 has cosine 0 to everything.
    prototypes : array of shape (K, d)
        Prototypes :math:`p_k`.
    eps : float, default 0.05
        Entropic regularisation :math:`\varepsilon > 0`, in the unit of the cost.
    a : array of shape (N,), optional
        Weights of the tokens, 0 for padding; None stands for uniform ones of the
        mass of ``b``, so for 1/N each if that is None as well.
    b : array of shape (K,), optional
        Shares of the prototypes; None stands for uniform ones of the mass of
        ``a``.
    tau : float, default inf
        Penalty :math:`\tau \mathrm{KL}` of both marginals in place of the
        constraints, if finite.
    n_iter : int, default 100
        Number of iterations, of which the first quarter lowers the
        regularisation to ``eps``.
    metric : {"cosine", "sqeuclidean"}, default "cosine"
        What the cost is.
    diff : {"implicit", "unroll", "none"}, default "implicit"
        Derivative of the result: that of the fixed point, that of the
        iterations, or none, so that the plan is a constant.

    Returns
    -------
    AssignmentResult
        ``plan``, ``f``, ``g``, ``error``; NaN for bad input as in
        :func:`sinkhorn`.

    Raises
    ------
    ValueError
        If shapes do not fit, an array is empty, ``metric`` or ``diff`` is
        unknown, ``n_iter < 1``, or a concrete ``eps`` or ``tau`` is out of range.

    Notes
    -----
    The problem of :func:`sinkhorn` with ``reference="counting"``;
    :math:`O(NK)` time an iteration. The implicit derivative solves a system of
    size min(N, K) and is exact at convergence; "unroll" keeps every iterate,
    so use it with few iterations. With ``tau`` each update of a potential is
    multiplied by :math:`\tau / (\tau + \varepsilon)`.

    Equal shares force rare prototypes to absorb frequent patterns: if patterns
    are not equally frequent, give ``b`` or a finite ``tau``. In float32 keep
    ``eps`` above 1e-3 of the largest cost.

    References
    ----------
    [cuturi2013sinkhorn]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import balanced_assignment
    >>> tokens = jnp.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [0.9, 0.4]])
    >>> plan = balanced_assignment(tokens, jnp.eye(2)).plan
    >>> [round(float(share), 3) for share in plan.sum(0)]
    [0.5, 0.5]
    """
    _check_tokens(tokens, prototypes, metric, a)
    if b is not None:
        check_shape("b", b, jnp.shape(prototypes)[:1])
        check_real("b", b)
    n_iter = check_integer("n_iter", n_iter)
    check_choice("diff", diff, ("implicit", "unroll", "none"))
    check_penalties(eps=eps, tau=tau)
    return _balanced_assignment(
        tokens,
        prototypes,
        eps,
        a,
        b,
        tau,
        n_iter=n_iter,
        metric=metric,
        diff=diff,
        relaxed=is_relaxed(tau),
    )


@partial(jax.jit, static_argnames=("n_iter", "metric", "diff", "relaxed"))
def _balanced_assignment(
    tokens, prototypes, eps, a, b, tau, *, metric, diff, n_iter, relaxed
):
    tokens, prototypes, a, b = promote_floating(tokens, prototypes, a, b)
    result = solve_sinkhorn(
        _assignment_cost(tokens, prototypes, metric),
        a,
        b,
        eps,
        tau,
        tau,
        reference="counting",
        unroll=diff == "unroll",
        n_iter=n_iter,
        anneal=True,
        relaxed=relaxed,
    )
    result = AssignmentResult(result.plan, result.f, result.g, result.error)
    return lax.stop_gradient(result) if diff == "none" else result


def softmax_assignment(
    tokens: Real[ArrayLike, "N d"],
    prototypes: Real[ArrayLike, "K d"],
    *,
    eps: Real[ArrayLike, ""] = 0.05,
    a: Real[ArrayLike, " N"] | None = None,
    metric: str = "cosine",
) -> Float[Array, "N K"]:
    r"""Assign tokens softly to prototypes, each token on its own.

    .. math:: T_{nk} = a_n \frac{e^{-C_{nk}/\varepsilon}}
                                {\sum_l e^{-C_{nl}/\varepsilon}}

    Parameters
    ----------
    tokens : array of shape (N, d)
        Tokens :math:`z_n`.
    prototypes : array of shape (K, d)
        Prototypes :math:`p_k`.
    eps : float, default 0.05
        Temperature :math:`\varepsilon > 0`, in the unit of the cost.
    a : array of shape (N,), optional
        Weights of the tokens, 0 for padding; None stands for 1/N each.
    metric : {"cosine", "sqeuclidean"}, default "cosine"
        What the cost is, as in :func:`balanced_assignment`.

    Returns
    -------
    array of shape (N, K)
        The plan. Rows sum to ``a``; nothing holds the columns.

    Raises
    ------
    ValueError
        If shapes do not fit, an array is empty, ``metric`` is unknown, or a
        concrete ``eps`` is not positive.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import softmax_assignment
    >>> tokens = jnp.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [0.9, 0.4]])
    >>> plan = softmax_assignment(tokens, jnp.eye(2))
    >>> [round(float(share), 3) for share in plan.sum(0)]
    [1.0, 0.0]
    """
    _check_tokens(tokens, prototypes, metric, a)
    check_penalties(eps=eps)
    return _softmax_assignment(tokens, prototypes, eps, a, metric)


@partial(jax.jit, static_argnames="metric")
def _softmax_assignment(tokens, prototypes, eps, a, metric):
    tokens, prototypes, a = promote_floating(tokens, prototypes, a)
    eps = jnp.asarray(eps, tokens.dtype)
    if a is None:
        a = uniform_weights(len(tokens), tokens.dtype)
    live = (a != 0)[:, None]
    cost = jnp.where(live, _assignment_cost(tokens, prototypes, metric), 0)
    plan = a[:, None] * jax.nn.softmax(-cost / eps, axis=1)
    return jnp.where((a >= 0)[:, None] & (eps > 0), plan, jnp.nan)


def prototype_usage(plan: Real[ArrayLike, "N K"]) -> PrototypeUsage:
    r"""Share of every prototype in an assignment, and the perplexity of the shares.

    .. math:: u_k = \frac{\sum_n T_{nk}}{\sum_{nl} T_{nl}}, \qquad
              \text{perplexity} = \exp\Big(-\sum_k u_k \log u_k\Big)

    Parameters
    ----------
    plan : array of shape (N, K)
        Plan :math:`T \ge 0` of any assignment.

    Returns
    -------
    PrototypeUsage
        ``mass`` and ``perplexity``; NaN if the plan has no mass.

    Raises
    ------
    ValueError
        If ``plan`` is no matrix or is empty.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import prototype_usage
    >>> usage = prototype_usage(jnp.array([[0.5, 0.0], [0.25, 0.25]]))
    >>> usage.mass.tolist(), round(float(usage.perplexity), 3)
    ([0.75, 0.25], 1.755)
    """
    check_shape("plan", plan, ("N", "K"))
    check_nonempty("plan", plan)
    check_real("plan", plan)
    (plan,) = promote_floating(plan)
    mass = jnp.sum(plan, axis=0)
    mass = mass / jnp.sum(mass)
    # A share of 0 adds 0, with derivative 0.
    log_mass = jnp.where(mass > 0, safe_log(mass), 0)
    return PrototypeUsage(mass, jnp.exp(-jnp.sum(mass * log_mass)))


def _check_tokens(tokens, prototypes, metric, a):
    check_shape("tokens", tokens, ("N", "d"))
    check_shape("prototypes", prototypes, ("K", jnp.shape(tokens)[1]))
    for name, points in (("tokens", tokens), ("prototypes", prototypes)):
        check_nonempty(name, points)
        check_real(name, points)
    check_choice("metric", metric, _METRICS)
    if a is not None:
        check_shape("a", a, jnp.shape(tokens)[:1])
        check_real("a", a)


def _assignment_cost(tokens, prototypes, metric):
    if metric == "cosine":
        unit = lambda x: safe_divide(x, safe_norm(x, axis=1, keepdims=True))
        return 1 - matmul(unit(tokens), unit(prototypes).T)
    difference = tokens[:, None, :] - prototypes[None, :, :]
    return jnp.sum(difference**2, axis=2)
