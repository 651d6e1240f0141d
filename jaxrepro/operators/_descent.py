r"""Descent to a Fréchet mean of operators from one start, in coordinates."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from .. import ot
from ..core import matmul, safe_divide, safe_norm
from ..ot._no_derivative import mark
from ._conjugation import conjugate_partners, mean_with_mirror, pair_up, symmetric_plan
from ._ground_cost import unit_cost
from ._measure import KernelAtoms, SpectralAtoms, live_atoms
from ._overlap import unit_atoms

# How many times longer than those of the inputs left vectors may become.
_MARGIN = 10


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


def descend(targets, weights, start, eta, scaling, lr, *, options, n_iter, real):
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
        return normalised(*_bound(free, live), lam)

    def normalised(right, left, lam):
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

    def longest(left):
        return jnp.max(jnp.where(live, safe_norm(left, 0), 0))

    optimiser = optax.scale_by_adam()

    def step(carry, count):
        (free, lam, state), best, rate = carry
        right, left = _bound(free, live)
        plans = symmetric(transport(normalised(right, left, lam)))
        loss = lambda free: objective(free, eigenvalues(free, plans), plans)
        value, gradient = jax.value_and_grad(loss)(free)
        here = _Best(value, best.first, free, eigenvalues(free, plans))
        here = here._replace(first=jnp.where(count == 0, value, best.first))
        # Between two real operators may lie a set where R is singular and L grows
        # without bounds: a step that ends there, or above the start, is undone, and
        # next ones are shorter.
        good = (value <= here.first) & (longest(left) <= worst)
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
    worst = _MARGIN * jnp.maximum(
        longest(_bound(free, live)[1]), jnp.max(safe_norm(inputs, 1))
    )
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
