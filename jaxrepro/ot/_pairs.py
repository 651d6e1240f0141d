r"""Numbers of pairs, and back, in integers that never leave 32 bits.

The pairs :math:`i < j` of n objects fill a triangle whose row i has
:math:`n - 1 - i` entries. Row k and row :math:`l - k`, with :math:`l` the last
row but for an empty one if n is odd, together have :math:`w = 2n - 2 - l` of
them, whatever k: folded, the triangle is a rectangle of width w. Positions in a
rectangle are quotient and remainder, so that no square root has to be rounded
and no list of pairs has to be kept.
"""

import jax
import jax.numpy as jnp
from jax import lax


def count_pairs(n: int, m: int, symmetric: bool) -> int:
    """How many pairs there are."""
    return n * (n - 1) // 2 if symmetric else n * m


def pair_of(number: jax.Array, n: int, m: int, symmetric: bool):
    """Row and column of the pair with an int32 number."""
    if not symmetric:
        return _divmod(number, m)
    last, width = _fold(n)
    row, column = _divmod(number, width)
    own = n - 1 - row  # entries of row k, before those of row l - k
    is_own = column < own
    i = jnp.where(is_own, row, last - row)
    j = jnp.where(is_own, row + 1 + column, last - row + 1 + column - own)
    return i, j


def matrix_of(values: jax.Array, n: int, m: int, symmetric: bool) -> jax.Array:
    """Matrix of the values of all pairs, in order of their numbers."""
    if not symmetric:
        return values.reshape(n, m)
    last, width = _fold(n)
    i, j = (lax.broadcasted_iota(jnp.int32, (n, n), axis) for axis in (0, 1))
    i, j = jnp.minimum(i, j), jnp.maximum(i, j)
    is_own = i <= last - i
    own = i * width + (j - i - 1)
    folded = (last - i) * width + (n - 1 - (last - i)) + (j - i - 1)
    number = jnp.where(is_own, own, folded)
    matrix = jnp.take(values, number, mode="clip")
    return jnp.where(i < j, matrix, jnp.zeros((), matrix.dtype))


def _fold(n: int) -> tuple[int, int]:
    """Last row and width of the folded triangle."""
    last = 2 * (n // 2) - 1
    return last, 2 * n - 2 - last


def _divmod(number, divisor):
    divisor = jnp.full_like(number, divisor)
    return lax.div(number, divisor), lax.rem(number, divisor)
