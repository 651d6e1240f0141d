r"""Delay windows of a recording, and the pairs of states one step apart."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_integer, promote_floating
from ._recording import check_length, check_recording


class SnapshotPairs(NamedTuple):
    """States and their successors.

    Attributes
    ----------
    x : array of shape (n, d)
        States :math:`x_i`, one a row.
    y : array of shape (n, d)
        :math:`y_i`, observed ``lag`` steps after :math:`x_i`.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n d"]


def delay_embed(
    x: Real[ArrayLike, "T d"], n_delays: int, stride: int = 1
) -> Float[Array, "n m"]:
    r"""Windows of consecutive states, one a row.

    .. math:: z_t = (x_t,\, x_{t+s},\, \dots,\, x_{t+(m-1)s}), \qquad
              t = 0, \dots, T - 1 - (m-1)s

    By Takens' theorem such windows stand for the full state of a system of
    which ``x`` shows only a part.

    Parameters
    ----------
    x : array of shape (T, d)
        Recording: one row a time step, one column a channel.
    n_delays : int
        Number :math:`m \ge 1` of states in a window; 1 keeps ``x`` as it is.
    stride : int, default 1
        Number :math:`s \ge 1` of steps between the states of a window. Between
        recordings with different sampling intervals keep ``stride * dt`` equal,
        so that windows mean the same thing.

    Returns
    -------
    array of shape (T - (n_delays - 1) * stride, n_delays * d)
        Windows; the first ``d`` columns are the oldest state.

    Raises
    ------
    ValueError
        If ``x`` is not a matrix, is empty, or is too short for one window.

    Notes
    -----
    A copy of ``n_delays`` times the size of ``x``; linear, so derivatives are
    exact.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import delay_embed
    >>> delay_embed(jnp.arange(4.0)[:, None], 2).tolist()
    [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    """
    n_delays = check_integer("n_delays", n_delays)
    stride = check_integer("stride", stride)
    check_recording("x", x)
    n_frames, n_channels = jnp.shape(x)
    span = (n_delays - 1) * stride
    check_length("x", n_frames, 1, n_delays, stride)
    (x,) = promote_floating(x)
    starts, delays = jnp.arange(n_frames - span), stride * jnp.arange(n_delays)
    rows = starts[:, None] + delays[None, :]
    return x[rows].reshape(n_frames - span, n_delays * n_channels)


def snapshot_pairs(z: Real[ArrayLike, "n d"], lag: int = 1) -> SnapshotPairs:
    r"""Pairs of states ``lag`` steps apart, :math:`(z_t, z_{t + \mathrm{lag}})`.

    Parameters
    ----------
    z : array of shape (n, d)
        States in order of time, for instance from :func:`delay_embed`.
    lag : int, default 1
        Steps from a state to its successor. The operator fitted on the pairs
        then advances by ``lag * dt``.

    Returns
    -------
    SnapshotPairs
        ``x = z[:-lag]`` and ``y = z[lag:]``, each of shape (n - lag, d).

    Raises
    ------
    ValueError
        If ``z`` is not a matrix, is empty, or has no two states ``lag`` apart.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import snapshot_pairs
    >>> x, y = snapshot_pairs(jnp.arange(4.0)[:, None], lag=2)
    >>> x[:, 0].tolist(), y[:, 0].tolist()
    ([0.0, 1.0], [2.0, 3.0])
    """
    lag = check_integer("lag", lag)
    check_recording("z", z)
    n = len(jnp.asarray(z))
    if n <= lag:
        raise ValueError(f"z: expected more than lag = {lag} rows; got {n}")
    (z,) = promote_floating(z)
    return SnapshotPairs(z[:-lag], z[lag:])
