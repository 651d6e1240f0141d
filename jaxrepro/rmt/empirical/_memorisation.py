r"""Samples that are copies of training data."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Real

from ...core import (
    check_integer,
    check_interval,
    check_precision,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_divide,
    safe_norm,
)


class Memorisation(NamedTuple):
    """The nearest training data of samples.

    Attributes
    ----------
    index : int array of shape (n,)
        Row of the nearest training datum.
    distance : array of shape (n,)
        Its Euclidean distance.
    ratio : array of shape (n,)
        That distance over the second smallest; 1 where both vanish.
    copied : bool array of shape (n,)
        Whether the ratio is below the threshold.
    fraction : array of shape ()
        Share of samples that are copies.
    """

    index: Int[Array, " n"]
    distance: Float[Array, " n"]
    ratio: Float[Array, " n"]
    copied: Bool[Array, " n"]
    fraction: Float[Array, ""]


@paper("gu2025memorization", "criterion of memorisation by two nearest neighbours")
def memorisation(
    samples: Real[ArrayLike, "n d"],
    data: Real[ArrayLike, "m d"],
    *,
    threshold: Real[ArrayLike, ""] = 1 / 3,
    batch_size: int = 256,
) -> Memorisation:
    r"""Find samples that are much nearer to one training datum than to all others.

    .. math:: \text{copied} \iff \lVert x - y_{(1)} \rVert
              < \tau\, \lVert x - y_{(2)} \rVert

    Parameters
    ----------
    samples : array of shape (n, d)
        What a model generated.
    data : array of shape (m, d)
        What it was trained on, at least two rows.
    threshold : float, default 1/3
        Ratio :math:`\tau` in [0, 1].
    batch_size : int, default 256
        Samples compared at a time; the memory is that of ``batch_size * m`` numbers.

    Returns
    -------
    Memorisation
        ``index``, ``distance``, ``ratio``, ``copied``, ``fraction``.

    Raises
    ------
    ValueError
        If shapes do not fit, there are fewer than two data, or ``threshold`` is out
        of range.
    TypeError
        If an array is not real or in half precision, or ``batch_size`` no integer.

    Notes
    -----
    Neighbours are found by a product of matrices, their distances are computed from
    differences. Data that repeat have a ratio near 1: remove duplicates first.

    References
    ----------
    [gu2025memorization]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt.empirical import memorisation
    >>> data = jnp.array([[0.0, 0.0], [4.0, 0.0]])
    >>> found = memorisation(jnp.array([[0.4, 0.0], [1.8, 0.0]]), data)
    >>> found.copied.tolist(), found.index.tolist()
    ([True, False], [0, 0])
    """
    for name, x in (("samples", samples), ("data", data)):
        check_real(name, x)
        check_precision(name, x)
    check_shape("samples", samples, ("n", "d"))
    check_shape("data", data, ("m", jnp.shape(samples)[1]))
    check_integer("number of rows of data", jnp.shape(data)[0], minimum=2)
    check_integer("number of rows of samples", jnp.shape(samples)[0])
    check_shape("threshold", threshold, ())
    check_interval("threshold", threshold, 0.0, 1.0)
    batch_size = check_integer("batch_size", batch_size)
    return _memorisation(samples, data, threshold, batch_size=batch_size)


@functools.partial(jax.jit, static_argnames="batch_size")
def _memorisation(samples, data, threshold, *, batch_size):
    samples, data = promote_floating(samples, data)
    centre = jnp.mean(data, axis=0)[None]
    centred = data - centre
    half_squares = jnp.sum(centred**2, axis=1) / 2

    def nearest(x):
        nearness = matmul(centred, x - centre[0]) - half_squares
        return jax.lax.top_k(nearness, 2)[1]

    pairs = jax.lax.map(nearest, samples, batch_size=min(batch_size, len(samples)))
    distances = safe_norm(samples[:, None] - data[pairs], axis=-1)
    # Rounding may have swapped two that are almost equally near.
    first = jnp.argmin(distances, axis=1)[:, None]
    near, far = (
        jnp.take_along_axis(distances, i, axis=1)[:, 0] for i in (first, 1 - first)
    )
    ratio = jnp.where(far > 0, safe_divide(near, far), jnp.ones_like(near))
    copied = ratio < jnp.asarray(threshold, ratio.dtype)
    index = jnp.take_along_axis(pairs, first, axis=1)[:, 0]
    fraction = jnp.mean(copied.astype(ratio.dtype))
    return Memorisation(index, near, ratio, copied, fraction)
