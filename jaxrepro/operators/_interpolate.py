r"""Paths between operators."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Real

from ..core import check_interval, check_shape, paper
from ._barycenter import operator_barycenter
from ._descent import BarycenterResult
from ._measure import KernelAtoms, SpectralAtoms, check_pair, clear_padding


@paper(
    "germain2026spectral",
    "interpolation between two operators by weighted barycenters",
    uses=(operator_barycenter,),
)
def interpolate(
    atoms1: SpectralAtoms | KernelAtoms,
    atoms2: SpectralAtoms | KernelAtoms,
    ts: Real[ArrayLike, " T"],
    *,
    eta: Real[ArrayLike, ""],
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    lr: Real[ArrayLike, ""] = 3e-2,
    kernel: Callable | None = None,
    n_iter: int = 600,
    n_starts: int = 2,
    real: bool = True,
) -> BarycenterResult:
    r"""Operators on the way from one operator to another.

    .. math:: T_t = \arg\min_T \; (1 - t)\, W^2(T, T_0) + t\, W^2(T, T_1)

    Parameters
    ----------
    atoms1, atoms2 : SpectralAtoms or KernelAtoms
        The ends :math:`T_0` and :math:`T_1`, with equal numbers of atoms (and of
        samples, with a kernel); pad where they differ.
    ts : array of shape (T,)
        Positions :math:`t \in [0, 1]`.
    eta : float
        Share :math:`\eta \in [0, 1]` of the eigenvalues.
    scaling, lr, kernel, n_iter
        As in :func:`operator_barycenter`.
    n_starts : int, default 2
        Whether to start each mean from the nearer end (1) or from both (2).
    real : bool, default True
        As in :func:`operator_barycenter`: whether the operators are real and the path
        is kept real, which it cannot be for negative real eigenvalues (frequency
        :math:`+\pi/dt`, no mirror image) that are matched with others.

    Returns
    -------
    BarycenterResult
        Each field with a leading axis over ``ts``.

    Raises
    ------
    ValueError
        As :func:`operator_barycenter`, if the ends differ in shape, or a concrete
        ``t`` is outside [0, 1].
    TypeError
        If the ends are of two types.

    Notes
    -----
    With the cost ``"quad"`` and plans that do not change along the way, eigenvalues
    move on straight lines: frequencies glide, where the mean of the matrices keeps
    both and adds damping. Where a real atom is matched with half of a conjugate pair,
    there are two best plans, mirror images of each other; with ``real=True`` steps
    take their mean, and eigenvalues leave the straight lines.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import interpolate, spectral_atoms
    >>> slow, fast = (
    ...     spectral_atoms(jnp.diag(jnp.array([m, 0.1])), 1.0) for m in (0.9, 0.6)
    ... )
    >>> path = interpolate(slow, fast, jnp.array([0.0, 0.5, 1.0]), eta=0.5, n_iter=20)
    >>> [round(float(m), 3) for m in jnp.exp(path.atoms.lam.real[:, 0])]
    [0.9, 0.735, 0.6]
    """
    check_pair(("atoms1", "atoms2"), atoms1, atoms2, kernel)
    check_shape("ts", ts, ("T",))
    check_interval("ts", ts, 0.0, 1.0)
    for name in ("lam", "x"):
        if hasattr(atoms1, name):
            shape = jnp.shape(getattr(atoms1, name))
            check_shape(f"atoms2.{name}", getattr(atoms2, name), shape)
    ends = [_filled(atoms) for atoms in (atoms1, atoms2)]
    batch = jax.tree.map(lambda a, b: jnp.stack([a, b]), *ends)
    ts = jnp.asarray(ts).astype(batch.lam.real.dtype)

    def mean(t):
        return operator_barycenter(
            batch, jnp.stack([1 - t, t]), eta=eta, scaling=scaling, lr=lr,
            kernel=kernel, n_iter=n_iter, n_starts=n_starts, real=real,
        )  # fmt: skip

    return jax.vmap(mean)(ts)


def _filled(atoms) -> Any:
    """Atoms whose weights are written out, so that two of them can be stacked."""
    atoms = clear_padding(atoms)
    if atoms.weight is not None:
        return atoms
    r, dtype = len(atoms.lam), atoms.lam.real.dtype
    return atoms._replace(weight=jnp.full(r, 1 / r, dtype))
