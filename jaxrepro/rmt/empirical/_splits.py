r"""Which data a model is trained on: disjoint samples, or groups along a direction."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Int, Key, Real, UInt32

from ...core import check_integer, check_key, check_real, check_shape, paper


class Strata(NamedTuple):
    """Rows of data by their place along a direction.

    Attributes
    ----------
    top : int array of shape (n,)
        Rows of the largest scores, descending.
    middle : int array of shape (n,)
        Rows around the median.
    bottom : int array of shape (n,)
        Rows of the smallest scores.
    """

    top: Int[Array, " n"]
    middle: Int[Array, " n"]
    bottom: Int[Array, " n"]


def split_indices(
    key: Key[Array, ""] | UInt32[Array, "2"], n_total: int, n: int, *, n_splits: int = 2
) -> Int[Array, "n_splits n"]:
    """Disjoint random samples of the rows of data.

    Parameters
    ----------
    key : key
        Random key.
    n_total : int
        Number of rows.
    n : int
        Rows of a split.
    n_splits : int, default 2
        Number of splits; ``n * n_splits`` is at most ``n_total``.

    Returns
    -------
    int array of shape (n_splits, n)
        Rows of each split, in random order.

    Raises
    ------
    ValueError
        If a number is not positive, or the rows do not suffice.
    TypeError
        If ``key`` is no random key, or a number no integer.

    Notes
    -----
    Drawn without replacement: against the law of the ``n_total`` rows, the variance
    of a split falls short of that of independent samples by ``1 - n / n_total``, and
    the difference of two splits does not. With one key a longer split begins with
    the rows of a shorter one.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.rmt.empirical import split_indices
    >>> rows = split_indices(jax.random.key(0), 10, 3)
    >>> rows.shape, len(set(rows.ravel().tolist()))
    ((2, 3), 6)
    """
    check_key("key", key)
    n_total = check_integer("n_total", n_total)
    n_splits = check_integer("n_splits", n_splits)
    n = check_integer("n", n)
    if n * n_splits > n_total:
        raise ValueError(
            f"n: expected at most n_total / n_splits = {n_total // n_splits}; got {n}"
        )
    # Row after row to each split in turn, so that all of them grow at their ends.
    rows = jax.random.permutation(key, n_total)[: n * n_splits]
    return rows.reshape(n, n_splits).T


@paper("wang2026random", "counterfactual splits along a principal component")
def stratified_split(scores: Real[ArrayLike, " n_total"], n: int) -> Strata:
    """Three groups of rows: the top, the middle and the bottom along a direction.

    Parameters
    ----------
    scores : array of shape (n_total,)
        Place of every row, such as its coordinate along a principal component.
    n : int
        Rows of a group, at most a third of all.

    Returns
    -------
    Strata
        ``top``, ``middle``, ``bottom``.

    Raises
    ------
    ValueError
        If ``scores`` is no vector, or holds less than ``3 n`` entries.
    TypeError
        If ``n`` is no integer or the scores are not real.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt.empirical import stratified_split
    >>> groups = stratified_split(jnp.array([5.0, 3.0, 9.0, 1.0, 4.0, 7.0]), 2)
    >>> groups.top.tolist(), sorted(groups.middle.tolist()), groups.bottom.tolist()
    ([2, 5], [0, 4], [1, 3])
    """
    check_shape("scores", scores, ("n_total",))
    check_real("scores", scores)
    total = jnp.shape(scores)[0]
    n = check_integer("n", n)
    if 3 * n > total:
        raise ValueError(f"n: expected at most a third of the {total} scores; got {n}")
    return _stratified_split(scores, n=n)


@functools.partial(jax.jit, static_argnames="n")
def _stratified_split(scores, *, n):
    order = jnp.argsort(jnp.asarray(scores), descending=True, stable=True)
    start = (len(order) - n) // 2
    return Strata(order[:n], order[start : start + n], order[-n:])
