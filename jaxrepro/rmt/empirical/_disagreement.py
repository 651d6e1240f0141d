r"""How far the outputs of two models are apart."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...core import (
    check_integer,
    check_precision,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_divide,
)


class Disagreement(NamedTuple):
    """Squared differences of two sets of outputs.

    Attributes
    ----------
    per_seed : array of shape (n,)
        Squared distance of the two outputs of one input, a sum over coordinates.
    per_mode : array of shape (r,)
        Mean squared difference along each direction.
    mismatched : array of shape ()
        Mean squared distance of outputs of different inputs.
    normalised : array of shape ()
        Mean of ``per_seed`` over ``mismatched``: 0 for equal models, near 1 for models
        whose outputs have nothing in common but their distribution.
    """

    per_seed: Float[Array, " n"]
    per_mode: Float[Array, " r"]
    mismatched: Float[Array, ""]
    normalised: Float[Array, ""]


@paper("wang2026random", "disagreement of models by seed and by mode")
def disagreement(
    x1: Real[ArrayLike, "n d"],
    x2: Real[ArrayLike, "n d"],
    vectors: Real[ArrayLike, "d r"] | None = None,
) -> Disagreement:
    r"""Compare what two models make of the same inputs.

    .. math:: \text{per seed } \lVert x^1_i - x^2_i \rVert^2, \qquad
              \text{per mode } \frac1n \sum_i \big(u_k^\top (x^1_i - x^2_i)\big)^2

    Parameters
    ----------
    x1, x2 : array of shape (n, d)
        Outputs of two models, one a row; equal rows have equal inputs.
    vectors : array of shape (d, r), optional
        Orthonormal directions :math:`u_k` as columns, such as those of
        :func:`jaxrepro.rmt.fit_gaussian`; by default the coordinates.

    Returns
    -------
    Disagreement
        ``per_seed``, ``per_mode``, ``mismatched``, ``normalised``.

    Raises
    ------
    ValueError
        If shapes do not fit or there are fewer than two rows.
    TypeError
        If an array is not real or in half precision.

    Notes
    -----
    The mean over all pairs of different rows comes from means and norms, in time
    :math:`O(n d)`. Compare with :func:`jaxrepro.rmt.sampling_cross_split` or
    :func:`jaxrepro.rmt.denoiser_cross_split`; one pair of splits scatters about such
    a mean, by seed and by mode, so average over several pairs.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.rmt.empirical import disagreement
    >>> x = jax.random.normal(jax.random.key(0), (500, 20))
    >>> round(float(disagreement(x, x + 0.1).per_mode[0]), 3)
    0.01
    >>> abs(float(disagreement(x, x[::-1]).normalised) - 1) < 0.05
    True
    """
    for name, x in (("x1", x1), ("x2", x2)):
        check_real(name, x)
        check_precision(name, x)
    check_shape("x1", x1, ("n", "d"))
    check_shape("x2", x2, jnp.shape(x1))
    n, d = jnp.shape(x1)
    check_integer("number of rows of x1", n, minimum=2)
    if vectors is not None:
        check_shape("vectors", vectors, (d, "r"))
    return _disagreement(*promote_floating(x1, x2, vectors))


@jax.jit
def _disagreement(x1, x2, vectors):
    gap = x1 - x2
    along = gap if vectors is None else matmul(gap, vectors)
    per_seed = jnp.sum(gap**2, axis=1)
    n = len(x1)
    # All pairs, from the two means, less the pairs of equal rows.
    mean1, mean2 = jnp.mean(x1, axis=0), jnp.mean(x2, axis=0)
    spread = sum(
        jnp.mean(jnp.sum((x - mean[None]) ** 2, axis=1))
        for x, mean in ((x1, mean1), (x2, mean2))
    )
    every = spread + jnp.sum((mean1 - mean2) ** 2)
    matched = jnp.mean(per_seed)
    mismatched = (n * every - matched) / (n - 1)
    return Disagreement(
        per_seed,
        jnp.mean(along**2, axis=0),
        mismatched,
        safe_divide(matched, mismatched),
    )
