"""Workers as jobs of a SLURM array, by submitit."""

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import MissingExtraError
from ._handles import Workers, log_tail
from ._task import Task


def start(
    out: Path, tasks: Sequence[Task], cluster: str | None = None, **parameters: Any
) -> Workers:
    """Submit a job a task, all as one array.

    Parameters
    ----------
    out : Path
        Folder of the sweep, which every node must see; logs go to ``logs`` in it.
    tasks : sequence of Task
        Shares.
    cluster : {"slurm", "local", "debug"}, optional
        Where to; by default SLURM if it is there.
    **parameters
        Of ``submitit.AutoExecutor.update_parameters``, such as ``timeout_min``,
        ``slurm_partition``, ``gpus_per_node``.
    """
    if importlib.util.find_spec("submitit") is None:
        raise MissingExtraError("submitit", "launch", "The launcher submitit")
    submitit = importlib.import_module("submitit")
    executor = submitit.AutoExecutor(folder=out / "logs", cluster=cluster)
    executor.update_parameters(**{"name": "jaxrepro", **parameters})
    jobs = executor.submit_array([ResumableTask(*task) for task in tasks])
    return Workers(out, [_Job(job) for job in jobs])


class ResumableTask(Task):
    """A task that submitit submits anew when its time is over or it is preempted."""

    def checkpoint(self) -> Any:
        """The same task: what it has done is in the folder."""
        return importlib.import_module("submitit").helpers.DelayedSubmission(self)


class _Job:
    def __init__(self, job: Any):
        self._job = job

    def done(self):
        return self._job.done()

    def failure(self):
        if self._job.exception() is None:
            return None
        job = self._job
        return f"job {job.job_id} {job.state}, {log_tail(Path(job.paths.stderr))}"

    def cancel(self):
        self._job.cancel()
