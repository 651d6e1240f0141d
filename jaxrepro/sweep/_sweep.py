"""The sweep itself: checks, compilation, the run, the result."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..core import check_choice, check_integer
from ._dataset import make_labels
from ._engine import Engine, Job
from ._load import load_folder
from ._outputs import outputs_of
from ._program import trial_function
from ._run import run_in_folder, run_in_memory
from ._schedule import cost_order
from ._space import Space, device_columns
from ._spec import sweep_spec
from ._store import Store
from ._trials import KEYS, Trials, seed_array
from ._workers import check_worker, worker_from_env

if TYPE_CHECKING:
    import xarray


def sweep(
    fn: Callable[..., Any],
    space: Space,
    *,
    seeds: int | Sequence[int] | np.ndarray = 1,
    base_seed: int = 0,
    keys: str = "common",
    exact: bool = False,
    batch_per_device: int | str = "auto",
    devices: Sequence[Any] | None = None,
    out: str | Path | None = None,
    resume: bool | str = True,
    worker: tuple[int, int] | None = None,
    on_error: str = "record",
    cost: Callable[[dict[str, np.ndarray]], Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> "xarray.Dataset":
    """Run a function at every point of a space and for every seed.

    Trials run vectorised, split over the devices, a launch at a time. With a
    folder, every launch is written to it as it ends, and a call with the same
    arguments goes on where an earlier one was stopped. Docs page: *Sweeps*.

    Parameters
    ----------
    fn : callable
        ``fn(key, params, **options)`` returns a tree of arrays (a dict, a
        NamedTuple, a dataclass, nested or not), of the same shapes in
        all trials. ``params`` is a dict of traced scalars, ``options`` are the
        static ones. It is traced, so it must be pure.
    space : Space
        Points: :class:`Grid`, :class:`Zip`, :class:`Random`, :class:`Sobol`,
        :class:`Points`, times :class:`Static`.
    seeds : int or sequence of int, default 1
        Seeds 0 to n - 1, or the given ones in [0, 2**32).
    base_seed : int, default 0
        Seed of the key from which the keys of all trials stem, see
        :func:`trial_key`.
    keys : {"common", "independent"}, default "common"
        Whether a seed means the same random numbers at every point, which makes
        comparisons of points sharp, or other ones.
    exact : bool, default False
        Whether results must not depend on the batch size, to the last bit. Trials
        of a launch then run one after the other, which is slower: a little on CPU,
        far more on accelerators.
    batch_per_device : int or "auto", default "auto"
        Trials a device and launch; not more than there are. By default what fits the
        memory, at most 64 on CPU.
    devices : sequence of devices, optional
        By default all of this process.
    out : str or Path, optional
        Folder for the results; None keeps them in memory only.
    resume : bool, "strict" or "retry", default True
        Whether to go on with a sweep that ``out`` holds. "strict" refuses if the
        source of ``fn`` has changed, True warns, False refuses a folder that holds
        a sweep. "retry" also runs the trials that raised again.
    worker : tuple of int, optional
        ``(i, n)``: run the i-th of n shares, into the same ``out`` as the others.
        By default what :func:`worker_from_env` says if there is a folder. n may
        change from start to start, not among workers at one time.
    on_error : {"record", "raise"}, default "record"
        Whether a trial that raises while it runs is noted and passed over, or
        stops the sweep after what is complete has been kept. Errors of tracing and
        compilation always stop it.
    cost : callable, optional
        Relative cost of each point, from a dict of the columns of all points.
        Trials of similar cost then share launches, the dearest first.
    dims : mapping, optional
        Names of the axes of outputs, such as ``{"loss": ("step",)}``.
    coords : mapping, optional
        Labels of those axes, such as ``{"step": [0, 10, 20]}``.
    attrs : mapping, optional
        Attributes of the result: texts and numbers. ``dims``, ``coords`` and ``attrs``
        may differ from call to call; :func:`load` uses those of the first.
    progress : bool, optional
        Whether to show a bar; by default on a terminal.

    Returns
    -------
    xarray.Dataset
        A variable an output, named by its path in the tree with dots, over the
        static options, the axes of the space and ``seed``; and ``status``: 0 not
        run, 1 right, 2 some output is not finite, 3 raised (its real outputs are
        NaN, others 0). With several workers, what is in the folder at the end.

    Raises
    ------
    FileExistsError
        If ``resume`` is False and ``out`` holds a sweep.
    MemoryError
        If a single trial does not fit on a device.
    OSError
        If the folder cannot be written; what was committed is intact.
    SweepMismatchError
        If ``out`` holds another sweep; the message lists each differing field.
    TypeError
        If an argument is of another kind than asked, or ``fn`` returns what is no
        array of numbers.
    ValueError
        If the space is empty, names clash, a value is not finite, outputs differ
        between static options, or an option is none of the allowed ones.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.sweep import Grid, sweep
    >>> def walk(key, params):
    ...     steps = params["scale"] * jax.random.normal(key, (100,))
    ...     return {"end": steps.sum(), "path": steps.cumsum()}
    >>> result = sweep(
    ...     walk, Grid(scale=[0.1, 1.0]), seeds=50, dims={"path": ("step",)}
    ... )
    >>> dict(result.sizes)
    {'scale': 2, 'seed': 50, 'step': 100}
    >>> print(result.end.std("seed").round(0).values)
    [ 1. 10.]
    """
    if not callable(fn):
        raise TypeError(f"fn: expected a function; got {fn!r}")
    check_choice("keys", keys, KEYS)
    check_choice("exact", exact, (True, False))
    check_choice("progress", progress, (None, True, False))
    check_choice("on_error", on_error, ("record", "raise"))
    check_choice("resume", resume, (True, False, "strict", "retry"))
    if out is not None and (not isinstance(out, str | os.PathLike) or not str(out)):
        raise TypeError(f"out: expected the path of a folder; got {out!r}")
    if batch_per_device != "auto":
        batch_per_device = check_integer("batch_per_device", batch_per_device)
    if not isinstance(space, Space):
        kind = type(space).__name__
        raise TypeError(f"space: expected a Space, such as Grid(lr=[...]); got {kind}")
    base_seed = check_integer("base_seed", base_seed, minimum=0, maximum=2**32 - 1)
    trials = Trials(space, seed_array(seeds), base_seed, keys == "common")
    columns = device_columns(space)
    functions = [trial_function(fn, trials, options) for options in space.groups]
    outputs = outputs_of(functions, trials, columns)
    labels = make_labels(dims, coords, attrs, outputs, trials.dims)
    places = _places(devices)
    order = cost_order(cost, trials)
    job = Job(trials, columns, order, functions, outputs, places, exact)
    engine = Engine(job, on_error)

    def specification(batch: int) -> dict[str, Any]:
        size = batch * len(places)
        return sweep_spec(
            fn, trials, columns, outputs, order, exact, batch, size, labels
        )

    if out is None:
        if worker is not None and check_worker(worker).count > 1:
            raise ValueError(f"out: expected a folder for worker {worker}; got None")
        return run_in_memory(fn, engine, specification, batch_per_device, progress)
    store = Store(Path(out).absolute())
    share = check_worker(worker_from_env() if worker is None else worker)
    run_in_folder(
        fn, engine, specification, batch_per_device, store, share, resume, progress
    )
    return load_folder(store, partial=share.count > 1, labels=labels)


def _places(devices):
    """The devices of a sweep, by default all of this process."""
    if devices is None:
        return tuple(jax.local_devices())
    listed = tuple(devices) if isinstance(devices, Iterable) else (devices,)
    if not listed or not all(isinstance(x, jax.Device) for x in listed):
        raise TypeError(
            "devices: expected devices of JAX, such as jax.devices()[:1]; got "
            f"{devices!r}"
        )
    return listed
