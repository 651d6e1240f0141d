"""Renormalised noise level for many pairs, from a table of one spectrum."""

import jax
import jax.numpy as jnp
import numpy as np

from ..core import matmul
from ._degrees import gain, sum_modes
from ._kappa_newton import lower_bound
from ._newton import Bracketed, bracketed_newton

# Any few of the eigenvalues give a bound on the root from below.
_N_BOUNDS = 64


def table(lam, n, eigs, mult, *, table_size) -> Bracketed:
    r"""Roots for vectors of positive shifts and sample numbers, all at once.

    The degrees of freedom depend on the spectrum only, and as a function of
    :math:`y = \log\kappa` they are analytic for :math:`|\Im y| < \pi`. So they are
    tabulated as a Chebyshev series once.
    """
    trace = jnp.sum(mult * eigs)
    high = jnp.log(lam + trace / n)
    # No shift has no logarithm; such entries are NaN and shape no table.
    bottom = jnp.nanmin(
        jnp.where(lam > 0, jnp.log(jnp.where(lam > 0, lam, 1)), jnp.nan)
    )
    top = jnp.nanmax(jnp.where(lam > 0, high, jnp.nan))
    middle, half = (top + bottom) / 2, jnp.maximum((top - bottom) / 2, 1e-3)
    nodes = jnp.asarray(np.cos(_angles(table_size)), eigs.dtype)
    coefficients = _series(_df1(middle + half * nodes, eigs, mult))

    def equation(y):
        first, slope = _clenshaw(coefficients, (y - middle) / half)
        first, shift = first / n, lam * jnp.exp(-y)
        total = first + shift
        return jnp.log(total), (slope / (half * n) - shift) / total

    low = jnp.log(jnp.maximum(lam, lower_bound(eigs, mult, _N_BOUNDS)(n)))
    found = bracketed_newton(equation, jnp.minimum(low, high), high)
    return found._replace(root=jnp.where(lam > 0, jnp.exp(found.root), jnp.nan))


def _df1(y, eigs, mult):
    return sum_modes(gain(eigs, jnp.exp(y)), mult)


def _angles(size):
    return np.pi * (np.arange(size) + 0.5) / size


def _series(values):
    """Coefficients of the Chebyshev series through values at its nodes."""
    size = values.shape[0]
    basis = np.cos(np.outer(np.arange(size), _angles(size))) * (2 / size)
    basis[0] /= 2
    return matmul(jnp.asarray(basis, values.dtype), values)


def _clenshaw(coefficients, x):
    """Value and derivative of a Chebyshev series at points in [-1, 1]."""

    def step(carry, coefficient):
        b1, b2, d1, d2 = carry
        b = coefficient + 2 * x * b1 - b2
        d = 2 * b1 + 2 * x * d1 - d2
        return (b, b1, d, d1), None

    zero = jnp.zeros_like(x)
    # Unrolled, since each step passes over all points in memory.
    carry, _ = jax.lax.scan(step, (zero,) * 4, coefficients[:0:-1], unroll=8)
    b1, b2, d1, d2 = carry
    return coefficients[0] + x * b1 - b2, b1 + x * d1 - d2
