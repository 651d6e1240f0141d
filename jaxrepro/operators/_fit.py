"""What a regression of a transfer operator returns."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..core import check_shape


class LinearOperatorFit(NamedTuple):
    r"""Transfer operator on linear functions of given features, as two factors.

    .. math:: G = V W^\top, \qquad (G w)^\top x \approx w^\top y
              \quad\text{for every } w \in \mathbb{R}^d, \qquad
              y \approx G^\top x .

    Attributes
    ----------
    V : array of shape (d, r)
        Left factor.
    W : array of shape (d, r)
        Right factor.
    singular_values : array of shape (r,)
        Descending, non-negative. Of :math:`C_\gamma^{-1/2} T` for the reduced
        rank estimate, of :math:`X / \sqrt{n}` for the others.

    Notes
    -----
    Only the product is unique. The factors of a reduced rank or
    principal-component fit are defined up to a change of basis, so derivatives
    are meaningful for functions of :math:`V W^\top`, and for nothing less.
    """

    V: Float[Array, "d r"]
    W: Float[Array, "d r"]
    singular_values: Float[Array, " r"]


class KernelOperatorFit(NamedTuple):
    r"""Transfer operator on the functions of a kernel, by factored coefficients.

    .. math:: G f = \frac1n \sum_{ij} k(x_i, \cdot)\,(U V^\top)_{ij}\, f(y_j),
              \qquad n = \text{number of live samples} .

    Attributes
    ----------
    U : array of shape (n, r)
        Left factor of the coefficients; rows of masked samples are 0.
    V : array of shape (n, r)
        Right factor of the coefficients; rows of masked samples are 0.
    x : array of shape (n, d)
        States; masked rows are 0.
    y : array of shape (n, d)
        Successors; masked rows are 0.
    mask : bool array of shape (n,)
        Which samples are live.
    singular_values : array of shape (r,)
        Descending, non-negative. Of the whitened cross-covariance operator for
        the reduced rank estimate, of the embedded samples :math:`/ \sqrt n` for
        the others.

    Notes
    -----
    Only the product :math:`U V^\top` is unique, see :class:`LinearOperatorFit`.
    The kernel is not kept: pass the same one to whatever uses the fit.
    """

    U: Float[Array, "n r"]
    V: Float[Array, "n r"]
    x: Float[Array, "n d"]
    y: Float[Array, "n d"]
    mask: Bool[Array, " n"]
    singular_values: Float[Array, " r"]


def check_fit(
    name: str, fit: LinearOperatorFit | KernelOperatorFit, *, batched: bool = False
) -> None:
    """Raise unless the fields of a fit, or of a batch, have shapes that go together."""
    lead = ("N",) if batched else ()
    if isinstance(fit, LinearOperatorFit):
        check_shape(f"{name}.V", fit.V, (*lead, "d", "r"))
        check_shape(f"{name}.W", fit.W, jnp.shape(fit.V))
        return
    check_shape(f"{name}.U", fit.U, (*lead, "n", "r"))
    check_shape(f"{name}.V", fit.V, jnp.shape(fit.U))
    *lead, n, _ = jnp.shape(fit.U)
    check_shape(f"{name}.x", fit.x, (*lead, n, "d"))
    check_shape(f"{name}.y", fit.y, jnp.shape(fit.x))
    check_shape(f"{name}.mask", fit.mask, (*lead, n))
