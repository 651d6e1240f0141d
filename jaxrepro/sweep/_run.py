"""A run, into memory or into a folder."""

import datetime
import functools
import inspect
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core import citations
from ..core._provenance import environment, git_state
from ._batch import automatic_batch
from ._dataset import Table, attributes
from ._engine import Engine, Sink
from ._schedule import Worker
from ._spec import check_same_source, check_same_sweep
from ._store import Store

Specification = Callable[[int], dict[str, Any]]


def run_in_memory(
    fn: Callable,
    engine: Engine,
    specification: Specification,
    batch: int | str,
    progress: bool | None,
):
    """Run all trials and return the data set."""
    start, clock = invocation(fn, engine, Worker(0, 1)), time.perf_counter()
    size = _batch(engine, batch, 1)
    spec = specification(size)
    table = Table(spec, engine.job.order)
    sink = Sink(table.fill, lambda record: None)
    worker = Worker(0, 1)
    engine.run(
        [],
        sink,
        batch=size,
        block_size=spec["block_size"],
        worker=worker,
        progress=progress,
    )
    return table.dataset(attributes(spec, start, time.perf_counter() - clock))


def run_in_folder(
    fn: Callable,
    engine: Engine,
    specification: Specification,
    batch: int | str,
    store: Store,
    worker: Worker,
    resume: bool | str,
    progress: bool | None,
) -> None:
    """Run a worker's trials that the folder lacks, and write them there."""
    new = not store.spec_path.exists()
    if new:  # another worker may be faster
        new = store.write_spec(specification(_batch(engine, batch, worker.count)))
    if resume is False and not new:
        raise FileExistsError(
            f"out: {store.folder} holds a sweep; choose another folder, or resume=True"
        )
    spec = store.read_spec()
    size = spec["batch"] if batch == "auto" else int(batch)
    _check_resume(specification(size), spec, store, strict=resume == "strict")
    if engine.job.order is not None:
        store.write_order(engine.job.order)
    store.note("invocations", invocation(fn, engine, worker))
    store.sweep_up()
    engine.run(
        [(part.start, part.stop) for part in store.parts()],
        Sink(store.write_part, lambda record: store.note("errors", record)),
        batch=size,
        block_size=spec["block_size"],
        worker=worker,
        progress=progress,
    )


def _batch(engine, batch, n_workers):
    if batch != "auto":
        return int(batch)
    job = engine.job
    each = -(-job.trials.group_size // n_workers)  # so that every worker has a block
    return automatic_batch(lambda size: engine.program(0, size), job.devices, each)


def _check_resume(new, old, store, *, strict):
    check_same_sweep(old, new, store.folder)
    check_same_source(old, new, store.folder, strict=strict)
    if not new["exact"] and new["batch"] != old["batch"]:
        warnings.warn(
            f"batch_per_device: {store.folder} was begun with {old['batch']}, now "
            f"{new['batch']}; rounding depends on it unless exact=True",
            stacklevel=4,
        )


def invocation(fn: Callable, engine: Engine, worker: Worker) -> dict[str, Any]:
    """When, where and with what a run starts."""
    try:
        source = inspect.getsourcefile(inspect.unwrap(getattr(fn, "func", fn)))
    except TypeError:
        source = None
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "worker": list(worker),
        "argv": sys.argv,
        "citations": [reference.key for reference in citations(fn)],
        **environment(None, engine.job.devices),
        "git": _checkout(None if source is None else Path(source)),
    }


@functools.cache
def _checkout(source):
    """The commit of a source, asked once: a process runs what it has loaded."""
    return git_state(source)
