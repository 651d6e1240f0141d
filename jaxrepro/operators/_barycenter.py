r"""Fréchet means of operators under the spectral-Grassmann metric."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float, Real

from .. import ot
from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_shape,
    matmul,
    paper,
    safe_divide,
    safe_norm,
)
from ..ot._no_derivative import mark
from ._conjugation import (
    conjugate_partners,
    mean_with_mirror,
    pair_up,
    symmetric_plan,
)
from ._coordinates import from_coordinates, to_coordinates
from ._ground_cost import CostOptions, check_traced, unit_cost
from ._measure import KernelAtoms, SpectralAtoms, check_atoms, live_atoms
from ._overlap import unit_atoms
from ._pairwise import sgot_pairwise

COSTS = {
    "quad": CostOptions("projector", "quad", 2.0, 1.0, 1.0, False),
    "paper": CostOptions("projector", "paper", 2.0, 1.0, 1.0, False),
}

# How many times longer than those of the inputs left vectors may become.
MARGIN = 10


class BarycenterResult(NamedTuple):
    r"""Mean of operators, and how it was reached.

    Attributes
    ----------
    atoms : SpectralAtoms or KernelAtoms
        The mean.
    plans : array of shape (N, r, r')
        Transport plans from its atoms to those of each system.
    objective : array of shape ()
        Weighted mean of the squared distances to the systems.
    history : array of shape (n_iter,)
        The objective at each step; never above the first one.
    """

    atoms: SpectralAtoms | KernelAtoms
    plans: Float[Array, "N r s"]
    objective: Float[Array, ""]
    history: Float[Array, " n_iter"]


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
    systems of four atoms (``eta=0.1``) the objective lies 1e-3 above its limit after
    150 steps, at most 1e-5 after 600 and 2e-7 after 2400, relative; with ``"quad"`` it
    is 3e-8 after 150. An ``lr`` of 0.1 is better in few steps, one of 0.01 in many.

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

    def descend(start):
        space, targets, atoms = to_coordinates(batch, start, kernel)
        result = _descend(
            targets, weights, atoms, eta, scaling, lr,
            options=COSTS[cost], n_iter=n_iter, real=real,
        )  # fmt: skip
        return result._replace(atoms=from_coordinates(space, result.atoms))

    results = jax.lax.map(descend, starts)
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


def mean_eigenvalues(weights, plans, lam, live):
    """Means of eigenvalues under plans, for every live atom."""
    share = weights[:, None, None] * plans
    mass = jnp.where(live, jnp.sum(share, axis=(0, 2)), 1)
    total = [
        jnp.sum(share * part[:, None, :], axis=(0, 2)) for part in (lam.real, lam.imag)
    ]
    return jnp.where(live, jax.lax.complex(*(part / mass for part in total)), 0)


class _Free(NamedTuple):
    """Free parameters: real and imaginary parts, eigenvalues in their own unit."""

    right: tuple
    left: tuple
    lam: tuple


class _Best(NamedTuple):
    """The point with the smallest objective so far, and the objective at the start."""

    value: jax.Array
    first: jax.Array
    free: _Free
    lam: jax.Array


def _choose(condition, one, other):
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


def _parts(z):
    return z.real, z.imag


def _scaled(start):
    """The same atoms with ``|r_i| = 1`` and ``l_i^* r_i = 1``, which fits Adam."""
    unit = unit_atoms(start)
    product = jnp.sum(unit.left.conj() * unit.right, axis=0)
    return unit._replace(left=safe_divide(unit.left, product.conj()[None, :]))


def _bound(free, live):
    """Unit right vectors and the nearest left vectors with ``R^* L = I``."""
    right, left = jax.lax.complex(*free.right), jax.lax.complex(*free.left)
    norm = jnp.where(live, safe_norm(right, 0), 1)
    right = jnp.where(live, right / norm.astype(right.dtype), 0)
    adjoint = right.conj().T
    identity = jnp.diag(live).astype(right.dtype)
    gram = matmul(adjoint, right) + jnp.diag(~live).astype(right.dtype)
    rest = identity - matmul(adjoint, left)
    return right, jnp.where(live, left + matmul(right, jnp.linalg.solve(gram, rest)), 0)


def _descend(targets, weights, start, eta, scaling, lr, *, options, n_iter, real):
    """Coordinate descent from one start, in coordinates."""
    live = live_atoms(start)
    start = _scaled(start)
    spread = jnp.std(jnp.abs(targets.lam)) + jnp.mean(jnp.abs(targets.lam))
    unit_of_lam = jnp.where(spread > 0, spread, 1)
    partner = conjugate_partners(start)
    partners = jax.vmap(conjugate_partners)(targets)
    if real:
        start = pair_up(start, partner)
    eta = jnp.asarray(eta, targets.lam.real.dtype)
    lr = jnp.asarray(lr, eta.dtype)
    eta = jnp.where((lr > 0) & (lr < jnp.inf), eta, jnp.nan)

    def unit(free, lam):
        right, left = _bound(free, live)
        norm = jnp.where(live, safe_norm(left, 0), 1).astype(left.dtype)
        return SpectralAtoms(lam, right, left / norm, start.weight)

    def costs(atoms):
        return jax.vmap(
            lambda t: unit_cost(atoms, t, eta, scaling, None, options)
        )(targets)  # fmt: skip

    def transport(atoms):
        solve = lambda cost, t: ot.emd(cost, atoms.weight, t.weight).plan
        return jax.lax.stop_gradient(jax.vmap(solve)(costs(atoms), targets))

    def symmetric(plans):
        if not real:
            return plans
        return jax.vmap(symmetric_plan, (0, None, 0))(plans, partner, partners)

    def symmetric_parts(free):
        # What rounding leaves grows where the real means are a saddle of all means.
        if not real:
            return free
        right, left = (mean_with_mirror(jax.lax.complex(*z), partner) for z in free[:2])
        lam = jax.lax.complex(*free.lam)
        # An eigenvalue without a mirror image may be the logarithm of a negative one.
        alone = partner == jnp.arange(len(partner))
        lam = jnp.where(alone, lam, mean_with_mirror(lam, partner))
        return _Free(_parts(right), _parts(left), _parts(lam))

    def objective(free, lam, plans):
        return jnp.sum(weights * jnp.sum(plans * costs(unit(free, lam)), axis=(1, 2)))

    def eigenvalues(free, plans):
        if options.convention == "quad":
            return mean_eigenvalues(weights, plans, targets.lam, live)
        return jax.lax.complex(*free.lam) * unit_of_lam

    def condition(free):
        _, left = _bound(free, live)
        return jnp.max(jnp.where(live, safe_norm(left, 0), 0))

    optimiser = optax.scale_by_adam()

    def step(carry, count):
        (free, lam, state), best, rate = carry
        plans = symmetric(transport(unit(free, lam)))
        loss = lambda free: objective(free, eigenvalues(free, plans), plans)
        value, gradient = jax.value_and_grad(loss)(free)
        here = _Best(value, best.first, free, eigenvalues(free, plans))
        here = here._replace(first=jnp.where(count == 0, value, best.first))
        # Between two real operators may lie a set where R is singular and L grows
        # without bounds: a step that ends there, or above the start, is undone, and
        # next ones are shorter.
        good = (value <= here.first) & (condition(free) <= worst)
        best = _choose(good & ~(value > best.value), here, best)
        updates, moved = optimiser.update(gradient, state)
        size = -lr * rate * (1 + jnp.cos(jnp.pi * count / n_iter)) / 2
        updates = jax.tree.map(lambda u: size * u, updates)
        onward = symmetric_parts(optax.apply_updates(free, updates)), here.lam, moved
        back = best.free, best.lam, optimiser.init(free)
        rate = jnp.where(good, rate, rate / 2)
        value = jnp.where(good, value, best.value)
        return (_choose(good, onward, back), best, rate), value

    free = _Free(
        _parts(start.right), _parts(start.left), _parts(start.lam / unit_of_lam)
    )
    inputs = jax.vmap(_scaled)(targets).left
    worst = MARGIN * jnp.maximum(condition(free), jnp.max(safe_norm(inputs, 1)))
    worst = jax.lax.stop_gradient(worst)
    nothing = jnp.full((), jnp.nan, eta.dtype)
    carry = (
        (free, start.lam, optimiser.init(free)),
        _Best(nothing, nothing, jax.tree.map(lambda x: x * nothing, free), start.lam),
        jnp.ones((), eta.dtype),
    )
    # The step size has fallen to 0 at the last step, which only adapts eigenvalues.
    counts = jnp.arange(n_iter + 1, dtype=eta.dtype)
    (_, best, _), history = jax.lax.scan(step, carry, counts)
    free, lam = jax.lax.stop_gradient((best.free, best.lam))
    plans = transport(unit(free, lam))
    right, left = _bound(free, live)
    if real:
        left = mean_with_mirror(left, partner)
    atoms = SpectralAtoms(lam, right, left, start.weight)
    # At the minimum the objective has the derivative of the cost alone; Adam has none
    # where a gradient is 0.
    value = objective(free, lam, plans)
    inputs = [weights, eta, *(p for z in targets[:3] for p in _parts(z))]
    atoms, plans, history = mark((atoms, plans, history[:-1]), inputs)
    return BarycenterResult(atoms, plans, value, history)
