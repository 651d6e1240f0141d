"""The entropic plan alone, for use inside other differentiable functions."""

import math

from jaxtyping import Array, ArrayLike, Float, Real

from ..core import paper
from ._sinkhorn import sinkhorn


@paper("cuturi2013sinkhorn", "optimal plan of entropic transport", uses=(sinkhorn,))
def sinkhorn_plan(
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
) -> Float[Array, "n m"]:
    r"""Plan of an entropic transport problem, differentiable at its fixed point.

    Parameters
    ----------
    cost : array of shape (n, m)
        Cost :math:`C`.
    a : array of shape (n,), optional
        Source weights; None stands for uniform ones.
    b : array of shape (m,), optional
        Target weights, likewise.
    eps : float
        Entropic regularisation :math:`\varepsilon > 0`.
    rho_a, rho_b : float, default inf
        Marginal penalties; infinity is a hard constraint.
    tol : float, optional
        Stop early at this marginal error, relative to the mass.
    n_iter : int, default 200
        Number of iterations (with ``tol``: at most).
    anneal : bool, default True
        Whether to lower the regularisation to ``eps`` step by step.
    reference : {"product", "counting"}, default "product"
        Measure to which the entropy is relative.

    Returns
    -------
    array of shape (n, m)
        The field ``plan`` of :func:`sinkhorn`, whose page has the details; NaN
        for bad input.

    Raises
    ------
    ValueError
        As :func:`sinkhorn`.

    Notes
    -----
    The derivative is implicit, so its cost does not depend on the number of
    iterations. In the balanced case, with
    :math:`\phi = f/\varepsilon + \log a`, :math:`\psi = g/\varepsilon + \log b`
    and :math:`D = dC/\varepsilon - C \, d\varepsilon/\varepsilon^2`,

    .. math:: dP = P \odot (d\phi_i + d\psi_j - D_{ij}), \qquad
              \begin{pmatrix} \operatorname{diag}(P1) & P \\
              P^\top & \operatorname{diag}(P^\top 1) \end{pmatrix}
              \begin{pmatrix} d\phi \\ d\psi \end{pmatrix} =
              \begin{pmatrix} da + (P \odot D) 1 \\
              db + (P \odot D)^\top 1 \end{pmatrix} .

    It is solved in the form of the linearised updates, which holds for relaxed
    marginals too and involves no quotient that could underflow; one of the two
    blocks is eliminated, so the linear system has the size of the smaller side.

    References
    ----------
    [cuturi2013sinkhorn], [chizat2018scaling], [sejourne2022faster]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.ot import sinkhorn_plan
    >>> cost = jnp.array([[0.0, 1.0], [1.0, 0.0]])
    >>> stay = lambda eps: sinkhorn_plan(cost, eps=eps)[0, 0]
    >>> round(float(stay(0.5)), 4), round(float(jax.grad(stay)(0.5)), 4)
    (0.4404, -0.21)
    """
    return sinkhorn(
        cost,
        a,
        b,
        eps=eps,
        rho_a=rho_a,
        rho_b=rho_b,
        tol=tol,
        n_iter=n_iter,
        anneal=anneal,
        reference=reference,
    ).plan
