r"""The spectral-Grassmann distance as a loss for features."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Inexact, PyTree, Real

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
from ._feature_atoms import feature_atoms
from ._ground_cost import check_traced
from ._measure import AtomClusters, KernelAtoms, SpectralAtoms, check_atoms
from ._sgot import sgot, sot


@paper(
    "germain2026spectral",
    "spectral-Grassmann Wasserstein metric between estimated operators",
    uses=(feature_atoms, sgot),
)
def sgot_loss(
    params: PyTree,
    windows: Real[ArrayLike, "N T d"],
    targets: SpectralAtoms | Inexact[ArrayLike, "*N r"],
    dt: Real[ArrayLike, ""] | Real[ArrayLike, " N"],
    *,
    gamma: Real[ArrayLike, ""],
    eta: Real[ArrayLike, ""] | None = None,
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    mag_floor: Real[ArrayLike, ""] = 1e-3,
    gap_tol: Real[ArrayLike, ""] = 1e-6,
    apply: Callable,
    rank: int,
    gamma_rel: bool = True,
    p: int | float | None = None,
    kind: str | None = None,
    convention: str = "paper",
) -> Float[Array, ""]:
    r"""Mean distance between the operators of recordings and their targets.

    .. math:: \frac1N \sum_{k=1}^N d_{\mathrm{SGOT}}\big(
              \widehat T_\theta(z^k),\, T^k \big),

    where :math:`\widehat T_\theta(z^k)` is the operator that :func:`feature_atoms`
    estimates from recording :math:`k` in the features :math:`\phi_\theta`.

    Parameters
    ----------
    params : pytree
        Parameters :math:`\theta` of the feature map.
    windows : array of shape (N, T, d)
        Recordings: consecutive states or delay windows.
    targets : SpectralAtoms or complex array of shape (N, r) or (r,)
        What to be close to, one for each recording or one for all. Known generator
        eigenvalues, as an array, are compared by eigenvalues alone (:func:`sot`).
        ``SpectralAtoms`` must be in the same features, that is, come from
        :func:`feature_atoms` with the same ``params``, of other recordings.
    dt : float or array of shape (N,)
        Time between two rows, one for all or one for each recording.
    gamma : float
        Regularisation of the regression.
    eta : float, optional
        Share of the eigenvalues as in :func:`sgot`; needed for ``SpectralAtoms``,
        and without meaning for eigenvalues.
    scaling : pair of floats, default (1.0, 1.0)
        As in :func:`sgot`.
    mag_floor : float, default 1e-3
        As in :func:`spectral_atoms`.
    gap_tol : float, default 1e-6
        Eigenvalues of a one-step operator that are closer than this do not couple
        in the derivative, which otherwise grows as the inverse of their gap.
    apply : callable
        ``apply(params, windows) -> (T, m)``: the feature map.
    rank : int
        Number of atoms of an estimate.
    gamma_rel : bool, default True
        As in :func:`feature_atoms`.
    p, kind, convention
        As in :func:`sgot`; only ``p`` goes with eigenvalues.

    Returns
    -------
    array of shape ()
        The mean distance; NaN if all eigenvalues of a recording are below the
        floor, as in features that do not move, or a traced number is out of range.

    Raises
    ------
    ValueError
        If shapes do not match, ``eta`` is missing or has no meaning, or an argument
        of :func:`feature_atoms` or :func:`sgot` is out of range.
    TypeError
        If ``rank`` is not an integer, ``targets`` are real numbers or other atoms,
        ``apply`` is no function with a hash, or ``windows`` are no real numbers.

    Notes
    -----
    Differentiable end to end: regression, eigenvectors and exact transport; targets
    too, so put ``jax.lax.stop_gradient`` around those that are to stay. At distance
    0 the derivative is 0. Map over ``params`` of several seeds, ``eta`` and
    ``gamma`` with :func:`jax.vmap`. A distance in features that are learned by it
    alone can fall by features that say less: add a term that keeps them apart, such
    as :func:`vamp2_loss`, or the distance to recordings of other systems, negated.
    It contains an eigenproblem without a TPU kernel. The metric is the paper's, its
    use as a loss ours.

    References
    ----------
    [germain2026spectral], [kostic2022learning]

    Examples
    --------
    Which power of a signal makes it rotate at the known 0.5 Hz? The lower the better,
    since the logarithm does.

    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import sgot_loss
    >>> angle = 2 * jnp.pi * 0.5 * 0.1 * jnp.arange(100)
    >>> z = jnp.exp(jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1))[None]
    >>> known = 2j * jnp.pi * jnp.array([0.5, -0.5])
    >>> def apply(power, z):
    ...     return z**power
    >>> def loss(power):
    ...     return sgot_loss(power, z, known, 0.1, gamma=1e-6, rank=2, apply=apply)
    >>> [round(float(loss(power)), 2) for power in (0.1, 1.0, 2.0)]
    [0.0, 0.19, 0.69]
    """
    check_shape("windows", windows, ("N", "T", "d"))
    check_nonempty("windows", windows)
    check_real("windows", windows)
    n = np.shape(windows)[0]
    check_shape("dt", dt, (n,) if np.ndim(dt) else ())
    check_interval("dt", dt, 0.0, closed="neither")
    for name, value in (("gamma", gamma), ("mag_floor", mag_floor)):
        check_shape(name, value, ())
        check_interval(name, value, 0.0, closed="left")
    check_shape("gap_tol", gap_tol, ())
    check_interval("gap_tol", gap_tol, 0.0, closed="left")
    atoms = _as_atoms(targets, n, eta, kind, convention)
    check_traced(1.0 if eta is None else eta, scaling)
    check_function("apply", apply)
    (windows,), dt = promote_floating(windows), jnp.asarray(dt)
    return _loss(
        params, windows, atoms, dt, eta, scaling, gamma, mag_floor, gap_tol,
        apply=apply, rank=check_integer("rank", rank), gamma_rel=gamma_rel,
        p=p, kind=kind, convention=convention,
    )  # fmt: skip


def _as_atoms(targets, n, eta, kind, convention) -> SpectralAtoms:
    """Targets as atoms; those made of eigenvalues have vectors of length 1."""
    if isinstance(targets, SpectralAtoms):
        if eta is None:
            raise ValueError("eta: expected a value beside SpectralAtoms; got None")
        atoms = targets
    elif targets is None or isinstance(targets, KernelAtoms | AtomClusters):
        raise TypeError(
            "targets: expected SpectralAtoms or an array of complex generator "
            f"eigenvalues; got {'None' if targets is None else type(targets).__name__}"
        )
    else:
        if (eta, kind, convention) != (None, None, "paper"):
            raise ValueError(
                "eta, kind, convention: expected none of them beside eigenvalues"
            )
        (lam,) = promote_floating(targets)
        if not jnp.iscomplexobj(lam):
            raise TypeError(
                "targets: expected complex generator eigenvalues, such as growth + "
                f"2j * pi * frequency in Hz, or SpectralAtoms; got {lam.dtype}"
            )
        one = jnp.ones_like(lam)[..., None, :]
        atoms = SpectralAtoms(lam, one, one)
    batched = np.ndim(atoms.lam) > 1
    check_shape("targets", atoms.lam, (n, "r") if batched else ("r",))
    check_atoms("targets", atoms, batched=batched)
    return atoms


@functools.partial(
    jax.jit,
    static_argnames=("apply", "rank", "gamma_rel", "p", "kind", "convention"),
)
def _loss(
    params, windows, targets, dt, eta, scaling, gamma, mag_floor, gap_tol,
    *, apply, rank, gamma_rel, p, kind, convention,
):  # fmt: skip
    def distance(windows, target, dt) -> Any:
        atoms = feature_atoms(
            params, windows, dt, gamma=gamma, mag_floor=mag_floor, gap_tol=gap_tol,
            apply=apply, rank=rank, gamma_rel=gamma_rel,
        )  # fmt: skip
        if eta is None:
            return sot(atoms, target, scaling=scaling, p=1 if p is None else p)
        check_shape("targets.right", target.right, (len(atoms.right), "r"))
        return sgot(
            atoms, target, eta=eta, scaling=scaling, p=p, kind=kind,
            convention=convention,
        )  # fmt: skip

    axis = 0 if jnp.ndim(targets.lam) > 1 else None
    in_axes = 0, axis, 0 if jnp.ndim(dt) else None
    return jnp.mean(jax.vmap(distance, in_axes)(windows, targets, dt))
