"""Operations and memory of the heaviest functions at fixed shapes, kept in a file.

``benchmarks/flops_snapshot.json`` is the record; a test compares it with the
present, so that no change makes a function dearer unseen. After a change that is
meant, ``python -m benchmarks.costs`` writes the file anew; the changelog says why.

An area adds ``benchmarks/costs/<area>.py`` with ``CALLS``, a dict from a name to a
function and its arguments, of which only shapes and dtypes matter.
"""

import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrepro.testing import count_flops

SNAPSHOT = Path(__file__).parents[1] / "flops_snapshot.json"


class Call(NamedTuple):
    """A function and arguments of fixed shapes."""

    fn: Callable
    args: tuple[Any, ...]


def array(*shape: int, dtype=jnp.float32) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an array."""
    return jax.ShapeDtypeStruct(shape, dtype)


def calls() -> dict[str, Call]:
    """Return all calls, by area and name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name[0] != "_":
            area = importlib.import_module(f"{__name__}.{module.name}")
            found |= {f"{module.name}.{k}": Call(*v) for k, v in area.CALLS.items()}
    return found


def contractions(call: Call) -> int:
    """Operations of matrix products, equal under every version of JAX."""
    return count_flops(call.fn, *call.args).contractions


def temporary_bytes(call: Call) -> int:
    """Memory beside arguments and outputs, on a CPU; depends on the version of JAX."""
    memory = jax.jit(call.fn).lower(*call.args).compile().memory_analysis()
    assert memory is not None, "this backend does not tell its memory"
    return memory.temp_size_in_bytes


def read_snapshot() -> dict:
    """Return the record: version of JAX, and costs by name."""
    return json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def write_snapshot() -> None:
    """Measure every call and replace the record."""
    costs = {
        name: {
            "contractions": contractions(call),
            "temporary_bytes": temporary_bytes(call),
        }
        for name, call in calls().items()
    }
    record = {"jax": jax.__version__, "costs": costs}
    SNAPSHOT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
