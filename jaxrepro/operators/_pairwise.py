"""Matrices of distances between many operators."""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, ArrayLike, Float, Real

from .. import ot
from ..core import check_mesh, paper, replicate
from ._blocks import check_block, fitting_block
from ._ground_cost import check_traced, cost_options, safe_power, unit_cost
from ._measure import (
    AtomClusters,
    KernelAtoms,
    SpectralAtoms,
    basis_of,
    check_atoms,
    check_pair,
)
from ._overlap import unit_atoms
from ._sgot import sgot, solver_options, transport


@paper(
    "germain2026spectral",
    "definition of the spectral-Grassmann Wasserstein metric",
    uses=(sgot,),
)
def sgot_pairwise(
    batch1: SpectralAtoms | KernelAtoms | AtomClusters,
    batch2: SpectralAtoms | KernelAtoms | AtomClusters | None = None,
    *,
    eta: Real[ArrayLike, ""],
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    eps: Real[ArrayLike, ""] | None = None,
    kernel: Callable | None = None,
    p: int | float | None = None,
    kind: str | None = None,
    convention: str = "paper",
    q: int | float = 1,
    r: int | float | None = None,
    stable: bool | None = None,
    solver: str = "exact",
    n_iter: int | None = None,
    block: int | None = None,
    mesh: Mesh | None = None,
) -> Float[Array, "N M"]:
    r"""Distances between all systems of one batch, or of two.

    .. math:: D_{kl} = d(T_k, T'_l), \qquad \text{with } d
              \text{ as in } \texttt{sgot} .

    Parameters
    ----------
    batch1 : SpectralAtoms, KernelAtoms or AtomClusters
        N systems: atoms whose fields have one more, leading axis, for instance
        from ``jax.vmap`` of :func:`spectral_atoms`, or clusters from ``jax.vmap``
        of :func:`cluster_atoms`. Systems with fewer atoms or
        samples than others are padded (``weight`` 0, ``mask`` False). With
        ``weight`` None the assignment solver is used.
    batch2 : SpectralAtoms, KernelAtoms or AtomClusters, optional
        M systems of the same type. None compares ``batch1`` with itself: each
        pair is computed once and the diagonal is exactly 0.
    eta : float
        Share of the eigenvalues, in [0, 1].
    scaling : pair of floats, default (1.0, 1.0)
        As in :func:`sgot`, like all options that follow.
    eps : float, optional
        For ``solver="sinkhorn"``.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``.
    p : float, optional
        Order of the Wasserstein distance.
    kind : str, optional
        Distance of projectors.
    convention : {"paper", "quad", "pot"}, default "paper"
        Which cost.
    q : float, default 1
        Inner exponent of the convention ``"pot"``.
    r : float, optional
        Outer root of the convention ``"pot"``.
    stable : bool, optional
        See :func:`ground_cost`.
    solver : {"exact", "sinkhorn"}, default "exact"
        Transport solver.
    n_iter : int, optional
        Number of Sinkhorn iterations.
    block : int, optional
        Most pairs to evaluate at once on each device, by default 64 on a CPU, where
        a block then stays in cache, and 1024 elsewhere. Fewer are taken where their
        features or kernel matrices would hold more than :math:`2^{24}` numbers.
    mesh : jax.sharding.Mesh, optional
        Devices that share the pairs evenly, as in :func:`jaxrepro.ot.pairwise`.

    Returns
    -------
    array of shape (N, M)
        The distances; NaN where :func:`sgot` is, except on the diagonal of a
        batch with itself.

    Raises
    ------
    ValueError
        As :func:`sgot`, and if a batch is empty or ``block`` is less than 1.
    TypeError
        If the batches are of two types, or ``mesh`` is not a
        ``jax.sharding.Mesh``.

    Notes
    -----
    Vectors are normalised once a system. Each block of pairs is one batched
    overlap and one batched transport problem, so memory grows with ``block`` and,
    beside the result, not with the number of pairs. Differentiable.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> systems = jnp.stack([jnp.diag(jnp.array([m, 0.5])) for m in (0.9, 0.8, 0.7)])
    >>> batch = jax.vmap(lambda g: operators.spectral_atoms(g, dt=0.1))(systems)
    >>> print(jnp.array_str(operators.sgot_pairwise(batch, eta=0.5), precision=3))
    [[0.    0.294 0.628]
     [0.294 0.    0.334]
     [0.628 0.334 0.   ]]
    """
    if batch2 is None:
        check_atoms("batch1", batch1, kernel, batched=True, clusters=True)
    else:
        names = ("batch1", "batch2")
        check_pair(names, batch1, batch2, kernel, batched=True, clusters=True)
    options = cost_options(
        batch1, kind=kind, convention=convention, p=p, q=q, r=r, stable=stable
    )
    check_traced(eta, scaling)
    eps, n_iter = solver_options(solver, eps, n_iter)
    mesh = check_mesh("mesh", mesh)
    data = (batch1, batch2, eta, scaling, eps, kernel)
    return _sgot_pairwise(
        *replicate(data, mesh), options=options, solver=solver, n_iter=n_iter,
        block=check_block(block, mesh), mesh=mesh,
    )  # fmt: skip


@functools.partial(
    jax.jit, static_argnames=("options", "solver", "n_iter", "block", "mesh")
)
def _sgot_pairwise(
    batch1, batch2, eta, scaling, eps, kernel, *, options, solver, n_iter, block, mesh
):
    other = batch1 if batch2 is None else batch2
    block = fitting_block(block, _numbers_per_pair(batch1, other))

    static = {"options": options, "solver": solver, "n_iter": n_iter}
    distance = jax.tree_util.Partial(
        functools.partial(_distance, **static), eta, scaling, eps, kernel
    )
    units1 = _unit_batch(batch1, kernel, block)
    units2 = None if batch2 is None else _unit_batch(batch2, kernel, block)
    matrix = ot.pairwise(distance, units1, units2, block=block, mesh=mesh)
    eta = jnp.asarray(eta, matrix.dtype)
    return jnp.where((eta >= 0) & (eta <= 1), matrix, jnp.nan)


def _distance(eta, scaling, eps, kernel, unit1, unit2, *, options, solver, n_iter):
    cost = unit_cost(unit1, unit2, eta, scaling, kernel, options)
    weights = unit1.weight, unit2.weight
    value, _ = transport(cost, weights, eps, solver=solver, n_iter=n_iter)
    return safe_power(value, options.root)


def _unit_batch(batch, kernel, block):
    """Unit atoms of every system; kernel matrices a block of systems at a time."""
    if isinstance(batch, AtomClusters):
        batch = batch._replace(basis=batch.basis._replace(condition=None))
    else:
        batch = batch._replace(condition=None)
    if isinstance(basis_of(batch), SpectralAtoms):
        return jax.vmap(unit_atoms)(batch)
    return jax.lax.map(lambda atoms: unit_atoms(atoms, kernel), batch, batch_size=block)


def _numbers_per_pair(batch1, batch2):
    """Real numbers that one pair of systems keeps in memory, roughly."""
    batch1, batch2 = basis_of(batch1), basis_of(batch2)
    r1, r2 = batch1.lam.shape[-1], batch2.lam.shape[-1]
    if isinstance(batch1, KernelAtoms):
        (n1, d), n2 = batch1.x.shape[-2:], batch2.x.shape[-2]
        return 2 * n1 * n2 + (n1 + n2) * (2 * d + 4 * max(r1, r2))
    return 4 * batch1.right.shape[-2] * (r1 + r2) + 8 * r1 * r2
