r"""A denoiser, as a pair of pure functions."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core import (
    check_function,
    check_integer,
    check_interval,
    check_shape,
    paper,
    promote_floating,
)
from ._edm import edm_scalings


class Denoiser(NamedTuple):
    r"""A family of denoisers :math:`D_\theta(x; \sigma)`, as two pure functions.

    Any two functions of this form will do. Functions take them as static options, so
    give the same two objects again where a compiled program is to be used again.

    Attributes
    ----------
    init : callable
        ``init(key) -> params``: random parameters, a pytree of arrays.
    apply : callable
        ``apply(params, x, sigma) -> denoised``: from noisy data and their noise level
        to an estimate of the data, in the shape of ``x``. ``sigma`` is one level, or
        one for every item of ``x``.
    """

    init: Callable
    apply: Callable


@paper("karras2022elucidating", "preconditioned denoiser, table 1 of the paper")
def edm_denoiser(
    network: Callable,
    shape: Sequence[int],
    *,
    sigma_data: float = 0.5,
    **options: Any,
) -> Denoiser:
    r"""Denoiser made of a network by preconditioning.

    .. math:: D_\theta(x; \sigma) = c_\mathrm{skip}\, x
              + c_\mathrm{out}\, F_\theta(c_\mathrm{in}\, x;\, c_\mathrm{noise})

    Parameters
    ----------
    network : callable
        A ``flax.nnx`` module, such as those of ``jaxrepro.diffusion.networks``, or what
        makes one: ``network(shape, rngs=rngs, **options)``. Its call takes inputs of
        shape (n, \*shape) and noise conditions of shape (n,), and gives outputs in the
        shape of the inputs. It must not depend on the other items of a batch.
    shape : sequence of int
        Shape of one item, such as (height, width, channels).
    sigma_data : float, default 0.5
        Standard deviation :math:`\sigma_d` of the data.
    **options
        Options of the network, with a hash.

    Returns
    -------
    Denoiser
        ``init(key)`` draws parameters in float32, a ``flax.nnx.State``;
        ``apply(params, x, sigma)`` takes ``x`` of shape (..., \*shape) and ``sigma``
        that broadcasts with the leading axes, in the common dtype of all.
        Equal arguments give the same pair.

    Raises
    ------
    ValueError
        If a size is below 1 or ``sigma_data`` is not positive; from ``apply``, if the
        shapes do not fit.
    TypeError
        If ``network`` is no function, ``shape`` holds no integers, or an option has no
        hash.

    Notes
    -----
    ``apply`` takes ``key`` and ``train`` as all networks here do, and does not use
    them: the networks have no random or running state. Map ``init`` over keys with
    :func:`jax.vmap` for several networks.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.diffusion import edm_denoiser
    >>> from jaxrepro.diffusion.networks import MLPDenoiser
    >>> denoiser = edm_denoiser(MLPDenoiser, (8, 8, 1), sigma_data=0.5, width=32)
    >>> params = denoiser.init(jax.random.key(0))
    >>> x = jnp.ones((10, 8, 8, 1))
    >>> denoiser.apply(params, x, sigma=jnp.linspace(0.1, 1.0, 10)).shape
    (10, 8, 8, 1)
    """
    check_function("network", network)
    if isinstance(shape, str) or not np.iterable(shape):
        raise TypeError(f"shape: expected a sequence of integers; got {shape!r}")
    shape = tuple(check_integer(f"shape[{i}]", n) for i, n in enumerate(shape))
    check_shape("sigma_data", sigma_data, ())
    check_interval("sigma_data", sigma_data, 0.0, closed="neither")
    for name, value in options.items():
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{name}: expected an option with a hash; got {type(value).__name__}"
            ) from None
    return _edm_denoiser(
        network, shape, float(sigma_data), tuple(sorted(options.items()))
    )


@functools.cache
def _edm_denoiser(network, shape, sigma_data, options):
    """One pair for equal arguments, so that programs compiled for it are found."""
    from flax import nnx  # loading it takes seconds

    def make(key):
        return network(shape, rngs=nnx.Rngs(params=key), **dict(options))

    def init(key):
        return nnx.state(make(key), nnx.Param)

    graph = nnx.graphdef(nnx.eval_shape(lambda: make(0)))

    def apply(params, x, sigma, key=None, train=False):
        del key, train
        leaves, tree = jax.tree.flatten(params)
        x, *leaves = promote_floating(x, *leaves)
        lead = x.shape[: max(x.ndim - len(shape), 0)]
        check_shape("x", x, (*lead, *shape))
        sigma = jnp.asarray(sigma, x.dtype)
        if not _fits(sigma.shape, lead):
            raise ValueError(
                f"sigma: expected a shape that broadcasts with the leading axes {lead} "
                f"of x; got {sigma.shape}"
            )
        sigma = jnp.broadcast_to(sigma, lead).reshape(-1)
        items = x.reshape(-1, *shape)
        scale = edm_scalings(sigma, sigma_data=sigma_data)
        skip, out, inp = (
            jax.lax.expand_dims(s, range(1, items.ndim))
            for s in (scale.skip, scale.out, scale.inp)
        )
        body = nnx.merge(graph, jax.tree.unflatten(tree, leaves))
        return (skip * items + out * body(inp * items, scale.noise)).reshape(x.shape)

    return Denoiser(init, apply)


def _fits(shape, target):
    """Whether a shape broadcasts to another."""
    ends = zip(reversed(shape), reversed(target))
    return len(shape) <= len(target) and all(a in (1, b) for a, b in ends)
