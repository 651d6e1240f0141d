"""Workers as tasks of Ray, which runs one again when its process or node dies."""

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import MissingExtraError
from ._handles import Workers
from ._task import Task


def start(
    out: Path,
    tasks: Sequence[Task],
    init: Mapping[str, Any] | None = None,
    **options: Any,
) -> Workers:
    """Start a task of Ray a task.

    Parameters
    ----------
    out : Path
        Folder of the sweep, which every node must see.
    tasks : sequence of Task
        Shares.
    init : mapping, optional
        Arguments of ``ray.init``, such as ``address``, if Ray does not run in this
        process yet; it is shut down when all workers have ended.
    **options
        Of ``ray.remote``, such as ``num_gpus``, ``num_cpus``, ``max_retries``,
        ``runtime_env``.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("ray", "launch", "The launcher ray")
    ray = importlib.import_module("ray")
    ours = not ray.is_initialized()
    if ours:
        ray.init(**{"include_dashboard": False, **(init or {})})
    remote = ray.remote(**options)(_run) if options else ray.remote(_run)
    handles = [_RayTask(ray, remote.remote(task)) for task in tasks]
    return Workers(out, handles, ray.shutdown if ours else None)


def _run(task: Task) -> None:
    task()


class _RayTask:
    def __init__(self, ray: Any, reference: Any):
        self._ray, self._reference = ray, reference

    def done(self):
        ready, _ = self._ray.wait([self._reference], timeout=0)
        return bool(ready)

    def failure(self):
        try:
            self._ray.get(self._reference)
        except self._ray.exceptions.RayError as error:
            return str(error).strip().replace("\n", "\n    ")
        return None

    def cancel(self):
        self._ray.cancel(self._reference, force=True)
