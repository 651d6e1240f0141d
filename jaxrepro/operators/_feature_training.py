r"""Training of a feature map on pairs of states, in one program."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, ArrayLike, Float, Key, PyTree, Real, UInt32

from ..core import (
    check_choice,
    check_function,
    check_integer,
    check_interval,
    check_key,
    check_nonempty,
    check_precision,
    check_real,
    check_shape,
    paper,
    promote_floating,
)
from ._feature_losses import spectral_contrastive_loss, vamp2_loss
from ._feature_map import FeatureMap


class FeatureFit(NamedTuple):
    """What training leaves of a feature map.

    Attributes
    ----------
    params : pytree
        Parameters for ``features.apply``, in the dtype of the data.
    matrix : array of shape (m, m) or None
        The symmetric matrix of the contrastive loss; None for other losses.
    history : array of shape (n_steps,)
        Loss on the batch of each step, before the step.
    """

    params: PyTree
    matrix: Float[Array, "m m"] | None
    history: Float[Array, " n_steps"]


@paper(
    "mardt2018vampnets",
    "feature networks trained on a variational score of pairs of states",
    uses=(vamp2_loss, spectral_contrastive_loss),
)
def train_features(
    key: Key[Array, ""] | UInt32[Array, "2"],
    x: Real[ArrayLike, "n d"],
    y: Real[ArrayLike, "n d"],
    *,
    lr: Real[ArrayLike, ""] = 1e-3,
    gamma: Real[ArrayLike, ""] | None = None,
    features: FeatureMap | tuple[Callable, Callable],
    loss: str | Callable = "vamp2",
    optimizer: Callable = optax.adam,
    n_steps: int,
    batch_size: int | None = None,
) -> FeatureFit:
    r"""Learn features whose span a transfer operator leaves nearly unchanged.

    .. math:: \min_\theta\; \ell\big(\phi_\theta(x_i), \phi_\theta(y_i)\big)
              \quad\text{over pairs of a state and its successor}

    Parameters
    ----------
    key : key
        Random key of the first parameters and of the batches.
    x : array of shape (n, d)
        States or delay windows, standardised, one a row.
    y : array of shape (n, d)
        Their successors.
    lr : float, default 1e-3
        Step size, positive.
    gamma : float, optional
        Regularisation of :func:`vamp2_loss`, by default 1e-3; no other loss has one.
    features : FeatureMap
        The pair ``(init, apply)``, as from :func:`koopman_features`.
    loss : {"vamp2", "contrastive"} or callable, default "vamp2"
        :func:`vamp2_loss`, :func:`spectral_contrastive_loss` with a matrix that is
        learned as well, or any ``loss(fx, fy) -> scalar``.
    optimizer : callable, default ``optax.adam``
        ``optimizer(lr)`` gives an optax optimiser; for a schedule
        ``lambda lr: optax.adam(lambda step: lr / (1 + step))``, defined once.
    n_steps : int
        Number of steps.
    batch_size : int, optional
        Pairs in a step, drawn with replacement; by default all of them.

    Returns
    -------
    FeatureFit
        ``params``, ``matrix``, ``history``. NaN for a traced ``lr`` or ``gamma``
        out of range.

    Raises
    ------
    ValueError
        If the shapes differ, there are several keys, an array is empty, there are fewer
        than two pairs, ``loss`` is unknown or gives no scalar, ``gamma`` goes with
        another loss, or a number is out of range.
    TypeError
        If ``key`` is no random key, ``features`` no pair of functions, ``loss`` or
        ``optimizer`` no function with a hash, ``n_steps`` or ``batch_size`` no integer,
        or ``x``, ``y`` or the loss are no real numbers or in half precision.

    Notes
    -----
    One ``scan`` over the steps. Batch :math:`t` comes from ``fold_in(key, t)``, so a
    longer run repeats a shorter one. :func:`jax.vmap` over ``key``, ``lr`` and
    ``gamma`` trains seeds and settings side by side. Compiled once for each
    ``features``, ``loss`` and ``optimizer``, so give the same objects again.
    Features are unique up to an affine map at best: compare what follows from them,
    such as :func:`feature_atoms`.

    References
    ----------
    [mardt2018vampnets], [wu2020variational], [haochen2021provable], [turri2025self]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import FeatureMap, train_features
    >>> linear = FeatureMap(
    ...     lambda key: jax.random.normal(key, (2, 1)), lambda params, x: x @ params
    ... )
    >>> x = jax.random.normal(jax.random.key(1), (100, 2))
    >>> y = x * jnp.array([0.9, 0.1])  # the first coordinate is the slow one
    >>> y = y + 0.4 * jax.random.normal(jax.random.key(2), (100, 2))
    >>> fit = train_features(
    ...     jax.random.key(0), x, y, features=linear, lr=0.1, n_steps=60
    ... )
    >>> bool(abs(fit.params[0, 0]) > 5 * abs(fit.params[1, 0]))
    True
    """
    check_key("key", key)
    check_shape("x", x, ("n", "d"))
    check_nonempty("x", x)
    check_shape("y", y, np.shape(x))
    check_real("x", x)
    check_real("y", y)
    check_precision("x", x)
    check_precision("y", y)
    check_integer("number of rows of x", np.shape(x)[0], minimum=2)
    check_shape("lr", lr, ())
    check_interval("lr", lr, 0.0, closed="neither")
    if callable(loss):
        check_function("loss", loss)
    else:
        check_choice("loss", loss, ("vamp2", "contrastive"))
    check_function("optimizer", optimizer)
    if loss != "vamp2" and gamma is not None:
        raise ValueError("gamma: expected None unless loss is 'vamp2'")
    gamma = 1e-3 if gamma is None else gamma
    check_shape("gamma", gamma, ())
    check_interval("gamma", gamma, 0.0, closed="left")
    if batch_size is not None:
        batch_size = check_integer("batch_size", batch_size, minimum=2)
    return _train(
        key, *promote_floating(x, y), lr, gamma,
        features=feature_pair(features), loss=loss, optimizer=optimizer,
        n_steps=check_integer("n_steps", n_steps), batch_size=batch_size,
    )  # fmt: skip


def feature_pair(features) -> FeatureMap:
    """Return the two functions of a feature map, or raise."""
    pair = tuple(features) if isinstance(features, tuple | list) else ()
    if len(pair) != 2 or not all(map(callable, pair)):
        raise TypeError(
            "features: expected two functions (init, apply), as from "
            f"koopman_features; got {type(features).__name__}"
        )
    for name, function in zip(("features.init", "features.apply"), pair):
        check_function(name, function)
    return FeatureMap(*pair)


@functools.partial(
    jax.jit, static_argnames=("features", "loss", "optimizer", "n_steps", "batch_size")
)
def _train(
    key, x, y, lr, gamma, *, features, loss, optimizer, n_steps, batch_size
) -> Any:
    key_init, key_batch = jax.random.split(key)
    lr = jnp.asarray(lr, dtype=x.dtype)
    lr = jnp.where((lr > 0) & (lr < jnp.inf), lr, jnp.nan)
    params = jax.tree.map(lambda p: jnp.asarray(p, x.dtype), features.init(key_init))
    matrix = None
    if loss == "contrastive":
        m = jax.eval_shape(features.apply, params, x).shape[-1]
        matrix = jnp.eye(m, dtype=x.dtype)
    optimiser = optimizer(lr)

    def objective(free, x, y):
        params, matrix = free
        fx, fy = features.apply(params, x), features.apply(params, y)
        if loss == "vamp2":
            return vamp2_loss(fx, fy, gamma=gamma)
        if loss == "contrastive":
            return spectral_contrastive_loss(fx, fy, matrix)
        value = loss(fx, fy)
        check_shape("loss(fx, fy)", value, ())
        check_real("loss(fx, fy)", value)
        return value

    def batch(t):
        if batch_size is None:
            return x, y
        key = jax.random.fold_in(key_batch, t)
        rows = jax.random.randint(key, (batch_size,), 0, len(x), dtype=jnp.int32)
        return x[rows], y[rows]

    def step(carry, t):
        free, state = carry
        value, gradient = jax.value_and_grad(objective)(free, *batch(t))
        updates, state = optimiser.update(gradient, state, free)
        return (optax.apply_updates(free, updates), state), value

    start: Any = params, matrix
    steps = jnp.arange(n_steps, dtype=jnp.int32)
    last, history = jax.lax.scan(step, (start, optimiser.init(start)), steps)
    params, matrix = last[0]
    return FeatureFit(params, matrix, history)
