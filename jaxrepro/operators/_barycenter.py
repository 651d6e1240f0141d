r"""Fréchet means of operators under the spectral-Grassmann metric."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Real

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_shape,
    paper,
)
from ._coordinates import from_coordinates, to_coordinates
from ._descent import BarycenterResult, descend
from ._ground_cost import CostOptions, check_traced
from ._measure import KernelAtoms, SpectralAtoms, check_atoms
from ._pairwise import sgot_pairwise

COSTS = {
    "quad": CostOptions("projector", "quad", 2.0, 1.0, 1.0, False),
    "paper": CostOptions("projector", "paper", 2.0, 1.0, 1.0, False),
}


@paper(
    "germain2026spectral",
    "barycenter of operators: coordinate descent on plans, eigenvalues and functions",
)
def operator_barycenter(
    batch: SpectralAtoms | KernelAtoms,
    weights: Real[ArrayLike, " N"] | None = None,
    *,
    eta: Real[ArrayLike, ""],
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    lr: Real[ArrayLike, ""] = 3e-2,
    kernel: Callable | None = None,
    init: SpectralAtoms | KernelAtoms | None = None,
    cost: str = "quad",
    n_iter: int = 600,
    n_starts: int = 1,
    real: bool = True,
) -> BarycenterResult:
    r"""Operator that is on average closest to given operators.

    .. math:: \min_{\lambda, R, L} \; \sum_k w_k\, W^2(T, T_k)
              \quad \text{with} \quad L^* R = I, \; |r_i| = 1,

    where :math:`W^2` is the transport cost between atoms for
    :math:`C_{ij} = \eta\,|\lambda_i - \lambda'_j|^2 + (1 - \eta)\,\|A_i - A'_j\|^2`
    with unit projectors :math:`A_i = r_i l_i^* / (|r_i||l_i|)`. Each step solves
    the transport problems exactly, sets the eigenvalues to

    .. math:: \lambda_i = \frac{\sum_{kj} w_k P^k_{ij} \lambda^k_j}
                               {\sum_{kj} w_k P^k_{ij}},

    and moves the vectors by one step of Adam on free matrices, seen through
    :math:`R` = unit columns and :math:`L \leftarrow L + R (R^* R)^{-1} (I - R^* L)`,
    the nearest left vectors with :math:`R^* L = I`.

    Parameters
    ----------
    batch : SpectralAtoms or KernelAtoms
        N systems: atoms with a leading axis, as for :func:`sgot_pairwise`.
    weights : array of shape (N,), optional
        Weights :math:`w_k \ge 0`, divided by their sum; None means equal ones.
    eta : float
        Share :math:`\eta \in [0, 1]` of the eigenvalues.
    scaling : pair of floats, default (1.0, 1.0)
        Factors of differences in growth rate and in angular frequency.
    lr : float, default 3e-2
        First step size of Adam; it falls to 0 along a cosine.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``.
    init : SpectralAtoms or KernelAtoms, optional
        Where to start; it is scaled to :math:`|r_i| = 1`, :math:`l_i^* r_i = 1`. None
        starts from the system with the smallest objective. For ``KernelAtoms`` the
        mean lies in the span of the kernel at the samples ``x`` and ``y`` of the
        start.
    cost : {"quad", "paper"}, default "quad"
        The cost above, or ``"paper"``: the squared distance
        :math:`(\eta\,|\lambda - \lambda'| + (1 - \eta)\,\|A - A'\|)^2`, where the
        eigenvalues have no closed form and are moved by Adam as well.
    n_iter : int, default 600
        Number of steps.
    n_starts : int, default 1
        Number of systems to start from, those with the smallest objectives;
        the best result is kept. With ``init`` it must be 1.
    real : bool, default True
        Whether the operators are real, so that their atoms come in conjugate
        pairs: the mean is then kept real, by averaging vectors with their mirror
        images at every step. False for complex operators. Negative real eigenvalues
        stay outside: their logarithm has the frequency :math:`+\pi/dt` and no mirror
        image, so that a mean of it with another one is not real.

    Returns
    -------
    BarycenterResult
        ``atoms`` (as many as a system has), ``plans``, ``objective``, ``history``.

    Raises
    ------
    ValueError
        If the fields of atoms do not fit, a number is out of range, or ``cost``
        is unknown.
    TypeError
        If ``init`` is of another type than ``batch``.

    Notes
    -----
    The problem is not convex. The constraint set and the descent on plans,
    eigenvalues and functions are the paper's; the closed form of the eigenvalues,
    the projection and Adam are ours. A step to an objective above that of the start,
    or to :math:`|l_i|` ten times as large as those of start and systems, is undone and
    the step size halved; the best point on the way is returned. Memory
    :math:`O(N d r)`.

    ``objective`` has first derivatives by the envelope theorem, exact where the
    steps have converged; those of the other fields are NaN.

    With ``cost="paper"`` the eigenvalues converge as slowly as the vectors: for two
    systems of four atoms (``eta=0.1``) the objective lies about 1e-3 above its limit
    after 150 steps, 1e-5 after 600 and 1e-7 after 2400, relative; with ``"quad"`` it
    is 2e-8 after 150. An ``lr`` of 0.1 is better in few steps, one of 0.01 in many.

    The lengths of the vectors in ``batch`` and ``init`` do not matter. The result is
    NaN for traced ``lr``, ``eta`` or ``scaling`` out of range, and if the start is
    defective: its right vectors are linearly dependent, so that no :math:`L` has
    :math:`L^* R = I`. :func:`measure_barycenter` has a mean then, too.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    Between 1 and 2 Hz, halfway:

    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import operator_barycenter, spectral_atoms
    >>> def rotation(hertz, dt=0.05):
    ...     c, s = jnp.cos(2 * jnp.pi * hertz * dt), jnp.sin(2 * jnp.pi * hertz * dt)
    ...     return jnp.array([[c, -s], [s, c]])
    >>> systems = jnp.stack([rotation(1.0), rotation(2.0)])
    >>> batch = jax.vmap(lambda a: spectral_atoms(a, 0.05))(systems)
    >>> mean = operator_barycenter(batch, eta=0.5, n_iter=20)
    >>> [round(float(w) / 6.2831853, 3) for w in mean.atoms.lam.imag]
    [1.5, -1.5]
    """
    check_atoms("batch", batch, kernel, batched=True)
    check_traced(eta, scaling)
    weights = barycenter_weights(weights, batch)
    check_choice("cost", cost, tuple(COSTS))
    check_shape("lr", lr, ())
    check_interval("lr", lr, 0.0, closed="neither")
    n_iter = check_integer("n_iter", n_iter)
    n_starts = check_integer("n_starts", n_starts, maximum=len(batch.lam))
    if init is not None:
        check_atoms("init", init, kernel)
        if type(init) is not type(batch):
            raise TypeError(
                f"init: expected {type(batch).__name__}, as batch is; "
                f"got {type(init).__name__}"
            )
        if n_starts != 1:
            raise ValueError(f"n_starts: expected 1 with init; got {n_starts}")
    return _operator_barycenter(
        batch, weights, eta, scaling, lr, kernel, init,
        cost=cost, n_iter=n_iter, n_starts=n_starts, real=bool(real),
    )  # fmt: skip


def barycenter_weights(weights, batch) -> Any:
    """Weights of the systems, checked, or None for equal ones."""
    if weights is not None:
        check_shape("weights", weights, (len(batch.lam),))
        check_interval("weights", weights, 0.0, closed="left")
    return weights


def normalised_weights(weights, batch):
    """Weights of sum 1; NaN where they are negative or sum to 0."""
    n, dtype = len(batch.lam), batch.lam.real.dtype
    if weights is None:
        return jnp.full(n, 1 / n, dtype)
    weights = jnp.asarray(weights).astype(dtype)
    good = jnp.all(weights >= 0) & (jnp.sum(weights) > 0)
    return jnp.where(good, weights / jnp.where(good, jnp.sum(weights), 1), jnp.nan)


@functools.partial(jax.jit, static_argnames=("cost", "n_iter", "n_starts", "real"))
def _operator_barycenter(
    batch, weights, eta, scaling, lr, kernel, init, *, cost, n_iter, n_starts, real
):
    weights = normalised_weights(weights, batch)
    starts = (
        nearest_systems(batch, weights, eta, scaling, kernel, cost, n_starts)
        if init is None
        else jax.tree.map(lambda x: jnp.asarray(x)[None], init)
    )

    def mean_from(start):
        space, targets, atoms = to_coordinates(batch, start, kernel)
        result = descend(
            targets, weights, atoms, eta, scaling, lr,
            options=COSTS[cost], n_iter=n_iter, real=real,
        )  # fmt: skip
        return result._replace(atoms=from_coordinates(space, result.atoms))

    results = jax.lax.map(mean_from, starts)
    # The first of the starts that are best up to rounding: starts that meet order
    # their atoms differently, and rounding must not choose between them.
    slack = 1 + jnp.sqrt(jnp.finfo(results.objective.dtype).eps)
    best = jnp.argmax(results.objective <= slack * jnp.nanmin(results.objective))
    return jax.tree.map(lambda x: x[best], results)


def nearest_systems(batch, weights, eta, scaling, kernel, cost, n_starts):
    """Systems with the smallest objectives, best first."""
    if n_starts == len(batch.lam):
        return batch
    distances = sgot_pairwise(
        batch, eta=eta, scaling=scaling, kernel=kernel, convention=cost, p=2
    )
    first = jnp.argsort(distances**2 @ weights)[:n_starts]
    return jax.tree.map(lambda x: jnp.asarray(x)[first], batch)
