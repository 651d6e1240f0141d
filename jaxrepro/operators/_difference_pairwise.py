"""Matrices of distances that are norms of differences of operators."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, ArrayLike, Float, Real

from .. import ot
from ..core import check_mesh, check_nonempty, replicate
from ._blocks import check_block, fitting_block
from ._difference import Factors, Operator, check_operators, prepare
from ._fit import KernelOperatorFit
from ._hilbert_schmidt import prepared_hs_distance
from ._measure import KernelAtoms
from ._operator_norm import check_precisions, prepared_norm_distance


def hs_pairwise(
    batch1: Operator,
    batch2: Operator | None = None,
    *,
    dt: Real[ArrayLike, ""] | Real[ArrayLike, " N"] | None = None,
    dt2: Real[ArrayLike, ""] | Real[ArrayLike, " M"] | None = None,
    kernel: Callable | None = None,
    block: int | None = None,
    mesh: Mesh | None = None,
) -> Float[Array, "N M"]:
    r"""Hilbert-Schmidt distances between all operators of one batch, or of two.

    .. math:: D_{kl} = \|T_k - T'_l\|_{HS}

    Parameters
    ----------
    batch1 : array of shape (N, d, d), regression results, or atoms
        N operators in one of the forms of :func:`hs_distance`, whose arrays have
        one more, leading axis, for instance from ``jax.vmap``.
    batch2 : array of shape (M, d, d), regression results, or atoms, optional
        M operators in the same form. None compares ``batch1`` with itself: each
        pair is computed once and the diagonal is exactly 0.
    dt : float or array of shape (N,), optional
        Time steps at which to take operators that are given by atoms, one for all
        or one for each; needed for atoms only.
    dt2 : float or array of shape (M,), optional
        Time steps of the second batch, by default ``dt`` if that is one for all.
    kernel : equinox.Module, optional
        Kernel of ``KernelOperatorFit`` and ``KernelAtoms``.
    block : int, optional
        Most pairs to evaluate at once, as in :func:`sgot_pairwise`.
    mesh : jax.sharding.Mesh, optional
        Devices that share the pairs, as in :func:`jaxrepro.ot.pairwise`.

    Returns
    -------
    array of shape (N, M)
        The distances.

    Raises
    ------
    ValueError
        As :func:`hs_distance`, and if a batch is empty, ``dt`` or ``dt2`` has
        another length than its batch, ``dt2`` is missing although ``dt`` has
        one entry a system, ``dt2`` comes without ``batch2``, or ``block`` is less
        than 1.
    TypeError
        If the batches come in two forms, or ``mesh`` is not a
        ``jax.sharding.Mesh``.

    Notes
    -----
    The Gram matrices of each operator's own factors are computed once a system.
    A pair then costs :math:`O(d\,r^2)`, or :math:`O(n^2 (d + r))` with a kernel for
    the two kernel matrices between its samples. The values are those of
    :func:`hs_distance`, with its floor.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import hs_pairwise
    >>> systems = jnp.stack([0.0 * jnp.eye(4), jnp.eye(4), 3.0 * jnp.eye(4)])
    >>> hs_pairwise(systems).tolist()
    [[0.0, 2.0, 6.0], [2.0, 0.0, 4.0], [6.0, 4.0, 0.0]]
    """
    return _checked_pairwise(
        prepared_hs_distance, batch1, batch2, dt, dt2, kernel, block, mesh
    )


def operator_norm_pairwise(
    batch1: Operator,
    batch2: Operator | None = None,
    *,
    dt: Real[ArrayLike, ""] | Real[ArrayLike, " N"] | None = None,
    dt2: Real[ArrayLike, ""] | Real[ArrayLike, " M"] | None = None,
    kernel: Callable | None = None,
    block: int | None = None,
    mesh: Mesh | None = None,
) -> Float[Array, "N M"]:
    r"""Operator-norm distances between all operators of one batch, or of two.

    .. math:: D_{kl} = \|T_k - T'_l\|

    Parameters
    ----------
    batch1 : array of shape (N, d, d), regression results, or atoms
        N operators, as in :func:`hs_pairwise`.
    batch2 : array of shape (M, d, d), regression results, or atoms, optional
        M operators in the same form; None compares ``batch1`` with itself.
    dt : float or array of shape (N,), optional
        Time steps of operators that are given by atoms.
    dt2 : float or array of shape (M,), optional
        Time steps of the second batch, by default ``dt`` if that is one for all.
    kernel : equinox.Module, optional
        Kernel of ``KernelOperatorFit`` and ``KernelAtoms``.
    block : int, optional
        Most pairs to evaluate at once.
    mesh : jax.sharding.Mesh, optional
        Devices that share the pairs.

    Returns
    -------
    array of shape (N, M)
        The distances.

    Raises
    ------
    ValueError, TypeError
        As :func:`hs_pairwise`, and if a batch is in half precision.

    Notes
    -----
    As :func:`hs_pairwise`, with an eigenproblem of size :math:`r_1 + r_2` for each
    pair, or of size d for matrices. The values and derivatives are those of
    :func:`operator_norm_distance`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import operator_norm_pairwise
    >>> systems = jnp.stack([jnp.eye(2), jnp.diag(jnp.array([3.0, 1.0]))])
    >>> operator_norm_pairwise(systems).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    check_precisions(batch1=batch1, batch2=batch2)
    return _checked_pairwise(
        prepared_norm_distance, batch1, batch2, dt, dt2, kernel, block, mesh
    )


def _checked_pairwise(distance, batch1, batch2, dt, dt2, kernel, block, mesh):
    alone = batch2 is None
    if alone and dt2 is not None:
        raise ValueError("dt2: expected None without batch2")
    if not alone and dt2 is None and dt is not None and jnp.ndim(dt):
        raise ValueError("dt2: expected the time steps of batch2; got None")
    batches = check_operators(
        ("batch1", "batch1" if alone else "batch2"),
        batch1,
        batch1 if alone else batch2,
        dt,
        dt if dt2 is None else dt2,
        kernel,
        batched=True,
    )
    for name, batch in zip(("batch1", "batch2"), batches):
        check_nonempty(name, jax.tree.leaves(batch)[0])
    mesh = check_mesh("mesh", mesh)
    data = (batches[0], None if alone else batches[1], dt, dt2, kernel)
    return _pairwise(
        *replicate(data, mesh),
        distance=distance,
        block=check_block(block, mesh),
        mesh=mesh,
    )


@functools.partial(jax.jit, static_argnames=("distance", "block", "mesh"))
def _pairwise(batch1, batch2, dt, dt2, kernel, *, distance, block, mesh):
    one = _prepare_all(batch1, dt, kernel, block)
    two = None
    if batch2 is not None:
        two = _prepare_all(batch2, dt if dt2 is None else dt2, kernel, block)
    block = fitting_block(block, _numbers_per_pair(one, one if two is None else two))
    pair = jax.tree_util.Partial(distance, kernel)
    return ot.pairwise(pair, one, two, block=block, mesh=mesh)


def _prepare_all(batch, dt, kernel, block):
    """Prepare every operator; kernel matrices a block of systems at a time."""
    if dt is not None:
        dt = jnp.broadcast_to(dt, jax.tree.leaves(batch)[0].shape[:1])
    one = lambda system: prepare(system[0], system[1], kernel)
    if isinstance(batch, KernelOperatorFit | KernelAtoms):
        return jax.lax.map(one, (batch, dt), batch_size=block)
    return jax.vmap(one)((batch, dt))


def _numbers_per_pair(one, two):
    """Real numbers that one pair of operators keeps in memory, roughly."""
    if not isinstance(one, Factors):
        return 8 * one.shape[-1] ** 2
    rows1, r1 = one.right.shape[-2:]
    rows2, r2 = two.right.shape[-2:]
    numbers = 4 * (rows1 * r1 + rows2 * r2) + 16 * (r1 + r2) ** 2
    if one.x is None:
        return numbers
    return numbers + 2 * rows1 * rows2 + 2 * (rows1 + rows2) * one.x.shape[-1]
