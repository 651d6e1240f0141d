r"""Means of spectral measures, without the constraint that an operator sets."""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Real

from .. import ot
from ..core import check_integer, paper
from ._barycenter import (
    COSTS,
    barycenter_weights,
    nearest_systems,
    normalised_weights,
)
from ._coordinates import from_coordinates, to_coordinates
from ._descent import BarycenterResult, mean_eigenvalues
from ._ground_cost import check_traced, unit_cost
from ._measure import KernelAtoms, SpectralAtoms, check_atoms, live_atoms
from ._overlap import unit_atoms


@paper("germain2026spectral", "barycenter of spectral measures")
def measure_barycenter(
    batch: SpectralAtoms | KernelAtoms,
    weights: Real[ArrayLike, " N"] | None = None,
    *,
    eta: Real[ArrayLike, ""],
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    kernel: Callable | None = None,
    n_iter: int = 50,
) -> BarycenterResult:
    r"""Measure on eigenvalues and rank-one projectors that is closest to given ones.

    .. math:: \min_{\lambda, A} \; \sum_k w_k\, W^2(\mu, \mu(T_k)), \qquad
              C_{ij} = \eta\,|\lambda_i - \lambda'_j|^2
                       + (1 - \eta)\,\|A_i - A'_j\|^2,

    over unit matrices :math:`A_i = u_i v_i^*` that need not fit together to one
    operator. Each step is exact: plans by optimal transport, eigenvalues by their
    mean under the plans, and :math:`(u_i, v_i)` as the leading singular vectors of
    :math:`\sum_{kj} w_k P^k_{ij} A^k_j`. So the objective never rises, and its
    minimum bounds that of :func:`operator_barycenter` from below.

    Parameters
    ----------
    batch : SpectralAtoms or KernelAtoms
        N systems: atoms with a leading axis.
    weights : array of shape (N,), optional
        Weights :math:`w_k \ge 0`, divided by their sum; None means equal ones.
    eta : float
        Share :math:`\eta \in [0, 1]` of the eigenvalues.
    scaling : pair of floats, default (1.0, 1.0)
        Factors of differences in growth rate and in angular frequency.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``; the mean then lies in the span of the kernel at
        the samples of the system it starts from.
    n_iter : int, default 50
        Number of steps.

    Returns
    -------
    BarycenterResult
        ``atoms`` with unit vectors that are not bi-orthonormal, ``plans``,
        ``objective``, ``history``.

    Raises
    ------
    ValueError
        If the fields of atoms do not fit, or a number is out of range.

    Notes
    -----
    Starts from the system with the smallest objective; the limit is a local
    minimum. The measure is the paper's; the steps are ours. Cost of a step
    :math:`O(r d^3 + N r d^2)`.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import measure_barycenter, spectral_atoms
    >>> systems = jnp.stack([jnp.diag(jnp.array([m, 0.5])) for m in (0.9, 0.7)])
    >>> batch = jax.vmap(lambda a: spectral_atoms(a, 1.0))(systems)
    >>> mean = measure_barycenter(batch, eta=0.5)
    >>> [round(float(m), 3) for m in jnp.exp(mean.atoms.lam.real)]  # geometric
    [0.794, 0.5]
    """
    check_atoms("batch", batch, kernel, batched=True)
    check_traced(eta, scaling)
    weights = barycenter_weights(weights, batch)
    n_iter = check_integer("n_iter", n_iter)
    return _measure_barycenter(batch, weights, eta, scaling, kernel, n_iter=n_iter)


@functools.partial(jax.jit, static_argnames="n_iter")
def _measure_barycenter(batch, weights, eta, scaling, kernel, *, n_iter):
    weights = normalised_weights(weights, batch)
    start = nearest_systems(batch, weights, eta, scaling, kernel, "quad", 1)
    start = jax.tree.map(lambda x: x[0], start)
    space, targets, atoms = to_coordinates(batch, start, kernel)
    atoms, live = unit_atoms(atoms), live_atoms(atoms)
    eta = jnp.asarray(eta, targets.lam.real.dtype)

    def costs(atoms):
        return jax.vmap(
            lambda t: unit_cost(atoms, t, eta, scaling, None, COSTS["quad"])
        )(targets)

    def transport(atoms):
        cost = costs(atoms)
        solve = lambda c, t: ot.emd(c, atoms.weight, t.weight).plan
        plans = jax.vmap(solve)(cost, targets)
        return plans, jnp.sum(weights * jnp.sum(plans * cost, axis=(1, 2)))

    def step(carry, _):
        atoms, plans, value = carry
        lam = mean_eigenvalues(weights, plans, targets.lam, live)
        share = (weights[:, None, None] * plans).astype(targets.right.dtype)
        b = jnp.einsum(
            "kij,kdj,kej->ide", share, targets.right, targets.left.conj(),
            precision="highest",
        )  # fmt: skip
        u, _, vh = jnp.linalg.svd(b, full_matrices=False)
        right = jnp.where(live[None, :], u[:, :, 0].T, 0)
        left = jnp.where(live[None, :], vh[:, 0, :].conj().T, 0)
        atoms = SpectralAtoms(lam, right, left, atoms.weight)
        plans, after = transport(atoms)
        return (atoms, plans, after), value

    (atoms, plans, value), history = jax.lax.scan(
        step, (atoms, *transport(atoms)), length=n_iter
    )
    return BarycenterResult(from_coordinates(space, atoms), plans, value, history)
