"""From recordings to a matrix of distances, in one call."""

from collections.abc import Callable, Sequence
from math import pi

from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, paper
from ._pairwise import sgot_pairwise
from ._trajectory import atoms_of_all, sgot_from_trajectories


@paper(
    "germain2026spectral",
    "distances between systems estimated from trajectories",
    uses=(sgot_from_trajectories, sgot_pairwise),
)
def distance_matrix(
    trajectories: Sequence | Real[ArrayLike, "N T d"],
    dt: Real[ArrayLike, ""] | Sequence[Real[ArrayLike, ""]] | Real[ArrayLike, " N"],
    *,
    gamma: Real[ArrayLike, ""],
    eta: Real[ArrayLike, ""],
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1 / (2 * pi)),
    mag_floor: Real[ArrayLike, ""] = 1e-3,
    n_delays: int,
    rank: int,
    kernel: Callable | None = None,
    stride: int | Sequence[int] = 1,
    gamma_rel: bool = True,
    p: int | float = 1,
    kind: str = "projector",
) -> Float[Array, "N N"]:
    r"""Distances between the dynamical systems behind a list of recordings.

    Each recording becomes an operator, each operator a cloud of ``rank`` atoms
    (a frequency and a decay rate with the shape of their mode), and the clouds
    are compared by optimal transport:

    .. math:: D_{kl} = \min_{P} \sum_{ij} P_{ij} \Big(
              \eta\, \big|\lambda^k_i - \lambda^l_j\big|
              + (1 - \eta)\, d_G\big(\text{mode}^k_i, \text{mode}^l_j\big) \Big) .

    The distance looks at how a system moves, not at where a recording starts,
    how long it is or, with ``dt`` given, how fast it was sampled.

    Parameters
    ----------
    trajectories : list of arrays of shape (T_k, d), or of lists of these
        Recordings, NumPy or JAX: one row a time step, one column a channel. A list of
        several in the place of one is a system that was recorded several times; no
        window spans two of them. The lengths may differ, the channels must be the
        same. One channel only:
        pass ``x[:, None]``. Channels of different units should be standardised
        first, over all recordings together.
    dt : float or list of float
        Time between two rows in seconds, one for all or one for each recording.
    gamma : float
        Regularisation :math:`\gamma \ge 0` of the regression, relative unless
        ``gamma_rel`` is False. Try 1e-4, or 1e-3 with a kernel.
    eta : float
        Share :math:`\eta \in [0, 1]` of frequencies and decay rates; the rest
        belongs to the shapes of the modes. Try 0.2.
    scaling : pair of floats, default (1, 1 / (2 pi))
        Factors of differences in decay rate and in angular frequency. With the
        default, and ``dt`` in seconds, they count in 1/s and in Hz.
    mag_floor : float, default 1e-3
        Modes that shrink below this share in one step count as noise.
    n_delays : int
        Number of time steps in a window. Windows should cover a good part of
        the slowest oscillation; 1 for recordings of full states.
    rank : int
        Number of atoms: one for each decaying mode, two for each oscillation.
    kernel : equinox.Module, optional
        Kernel between windows for nonlinear systems, such as
        ``GaussianKernel(lengthscale)`` with :func:`median_lengthscale` of
        pooled windows. None works on the windows as they are.
    stride : int or list of int, default 1
        Time steps between the entries of a window, one for all or one for each
        recording. Choose them such that ``stride * dt`` is the same in all.
    gamma_rel : bool, default True
        Whether ``gamma`` counts relative to the mean square of a window (to
        the mean of ``kernel(z, z)``), so that amplitude plays no role.
    p : float, default 1
        Order of the Wasserstein distance, at least 1.
    kind : str, default "projector"
        Distance :math:`d_G` between modes, see :func:`ground_cost`.

    Returns
    -------
    array of shape (N, N)
        The distances, symmetric, with zeros on the diagonal. NaN for a
        recording without any live mode, such as one that is 0 throughout.

    Raises
    ------
    ValueError
        With the index of the recording: if one is not a matrix, has other
        channels than the first, is too short, or holds NaN or infinite values.
        Several recordings of a system must each hold a pair of windows, and all
        together as many pairs as the rank.
        Also if the list is empty, ``dt`` or ``stride`` has another length than
        the list, ``rank`` exceeds the length of a window (``n_delays * d``), or
        a number is out of range.
    TypeError
        If ``n_delays``, ``rank`` or a ``stride`` is not an integer, or the
        entries of a recording are not real numbers.

    Warns
    -----
    UserWarning
        If ``stride * dt`` differs between recordings by more than one per cent:
        windows then span different times, and modes do not compare.

    Notes
    -----
    The metric and the estimator are the paper's; delay windows, padding and the
    defaults are ours.

    Recordings are padded to one length (at most an eighth more than the
    longest), so everything compiles once, and other recordings of similar
    length run without compiling again. Cost for m = n_delays * d:
    :math:`O(N (T m^2 + m^3) + N^2 m r^2)` without a kernel,
    :math:`O(N T^3 + N^2 T^2 m)` with one: thin out or cut recordings of more
    than a few thousand rows before using a kernel.

    JAX computes in float32 unless told otherwise, which leaves three digits at
    ``gamma=1e-4`` and fewer below 1e-5; after
    ``jax.config.update("jax_enable_x64", True)`` at the start of a program all
    is in double precision. For other
    costs, solvers or many values of ``eta``, take the atoms of
    :func:`sgot_from_trajectories` and call :func:`sgot_pairwise`. On a TPU run it
    under ``jax.default_device(jax.devices("cpu")[0])``.

    References
    ----------
    [germain2026spectral], [kostic2022learning]

    Examples
    --------
    Three damped oscillators, the second seen from another phase and for longer:

    >>> import numpy as np
    >>> from jaxrepro.operators import distance_matrix
    >>> def oscillator(hertz, phase, n):
    ...     t = 0.02 * np.arange(n)[:, None]
    ...     return np.exp(-0.1 * t) * np.sin(2 * np.pi * hertz * t + phase)
    >>> recordings = [
    ...     oscillator(1.0, 0.0, 200),
    ...     oscillator(1.0, 2.0, 230),
    ...     oscillator(1.5, 0.0, 200),
    ... ]
    >>> distances = distance_matrix(
    ...     recordings, dt=0.02, n_delays=25, rank=2, gamma=1e-4, eta=0.5
    ... )
    >>> print(distances.round(1))
    [[0.  0.  0.6]
     [0.  0.  0.6]
     [0.6 0.6 0. ]]
    """
    check_interval("eta", eta, 0.0, 1.0)
    atoms = atoms_of_all(
        trajectories, dt, gamma, mag_floor, kernel,
        n_delays=n_delays, rank=rank, stride=stride, gamma_rel=gamma_rel,
    )  # fmt: skip
    return sgot_pairwise(atoms, eta=eta, scaling=scaling, kernel=kernel, p=p, kind=kind)
