"""How many trials a device takes in one launch."""

import importlib
import math
from collections.abc import Callable
from typing import Any

from ._program import Program, is_memory

_SHARE = 0.8
# On CPU wider batches gain little and lose more when a run is stopped.
_CPU_LIMIT = 64


def automatic_batch(
    program: Callable[[int], Program], devices: tuple[Any, ...], n_trials: int
) -> int:
    """The most trials a device that fit its memory, evened out over the launches.

    A compilation that fails for want of memory counts as not fitting.

    Parameters
    ----------
    program : callable
        The compiled program at a batch size.
    devices : tuple of devices
        Where to run.
    n_trials : int
        Trials of a static group that a worker runs.
    """
    each = math.ceil(n_trials / len(devices))

    def even(largest):
        """A batch of at most ``largest``, so that the last launch is not padding."""
        return math.ceil(n_trials / (len(devices) * math.ceil(each / largest)))

    batch = even(min(each, _CPU_LIMIT) if devices[0].platform == "cpu" else each)
    limit = _memory_limit(devices)
    while limit is not None and batch > 1:
        needed = _needed(program, batch)
        if needed is not None and needed <= _SHARE * limit:
            break
        # Memory is a + b B with a >= 0; as if a were 0, it falls below the limit at
        # the latest after a few turns.
        share = 0.5 if needed is None else _SHARE * limit / needed
        batch = even(max(1, min(batch - 1, int(batch * share))))
    return batch


def _needed(program, batch):
    """Bytes on a device, or None if the compiler itself gives up."""
    try:
        return program(batch).memory()
    except Exception as error:
        if is_memory(error):
            return None
        raise


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
