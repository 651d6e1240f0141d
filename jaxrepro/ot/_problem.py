"""What a transport problem is: shapes, default weights, padding, admissible values.

A padded atom has weight exactly 0. Whatever is stored in its row or column of
the cost, NaN and infinities included, reaches neither a result nor a gradient.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from ..core import (
    check_nonempty,
    check_real,
    check_shape,
    is_concrete,
    promote_floating,
)

# Total masses may differ by this much, relatively; the second is then rescaled.
MASS_TOLERANCE = 1e-4


def check_static(cost, a=None, b=None):
    """Raise unless the shapes of a problem fit, as far as tracing can tell."""
    check_shape("cost", cost, ("n", "m"))
    check_nonempty("cost", cost)
    check_real("cost", cost)
    check_weights(a, b, *np.shape(cost))


def check_weights(a, b, n, m):
    """Raise unless weights are absent or real, one for each atom."""
    for name, weights, size in (("a", a, n), ("b", b, m)):
        if weights is not None:
            check_shape(name, weights, (size,))
            check_real(name, weights)


def uniform_weights(n: int, dtype) -> Float[Array, " n"]:
    """Weights of ``n`` equally heavy atoms with total mass 1."""
    return jnp.full((n,), 1 / n, dtype)


def fill_weights(cost, a, b):
    """Replace absent weights by uniform ones of the mass of the other side.

    Weights of padded atoms become constants, which no gradient reaches.
    """
    n, m = cost.shape
    if a is None and b is None:
        return uniform_weights(n, cost.dtype), uniform_weights(m, cost.dtype)
    if a is None:
        b = jnp.where(b == 0, 0, b)
        return uniform_weights(n, cost.dtype) * jnp.sum(b), b
    a = jnp.where(a == 0, 0, a)
    if b is None:
        return a, uniform_weights(m, cost.dtype) * jnp.sum(a)
    return a, jnp.where(b == 0, 0, b)


def live_cells(a: Float[Array, " n"], b: Float[Array, " m"]) -> Bool[Array, "n m"]:
    """Cells between two atoms that both carry mass."""
    return (a > 0)[:, None] & (b > 0)[None, :]


def mask_cost(cost, a, b):
    """Put 0 into the cells of padded atoms, whatever they held."""
    return jnp.where(live_cells(a, b), cost, 0)


def is_admissible(cost, a, b, *, balanced: bool = True) -> Bool[Array, ""]:
    """Whether the values of a problem with masked cost make sense."""
    mass_a, mass_b = jnp.sum(a), jnp.sum(b)
    good = jnp.all(a >= 0) & jnp.all(b >= 0) & jnp.all(jnp.isfinite(cost))
    good &= jnp.isfinite(mass_a) & jnp.isfinite(mass_b) & (mass_a > 0) & (mass_b > 0)
    if balanced:
        good &= jnp.abs(mass_a - mass_b) <= MASS_TOLERANCE * jnp.maximum(mass_a, mass_b)
    return good


def make_admissible(cost, a, b, *, balanced: bool = True):
    """Mask a cost, and put a harmless problem in the place of a bad one.

    Returns
    -------
    cost, a, b : arrays
        The problem that the solver will see.
    good : bool array of shape ()
        False if the problem was replaced; its results must become NaN.
    """
    cost = mask_cost(cost, a, b)
    good = is_admissible(cost, a, b, balanced=balanced)
    n, m = cost.shape
    cost = jnp.where(good, cost, 0)
    a = jnp.where(good, a, 1 / n)
    b = jnp.where(good, b, 1 / m)
    return cost, a, b, good


def check_problem(
    cost: Float[ArrayLike, "n m"],
    a: Float[ArrayLike, " n"] | None = None,
    b: Float[ArrayLike, " m"] | None = None,
    *,
    balanced: bool = True,
) -> None:
    """Raise if the values of a transport problem make no sense.

    The solvers cannot raise on values under ``jit``; they answer with NaN and
    ``converged=False``. Call this on the host first to learn what is wrong.

    Parameters
    ----------
    cost : array of shape (n, m)
        Cost matrix. Rows and columns of atoms with weight 0 may hold anything.
    a : array of shape (n,), optional
        Source weights; None stands for uniform ones.
    b : array of shape (m,), optional
        Target weights; None stands for uniform ones.
    balanced : bool, default True
        Whether the total masses must agree (to a relative 1e-4).

    Raises
    ------
    ValueError
        If shapes do not fit; a weight is negative, NaN or infinite; all weights
        of a side are 0; a cost between two live atoms is NaN or infinite; or the
        masses differ.
    TypeError
        If called on traced values, which have nothing to look at.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.ot import check_problem
    >>> check_problem(np.ones((2, 2)), np.array([0.5, -0.5]))
    Traceback (most recent call last):
    ...
    ValueError: a: expected weights >= 0; got -0.5 at index 1
    """
    if not all(is_concrete(x) for x in (cost, a, b)):
        raise TypeError(
            "check_problem looks at values: call it on concrete arrays, outside jit"
        )
    check_static(cost, a, b)
    (cost,) = promote_floating(cost)
    cost = np.asarray(cost)
    masses = {}
    for name, weights, size in (("a", a, cost.shape[0]), ("b", b, cost.shape[1])):
        if weights is None:
            continue
        weights = np.asarray(weights)
        for bad, want in (
            (~np.isfinite(weights), "finite weights"),
            (weights < 0, "weights >= 0"),
        ):
            if bad.any():
                i = int(np.argmax(bad))
                raise ValueError(
                    f"{name}: expected {want}; got {weights[i]} at index {i}"
                )
        masses[name] = float(weights.sum())
        if masses[name] == 0:
            raise ValueError(
                f"{name}: expected at least one positive weight; got {size} zeros"
            )
    live = np.ones(cost.shape, bool)
    if a is not None:
        live &= (np.asarray(a) > 0)[:, None]
    if b is not None:
        live &= (np.asarray(b) > 0)[None, :]
    bad = live & ~np.isfinite(cost)
    if bad.any():
        i, j = map(int, np.argwhere(bad)[0])
        raise ValueError(
            f"cost: expected finite values between atoms of positive weight; "
            f"got {cost[i, j]} at index ({i}, {j})"
        )
    if balanced and len(masses) == 2:
        gap = abs(masses["a"] - masses["b"])
        if gap > MASS_TOLERANCE * max(masses.values()):
            raise ValueError(
                f"a, b: expected equal total masses (to a relative "
                f"{MASS_TOLERANCE:g}); got {masses['a']:g} and {masses['b']:g}"
            )
