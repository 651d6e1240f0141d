r"""Training of a denoiser, in one program."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float, Int, Key, PyTree, Real, UInt32

from ..core import (
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
from ._denoiser import Denoiser
from ._loss import denoising_loss


class Training(NamedTuple):
    """Where the training of a denoiser stands.

    Attributes
    ----------
    params : pytree
        Parameters after the last step.
    average : pytree
        Their moving average, which denoises better: use it in samplers.
    state : pytree
        State of the optimiser.
    step : array of shape ()
        Number of steps made.
    history : array of shape (n_steps,)
        Loss on the batch of each step of this call, before the step.
    """

    params: PyTree
    average: PyTree
    state: PyTree
    step: Int[Array, ""]
    history: Float[Array, " n_steps"]


@paper("karras2022elucidating", "training of a denoiser, section 5 of the paper")
def train_denoiser(
    key: Key[Array, ""] | UInt32[Array, "2"],
    x: Real[ArrayLike, "n ..."],
    *,
    start: Training | None = None,
    init_key: Key[Array, ""] | UInt32[Array, "2"] | None = None,
    n_used: Int[ArrayLike, ""] | None = None,
    lr: Real[ArrayLike, ""] = 1e-3,
    sigma_data: Real[ArrayLike, ""] = 0.5,
    sigma_mean: Real[ArrayLike, ""] = -1.2,
    sigma_std: Real[ArrayLike, ""] = 1.2,
    decay: Real[ArrayLike, ""] = 0.999,
    denoiser: Denoiser | tuple[Callable, Callable],
    optimizer: Callable = optax.adam,
    n_steps: int,
    batch_size: int = 128,
) -> Training:
    r"""Train a denoiser on the weighted loss at random noise levels.

    .. math:: \min_\theta\; \mathbb E\, \lambda(\sigma)\,
              \tfrac1d \lVert D_\theta(x + \sigma\varepsilon; \sigma) - x \rVert^2,
              \qquad \log\sigma \sim \mathcal N(m, s^2)

    Parameters
    ----------
    key : key
        Random key of the batches, their noise and noise levels.
    x : array of shape (n, \*shape)
        Training data.
    start : Training, optional
        Result of an earlier call with the same arguments, to go on from: two calls of
        100 steps give what one of 200 gives.
    init_key : key, optional
        Random key of the first parameters, by default made from ``key``.
    n_used : int, optional
        How many of the first rows are data, by default all. Data sets of several sizes
        fit into one array, and :func:`jax.vmap` trains on all of them at once.
    lr : float, default 1e-3
        Step size, positive.
    sigma_data : float, default 0.5
        Standard deviation of the data, for the weight of the loss.
    sigma_mean, sigma_std : float, defaults -1.2 and 1.2
        Mean :math:`m` and deviation :math:`s` of the logarithm of the noise level.
    decay : float, default 0.999
        Decay of the moving average, in [0, 1]; less in the first steps.
    denoiser : Denoiser
        The pair ``(init, apply)``, as from :func:`edm_denoiser`.
    optimizer : callable, default ``optax.adam``
        ``optimizer(lr)`` gives an optax optimiser.
    n_steps : int
        Number of steps.
    batch_size : int, default 128
        Rows of a step, drawn with replacement.

    Returns
    -------
    Training
        ``params``, ``average``, ``state``, ``step``, ``history``. NaN for traced
        numbers out of range.

    Raises
    ------
    ValueError
        If ``x`` is empty, there are several keys, or a number is out of range.
    TypeError
        If a key is no random key, ``denoiser`` no pair of functions, ``optimizer`` no
        function, ``n_steps`` or ``batch_size`` no integer, or ``x`` not real or in
        half precision.

    Notes
    -----
    One ``scan`` over the steps. Everything random of step :math:`t` comes from
    ``fold_in(key, t)``, and rows from uniform numbers times ``n_used``: networks
    trained with one key on different data see the same noise, and corresponding rows.
    Map over ``key``, ``x``, ``n_used``, ``lr`` with :func:`jax.vmap`. Compiled once
    for each ``denoiser`` and ``optimizer``, so give the same objects again.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.diffusion import edm_denoiser, train_denoiser
    >>> from jaxrepro.diffusion.networks import MLPDenoiser
    >>> denoiser = edm_denoiser(MLPDenoiser, (2,), width=8, depth=1)
    >>> x = jnp.sign(jax.random.normal(jax.random.key(1), (100, 2))) / 2
    >>> result = train_denoiser(jax.random.key(0), x, denoiser=denoiser, n_steps=200)
    >>> bool(result.history[-50:].mean() < result.history[:50].mean())
    True
    """
    check_key("key", key)
    if init_key is not None:
        check_key("init_key", init_key)
    check_real("x", x)
    check_precision("x", x)
    check_nonempty("x", x)
    n = jnp.shape(x)[0]
    if n_used is None:
        n_used = n
    check_shape("n_used", n_used, ())
    check_interval("n_used", n_used, 1, n)
    named = {"lr": lr, "sigma_data": sigma_data, "sigma_mean": sigma_mean}
    named |= {"sigma_std": sigma_std, "decay": decay}
    for name, value in named.items():
        check_shape(name, value, ())
    check_interval("lr", lr, 0.0, closed="neither")
    check_interval("sigma_data", sigma_data, 0.0, closed="neither")
    check_interval("sigma_mean", sigma_mean, closed="neither")
    check_interval("sigma_std", sigma_std, 0.0, closed="left")
    check_interval("decay", decay, 0.0, 1.0)
    check_function("optimizer", optimizer)
    pair = tuple(denoiser) if isinstance(denoiser, tuple | list) else ()
    if len(pair) != 2 or not all(map(callable, pair)):
        raise TypeError(
            "denoiser: expected two functions (init, apply), as from edm_denoiser; got "
            f"{type(denoiser).__name__}"
        )
    for name, function in zip(("denoiser.init", "denoiser.apply"), pair):
        check_function(name, function)
    return _train(
        key, x, start, init_key, n_used, named,
        denoiser=Denoiser(*pair), optimizer=optimizer,
        n_steps=check_integer("n_steps", n_steps),
        batch_size=check_integer("batch_size", batch_size),
    )  # fmt: skip


@functools.partial(
    jax.jit, static_argnames=("denoiser", "optimizer", "n_steps", "batch_size")
)
def _train(
    key, x, start, init_key, n_used, numbers, *,
    denoiser, optimizer, n_steps, batch_size,
) -> Any:  # fmt: skip
    (x,) = promote_floating(x)
    numbers = {name: jnp.asarray(v, x.dtype) for name, v in numbers.items()}
    lr = jnp.where(_in_range(n_used, len(x), **numbers), numbers["lr"], jnp.nan)
    optimiser = optimizer(lr)
    if start is None:
        if init_key is None:
            init_key = jax.random.fold_in(key, 2**32 - 1)
        params = denoiser.init(init_key)
        params = jax.tree.map(lambda p: jnp.asarray(p, x.dtype), params)
        carry = params, params, optimiser.init(params), jnp.zeros((), jnp.int32)
    else:
        carry = start[:4]

    def loss(params, t):
        k_rows, k_noise, k_level = jax.random.split(jax.random.fold_in(key, t), 3)
        share = jax.random.uniform(k_rows, (batch_size,), x.dtype)
        rows = jnp.floor(share * jnp.asarray(n_used, x.dtype)).astype(jnp.int32)
        rows = jnp.minimum(rows, jnp.asarray(n_used, jnp.int32) - 1)
        noise = jax.random.normal(k_noise, (batch_size, *x.shape[1:]), x.dtype)
        level = jax.random.normal(k_level, (batch_size,), x.dtype)
        sigma = jnp.exp(numbers["sigma_mean"] + numbers["sigma_std"] * level)
        return denoising_loss(
            params, x[rows], noise, sigma,
            sigma_data=numbers["sigma_data"], apply=denoiser.apply,
        )  # fmt: skip

    def step(carry, _):
        params, average, state, t = carry
        value, gradient = jax.value_and_grad(loss)(params, t)
        updates, state = optimiser.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        # The first parameters are random: a long memory of them would be noise.
        made = jnp.asarray(t, x.dtype)
        decay = jnp.minimum(numbers["decay"], (1 + made) / (10 + made))
        average = optax.incremental_update(params, average, 1 - decay)
        return (params, average, state, t + 1), value

    (params, average, state, t), history = jax.lax.scan(step, carry, length=n_steps)
    return Training(params, average, state, t, history)


def _in_range(n_used, n, *, lr, sigma_data, sigma_mean, sigma_std, decay):
    positive = (lr > 0) & (lr < jnp.inf) & (sigma_data > 0) & (sigma_std >= 0)
    inside = (decay >= 0) & (decay <= 1) & (n_used >= 1) & (n_used <= n)
    return positive & inside & jnp.isfinite(sigma_mean)
