r"""Regression of a transfer operator on pairs of a state and its successor.

One static choice, ``kernel``, decides the route: without it the columns of the
data are the features and everything is a (d, d) matrix; with it the Gram
matrices over the samples take their place (``_kernel_regression``).
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Bool, Real

from ..core import (
    check_integer,
    check_interval,
    check_nonempty,
    check_precision,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_norm,
    safe_sqrt,
)
from ._fit import KernelOperatorFit, LinearOperatorFit
from ._kernel_regression import (
    kernel_principal_component,
    kernel_reduced_rank,
    kernel_ridge,
)
from ._measure import check_kernel
from ._psd import (
    leading_eigenvectors,
    regularised_inverse,
    regularised_inverse_root,
)


def ridge_regression(
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "n d"],
    *,
    gamma: Real[ArrayLike, ""],
    kernel: Callable | None = None,
    gamma_rel: bool = False,
    mask: Bool[ArrayLike, " n"] | None = None,
) -> LinearOperatorFit | KernelOperatorFit:
    r"""Transfer operator by ridge regression; ``gamma=0`` is plain DMD.

    .. math:: G = (C + \gamma I)^{-1} T, \qquad C = X^\top X / n, \quad
              T = X^\top Y / n,

    the minimiser of :math:`\|Y - X G\|^2 / n + \gamma \|G\|^2`. With a kernel,
    :math:`W = (K + \gamma I)^{-1}` in the notation of
    :class:`KernelOperatorFit`.

    Parameters
    ----------
    x : array of shape (n, d)
        States (or any features of them), one a row.
    y : array of shape (n, d)
        Their successors, one time step later.
    gamma : float
        Regularisation :math:`\gamma \ge 0`, in squared units of the features; 0
        means the pseudo-inverse. A traced negative value gives NaN.
    kernel : equinox.Module, optional
        Kernel ``k(x, y) -> (n, m)`` such as :class:`GaussianKernel`; None works
        on the columns of ``x`` as they are.
    gamma_rel : bool, default False
        Whether to multiply ``gamma`` by the trace of :math:`C` (of :math:`K`
        with a kernel), so that the amplitude of the data plays no role.
    mask : bool array of shape (n,), optional
        Which rows are real samples; the others are padding and may hold
        anything, NaN included. None means all.

    Returns
    -------
    LinearOperatorFit or KernelOperatorFit
        ``V`` is :math:`G` and ``W`` the identity; with a kernel ``U`` is
        :math:`W` and ``V`` the identity on live samples. NaN if no sample is
        live.

    Raises
    ------
    ValueError
        If shapes do not match, an array is empty, or a concrete ``gamma`` is
        negative.
    TypeError
        If ``kernel`` is a bare function or features, or the states are no real
        numbers or in half precision.

    Notes
    -----
    Cost :math:`O(n d^2 + d^3)`, with a kernel :math:`O(n^3)` time and
    :math:`O(n^2)` memory. Differentiable in the data, ``gamma`` and the kernel,
    also at repeated eigenvalues of :math:`C`; at ``gamma=0`` under the
    assumption that the rank stays the same.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import ridge_regression
    >>> x = jnp.array([[1.0], [2.0], [4.0]])
    >>> fit = ridge_regression(x, x / 2, gamma=0.0)
    >>> round(float(fit.V[0, 0]), 4)
    0.5
    """
    x, y, gamma, mask = _checked(x, y, gamma, mask, kernel)
    if kernel is not None:
        return kernel_ridge(x, y, gamma, mask, kernel, gamma_rel=gamma_rel)
    return _ridge(x, y, gamma, mask, gamma_rel=gamma_rel)


@paper("kostic2022learning", "principal component regression")
def principal_component_regression(
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "n d"],
    *,
    gamma: Real[ArrayLike, ""],
    rank: int,
    kernel: Callable | None = None,
    gamma_rel: bool = False,
    mask: Bool[ArrayLike, " n"] | None = None,
) -> LinearOperatorFit | KernelOperatorFit:
    r"""Transfer operator by regression on the leading principal components.

    .. math:: G = Q_r (\Lambda_r + \gamma I)^{-1} Q_r^\top T, \qquad
              C = X^\top X / n = Q \Lambda Q^\top, \quad T = X^\top Y / n ;

    with ``gamma=0`` this is dynamic mode decomposition truncated to rank :math:`r`.
    With a kernel,
    :math:`W = (K + \gamma I)^{-1} Q_r Q_r^\top` with the leading eigenvectors
    of :math:`K`, in the notation of :class:`KernelOperatorFit`.

    Parameters
    ----------
    x : array of shape (n, d)
        States (or any features of them), one a row. They are not centred.
    y : array of shape (n, d)
        Their successors, one time step later.
    gamma : float
        Regularisation :math:`\gamma \ge 0`, in squared units of the features. A
        traced negative value gives NaN.
    rank : int
        Number :math:`r` of components, at most d (at most n with a kernel).
    kernel : equinox.Module, optional
        Kernel ``k(x, y) -> (n, m)`` such as :class:`GaussianKernel`; None works
        on the columns of ``x`` as they are.
    gamma_rel : bool, default False
        Whether to multiply ``gamma`` by the trace of :math:`C` (of :math:`K`
        with a kernel), so that the amplitude of the data plays no role.
    mask : bool array of shape (n,), optional
        Which rows are real samples; the others are padding and may hold
        anything, NaN included. None means all.

    Returns
    -------
    LinearOperatorFit or KernelOperatorFit
        Factors with ``rank`` columns. Columns of components that vanish are 0,
        with singular value 0. NaN if no sample is live.

    Raises
    ------
    ValueError
        If shapes do not match, an array is empty, ``rank`` is out of range, or
        a concrete ``gamma`` is negative.
    TypeError
        If ``kernel`` is a bare function or features, ``rank`` is not an integer, or
        the states are no real numbers or in half precision.

    Notes
    -----
    Cost :math:`O(n d^2 + d^3)`, with a kernel :math:`O(n^3)` time and
    :math:`O(n^2)` memory. Differentiable wherever the eigenvalues number
    ``rank`` and ``rank + 1`` differ. The estimator with ``gamma=0`` is the paper's;
    that a positive ``gamma`` is added to the eigenvalues kept is ours, as in ridge
    regression, and so is the derivative.

    References
    ----------
    [kostic2022learning]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import principal_component_regression
    >>> x = jnp.array([[2.0, 0.0], [0.0, 1.0]])
    >>> fit = principal_component_regression(x, x / 2, gamma=0.0, rank=1)
    >>> (fit.V @ fit.W.T).round(4).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    x, y, gamma, mask = _checked(x, y, gamma, mask, kernel)
    rank = _checked_rank(rank, x, kernel)
    static = {"rank": rank, "gamma_rel": gamma_rel}
    if kernel is not None:
        return kernel_principal_component(x, y, gamma, mask, kernel, **static)
    return _principal_component(x, y, gamma, mask, **static)


@paper("kostic2022learning", "reduced rank regression of the Koopman operator")
def reduced_rank_regression(
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "n d"],
    *,
    gamma: Real[ArrayLike, ""],
    rank: int,
    kernel: Callable | None = None,
    gamma_rel: bool = False,
    mask: Bool[ArrayLike, " n"] | None = None,
) -> LinearOperatorFit | KernelOperatorFit:
    r"""Transfer operator of given rank with the least regularised error.

    .. math:: G = C_\gamma^{-1/2}\, [\![ C_\gamma^{-1/2} T ]\!]_r, \qquad
              C_\gamma = X^\top X / n + \gamma I, \quad T = X^\top Y / n,

    where :math:`[\![ \cdot ]\!]_r` keeps the :math:`r` largest singular values:
    the minimiser of :math:`\|Y - X G\|^2 / n + \gamma \|G\|^2` over matrices of
    rank :math:`r`. Unlike principal components it keeps the directions that
    predict best, not those that vary most.

    Parameters
    ----------
    x : array of shape (n, d)
        States (or any features of them), one a row.
    y : array of shape (n, d)
        Their successors, one time step later.
    gamma : float
        Regularisation :math:`\gamma \ge 0`, in squared units of the features; 0
        means pseudo-inverses. A traced negative value gives NaN.
    rank : int
        Rank :math:`r`, at most d (at most n with a kernel).
    kernel : equinox.Module, optional
        Kernel ``k(x, y) -> (n, m)`` such as :class:`GaussianKernel`; None works
        on the columns of ``x`` as they are.
    gamma_rel : bool, default False
        Whether to multiply ``gamma`` by the trace of :math:`C` (of :math:`K`
        with a kernel), so that the amplitude of the data plays no role.
    mask : bool array of shape (n,), optional
        Which rows are real samples; the others are padding and may hold
        anything, NaN included. None means all.

    Returns
    -------
    LinearOperatorFit or KernelOperatorFit
        Factors with ``rank`` columns. If the data have a lower rank, the last
        singular values and their columns are 0. NaN if no sample is live.

    Raises
    ------
    ValueError
        If shapes do not match, an array is empty, ``rank`` is out of range, or
        a concrete ``gamma`` is negative.
    TypeError
        If ``kernel`` is a bare function or features, ``rank`` is not an integer, or
        the states are no real numbers or in half precision.

    Notes
    -----
    Features: with the leading left singular vectors :math:`U_r` of
    :math:`C_\gamma^{-1/2} T`, ``V`` is :math:`C_\gamma^{-1/2} U_r` and ``W`` is
    :math:`T^\top V`. Cost :math:`O(n d^2 + d^3)`.

    Kernel: with :math:`H = (K (K + \gamma I)^{-1})^{1/2}` and the leading
    eigenpairs :math:`(s_i^2, e_i)` of :math:`H L H`, ``V`` is :math:`H E_r` and
    ``U`` is :math:`(K + \gamma I)^{-1} L V \operatorname{diag}(s^{-2})`. Cost
    :math:`O(n^3)` time, :math:`O(n^2)` memory. A linear kernel gives the same
    operator as explicit features.

    Differentiable in the data, ``gamma`` and the kernel wherever the singular
    values number ``rank`` and ``rank + 1`` differ; equal ones among those kept
    do no harm. The estimator is the paper's; its derivative is ours.

    References
    ----------
    [kostic2022learning]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import reduced_rank_regression
    >>> x = jnp.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> fit = reduced_rank_regression(x, 0.9 * x, gamma=0.0, rank=2)
    >>> [round(float(g), 3) for g in jnp.diag(fit.V @ fit.W.T)]
    [0.9, 0.9]
    """
    x, y, gamma, mask = _checked(x, y, gamma, mask, kernel)
    rank = _checked_rank(rank, x, kernel)
    static = {"rank": rank, "gamma_rel": gamma_rel}
    if kernel is not None:
        return kernel_reduced_rank(x, y, gamma, mask, kernel, **static)
    return _reduced_rank(x, y, gamma, mask, **static)


@functools.partial(jax.jit, static_argnames=("gamma_rel",))
def _ridge(x, y, gamma, mask, *, gamma_rel):
    c, t, gamma = _covariances(x, y, gamma, mask, gamma_rel)
    values, _ = leading_eigenvectors(c, len(c))
    g = matmul(regularised_inverse(c, gamma), t)
    return LinearOperatorFit(g, jnp.eye(len(c), dtype=x.dtype), safe_sqrt(values))


@functools.partial(jax.jit, static_argnames=("rank", "gamma_rel"))
def _principal_component(x, y, gamma, mask, *, rank, gamma_rel):
    c, t, gamma = _covariances(x, y, gamma, mask, gamma_rel)
    values, q = leading_eigenvectors(c, rank)
    v = matmul(regularised_inverse(c, gamma), q)
    return LinearOperatorFit(v, matmul(t.T, q), safe_sqrt(values))


@functools.partial(jax.jit, static_argnames=("rank", "gamma_rel"))
def _reduced_rank(x, y, gamma, mask, *, rank, gamma_rel):
    c, t, gamma = _covariances(x, y, gamma, mask, gamma_rel)
    root = regularised_inverse_root(c, gamma)
    b = matmul(root, t)
    _, u = leading_eigenvectors(matmul(b, b.T), rank)
    v = matmul(root, u)
    # As norms of the columns of b.T u, small singular values keep the digits
    # that the square b b.T loses.
    return LinearOperatorFit(v, matmul(t.T, v), safe_norm(matmul(b.T, u), axis=0))


def _covariances(x, y, gamma, mask, gamma_rel):
    n_live = jnp.sum(mask, dtype=x.dtype)
    c, t = matmul(x.T, x) / n_live, matmul(x.T, y) / n_live
    return c, t, gamma * jnp.trace(c) if gamma_rel else gamma


def _checked(x, y, gamma, mask, kernel):
    """Arguments in one float dtype, with padding replaced by 0."""
    if kernel is not None:
        check_kernel(kernel)
    check_shape("x", x, ("n", "d"))
    check_nonempty("x", x)
    check_shape("y", y, jnp.shape(x))
    for name, z in (("x", x), ("y", y)):
        check_real(name, z)
        check_precision(name, z)
    check_shape("gamma", gamma, ())
    check_interval("gamma", gamma, 0.0, closed="left")
    x, y = promote_floating(x, y)
    gamma = jnp.asarray(gamma, dtype=x.dtype)
    gamma = jnp.where(gamma >= 0, gamma, jnp.nan)
    if mask is None:
        return x, y, gamma, jnp.ones(len(x), dtype=bool)
    check_shape("mask", mask, (len(x),))
    mask = jnp.asarray(mask, dtype=bool)
    x, y = jnp.where(mask[:, None], x, 0), jnp.where(mask[:, None], y, 0)
    return x, y, gamma, mask


def _checked_rank(rank, x, kernel):
    return check_integer("rank", rank, maximum=x.shape[1 if kernel is None else 0])
