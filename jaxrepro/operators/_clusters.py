"""Clusters of atoms whose eigenvalues are equal, or too close to tell apart."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Real

from ..core import check_interval, check_shape, matmul, paper, safe_divide
from ._gram import real_matmul
from ._measure import (
    AtomClusters as AtomClusters,
    KernelAtoms,
    SpectralAtoms,
    check_atoms,
    live_atoms,
)
from ._overlap import unit_atoms
from ._psd import regularised_inverse_root
from ._subspace import members


@paper(
    "germain2026spectral",
    "spectral measure with multiplicities: the span of the spectral projector of an "
    "eigenvalue, with mass in proportion to its multiplicity",
)
def cluster_atoms(
    atoms: SpectralAtoms | KernelAtoms,
    *,
    tol: Real[ArrayLike, ""],
    kernel: Callable | None = None,
) -> AtomClusters:
    r"""Join atoms with close eigenvalues, which have subspaces but no directions.

    Atoms :math:`i` and :math:`j` are in one cluster if a chain of atoms with
    :math:`|\lambda - \lambda'| \le \mathrm{tol}` leads from one to the other. A cluster
    of :math:`m` atoms is one atom, of mass :math:`m / m_{tot}`, at the mean
    eigenvalue, with orthonormal bases :math:`Q_R, Q_L` of the spaces that its
    right and its left eigenvectors span. Two clusters have the distance

    .. math:: d_G = \sqrt{m^2 + m'^2 - 2\, \|Q_R^* Q'_R\|_F^2\, \|Q_L^* Q'_L\|_F^2},

    that of the projections onto the operators from the left to the right space.

    Parameters
    ----------
    atoms : SpectralAtoms or KernelAtoms
        Atoms of one operator. Padded ones stay out of every cluster.
    tol : float
        Largest gap inside a cluster, in the unit of ``lam``, non-negative: above
        the error of the eigenvalues, and below the gaps between modes that are to
        be told apart. 0 joins exactly equal eigenvalues, infinity all.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``.

    Returns
    -------
    AtomClusters
        What :func:`ground_cost`, :func:`sgot`, :func:`sot`, :func:`got` and
        :func:`sgot_pairwise` compare, of ``kind="subspace"``. NaN eigenvalues if a
        traced ``tol`` is negative.

    Raises
    ------
    ValueError
        If the shapes of the fields disagree, the kernel is missing, or a concrete
        ``tol`` is negative.
    TypeError
        If ``atoms`` are no atoms.

    Notes
    -----
    Where eigenvalues are equal, as in systems of identical or symmetric parts,
    eigenvectors are any basis of the eigenspace, and so arbitrary: plain atoms
    of one operator in two bases are at a distance. Clusters see the spaces alone.
    Compare clusters with clusters, all of one ``tol``: a gap that
    passes ``tol`` changes multiplicities, and the distance jumps. Of distinct
    eigenvalues, the distances are those of plain atoms with ``kind="subspace"``.

    The measure with multiplicities is the paper's; the tolerance, and the bases by
    symmetric orthogonalisation :math:`Q = R\,(R^* R)^{-1/2}` within each cluster, are
    ours. Clusters of a real operator are closed under conjugation,
    unless they reach the frequency :math:`\pi/dt`, where the logarithm parts
    neighbours. Nearly parallel eigenvectors, of a nearly defective operator, lose
    digits in proportion to their condition number.

    Clusters are constant in derivatives, which are exact also where eigenvalues
    are equal; take the atoms with a ``gap_tol`` there, lest the couplings of close
    eigenvectors, which cancel, drown the rest in rounding. Cost
    :math:`O(d r^2 + r^3)`, with kernels :math:`O(n^2 (d + r))`; a distance then takes
    :math:`O(d r^3)` and one transport problem.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    Two modes decay alike, so that any two directions in their plane will do:

    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> operator = jnp.diag(jnp.array([0.9, 0.9, 0.5]))
    >>> atoms = operators.spectral_atoms(operator, dt=1.0)
    >>> turn = jnp.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]) + 0j
    >>> turned = atoms._replace(right=turn @ atoms.right, left=turn @ atoms.left)
    >>> round(float(operators.sgot(atoms, turned, eta=0.2)), 2)
    0.45
    >>> clusters = operators.cluster_atoms(atoms, tol=1e-3)
    >>> print(clusters.label, jnp.array_str(clusters.weight, precision=2))
    [0 0 2] [0.67 0.   0.33]
    >>> same = operators.cluster_atoms(turned, tol=1e-3)
    >>> round(float(operators.sgot(clusters, same, eta=0.2)), 2)
    0.0
    """
    check_atoms("atoms", atoms, kernel)
    check_shape("tol", tol, ())
    check_interval("tol", tol, 0.0)
    return _cluster_atoms(atoms, tol, kernel)


@jax.jit
def _cluster_atoms(atoms, tol, kernel):
    unit = unit_atoms(atoms, kernel)
    live = live_atoms(unit)
    lam, dtype = unit.lam, unit.lam.real.dtype
    tol = jnp.asarray(tol, dtype)
    gap = jnp.abs(jax.lax.stop_gradient(lam[:, None] - lam[None, :]))
    label = _components((gap <= tol) & live[:, None] & live[None, :])

    member = members(label, live)
    count = jnp.sum(member, axis=1, dtype=dtype).astype(lam.dtype)
    mean = safe_divide(jnp.sum(jnp.where(member, lam[None, :], 0), axis=1), count)
    mean = jnp.where(tol >= 0, mean, jnp.nan)
    weight = unit.weight
    if weight is None:
        weight = jnp.full(len(lam), 1 / len(lam), dtype)
    weight = jnp.sum(jnp.where(member, weight[None, :], 0), axis=1)

    together = label[:, None] == label[None, :]
    if isinstance(atoms, KernelAtoms):
        gram_x, gram_y = kernel(unit.x, unit.x), kernel(unit.y, unit.y)
        n = jnp.sum(unit.mask, dtype=dtype)
        right = _orthonormal(unit.beta, together, gram_x / n)
        left = _orthonormal(unit.alpha, together, gram_y / n)
        unit = unit._replace(beta=right, alpha=left)
    else:
        right = _orthonormal(unit.right, together)
        left = _orthonormal(unit.left, together)
        unit = unit._replace(right=right, left=left)
    return AtomClusters(mean, label, weight, unit)


def _components(close):
    """Smallest index of a node that can be reached from each node of a graph."""

    def spread(_, label):
        return jnp.min(jnp.where(close, label[None, :], label[:, None]), axis=1)

    index = jnp.arange(len(close), dtype=jnp.int32)
    return jax.lax.fori_loop(0, len(close) - 1, spread, index)


def _orthonormal(vectors, together, metric=None):
    """Columns made orthonormal to those of their cluster, by the symmetric root."""
    for _ in range(2):  # once more for the errors of the first, as the condition grows
        image = vectors if metric is None else real_matmul(metric, vectors)
        gram = jnp.where(together, matmul(vectors.conj().T, image), 0)
        root = regularised_inverse_root(gram, jnp.zeros((), gram.real.dtype))
        vectors = matmul(vectors, jnp.where(together, root, 0))
    return vectors
