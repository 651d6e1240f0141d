"""Several workers on one folder, started by an engine that exists."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from ..core import check_choice, check_integer
from ._handles import Workers
from ._space import Space
from ._sweep import sweep
from ._task import Task, check_task

if TYPE_CHECKING:
    import xarray

# The module `_launch_<name>` holds `start(out, tasks, **launcher_options)`.
LAUNCHERS = ("local", "submitit", "ray")


def launch(
    fn: Callable[..., Any],
    space: Space,
    *,
    out: str | Path,
    n_workers: int,
    launcher: str = "local",
    launcher_options: Mapping[str, Any] | None = None,
    wait: bool = True,
    **sweep_options: Any,
) -> "xarray.Dataset | Workers":
    """Run a sweep with several workers, which share a folder and nothing else.

    Each calls :func:`sweep` with ``worker=(i, n_workers)``. A worker that dies does
    not stop the others, and the same call goes on from what is in the folder.

    Parameters
    ----------
    fn : callable
        As :func:`sweep` takes it, defined at the top of a module, so that other
        processes can import it. A script that calls ``launch`` does so under
        ``if __name__ == "__main__":``.
    space : Space
        Points.
    out : str or Path
        Folder for the results, which every worker must see. Logs go to ``logs``
        in it.
    n_workers : int
        Number of workers.
    launcher : {"local", "submitit", "ray"}, default "local"
        Processes of this machine, which end with the calling one; jobs of a SLURM
        array, by submitit; or tasks of Ray, which runs a task again if its process
        or node dies.
    launcher_options : mapping, optional
        For "local", ``environment``: a mapping of variables, or one for each worker.
        For "submitit", ``cluster``, and what its ``update_parameters`` takes, such as
        ``timeout_min`` and ``slurm_partition``. For "ray", ``init``: arguments of
        ``ray.init``; and those of ``ray.remote``, such as ``num_gpus``.
    wait : bool, default True
        Whether to wait for the result.
    **sweep_options
        Further arguments of :func:`sweep`, such as ``seeds``. With
        ``batch_per_device="auto"`` the worker that starts first chooses for all. The
        precision that is set here, ``jax.enable_x64``, holds for the workers too.

    Returns
    -------
    xarray.Dataset or Workers
        The result; or, with ``wait=False``, the workers, with the methods ``done``,
        ``wait`` and ``cancel``.

    Raises
    ------
    FileExistsError
        If ``resume`` is False and ``out`` holds a sweep.
    MissingExtraError
        If the package of the launcher is absent.
    TypeError
        If :func:`sweep` does not know an option, or ``launch`` sets it itself.
    ValueError
        If ``fn`` or an option cannot be had by other processes, as a lambda; if
        ``n_workers`` is below 1, or ``launcher`` none of the three.
    WorkerError
        If a worker failed; the message has how it ended, and the end of its log.

    Examples
    --------
    >>> from jaxrepro.sweep import Grid, launch
    >>> result = launch(
    ...     fn, Grid(lr=[0.1, 0.2]), seeds=100, out="run", n_workers=4
    ... )  # doctest: +SKIP
    >>> launch(lambda key, p: p["x"], Grid(x=[1.0]), out="run", n_workers=2)
    Traceback (most recent call last):
        ...
    ValueError: fn: expected a function that other processes can import; got ...
    """
    n_workers = check_integer("n_workers", n_workers)
    check_choice("launcher", launcher, LAUNCHERS)
    if "worker" in sweep_options:
        raise TypeError("worker: expected n_workers instead; launch numbers them")
    inspect.signature(sweep).bind(fn, space, **sweep_options)
    folder = Path(out).absolute()
    if sweep_options.get("resume") is False:
        if (folder / "spec.json").exists():
            raise FileExistsError(f"out: {folder} holds a sweep; choose another folder")
        # To a worker, what another has begun is not to be refused.
        sweep_options["resume"] = True
    options = sweep_options | {"out": folder}
    x64 = bool(jax.config.jax_enable_x64)  # pyright: ignore
    tasks = [Task(fn, space, options, (i, n_workers), x64) for i in range(n_workers)]
    check_task(tasks[0])
    engine = importlib.import_module(f"._launch_{launcher}", __package__)
    workers = engine.start(folder, tasks, **(launcher_options or {}))
    return workers.wait() if wait else workers
