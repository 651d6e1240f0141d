"""What a worker in another process does, and how it gets there."""

import functools
import importlib
import io
import pickle
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from ._space import Space
from ._sweep import sweep


class Task(NamedTuple):
    """The share of a worker; called, it runs it.

    Attributes
    ----------
    fn, space : callable, Space
        As :func:`sweep` takes them.
    options : mapping
        The other arguments of :func:`sweep`, with ``out``.
    worker : tuple of int
        Index and number of workers.
    x64 : bool
        Whether the calling process computes in double precision.
    """

    fn: Callable
    space: Space
    options: Mapping[str, Any]
    worker: tuple[int, int]
    x64: bool

    def __call__(self) -> None:
        """Run the share into the folder."""
        with jax.enable_x64(self.x64):
            sweep(self.fn, self.space, worker=self.worker, **self.options)


def check_task(task: Task) -> None:
    """Raise a ``ValueError`` unless another process can have all of a task."""
    fn = task.fn
    while isinstance(fn, functools.partial):
        fn = fn.func
    if hasattr(fn, "__qualname__") and _address(fn) is None:
        raise ValueError(
            "fn: expected a function that other processes can import; got "
            f"{fn.__module__}.{fn.__qualname__}. Define it at the top of a module, "
            "with def, not as a lambda or within another function; what it captures "
            "can be static options, or arguments of a functools.partial"
        )
    for name, value in {"fn": task.fn, "space": task.space, **task.options}.items():
        try:
            to_bytes(value)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"{name}: expected a value that other processes can have; got "
                f"{value!r} ({error})"
            ) from error


def to_bytes(value: Any) -> bytes:
    """Pickle a value; what a module holds by name is its name.

    Also a function that ``jax.jit`` or ``jax.custom_jvp`` has wrapped, which the
    plain pickle refuses, such as ``jax.nn.relu``.
    """
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj):
        plain = isinstance(obj, type | types.FunctionType | types.BuiltinFunctionType)
        address = None if plain else _address(obj)
        return NotImplemented if address is None else (_find, address)


def _address(obj) -> tuple[str, str] | None:
    """Module and qualified name under which an object can be found, or None."""
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)):
        return None
    try:
        return (module, name) if _find(module, name) is obj else None
    except (ImportError, AttributeError, ValueError):
        return None


def _find(module, name):
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))
