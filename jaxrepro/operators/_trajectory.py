"""From recordings to spectral atoms, in one call."""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Real

from ..core import (
    check_integer,
    check_interval,
    check_shape,
    is_concrete,
    paper,
)
from ._atoms import spectral_atoms
from ._embedding import delay_embed, snapshot_pairs
from ._measure import KernelAtoms, SpectralAtoms, check_kernel
from ._recording import (
    check_length,
    check_recordings,
    concrete_recording,
    joined,
    one_step_each,
    one_stride_each,
    padded,
    warn_of_spacings,
)
from ._regression import reduced_rank_regression

# Recordings are fitted in blocks that hold at most this many numbers.
_MOST_NUMBERS = 2**25


@paper(
    "germain2026spectral",
    "spectral measure of an operator estimated by reduced rank regression",
    uses=(reduced_rank_regression, spectral_atoms),
)
def sgot_from_trajectory(
    x: Real[ArrayLike, "T d"],
    dt: Real[ArrayLike, ""],
    *,
    gamma: Real[ArrayLike, ""],
    mag_floor: Real[ArrayLike, ""] = 1e-3,
    n_delays: int,
    rank: int,
    kernel: Callable | None = None,
    stride: int = 1,
    gamma_rel: bool = True,
) -> SpectralAtoms | KernelAtoms:
    r"""Spectral atoms of the system behind one recording.

    .. math:: x \;\to\; \text{delay windows } z_t \;\to\;
              \text{pairs } (z_t, z_{t+1}) \;\to\; G \text{ of rank } r \;\to\;
              (\lambda_i, r_i, l_i)

    that is, :func:`delay_embed`, :func:`snapshot_pairs`,
    :func:`reduced_rank_regression` and :func:`spectral_atoms` in a row.

    Parameters
    ----------
    x : array of shape (T, d)
        Recording: one row a time step, one column a channel, any unit.
    dt : float
        Time between two rows, in seconds if frequencies are to be in Hz.
    gamma : float
        Regularisation :math:`\gamma \ge 0`, relative unless ``gamma_rel`` is
        False. Try 1e-4, or 1e-3 with a kernel.
    mag_floor : float, default 1e-3
        Modes that shrink below this share in one step count as noise.
    n_delays : int
        Number of time steps in a window.
    rank : int
        Number of atoms: one for each decaying mode, two for each oscillation.
    kernel : equinox.Module, optional
        Kernel between windows, such as :class:`GaussianKernel`; None works on
        the windows as they are.
    stride : int, default 1
        Time steps between the entries of a window.
    gamma_rel : bool, default True
        Whether ``gamma`` counts relative to the mean square of a window (to
        the mean of ``kernel(z, z)``), so that the unit of ``x`` plays no role.

    Returns
    -------
    SpectralAtoms or KernelAtoms
        ``rank`` atoms: ``lam.real`` is a growth rate in 1/s,
        ``lam.imag / (2 * pi)`` a frequency in Hz. Atoms that the data do not
        support have weight 0.

    Raises
    ------
    ValueError
        If ``x`` is not a matrix, is shorter than the windows need, or holds
        NaN or infinite values; if ``rank`` exceeds the length of a window; if a
        concrete ``dt`` is not positive or ``gamma`` is negative.
    TypeError
        If ``n_delays``, ``rank`` or ``stride`` is not an integer.

    Notes
    -----
    Differentiable; :func:`jax.vmap` over recordings of one length. The estimator
    and the measure are the paper's; delay windows and the defaults are ours.

    References
    ----------
    [germain2026spectral], [kostic2022learning]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import sgot_from_trajectory
    >>> t = 0.02 * jnp.arange(200)[:, None]
    >>> x = jnp.exp(-0.1 * t) * jnp.sin(2 * jnp.pi * 1.5 * t)  # 1.5 Hz
    >>> atoms = sgot_from_trajectory(x, 0.02, n_delays=10, rank=2, gamma=1e-4)
    >>> (atoms.lam.imag / (2 * jnp.pi)).round(2).tolist()
    [1.5, -1.5]
    """
    n_delays = check_integer("n_delays", n_delays)
    stride = check_integer("stride", stride)
    x = concrete_recording("x", x)
    rank = _checked_rank(rank, n_delays, x, kernel)
    _check_long_enough("x", x, n_delays, stride, rank)
    z, y = snapshot_pairs(delay_embed(x, n_delays, stride))
    fit = reduced_rank_regression(
        z, y, gamma=gamma, rank=rank, kernel=kernel, gamma_rel=gamma_rel
    )
    return spectral_atoms(fit, dt, mag_floor=mag_floor, kernel=kernel)


@paper(
    "germain2026spectral",
    "spectral measures of operators estimated by reduced rank regression",
    uses=(reduced_rank_regression, spectral_atoms),
)
def sgot_from_trajectories(
    trajectories: Sequence | Real[ArrayLike, "N T d"],
    dt: Real[ArrayLike, ""] | Sequence[Real[ArrayLike, ""]] | Real[ArrayLike, " N"],
    *,
    gamma: Real[ArrayLike, ""],
    mag_floor: Real[ArrayLike, ""] = 1e-3,
    n_delays: int,
    rank: int,
    kernel: Callable | None = None,
    stride: int | Sequence[int] = 1,
    gamma_rel: bool = True,
) -> SpectralAtoms | KernelAtoms:
    r"""Spectral atoms of the systems behind a list of recordings, as one batch.

    What :func:`sgot_from_trajectory` gives for each recording, with a leading axis
    over the recordings: the form that :func:`sgot_pairwise` compares, for one
    regression and many metrics or values of ``eta``.

    Parameters
    ----------
    trajectories : list of arrays of shape (T_k, d), or of lists of these
        Recordings, NumPy or JAX, one or several of each system, as in
        :func:`distance_matrix`.
    dt : float or list of float
        Time between two rows in seconds, one for all or one for each recording.
    gamma, mag_floor, n_delays, rank, kernel
        As in :func:`sgot_from_trajectory`.
    stride : int or list of int, default 1
        Time steps between the entries of a window, one for all or one for each
        recording. Choose them such that ``stride * dt`` is the same in all.
    gamma_rel
        As in :func:`sgot_from_trajectory`.

    Returns
    -------
    SpectralAtoms or KernelAtoms
        ``rank`` atoms of each of N systems: ``lam`` has shape (N, rank), and so
        on. The samples of ``KernelAtoms`` are padded to one number and masked.

    Raises
    ------
    ValueError, TypeError
        As :func:`distance_matrix`.

    Warns
    -----
    UserWarning
        If ``stride * dt`` differs between recordings by more than one per cent.

    Notes
    -----
    Recordings are padded to one length and fitted in blocks of bounded memory;
    see the notes of :func:`distance_matrix`.

    References
    ----------
    [germain2026spectral], [kostic2022learning]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.operators import sgot_from_trajectories, sgot_pairwise
    >>> def oscillator(hertz, n):
    ...     t = 0.02 * np.arange(n)[:, None]
    ...     return np.exp(-0.1 * t) * np.sin(2 * np.pi * hertz * t)
    >>> atoms = sgot_from_trajectories(
    ...     [oscillator(1.0, 200), oscillator(1.5, 230)],
    ...     dt=0.02, n_delays=25, rank=2, gamma=1e-4,
    ... )
    >>> (atoms.lam.imag / (2 * np.pi)).round(1).tolist()  # Hz
    [[1.0, -1.0], [1.5, -1.5]]
    >>> hertz = (1.0, 1 / (2 * np.pi))  # as distance_matrix has it
    >>> for eta in (0.2, 0.8):
    ...     print(round(float(sgot_pairwise(atoms, eta=eta, scaling=hertz)[0, 1]), 1))
    0.6
    0.5
    """
    return atoms_of_all(
        trajectories, dt, gamma, mag_floor, kernel,
        n_delays=n_delays, rank=rank, stride=stride, gamma_rel=gamma_rel,
    )  # fmt: skip


def atoms_of_all(
    trajectories, dt, gamma, mag_floor, kernel, *, n_delays, rank, stride, gamma_rel
):
    """Check every argument with the index of the recording, and fit."""
    check_shape("gamma", gamma, ())
    check_interval("gamma", gamma, 0.0, closed="left")
    check_interval("mag_floor", mag_floor, 0.0)
    systems = check_recordings(trajectories)
    n = len(systems)
    n_delays = check_integer("n_delays", n_delays)
    strides = one_stride_each(stride, n)
    recordings, parts = zip(*(joined(tuple(named.values())) for named in systems))
    rank = _checked_rank(rank, n_delays, recordings[0], kernel)
    for k, named in enumerate(systems):
        _check_system(f"trajectories[{k}]", named, n_delays, strides[k], rank)
    x = padded(recordings)
    part = np.full(x.shape[:2], -1, np.int32)
    for row, numbers in zip(part, parts):
        row[: len(numbers)] = numbers
    dts = one_step_each(dt, n, x.dtype)
    if n_delays > 1 and is_concrete(dts):
        warn_of_spacings(np.multiply(strides, dts))
    return _batch_of_atoms(
        x, jnp.asarray(part), jnp.asarray(strides, dtype=jnp.int32), dts, gamma,
        mag_floor, kernel, n_delays=n_delays,
        n_pairs=x.shape[1] - 1 - (n_delays - 1) * min(strides),
        rank=rank, gamma_rel=gamma_rel,
    )  # fmt: skip


@functools.partial(
    jax.jit, static_argnames=("n_delays", "n_pairs", "rank", "gamma_rel")
)
def _batch_of_atoms(
    x,
    part,
    stride,
    dt,
    gamma,
    mag_floor,
    kernel,
    *,
    n_delays,
    n_pairs,
    rank,
    gamma_rel,
):
    """Atoms of padded recordings, a block of them at a time.

    ``part`` numbers the recordings of which the rows of a system come, -1 for padding;
    no pair of windows takes rows of two.
    """
    t = jnp.arange(n_pairs + 1, dtype=jnp.int32)
    delays = jnp.arange(n_delays, dtype=jnp.int32)

    def atoms(recording):
        x, part, stride, dt = recording
        rows = t[:, None] + stride * delays[None, :]
        inside = rows[1:, -1] < len(x)
        rows = jnp.minimum(rows, len(x) - 1)
        first, last = part[rows[:-1, 0]], part[rows[1:, -1]]
        mask = inside & (first == last) & (last >= 0)
        z = x[rows].reshape(n_pairs + 1, -1)
        fit = reduced_rank_regression(
            z[:-1], z[1:], gamma=gamma, rank=rank, kernel=kernel,
            gamma_rel=gamma_rel, mask=mask,
        )  # fmt: skip
        return spectral_atoms(fit, dt, mag_floor=mag_floor, kernel=kernel)

    numbers = n_pairs * 4 * n_delays * x.shape[2]
    if kernel is not None:
        numbers += 12 * n_pairs**2
    block = max(1, _MOST_NUMBERS // numbers)
    return jax.lax.map(atoms, (x, part, stride, dt), batch_size=min(len(x), block))


def _checked_rank(rank, n_delays, x, kernel):
    if kernel is None:
        return check_integer("rank", rank, maximum=n_delays * x.shape[1])
    check_kernel(kernel)
    return check_integer("rank", rank)


def _check_system(name, named, n_delays, stride, rank):
    """The recordings of a system together must hold as many pairs as the rank."""
    if len(named) == 1:
        (part, x), *_ = named.items()
        return _check_long_enough(part, x, n_delays, stride, rank)
    for part, x in named.items():
        check_length(part, len(x), 2, n_delays, stride)
    n_pairs = sum(len(x) - (n_delays - 1) * stride - 1 for x in named.values())
    if n_pairs < rank:
        raise ValueError(
            f"{name}: expected recordings with {rank} pairs of windows in all, one for "
            f"each atom; got {n_pairs}"
        )


def _check_long_enough(name, x, n_delays, stride, rank):
    """An operator of rank r needs r pairs, that is r + 1 windows."""
    check_length(name, len(x), rank + 1, n_delays, stride)
