"""The loop over launches: one in flight, memory given back, bad trials set apart."""

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from tqdm import tqdm

from ._outputs import Output
from ._program import Program, is_memory
from ._schedule import Interval, Worker, launches, missing
from ._spec import static_label
from ._trials import Trials

_log = logging.getLogger("jaxrepro.sweep")

NOT_RUN, DONE, NON_FINITE, RAISED = 0, 1, 2, 3
STATUS = "status"


class Job(NamedTuple):
    """What a worker executes.

    Attributes
    ----------
    trials : Trials
        All trials of the sweep.
    columns : dict of arrays
        Hyper-parameters at every point, in the dtypes of the program.
    order : numpy array or None
        Trial number at each execution position, or None for their own order.
    functions : list of callables
        The trial as a function of seed, point and hyper-parameters, one a group.
    outputs : list of Output
        What a trial returns.
    devices : tuple of devices
        Where to run.
    exact : bool
        Whether the trials of a launch run one after the other.
    """

    trials: Trials
    columns: dict[str, np.ndarray]
    order: np.ndarray | None
    functions: list[Callable]
    outputs: list[Output]
    devices: tuple[Any, ...]
    exact: bool

    def at(self, position: np.ndarray) -> np.ndarray:
        """Trial numbers at execution positions."""
        return position if self.order is None else self.order[position]


class Sink(NamedTuple):
    """Where results go.

    Attributes
    ----------
    commit : callable
        ``commit(start, results, status)`` keeps the results of a launch.
    note_error : callable
        ``note_error(record)`` keeps what is known of a trial that raised.
    """

    commit: Callable[[int, Mapping[str, np.ndarray], np.ndarray], None]
    note_error: Callable[[Mapping[str, Any]], None]


class Engine:
    """Runs a job's trials, with programs that are compiled once.

    Parameters
    ----------
    job : Job
        What to run.
    on_error : {"record", "raise"}
        What to do about a trial that raises.
    """

    def __init__(self, job: Job, on_error: str):
        self.job, self._on_error = job, on_error
        self._programs: dict[tuple, Program] = {}

    def program(self, group: int, batch: int, devices=None) -> Program:
        """The compiled program of a group; made once."""
        job = self.job
        devices = job.devices if devices is None else devices
        place = (group, batch, len(devices))
        if place not in self._programs:
            self._programs[place] = Program(
                job.functions[group], devices, batch, job.exact, job.columns
            )
        return self._programs[place]

    def run(
        self,
        done: Sequence[Interval],
        sink: Sink,
        *,
        batch: int,
        block_size: int,
        worker: Worker,
        progress: bool | None,
    ) -> None:
        """Run what a worker owes and is not done, halving the batch if memory ends.

        Parameters
        ----------
        done : sequence of intervals
            Positions that have results.
        sink : Sink
            Where results go.
        batch : int
            Trials a device and launch.
        block_size : int
            Positions a block.
        worker : Worker
            Whose positions to run.
        progress : bool or None
            Whether to show a bar; None shows it on a terminal.
        """
        done = list(done)
        trials = self.job.trials

        def plan(batch):
            return launches(
                missing(done, trials.n_trials),
                size=batch * len(self.job.devices),
                group_size=trials.group_size,
                block_size=block_size,
                worker=worker,
            )

        owed = sum(stop - start for start, stop in plan(batch))
        # As tqdm has it: None means not on anything but a terminal.
        hidden = None if progress is None else not progress
        with tqdm(total=owed, unit="trial", disable=hidden) as bar:

            def commit(start, results, status):
                sink.commit(start, results, status)
                done.append((start, start + len(status)))
                bar.update(len(status))

            counted = sink._replace(commit=commit)
            while True:
                try:
                    return self._stream(plan(batch), batch, counted)
                except _OutOfMemory as error:
                    if batch == 1:
                        text = self._memory_text(error.group)
                        raise MemoryError(text) from error.__cause__
                # Only here are the exception, and the arrays that its frames hold,
                # gone.
                batch = (batch + 1) // 2
                _log.warning("Out of memory; going on with %d trials a device", batch)

    def _stream(self, intervals, batch, sink):
        """Run launches, one in flight; what is complete is kept whatever happens."""
        flying = None
        for interval in intervals:
            try:
                started = interval, self._start(interval, batch)
            except Exception:  # of tracing or compilation
                if flying is not None:
                    self._keep(*flying, sink)
                raise
            if flying is not None:
                failure = self._finish(*flying, sink)
                if failure is not None:
                    self._keep(*started, sink)
                    raise failure
            flying = started
        if flying is not None and (failure := self._finish(*flying, sink)):
            raise failure

    def _start(self, interval, batch, devices=None):
        """Results that are being computed, or the exception of the start."""
        group, seed, point, params = self._arguments(interval)
        try:
            program = self.program(group, batch, devices)
        except Exception as error:
            if is_memory(error):  # accelerators may know before they run
                return error
            raise  # a bug in fn
        try:
            return program.launch(seed, point, params)
        except Exception as error:
            return error

    def _keep(self, interval, flying, sink):
        """Commit a launch if it is right; another error is being raised already."""
        try:
            rows = _fetch(flying, interval[1] - interval[0])
        except Exception:
            return
        status = rows.pop(STATUS)
        sink.commit(interval[0], rows, status)

    def _arguments(self, interval):
        """Static group, seeds, numbers of points and hyper-parameters."""
        job = self.job
        group, point, seed = job.trials.split(job.at(np.arange(*interval)))
        params = {name: values[point] for name, values in job.columns.items()}
        return int(group[0]), seed, group * job.trials.space.n_points + point, params

    def _finish(self, interval, flying, sink):
        """Commit a launch; where it raised, its trials one by one.

        Returns the exception of a trial if that is to stop the sweep.
        """
        start, stop = interval
        try:
            rows = _fetch(flying, stop - start)
        except Exception as error:
            if is_memory(error):
                raise _OutOfMemory(self._arguments(interval)[0]) from error
            if _is_interrupt(error):
                return KeyboardInterrupt()
            return self.one_by_one(interval, sink)
        status = rows.pop(STATUS)
        sink.commit(start, rows, status)

    def one_by_one(self, interval: Interval, sink: Sink) -> BaseException | None:
        """Run trials alone and commit them together.

        Returns the exception of a trial if that is to stop the sweep.
        """
        job, rows, failure = self.job, [], None
        for position in range(*interval):
            single = position, position + 1
            try:
                rows.append(_fetch(self._start(single, 1, job.devices[:1]), 1))
            except Exception as error:
                if is_memory(error):
                    raise _OutOfMemory(self._arguments(single)[0]) from error
                if _is_interrupt(error):
                    failure = KeyboardInterrupt()
                    break
                record = self._describe(position, error)
                if self._on_error == "raise":
                    error.add_note(f"in the trial {record}")
                    failure = error
                    break
                _log.warning("A trial raised: %s", record)
                sink.note_error(record)
                blanks = {output.name: blank(output, 1) for output in job.outputs}
                rows.append(blanks | {STATUS: np.asarray([RAISED], np.int8)})
        if rows:
            joined = {
                name: np.concatenate([row[name] for row in rows]) for name in rows[0]
            }
            status = joined.pop(STATUS)
            sink.commit(interval[0], joined, status)
        return failure

    def _describe(self, position, error):
        """What is known of a trial that raised, for the folder's ``errors.jsonl``."""
        group, seed, point, params = self._arguments((position, position + 1))
        options = self.job.trials.space.groups[group]
        return {
            "trial": int(self.job.at(np.asarray([position]))[0]),
            "seed": int(seed[0]),
            "point": int(point[0]),
            "params": {name: values[0].item() for name, values in params.items()},
            "options": {name: static_label(x) for name, x in options.items()},
            "error": f"{type(error).__name__}: {_telling(error)}",
        }

    def _memory_text(self, group):
        size = self.program(group, 1).memory()
        return (
            f"out of memory with a single trial a device; its program needs {size} "
            f"bytes ({size / 2**20:.1f} MiB) for arguments, results and what is between"
        )


def _fetch(flying, n):
    """Outputs and status without the padding; raises what the launch raised."""
    if isinstance(flying, Exception):
        raise flying
    parts = jax.device_get(flying)
    ok = np.concatenate([ok for _, ok in parts])[:n]
    leaves = {
        name: np.concatenate([leaves[name] for leaves, _ in parts])[:n]
        for name in parts[0][0]
    }
    return leaves | {STATUS: np.where(ok, DONE, NON_FINITE).astype(np.int8)}


def _telling(error):
    """The line of a message that says most.

    Errors of callbacks come with a traceback, after which comes what was raised, and
    at times advice below a ruler.
    """
    lines = str(error).splitlines()
    frames = [i for i, line in enumerate(lines) if line.startswith('  File "')]
    if not frames:
        return next((line for line in reversed(lines) if line.strip()), "")
    raised = itertools.takewhile(lambda x: not x.startswith("---"), lines[frames[-1] :])
    return " ".join(line.strip() for line in list(raised)[1:] if line.strip())


def _is_interrupt(error):
    """Whether Ctrl-C came while a callback was at work: JAX raises its own error."""
    return _telling(error).startswith("KeyboardInterrupt")


class _OutOfMemory(Exception):
    """A launch did not fit."""

    def __init__(self, group):
        self.group = group


def blank(output: Output, n: int) -> np.ndarray:
    """``n`` rows of an output that has not been computed."""
    dtype = np.dtype(output.dtype)
    value = np.nan if dtype.kind in "fc" else 0
    return np.full((n, *output.shape), value, dtype)
