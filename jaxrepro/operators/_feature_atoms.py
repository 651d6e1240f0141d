r"""Spectral atoms of a recording in features of a given feature map."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, PyTree, Real

from ..core import (
    check_function,
    check_integer,
    check_interval,
    check_nonempty,
    check_real,
    check_shape,
    paper,
    promote_floating,
)
from ._atoms import spectral_atoms
from ._measure import SpectralAtoms
from ._regression import reduced_rank_regression


@paper(
    "germain2026spectral",
    "spectral measure of an operator estimated in learned features",
    uses=(reduced_rank_regression, spectral_atoms),
)
def feature_atoms(
    params: PyTree,
    windows: Real[ArrayLike, "T d"],
    dt: Real[ArrayLike, ""],
    *,
    gamma: Real[ArrayLike, ""],
    mag_floor: Real[ArrayLike, ""] = 1e-3,
    gap_tol: Real[ArrayLike, ""] = 0.0,
    apply: Callable,
    rank: int,
    gamma_rel: bool = True,
) -> SpectralAtoms:
    r"""Spectral atoms of the system behind one recording, in given features.

    .. math:: z_t \;\to\; \phi_\theta(z_t) \;\to\; G \text{ of rank } r
              \text{ on centred pairs} \;\to\; (\lambda_i, r_i, l_i)

    Parameters
    ----------
    params : pytree
        Parameters of the feature map.
    windows : array of shape (T, d)
        Consecutive states or delay windows, one a row.
    dt : float
        Time between two rows, positive.
    gamma : float
        Regularisation :math:`\gamma \ge 0` of the regression.
    mag_floor : float, default 1e-3
        As in :func:`spectral_atoms`.
    gap_tol : float, default 0.0
        As in :func:`spectral_atoms`.
    apply : callable
        ``apply(params, windows) -> (T, m)``: the feature map.
    rank : int
        Number of atoms, at most m. In learned features take all m and look at the
        slowest: such features are nearly uncorrelated, so that the order in which a
        lower rank drops directions says little.
    gamma_rel : bool, default True
        Whether to multiply ``gamma`` by the trace of the centred covariance of the
        features of the states (all rows but the last).

    Returns
    -------
    SpectralAtoms
        ``rank`` atoms on the m features; compare them with atoms that were taken
        with the same ``params`` only. NaN where a traced number is out of range;
        weights of 0 if all features are constant to within :math:`T` rounding errors.

    Raises
    ------
    ValueError
        If ``windows`` is no matrix or has fewer than three rows, ``apply`` does not
        give one row of features for each, ``rank`` exceeds their number, or a
        concrete number is out of range.
    TypeError
        If ``rank`` is not an integer, ``apply`` is no function with a hash, or
        ``windows`` or features are no real numbers.

    Notes
    -----
    Features of states and of successors are centred, each by their own mean: the
    regression has an intercept, and the constant function, which every transfer
    operator keeps, is no atom. Differentiable in ``params`` and ``windows``; map
    over recordings of one length with :func:`jax.vmap`. Compiled once for each
    ``apply``, so give the same function again. On a TPU call it outside ``jit``. The
    estimator is the paper's, the intercept ours.

    References
    ----------
    [germain2026spectral], [kostic2022learning]

    Examples
    --------
    A circle seen through the exponential function; its logarithm is linear:

    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import feature_atoms
    >>> t = 0.1 * jnp.arange(100)
    >>> angle = 2 * jnp.pi * 0.5 * t  # 0.5 Hz
    >>> z = jnp.exp(jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1))
    >>> atoms = feature_atoms(
    ...     None, z, 0.1, gamma=1e-6, rank=2, apply=lambda params, z: jnp.log(z)
    ... )
    >>> (atoms.lam.imag / (2 * jnp.pi)).round(3).tolist()
    [0.5, -0.5]
    """
    check_shape("windows", windows, ("T", "d"))
    check_nonempty("windows", windows)
    check_real("windows", windows)
    check_integer("number of rows of windows", np.shape(windows)[0], minimum=3)
    check_shape("gamma", gamma, ())
    check_interval("gamma", gamma, 0.0, closed="left")
    rank = check_integer("rank", rank)
    check_function("apply", apply)
    (windows,) = promote_floating(windows)
    fit = _fit(params, windows, gamma, apply=apply, rank=rank, gamma_rel=gamma_rel)
    return spectral_atoms(fit, dt, mag_floor=mag_floor, gap_tol=gap_tol)  # pyright: ignore


@functools.partial(jax.jit, static_argnames=("apply", "rank", "gamma_rel"))
def _fit(params, windows, gamma, *, apply, rank, gamma_rel):
    f = apply(params, windows)
    if not isinstance(f, jax.Array | np.ndarray):
        got = type(f).__name__
        raise TypeError(f"apply(params, windows): expected an array; got {got}")
    check_shape("apply(params, windows)", f, (len(windows), "m"))
    check_real("apply(params, windows)", f)
    fx, fy = (g - jnp.mean(g, axis=0, keepdims=True) for g in (f[:-1], f[1:]))
    # Features that do not move differ from their mean by its rounding, of which a
    # relative gamma would make eigenvalues.
    size = jnp.max(jnp.abs(f), axis=0)
    rounding = len(f) * jnp.finfo(fx.dtype).eps * size
    moves = jnp.any(jnp.max(jnp.abs(fx), axis=0) > rounding)
    fx = jnp.where(moves | ~jnp.all(jnp.isfinite(f)), fx, 0)
    return reduced_rank_regression(fx, fy, gamma=gamma, rank=rank, gamma_rel=gamma_rel)
