r"""How many samples make two models agree."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_choice, check_integer, check_interval, paper
from ._cross_split import denoiser_cross_split, sampling_cross_split
from ._spectrum import check_spectrum

_GRID = 48


class SamplePlan(NamedTuple):
    """A sample size and what it gives.

    Attributes
    ----------
    n : int
        The smallest number of samples from which on the tolerance is kept.
    disagreement : array of shape ()
        Predicted disagreement there.
    """

    n: int
    disagreement: Float[Array, ""]


@paper("wang2026random", "disagreement of models of independent splits")
def plan_samples(
    eigs: Real[ArrayLike, " d"],
    tolerance: float,
    *,
    coords: Real[ArrayLike, " d"] | None = None,
    sigma: float | None = None,
    sigma_0: float = 0.0,
    sigma_T: float = float("inf"),
    criterion: str = "total",
    relative: bool = True,
    centered: bool = True,
    ddof: int = 0,
    n_max: int = 10**9,
) -> SamplePlan:
    r"""Number of training samples from which on two linear models agree.

    Parameters
    ----------
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance; see
        :func:`estimate_spectrum` for that of samples.
    tolerance : float
        Largest allowed mean squared difference, positive.
    coords : array of shape (d,), optional
        Coordinates of the one noise, or noisy input, that counts; by default the
        average over all.
    sigma : float, optional
        Noise level of a denoiser; by default the models generate data.
    sigma_0, sigma_T : float, default 0 and infinity
        Final and initial noise level of the generation.
    criterion : {"total", "worst"}, default "total"
        Sum over the modes, or the largest of them.
    relative : bool, default True
        Whether differences count in units of those between unrelated data,
        :math:`2 \ell_k` along a mode and :math:`2 \sum_k \ell_k` in all; modes of no
        variance are then left out.
    centered : bool, default True
        Whether the means are estimated.
    ddof : {0, 1}, default 0
        What the sums of squares are divided by: n - ddof.
    n_max : int, default 10**9
        Largest number to consider.

    Returns
    -------
    SamplePlan
        ``n`` and the ``disagreement`` there.

    Raises
    ------
    ValueError
        If even ``n_max`` samples do not keep the tolerance, an option is unknown, or
        an argument is out of range.

    Notes
    -----
    On the host, not for ``jit``. The disagreement may rise with n below the rank, so
    the last crossing counts. It is that of :func:`sampling_cross_split` and
    :func:`denoiser_cross_split` with equal sizes.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import plan_samples
    >>> plan_samples(1 / jnp.arange(1.0, 33), 0.05).n  # within 5 % of unrelated
    135
    """
    check_spectrum(eigs)
    check_interval("tolerance", tolerance, 0, jnp.inf, closed="neither")
    check_choice("criterion", criterion, ("total", "worst"))
    check_choice("relative", relative, (True, False))
    least = 2 if centered else 1
    n_max = check_integer("n_max", n_max, minimum=least)
    eigs = jnp.asarray(eigs)
    options = {"centered": centered, "ddof": ddof}
    if sigma is None:
        options |= {"sigma_0": sigma_0, "sigma_T": sigma_T}
        at = functools.partial(sampling_cross_split, **options)
        split = lambda n: at(coords, n, n, eigs)
    else:
        at = functools.partial(denoiser_cross_split, **options)
        split = lambda n: at(coords, sigma, n, n, eigs)

    @jax.jit
    def disagreement(n):
        gaps = split(n)
        if criterion == "total":
            return jnp.sum(gaps) / (2 * jnp.sum(eigs) if relative else 1)
        if relative:
            kept = eigs > 0
            gaps = jnp.where(kept, gaps / (2 * jnp.where(kept, eigs, 1)), 0)
        return jnp.max(gaps)

    def fits(n):
        return bool(disagreement(float(n)) <= tolerance)

    grid = np.unique(np.geomspace(least, n_max, _GRID).round().astype(np.int64))
    if not fits(grid[-1]):
        raise ValueError(
            f"tolerance: expected one that {n_max} samples keep, for which the "
            f"disagreement is {float(disagreement(float(n_max))):.3g}; got {tolerance}"
        )
    low = high = int(grid[-1])
    for n in map(int, grid[-2::-1]):
        low = n
        if not fits(n):
            break
        high = n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return SamplePlan(high, disagreement(float(high)))
