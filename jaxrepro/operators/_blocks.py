"""How many pairs of systems to compare at once."""

import jax
from jax.sharding import Mesh

from ..core import check_integer

# A block of pairs is cut so that its arrays hold at most this many numbers.
_MOST_NUMBERS = 2**24


def check_block(block, mesh: Mesh | None) -> int:
    """The number of pairs that was asked for, or what suits the devices."""
    if block is not None:
        return check_integer("block", block)
    on = jax.default_backend() if mesh is None else mesh.devices.flat[0].platform
    return 64 if on == "cpu" else 1024


def fitting_block(block: int, numbers: int) -> int:
    """At most ``block`` pairs, of which each keeps that many numbers in memory."""
    return min(block, max(1, _MOST_NUMBERS // numbers))
