r"""One model for each split of the data, all in one program."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Int, Key, Real, UInt32

from ...core import check_key, check_nonempty, check_shape, paper
from ...diffusion import Denoiser, Training, train_denoiser


@paper(
    "wang2026random",
    "networks trained on independent splits with shared noise",
    uses=(train_denoiser,),
)
def train_splits(
    key: Key[Array, ""] | UInt32[Array, "2"],
    datasets: Real[ArrayLike, "n_splits n ..."],
    *,
    start: Training | None = None,
    n_used: Int[ArrayLike, " n_splits"] | None = None,
    lr: Real[ArrayLike, ""] = 1e-3,
    sigma_data: Real[ArrayLike, ""] = 0.5,
    sigma_mean: Real[ArrayLike, ""] = -1.2,
    sigma_std: Real[ArrayLike, ""] = 1.2,
    decay: Real[ArrayLike, ""] = 0.999,
    control: bool = True,
    denoiser: Denoiser | tuple[Callable, Callable],
    optimizer: Callable = optax.adam,
    n_steps: int,
    batch_size: int = 128,
) -> Training:
    r"""Train one denoiser on each split, and a control, side by side.

    All have the same first parameters, and all but the control the same stream of
    noise, noise levels and rows: they differ by their data alone. The control sees the
    data of the first split with another stream, so its difference from the first model
    is what optimisation leaves to chance.

    Parameters
    ----------
    key : key
        Random key.
    datasets : array of shape (n_splits, n, \*shape)
        Training data of each split.
    start : Training, optional
        Result of an earlier call with the same arguments, to go on from.
    n_used : int array of shape (n_splits,), optional
        How many of the first rows of each split are data, by default all.
    lr, sigma_data, sigma_mean, sigma_std, decay : float
        See :func:`jaxrepro.diffusion.train_denoiser`.
    control : bool, default True
        Whether to train the control.
    denoiser : Denoiser
        The pair ``(init, apply)``, as from :func:`jaxrepro.diffusion.edm_denoiser`.
    optimizer : callable, default ``optax.adam``
        ``optimizer(lr)`` gives an optax optimiser.
    n_steps : int
        Number of steps.
    batch_size : int, default 128
        Rows of a step, drawn with replacement.

    Returns
    -------
    Training
        Its fields with one more axis in front, of length n_splits, and one more with
        the control, which comes last.

    Raises
    ------
    ValueError
        If ``datasets`` has less than two axes or is empty, or a number is out of
        range.
    TypeError
        If ``key`` is no random key, or an argument of the training has a wrong type.

    Notes
    -----
    One ``scan`` over the steps of all models, mapped over splits. The data of the
    first split are held twice for the control.

    References
    ----------
    [wang2026random], [karras2022elucidating]

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.diffusion import edm_denoiser
    >>> from jaxrepro.diffusion.networks import LinearDenoiser
    >>> from jaxrepro.rmt.empirical import train_splits
    >>> denoiser = edm_denoiser(LinearDenoiser, (3,), n_bins=4)
    >>> data = jax.random.normal(jax.random.key(1), (2, 50, 3))
    >>> models = train_splits(jax.random.key(0), data, denoiser=denoiser, n_steps=10)
    >>> models.history.shape
    (3, 10)
    """
    check_key("key", key)
    if jnp.ndim(datasets) < 2:
        raise ValueError(
            f"datasets: expected shape (n_splits, n, ...); got {jnp.shape(datasets)}"
        )
    check_nonempty("datasets", datasets)
    n_splits, n = jnp.shape(datasets)[:2]
    datasets = jnp.asarray(datasets)
    if n_used is None:
        n_used = jnp.full(n_splits, n)
    check_shape("n_used", n_used, (n_splits,))
    n_used = jnp.asarray(n_used)
    k_init, k_stream, k_control = jax.random.split(key, 3)
    streams = jnp.repeat(k_stream[None], n_splits, axis=0)
    if control:
        streams = jnp.concatenate([streams, k_control[None]])
        datasets = jnp.concatenate([datasets, datasets[:1]])
        n_used = jnp.concatenate([n_used, n_used[:1]])
    numbers = {"lr": lr, "sigma_data": sigma_data, "sigma_mean": sigma_mean}
    numbers |= {"sigma_std": sigma_std, "decay": decay}
    return _train_splits(
        streams, datasets, start, k_init, n_used, numbers,
        denoiser=denoiser, optimizer=optimizer, n_steps=n_steps, batch_size=batch_size,
    )  # fmt: skip


@functools.partial(
    jax.jit, static_argnames=("denoiser", "optimizer", "n_steps", "batch_size")
)
def _train_splits(streams, datasets, start, k_init, n_used, numbers, **options):
    def one(stream, x, start, n_used):
        return train_denoiser(
            stream, x, start=start, init_key=k_init, n_used=n_used, **numbers, **options
        )

    return jax.vmap(one)(streams, datasets, start, n_used)
