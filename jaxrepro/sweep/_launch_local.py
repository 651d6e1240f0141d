"""Workers as processes of this machine."""

import os
import pickle
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._handles import Workers, log_tail
from ._task import Task, to_bytes

_PATIENCE = 5.0  # seconds from the polite signal to the other


def start(
    out: Path,
    tasks: Sequence[Task],
    environment: Mapping[str, str] | Sequence[Mapping[str, str]] | None = None,
) -> Workers:
    """Start a process a task.

    Parameters
    ----------
    out : Path
        Folder of the sweep; logs go to ``logs`` in it.
    tasks : sequence of Task
        Shares.
    environment : mapping or sequence of mappings, optional
        Variables to set for all workers, or for each, as ``CUDA_VISIBLE_DEVICES``.
    """
    # Processes that are forked would share the threads of JAX, and hang.
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    if environment is None or isinstance(environment, Mapping):
        each: list[Mapping[str, str]] = [environment or {}] * len(tasks)
    else:
        each = list(environment)
    if len(each) != len(tasks):
        raise ValueError(
            f"environment: expected one mapping, or {len(tasks)}; got {len(each)}"
        )
    payloads = [to_bytes(task) for task in tasks]
    handles: list[_Process] = []
    try:
        for i, (payload, variables) in enumerate(zip(payloads, each)):
            log = out / "logs" / f"worker-{i}-of-{len(tasks)}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            # They end with this process, whatever becomes of it.
            process = context.Process(
                target=_work, args=(str(log), payload), daemon=True
            )
            handles.append(_Process(process, log))
            with _set(variables):
                process.start()
    except BaseException:
        for handle in handles:
            handle.cancel()
        raise
    return Workers(out, handles)


class _Process:
    def __init__(self, process: Any, log: Path):
        self._process, self._log = process, log
        self._start = log.stat().st_size if log.exists() else 0

    def done(self):
        return not self._process.is_alive()

    def failure(self):
        code = self._process.exitcode
        if code == 0:
            return None
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"code {code}"
        return f"{how}, {log_tail(self._log, self._start)}"

    def cancel(self):
        if self._process.pid is None:
            return
        self._process.terminate()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _work(log: str, payload: bytes) -> None:
    """Run a share, with all that is printed in a log."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    pickle.loads(payload)()


@contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for a process that is started within."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
