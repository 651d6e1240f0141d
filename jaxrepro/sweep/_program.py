"""The device program: many trials in one launch, on all devices."""

import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from ._outputs import all_finite, flatten, storable
from ._trials import Trials, trial_key

# Functions whose programs are kept for the next sweep, as rounds of a search are. Each
# entry keeps what its function closes over, so they are few.
_KEPT = 8


def trial_function(fn: Callable, trials: Trials, options: Mapping[str, Any]):
    """``fn`` of a static group, as a function of seed, point and hyper-parameters.

    It returns the outputs by name, in dtypes that can be stored. Equal arguments give
    the same object, so that JAX finds what it has traced and compiled.
    """
    keys = "common" if trials.common else "independent"
    # Types, too: 1 and True are equal.
    items = tuple((name, type(value), value) for name, value in options.items())
    try:
        hash((fn, items))
    except TypeError:
        return _trial_function.__wrapped__(fn, trials.base_seed, keys, items)
    return _trial_function(fn, trials.base_seed, keys, items)


@functools.lru_cache(maxsize=_KEPT)
def _trial_function(fn, base_seed, keys, items):
    options = {name: value for name, _, value in items}

    def one(seed, point, params):
        key = trial_key(base_seed, seed, point, keys=keys)
        leaves = flatten(fn(key, params, **options))
        for name, leaf in leaves.items():
            _check_numbers(name, leaf)
        return {name: storable(leaf) for name, leaf in leaves.items()}

    return one


def _check_numbers(name, leaf):
    kind = type(leaf).__name__
    try:
        # A text would be read as the name of a dtype.
        dtype = None if isinstance(leaf, str | bytes) else jnp.result_type(leaf)
    except TypeError:
        dtype = None
    if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key):
        dtype, kind = None, "a key"
    if dtype is None:
        raise TypeError(f"fn: expected arrays of numbers; got {kind} in {name!r}")


class Program:
    """A static group's trials, ``batch`` on each device at a time, compiled once.

    Each device has a program of its own, which does not know of the others: XLA rounds
    a program for several devices differently from one for a single device, and one
    large ``vmap`` with annotations would let all devices wait for each other in every
    step of a loop.

    Parameters
    ----------
    one : callable
        A trial, from :func:`trial_function`.
    devices : sequence of devices
        Where to run.
    batch : int
        Trials a device and launch.
    exact : bool
        Whether the trials of a launch run one after the other, so that their
        numbers do not depend on ``batch``.
    columns : mapping of arrays
        Hyper-parameters at every point, in the dtypes of the program.
    """

    def __init__(
        self,
        one: Callable,
        devices: Sequence[Any],
        batch: int,
        exact: bool,
        columns: Mapping[str, np.ndarray],
    ):
        self.batch, self.size = batch, batch * len(devices)
        dtypes = {name: x.dtype for name, x in columns.items()}
        function, self._memories = _launch_function(one, exact)
        self._shape = batch, *dtypes.items()
        # Traced one after the other, compiled side by side.
        lowered = [_lower(function, device, batch, dtypes) for device in devices]
        with ThreadPoolExecutor() as pool:
            self._on_devices = list(
                pool.map(lambda program: program.compile(), lowered)
            )

    def memory(self) -> int:
        """Bytes on one device: arguments, results and what is between."""
        if self._shape not in self._memories:  # asking takes milliseconds
            stats: Any = self._on_devices[0].memory_analysis()
            self._memories[self._shape] = (
                stats.temp_size_in_bytes
                + stats.argument_size_in_bytes
                + stats.output_size_in_bytes
            )
        return self._memories[self._shape]

    def launch(self, seed: np.ndarray, point: np.ndarray, params: Mapping[str, Any]):
        """Start up to ``size`` trials; the result is not waited for.

        It is, for each device, the outputs by name and whether they are finite, with a
        row a trial and rows of padding at the end.
        """
        padding = self.size - len(seed)
        arguments = jax.tree.map(
            lambda x: np.pad(x, (0, padding), mode="edge"),
            (seed.astype(np.uint32), point.astype(np.uint32), dict(params)),
        )
        turns = np.asarray(self.batch, np.int32)

        def rows(i):
            share = slice(i * self.batch, (i + 1) * self.batch)
            return jax.tree.map(lambda x: x[share], arguments)

        programs = enumerate(self._on_devices)
        return [program(turns, *rows(i)) for i, program in programs]


@functools.lru_cache(maxsize=_KEPT)
def _launch_function(one, exact):
    """The jitted function of a launch, and the memory that its programs take."""
    body = functools.partial(_mapped if exact else _vmapped, _checked(one))
    return jax.jit(body), {}


def _lower(function, device, batch, dtypes):
    """The program of a launch on a device, not compiled yet."""
    sharding = SingleDeviceSharding(device)
    vector = functools.partial(jax.ShapeDtypeStruct, (batch,), sharding=sharding)
    params = {name: vector(dtype=dtype) for name, dtype in dtypes.items()}
    turns = jax.ShapeDtypeStruct((), np.int32, sharding=sharding)
    index = vector(dtype=np.uint32)
    return function.lower(turns, index, index, params)


def _checked(one):
    """The trial, and whether all its outputs are finite."""

    def checked(arguments):
        leaves = one(*arguments)
        return leaves, all_finite(leaves)

    return checked


def _vmapped(one, turns, *arguments):
    return jax.vmap(one)(arguments)


def _mapped(one, turns, *arguments):
    """The trials one after the other, in a program that does not show their number.

    A loop whose length the compiler knows to be 1 is merged with what is around it,
    and its numbers are rounded differently. So the length is an argument, and there
    are two rows at least; barriers keep the rest of a turn to itself.
    """
    size = arguments[0].shape[0]
    extra = max(0, 2 - size)
    rows = jax.tree.map(lambda x: jnp.pad(x, (0, extra), mode="edge"), arguments)

    def turn(i, results):
        row = jax.lax.optimization_barrier(jax.tree.map(lambda x: x[i], rows))
        result = jax.lax.optimization_barrier(one(row))
        return jax.tree.map(lambda xs, x: xs.at[i].set(x), results, result)

    shapes = jax.eval_shape(one, jax.tree.map(lambda x: x[0], rows))
    blank = jax.tree.map(lambda x: jnp.zeros((size + extra, *x.shape), x.dtype), shapes)
    results = jax.lax.fori_loop(0, turns, turn, blank)
    return jax.tree.map(lambda xs: xs[:size], results)


def is_memory(error: Exception) -> bool:
    """Whether a launch or a compilation failed for want of memory."""
    text = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, jax.errors.JaxRuntimeError)
        and ("RESOURCE_EXHAUSTED" in text or "out of memory" in text.lower())
    )
