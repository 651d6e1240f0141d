"""How many trials a device takes in one launch."""

import importlib
import math
from collections.abc import Callable
from typing import Any

from ._program import Program

_SHARE = 0.8
# On CPU wider batches gain little and lose more when a run is stopped.
_CPU_LIMIT = 64


def automatic_batch(
    program: Callable[[int], Program], devices: tuple[Any, ...], n_trials: int
) -> int:
    """The most trials a device that fit its memory, evened out over the launches.

    Parameters
    ----------
    program : callable
        The compiled program at a batch size.
    devices : tuple of devices
        Where to run.
    n_trials : int
        Trials of a static group.
    """
    each = math.ceil(n_trials / len(devices))
    largest = min(each, _CPU_LIMIT) if devices[0].platform == "cpu" else each
    limit = _memory_limit(devices)
    while limit is not None and largest > 1:
        needed = program(largest).memory()
        if needed <= _SHARE * limit:
            break
        # Memory is a + b B with a >= 0; as if a were 0, it falls below the limit at
        # the latest after a few turns.
        largest = max(1, min(largest - 1, int(largest * _SHARE * limit / needed)))
    return math.ceil(n_trials / (len(devices) * math.ceil(each / largest)))


def _memory_limit(devices):
    """Bytes that a device has, or None where nobody tells."""
    stats = devices[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"]
    try:
        psutil = importlib.import_module("psutil")
    except ImportError:
        return None
    return psutil.virtual_memory().available / len(devices)
