"""Nearest-neighbour classification from a distance matrix."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key, Real, UInt32

from ..core import (
    check_integer,
    check_interval,
    check_key,
    check_shape,
    promote_floating,
)


def knn_predict(
    distances: Real[ArrayLike, "n_test n_train"],
    labels: Int[ArrayLike, " n_train"],
    *,
    k: int = 1,
) -> Int[Array, " n_test"]:
    r"""Labels by majority among the k nearest training items.

    .. math:: \hat y_i = \arg\max_c \#\{ j \in N_k(i) : y_j = c \}

    Parameters
    ----------
    distances : array of shape (n_test, n_train)
        Distance of each item to each training item. An infinite or NaN distance
        takes the training item out, unless too few others are left.
    labels : int array of shape (n_train,)
        Class of each training item, any integers.
    k : int, default 1
        Number of neighbours, at most n_train.

    Returns
    -------
    int array of shape (n_test,)
        Predicted labels. Of equally near items the earlier one counts; of
        classes with equally many votes the smaller label wins.

    Raises
    ------
    TypeError
        If ``k`` or a label is not an integer.
    ValueError
        If shapes disagree or ``k`` is out of range.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import knn_predict
    >>> distances = jnp.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.1]])
    >>> knn_predict(distances, jnp.array([7, 7, 3])).tolist()
    [7, 3]
    """
    check_shape("distances", distances, ("n_test", "n_train"))
    (distances,) = promote_floating(distances)
    labels = _labels(labels, distances.shape[1])
    k = check_integer("k", k, maximum=distances.shape[1])
    return _vote(distances, labels, k)


def monte_carlo_cv(
    key: Key[Array, ""] | UInt32[Array, "2"],
    distances: Real[ArrayLike, "n n"],
    labels: Int[ArrayLike, " n"],
    *,
    train_frac: Real[ArrayLike, ""] = 0.7,
    n_splits: int = 10,
    k: int = 1,
) -> Float[Array, " n_splits"]:
    """Accuracy of nearest neighbours over random stratified splits.

    Parameters
    ----------
    key : random key
        Decides the splits; split i does not depend on ``n_splits``.
    distances : array of shape (n, n)
        Distances between all items.
    labels : int array of shape (n,)
        Class of each item.
    train_frac : float, default 0.7
        Share of each class that is used for training, in (0, 1), rounded to whole
        items, half upwards. Each class of at least two items has at least one on
        both sides; a class of one item is training only.
    n_splits : int, default 10
        Number of splits.
    k : int, default 1
        Number of neighbours.

    Returns
    -------
    array of shape (n_splits,)
        Share of test items whose label is predicted right, split by split. NaN
        if no class has two items or a traced ``train_frac`` is out of range.

    Raises
    ------
    TypeError
        If ``key`` is no random key, or ``n_splits``, ``k`` or a label is not an
        integer.
    ValueError
        If shapes disagree, there are several keys, or a concrete option is out of
        range.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import monte_carlo_cv
    >>> x = jnp.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> labels = jnp.array([0, 0, 0, 1, 1, 1])
    >>> distances = jnp.abs(x[:, None] - x[None, :])
    >>> monte_carlo_cv(jax.random.key(0), distances, labels, n_splits=3).tolist()
    [1.0, 1.0, 1.0]
    """
    check_key("key", key)
    check_shape("distances", distances, ("n", "n"))
    (distances,) = promote_floating(distances)
    n = len(distances)
    check_shape("distances", distances, (n, n))
    labels = _labels(labels, n)
    check_shape("train_frac", train_frac, ())
    check_interval("train_frac", train_frac, 0.0, 1.0, closed="neither")
    k = check_integer("k", k, maximum=n)
    n_splits = check_integer("n_splits", n_splits)
    train_frac = jnp.asarray(train_frac, distances.dtype)
    return _cv(key, distances, labels, train_frac, n_splits=n_splits, k=k)


def _labels(labels, n):
    check_shape("labels", labels, (n,))
    dtype = getattr(labels, "dtype", None) or np.asarray(labels).dtype
    if not jnp.issubdtype(dtype, jnp.integer):
        raise TypeError(
            f"labels: expected integers; got {dtype}; number classes by "
            "np.unique(labels, return_inverse=True)[1]"
        )
    return jnp.asarray(labels)


@functools.partial(jax.jit, static_argnames="k")
def _vote(distances, labels, k):
    distances = jnp.where(jnp.isnan(distances), jnp.inf, distances)
    closeness, nearest = jax.lax.top_k(-distances, k)
    voters = labels[nearest]
    # Who is infinitely far does not vote, unless everybody is.
    present = closeness > -jnp.inf
    present |= ~jnp.any(present, axis=1, keepdims=True)
    equal = voters[:, :, None] == voters[:, None, :]
    votes = jnp.sum(equal & present[:, None, :] & present[:, :, None], axis=-1)
    most = votes == jnp.max(votes, axis=1, keepdims=True)
    return jnp.min(jnp.where(most, voters, jnp.iinfo(labels.dtype).max), axis=1)


@functools.partial(jax.jit, static_argnames=("n_splits", "k"))
def _cv(key, distances, labels, train_frac, *, n_splits, k):
    n = len(labels)
    same = labels[:, None] == labels[None, :]
    size = jnp.sum(same, axis=1, dtype=distances.dtype)
    n_train = jnp.floor(train_frac * size + 0.5)
    n_train = jnp.clip(n_train, 1, jnp.maximum(size - 1, 1))
    in_range = (train_frac > 0) & (train_frac < 1)

    def accuracy(i):
        u = jax.random.uniform(jax.random.fold_in(key, i), (n,), distances.dtype)
        # Position of each item in the shuffled list of its class.
        index = jnp.arange(n)
        before = (u[None, :] < u[:, None]) | (
            (u[None, :] == u[:, None]) & (index[None, :] < index[:, None])
        )
        place = jnp.sum(same & before, axis=1, dtype=distances.dtype)
        train = place < n_train
        masked = jnp.where(train[None, :], distances, jnp.inf)
        right = _vote(masked, labels, k) == labels
        n_right = jnp.sum(right & ~train, dtype=distances.dtype)
        share = n_right / jnp.sum(~train, dtype=distances.dtype)
        return jnp.where(in_range, share, jnp.nan)

    return jax.lax.map(accuracy, jnp.arange(n_splits))
