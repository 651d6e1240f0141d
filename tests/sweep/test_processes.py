"""What several devices and processes compute is equal to the last bit."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("processes.py")
NAMED = ("SLURM_", "OMPI_", "JAXREPRO_WORKER")


def call(command, folder, *args, flags=""):
    """The answer of a command of the script, compiled as users do."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(NAMED)}
    known |= {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0", "XLA_FLAGS": flags}
    words = [sys.executable, str(SCRIPT), command, str(folder), *map(json.dumps, args)]
    done = subprocess.run(words, env=known, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def digests(name, folder, counts, batches):
    """Digests of a table of devices and batch sizes, on four virtual devices."""
    flags = "--xla_force_host_platform_device_count=4"
    return call("table", folder, name, counts, batches, flags=flags)


@pytest.mark.distributed
@pytest.mark.parametrize(
    ("name", "counts", "batches"),
    [
        ("train", [1, 4], [1, 8]),
        ("moments", [1, 4], [1, 8]),
        pytest.param("train", [1, 2, 4], [1, 2, 5, 8, 30], marks=pytest.mark.slow),
        pytest.param("moments", [1, 2, 4], [1, 2, 5, 8, 30], marks=pytest.mark.slow),
    ],
)
def test_devices_and_batch_sizes(name, counts, batches, tmp_path):
    answer = digests(name, tmp_path, counts, batches)
    assert len(answer["exact"]) == len(counts) * len(batches)
    assert len(set(answer["exact"].values())) == 1
    for batch in batches:
        assert len({answer["vmap"][f"{count} {batch}"] for count in counts}) == 1


@pytest.mark.distributed
def test_killed_sweeps_go_on(tmp_path):
    answer = call("killed", tmp_path)
    assert answer["kills"] == 4
    assert 0 < answer["left"] < 60
    assert answer["recomputed"] == []
    assert answer["twice"] == 0
    assert answer["temporary"] == 0
    assert answer["equal"]


@pytest.mark.distributed
@pytest.mark.parametrize("sampler", ["optuna", "random"])
def test_killed_searches_go_on(sampler, tmp_path):
    if sampler == "optuna":
        pytest.importorskip("optuna")
    answer = call("searching", tmp_path, sampler)
    assert answer["kills"] == 3
    assert answer["where"][-1] < 18
    assert answer["equal"]


@pytest.mark.distributed
def test_two_workers_share_a_folder(tmp_path):
    answer = call("workers", tmp_path)
    assert answer["equal"] == [True, True]
    assert answer["parts"] == 8
    assert [name[:3] for name in answer["seen"]] == ["0/2", "1/2"]


@pytest.mark.distributed
def test_jax_distributed(tmp_path):
    try:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
    except OSError as error:
        pytest.skip(f"no port on the loopback address: {error}")
    answer = call("distributed", tmp_path)
    assert answer["equal"] == [True, True]
    assert [name[:3] for name in answer["seen"]] == ["0/2", "1/2"]
