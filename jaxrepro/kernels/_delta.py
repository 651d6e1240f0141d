r"""One minus the cosine of all pairs of inputs, with the digits of small angles."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_integer,
    check_precision,
    check_real,
    check_shape,
    is_concrete,
    matmul,
    promote_floating,
    safe_divide,
    safe_norm,
)


def pairwise_delta(
    x1: Real[ArrayLike, "n1 d"],
    x2: Real[ArrayLike, "n2 d"] | None = None,
    *,
    mode: str = "dot",
    tile: int | None = None,
) -> Float[Array, "n1 n2"]:
    r"""One minus the cosine of the angle between all pairs of rows.

    .. math:: \delta_{ij} = 1 - \frac{x_i \cdot x'_j}{|x_i|\, |x'_j|}
              = \frac12 \Big| \frac{x_i}{|x_i|} - \frac{x'_j}{|x'_j|} \Big|^2

    Parameters
    ----------
    x1 : array of shape (n1, d)
        Inputs, one a row, none of them zero.
    x2 : array of shape (n2, d), optional
        Other inputs, by default the same; then the diagonal is exactly 0 and the
        result exactly symmetric.
    mode : {"dot", "difference"}, default "dot"
        The first or the second form. "dot" is one product of matrices in full
        precision, with an error of a few units of rounding: of :math:`\delta`, so of
        the root of that in the angle of inputs that nearly agree. "difference" keeps
        the digits of small angles, and of nearly opposite inputs, at the cost of a
        difference of vectors for each pair.
    tile : int, optional
        Rows of ``x1`` that "difference" takes at a time; by default as many as make
        about 16 million differences.

    Returns
    -------
    array of shape (n1, n2)
        Values in [0, 2]. Where a traced row is zero its cosines are taken to be 0.

    Raises
    ------
    ValueError
        If shapes do not fit, a row is zero, or ``mode`` is unknown.
    TypeError
        If an array is not real or in half precision, or ``tile`` no integer.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import pairwise_delta
    >>> x = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
    >>> print(np.asarray(pairwise_delta(x)))
    [[0. 1. 2.]
     [1. 0. 1.]
     [2. 1. 0.]]
    """
    check_choice("mode", mode, ("dot", "difference"))
    for name, x in (("x1", x1), ("x2", x2)):
        if x is not None:
            check_inputs(name, x)
            check_nonzero(name, x)
    d = jnp.shape(x1)[1]
    if x2 is not None:
        check_shape("x2", x2, ("n2", d))
    if tile is None:
        n2 = jnp.shape(x1 if x2 is None else x2)[0]
        tile = max(1, 2**24 // max(n2 * d, 1))
    return _pairwise(x1, x2, mode=mode, tile=check_integer("tile", tile))


def check_inputs(name: str, x) -> None:
    """Raise unless ``x`` is a matrix of real numbers of enough digits."""
    check_shape(name, x, ("n", "d"))
    check_real(name, x)
    check_precision(name, x)


def check_nonzero(name: str, x) -> None:
    """Raise if a row of a concrete matrix is zero: it has no direction."""
    if is_concrete(x):
        zero = ~np.asarray(x).any(axis=1)
        if zero.any():
            raise ValueError(
                f"{name}: expected rows other than zero; row {int(zero.argmax())} is "
                "zero and has no direction"
            )


@functools.partial(jax.jit, static_argnames=("mode", "tile"))
def _pairwise(x1, x2, *, mode, tile):
    same = x2 is None
    x1, x2 = promote_floating(x1, x1 if same else x2)
    one, two = (safe_divide(x, safe_norm(x, axis=1)[:, None]) for x in (x1, x2))
    if mode == "dot":
        rho = matmul(one, two.T)
        delta = jnp.clip(1 - rho, 0, 2)
    else:

        def row(unit):
            near = jnp.sum((unit[None] - two) ** 2, axis=1) / 2
            far = jnp.sum((unit[None] + two) ** 2, axis=1) / 2
            return jnp.where(near <= 1, near, 2 - jnp.minimum(far, 2))

        delta = jax.lax.map(row, one, batch_size=min(tile, max(len(one), 1)))
    if same:
        delta = (delta + delta.T) / 2
        delta = jnp.where(jnp.eye(len(delta), dtype=bool), 0, delta)
    return delta
