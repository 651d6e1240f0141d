import jax
import pytest

from jaxrepro.sweep import Grid, sweep, worker_from_env
from jaxrepro.sweep._workers import check_worker

ARRAY = "SLURM_ARRAY_TASK_"
STEP = {"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}
MPI = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "5"}


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """No variable but those that a test sets."""
    names = ["JAXREPRO_WORKER", *STEP, *MPI]
    names += [ARRAY + name for name in ("ID", "COUNT", "MIN", "STEP")]
    for name in names:
        monkeypatch.delenv(name, raising=False)


def array(index, count, **others):
    """Variables of a SLURM array."""
    values = {"ID": index, "COUNT": count, **others}
    return {ARRAY + name: str(value) for name, value in values.items()}


@pytest.mark.parametrize(
    ("variables", "worker"),
    [
        ({}, (0, 1)),
        ({"JAXREPRO_WORKER": "3/8"}, (3, 8)),
        ({"JAXREPRO_WORKER": "0/1"} | array(1, 2) | STEP, (0, 1)),
        (array(2, 4), (2, 4)),
        (array(5, 4, MIN=3), (2, 4)),
        (array(7, 4, MIN=1, STEP=2), (3, 4)),
        (array(1, 2) | STEP | MPI, (1, 2)),
        (STEP, (1, 4)),
        (STEP | MPI, (1, 4)),
        ({"SLURM_PROCID": "1"} | MPI, (2, 5)),
        (MPI, (2, 5)),
    ],
)
def test_worker_from_env(variables, worker, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert worker_from_env() == worker


def test_process_of_jax_distributed(monkeypatch):
    monkeypatch.setattr(jax.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    monkeypatch.setattr(jax, "process_count", lambda: 3)
    assert worker_from_env() == (1, 3)


@pytest.mark.parametrize(
    ("variables", "name"),
    [({"JAXREPRO_WORKER": text}, "JAXREPRO_WORKER") for text in ("3", "a/b", "4/4")]
    + [({"JAXREPRO_WORKER": ""}, "JAXREPRO_WORKER")]
    + [(array(4, 4), "SLURM_ARRAY_TASK_ID")]
    + [(array(2, 4, MIN=1, STEP=2), "SLURM_ARRAY_TASK_ID")]
    + [(array(2, 4, STEP=0), "SLURM_ARRAY_TASK_ID")]
    + [({"SLURM_PROCID": "x", "SLURM_NTASKS": "2"}, "SLURM_PROCID")]
    + [(MPI | {"OMPI_COMM_WORLD_SIZE": "2"}, "OMPI_COMM_WORLD_RANK")],
)
def test_wrong_variables(variables, name, monkeypatch):
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    with pytest.raises(ValueError, match=f"{name}: expected index and number"):
        worker_from_env()


@pytest.mark.parametrize("worker", [(2, 2), (-1, 2), (0, 0), (0,), ("a", 2)])
def test_wrong_workers(worker, plain_errors):
    with pytest.raises(ValueError, match=r"worker: expected \(i, n\) with 0 <= i < n"):
        check_worker(worker)


def test_the_environment_counts_with_a_folder_only(monkeypatch, tmp_path):
    monkeypatch.setenv("JAXREPRO_WORKER", "1/2")

    def fn(key, params):
        return params["x"]

    space = Grid(x=[1.0, 2.0])
    assert sweep(fn, space)["status"].values.tolist() == [[1], [1]]
    shared = sweep(fn, space, out=tmp_path)
    assert shared["status"].values.tolist() == [[0], [1]]
