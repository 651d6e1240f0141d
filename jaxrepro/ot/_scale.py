"""A regularisation in the scale of the cost."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, check_shape, promote_floating
from ._problem import check_static, fill_weights, is_admissible, mask_cost


def scale_eps(
    cost: Real[ArrayLike, "n m"],
    a: Real[ArrayLike, " n"] | None = None,
    b: Real[ArrayLike, " m"] | None = None,
    *,
    rel: Real[ArrayLike, ""] = 0.05,
) -> Float[Array, ""]:
    r"""Regularisation as a fraction of the mean cost between live atoms.

    .. math:: \varepsilon = \mathrm{rel} \cdot
              \frac{\sum_{ij} a_i b_j C_{ij}}{\sum_i a_i \sum_j b_j}

    Parameters
    ----------
    cost : array of shape (n, m)
        Cost :math:`C`. Cells of atoms with weight 0 do not count, whatever they
        hold.
    a : array of shape (n,), optional
        Source weights; None stands for uniform ones.
    b : array of shape (m,), optional
        Target weights, likewise.
    rel : float, default 0.05
        The fraction, positive. At 0.05 the entropic plan of a small problem is
        close to the exact one; 0.01 needs some hundred iterations more.

    Returns
    -------
    array of shape ()
        Value for the argument ``eps`` of :func:`sinkhorn`; NaN for bad input as
        there.

    Raises
    ------
    ValueError
        If shapes do not fit or a concrete ``rel`` is not positive.

    Notes
    -----
    Differentiable: a loss that uses the result feels it as a function of the
    cost. Pass it through :func:`jax.lax.stop_gradient` to keep it fixed.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.ot import scale_eps
    >>> cost = np.array([[1.0, 3.0], [np.nan, np.nan]])
    >>> round(float(scale_eps(cost, a=np.array([1.0, 0.0]), rel=0.1)), 3)
    0.2
    """
    check_static(cost, a, b)
    check_shape("rel", rel, ())
    check_interval("rel", rel, 0, closed="neither")
    return _scale_eps(cost, a, b, rel)


@jax.jit
def _scale_eps(cost, a, b, rel):
    cost, a, b = promote_floating(cost, a, b)
    a, b = fill_weights(cost, a, b)
    rel = jnp.asarray(rel, cost.dtype)
    cost = mask_cost(cost, a, b)
    weight = (a / jnp.sum(a))[:, None] * (b / jnp.sum(b))[None, :]
    good = is_admissible(cost, a, b, balanced=False) & (rel > 0)
    return jnp.where(good, rel * jnp.sum(weight * cost), jnp.nan)
