"""Debiased entropic transport."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_integer, check_real, check_shape, paper, promote_floating
from ._entropic import dual_value, entropic_problem, solve_potentials
from ._problem import check_static, fill_weights
from ._sinkhorn import check_penalties, check_tolerance, is_relaxed, sinkhorn


@paper("feydy2019interpolating", "definition of the divergence", uses=(sinkhorn,))
def sinkhorn_divergence(
    cost_ab: Real[ArrayLike, "n m"],
    cost_aa: Real[ArrayLike, "n n"],
    cost_bb: Real[ArrayLike, "m m"],
    a: Real[ArrayLike, " n"] | None = None,
    b: Real[ArrayLike, " m"] | None = None,
    *,
    eps: Real[ArrayLike, ""],
    rho: Real[ArrayLike, ""] = math.inf,
    tol: Real[ArrayLike, ""] | None = None,
    n_iter: int = 200,
    anneal: bool = True,
) -> Float[Array, ""]:
    r"""Sinkhorn divergence between two weighted point sets.

    .. math:: S_\varepsilon(a, b) = \mathrm{OT}_\varepsilon(a, b)
              - \tfrac12 \mathrm{OT}_\varepsilon(a, a)
              - \tfrac12 \mathrm{OT}_\varepsilon(b, b)
              + \tfrac{\varepsilon}{2} (m_a - m_b)^2

    with :math:`\mathrm{OT}_\varepsilon` the optimal value of the objective of
    :func:`sinkhorn` (product reference, :math:`\rho_a = \rho_b = \rho`) and
    :math:`m_a, m_b` the total masses.

    Parameters
    ----------
    cost_ab : array of shape (n, m)
        Cost between the atoms of ``a`` and those of ``b``.
    cost_aa : array of shape (n, n)
        Cost between the atoms of ``a``; its symmetric part is used.
    cost_bb : array of shape (m, m)
        Cost between the atoms of ``b``, likewise.
    a : array of shape (n,), optional
        Weights of the first measure; None stands for uniform ones of the mass
        of ``b`` (1 if both are absent).
    b : array of shape (m,), optional
        Weights of the second, likewise.
    eps : float
        Entropic regularisation :math:`\varepsilon > 0`.
    rho : float, default inf
        Penalty of both marginals; infinity is a hard constraint.
    tol : float, optional
        Stop each of the three solves early at this marginal error, relative to
        the mass.
    n_iter : int, default 200
        Number of iterations of each solve (with ``tol``: at most).
    anneal : bool, default True
        Whether to lower the regularisation to ``eps`` step by step.

    Returns
    -------
    array of shape ()
        The divergence, up to the accuracy of the three solves; NaN for bad
        input as in :func:`sinkhorn`.

    Raises
    ------
    ValueError
        If shapes do not fit, ``n_iter < 1``, or a concrete ``eps``, ``rho`` or
        ``tol`` is out of range.

    Notes
    -----
    Symmetric, 0 between equal measures, and at least 0 for costs whose kernel
    :math:`e^{-C/\varepsilon}` is positive definite, such as Euclidean distances
    and their squares. The two terms of one measure use the averaged update
    :math:`f \leftarrow (f + T f)/2`, which converges in a few steps. Derivatives
    by the envelope theorem, as for the field ``reg_value`` of :func:`sinkhorn`.
    The cross term converges slowly where ``eps`` is small: at a tenth of the mean
    cost the default ``n_iter`` leaves some 1e-5 of that cost, by which the result
    can be negative; 1000 iterations leave a tenth of it. In float32 the difference
    of the three values loses digits: about 1e-6 of the largest cost.

    References
    ----------
    [feydy2019interpolating]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import sinkhorn_divergence
    >>> x, y = jnp.array([0.0, 1.0]), jnp.array([0.5, 1.5])
    >>> square = lambda x, y: (x[:, None] - y[None, :]) ** 2
    >>> s = sinkhorn_divergence(square(x, y), square(x, x), square(y, y), eps=0.1)
    >>> round(float(s), 4)
    0.25
    """
    check_static(cost_ab, a, b)
    n, m = jnp.shape(cost_ab)
    for name, cost, size in (("cost_aa", cost_aa, n), ("cost_bb", cost_bb, m)):
        check_shape(name, cost, (size, size))
        check_real(name, cost)
    n_iter = check_integer("n_iter", n_iter)
    check_penalties(eps=eps, rho=rho)
    check_tolerance(tol)
    return _sinkhorn_divergence(
        cost_ab,
        cost_aa,
        cost_bb,
        a,
        b,
        eps,
        rho,
        tol,
        n_iter=n_iter,
        anneal=bool(anneal),
        relaxed=is_relaxed(rho),
    )


@partial(jax.jit, static_argnames=("n_iter", "anneal", "relaxed"))
def _sinkhorn_divergence(cost_ab, cost_aa, cost_bb, a, b, eps, rho, tol, **options):
    cost_ab, cost_aa, cost_bb, a, b = promote_floating(cost_ab, cost_aa, cost_bb, a, b)
    a, b = fill_weights(cost_ab, a, b)
    tol = None if tol is None else jnp.asarray(tol, cost_ab.dtype)
    eps = jnp.asarray(eps, cost_ab.dtype)

    def regularised(cost, a, b, symmetric=False):
        problem, good = entropic_problem(cost, a, b, eps=eps, rho_a=rho, rho_b=rho)
        f, g, _ = solve_potentials(problem, tol, symmetric=symmetric, **options)
        value = jnp.where(good, dual_value(f, g, problem), jnp.nan)
        return value, problem.a, problem.b

    cross, a, b = regularised(cost_ab, a, b)
    within_a, _, _ = regularised((cost_aa + cost_aa.T) / 2, a, a, symmetric=True)
    within_b, _, _ = regularised((cost_bb + cost_bb.T) / 2, b, b, symmetric=True)
    gap = jnp.sum(a) - jnp.sum(b)
    return cross - (within_a + within_b) / 2 + eps / 2 * gap**2
