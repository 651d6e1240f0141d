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

import numpy as np

from ..core import citations
from ..core._provenance import environment, git_state
from ._batch import automatic_batch
from ._dataset import Table, attributes
from ._engine import RAISED, STATUS, Engine, Sink
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
    size = spec["batch"] if batch == "auto" else _batch(engine, batch, worker.count)
    _check_resume(specification(size), spec, store, strict=resume == "strict")
    if engine.job.order is not None:
        store.write_order(engine.job.order)
    store.note("invocations", invocation(fn, engine, worker))
    store.sweep_up()
    sink = Sink(store.write_part, lambda record: store.note("errors", record))
    engine.run(
        [(part.start, part.stop) for part in store.parts()],
        sink,
        batch=size,
        block_size=spec["block_size"],
        worker=worker,
        progress=progress,
    )
    if resume == "retry":
        _retry(engine, store, sink, spec["block_size"], worker)


def _retry(engine, store, sink, block_size, worker):
    """Run the trials that raised again."""
    for part in store.parts():
        if (part.start // block_size) % worker.count == worker.index:
            _retry_part(engine, store, sink, part)


def _retry_part(engine, store, sink, part):
    """Run the trials of a part that raised; the part is replaced as a whole."""
    job = engine.job
    rows = store.read_part(part, job.outputs, job.trials.n_trials)

    def replace(start, results, status):
        for name, values in {**results, STATUS: status}.items():
            rows[name][start - part.start] = values[0]

    sink, failure = sink._replace(commit=replace), None
    raised = part.start + np.flatnonzero(rows[STATUS] == RAISED)
    for i in map(int, raised):
        if failure := engine.one_by_one((i, i + 1), sink):
            break
    if len(raised):
        status = rows.pop(STATUS)
        store.write_part(part.start, rows, status)
    if failure:
        raise failure


def _batch(engine, batch, n_workers):
    job = engine.job
    if batch != "auto":
        # A larger launch would be padding.
        return min(int(batch), -(-job.trials.group_size // len(job.devices)))
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
