"""Which of several workers this process is."""

import os

import jax

from ._schedule import Worker


def worker_from_env() -> tuple[int, int]:
    """Index and number of workers, as the environment tells them.

    The first of these that is there decides:

    1. ``JAXREPRO_WORKER``, written ``i/n``;
    2. the index in a SLURM array, from ``SLURM_ARRAY_TASK_ID``, ``..._COUNT`` and
       perhaps ``..._MIN`` and ``..._STEP``;
    3. the process of a SLURM step, from ``SLURM_PROCID`` and ``SLURM_NTASKS``;
    4. the rank of an Open MPI process, from ``OMPI_COMM_WORLD_RANK`` and ``..._SIZE``;
    5. the process of an initialised ``jax.distributed``;
    6. the only worker, ``(0, 1)``.

    Returns
    -------
    tuple of int
        Index, from 0, and number of workers.

    Raises
    ------
    ValueError
        If the variables hold no such pair.

    Examples
    --------
    >>> from jaxrepro.sweep import worker_from_env
    >>> worker_from_env()
    (0, 1)
    """
    known = os.environ
    if "JAXREPRO_WORKER" in known:
        return _pair("JAXREPRO_WORKER", *known["JAXREPRO_WORKER"].partition("/")[::2])
    if "SLURM_ARRAY_TASK_ID" in known and "SLURM_ARRAY_TASK_COUNT" in known:
        array = "SLURM_ARRAY_TASK_"
        first, step = known.get(f"{array}MIN", "0"), known.get(f"{array}STEP", "1")
        return _pair(
            f"{array}ID", known[f"{array}ID"], known[f"{array}COUNT"], first, step
        )
    for index, count in (
        ("SLURM_PROCID", "SLURM_NTASKS"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ):
        if index in known and count in known:
            return _pair(index, known[index], known[count])
    if jax.distributed.is_initialized():
        return jax.process_index(), jax.process_count()
    return 0, 1


def _pair(
    name: str, index: str, count: str, first: str = "0", step: str = "1"
) -> tuple[int, int]:
    try:
        place, rest = divmod(int(index) - int(first), int(step))
        return check_worker((-1 if rest else place, int(count)))
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(
            f"{name}: expected index and number of workers, as in 0/4; got "
            f"{index!r} of {count!r}"
        ) from error


def check_worker(worker: tuple[int, int]) -> Worker:
    """A worker, or an error for numbers that are none."""
    try:
        index, count = (int(x) for x in worker)
    except (TypeError, ValueError):
        index, count = -1, 0
    if not 0 <= index < count:
        raise ValueError(f"worker: expected (i, n) with 0 <= i < n; got {worker!r}")
    return Worker(index, count)
