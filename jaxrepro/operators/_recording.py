"""Recordings as a user has them: checked with clear words, padded to one length."""

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core import (
    check_integer,
    check_interval,
    check_nonempty,
    check_precision,
    check_real,
    is_concrete,
    promote_floating,
)


def check_recording(name: str, x) -> None:
    """Raise unless ``x`` is a matrix with one row a time step."""
    shape = jnp.shape(x)
    if len(shape) != 2:
        hint = f"; for one channel pass {name}[:, None]" if len(shape) == 1 else ""
        raise ValueError(f"{name}: expected shape (T, d); got shape {shape}{hint}")
    check_nonempty(name, x)
    check_real(name, x)


def check_length(name, n_frames, n_windows, n_delays, stride) -> None:
    """Raise unless a recording holds as many windows as a method needs."""
    needed = (n_delays - 1) * stride + n_windows
    if n_frames < needed:
        windows = "one window" if n_windows == 1 else f"{n_windows} windows"
        raise ValueError(
            f"{name}: expected at least {needed} time steps, enough for {windows} of "
            f"n_delays = {n_delays} with stride = {stride}; got {n_frames}"
        )


def check_recordings(trajectories):
    """The recordings of each system, each checked, all with the same channels."""
    shape = getattr(trajectories, "shape", None)
    if shape is not None and len(shape) != 3:
        raise ValueError(
            "trajectories: expected a list of arrays of shape (T, d); got one array "
            f"of shape {shape}; for one recording pass [x], for one channel of each "
            "row x[:, :, None]"
        )
    named = [
        _of_one_system(f"trajectories[{k}]", x) for k, x in enumerate(trajectories)
    ]
    if not named:
        raise ValueError("trajectories: expected at least one recording; got none")
    first, channels = next((name, x.shape[1]) for name, x in named[0].items())
    for name, x in (item for system in named for item in system.items()):
        if x.shape[1] != channels:
            raise ValueError(
                f"{name}: expected {channels} channels, as in {first}; got {x.shape[1]}"
            )
    return named


def _of_one_system(name, x) -> dict[str, Any]:
    """The recordings of a system by name: one matrix, or a list of matrices."""
    if not isinstance(x, list | tuple) or not x or np.ndim(x[0]) != 2:
        return {name: concrete_recording(name, x)}
    names = [f"{name}[{j}]" for j in range(len(x))]
    return {part: concrete_recording(part, y) for part, y in zip(names, x)}


def joined(recordings):
    """Recordings below one another, and the number of its recording for each row."""
    on_host = all(isinstance(x, np.ndarray) for x in recordings)
    rows = (np if on_host else jnp).concatenate(recordings)
    return rows, np.repeat(np.arange(len(recordings)), [len(x) for x in recordings])


def concrete_recording(name, x):
    """One recording, as a NumPy array unless it is traced, checked on the host."""
    check_real(name, x)
    x = np.asarray(x) if is_concrete(x) else x
    check_precision(name, x)
    check_recording(name, x)
    if is_concrete(x) and not np.all(np.isfinite(x)):
        bad = x.size - np.count_nonzero(np.isfinite(x))
        raise ValueError(
            f"{name}: expected finite values; got {bad} NaN or infinite of {x.size}; "
            "fill or cut out the gaps first"
        )
    return x


def one_stride_each(stride, n):
    if np.ndim(stride) == 0:
        return [check_integer("stride", stride)] * n
    strides = [check_integer(f"stride[{k}]", s) for k, s in enumerate(stride)]
    if len(strides) != n:
        raise ValueError(
            f"stride: expected one, or one for each of {n} recordings; "
            f"got {len(strides)}"
        )
    return strides


def one_step_each(dt, n, dtype):
    check_real("dt", dt)
    dt = jnp.asarray(dt).astype(dtype)
    check_interval("dt", dt, 0.0, closed="neither")
    if dt.ndim == 0:
        return jnp.full(n, dt)
    if dt.shape != (n,):
        raise ValueError(
            f"dt: expected one, or one for each of {n} recordings; got shape {dt.shape}"
        )
    return dt


def warn_of_spacings(spacing):
    low, high = np.argmin(spacing), np.argmax(spacing)
    if spacing[high] > 1.01 * spacing[low]:
        warnings.warn(
            f"windows span different times: stride * dt is {spacing[low]:.4g} in "
            f"trajectories[{low}] and {spacing[high]:.4g} in trajectories[{high}]; "
            "give a stride for each recording, or resample",
            stacklevel=4,  # the caller of the public function
        )


def padded(recordings):
    """Recordings below one another, with zeros behind the shorter ones.

    The common length is rounded up to four significant bits, so that other
    recordings of similar length meet a program that is compiled already.
    """
    longest = max(len(x) for x in recordings)
    step = 2 ** max(0, longest.bit_length() - 4)
    size = -(-longest // step) * step
    on_host = all(isinstance(x, np.ndarray) for x in recordings)
    xp = np if on_host else jnp
    dtype = promote_floating(*(np.zeros((), x.dtype) for x in recordings))[0].dtype
    rows = [
        xp.pad(xp.asarray(x, dtype=dtype), ((0, size - len(x)), (0, 0)))
        for x in recordings
    ]
    return jnp.asarray(xp.stack(rows))
