"""The heaviest functions cost what the record says; a new cost is a decision."""

import subprocess
import sys
from pathlib import Path

import jax
import pytest

from benchmarks import costs

ROOT = Path(__file__).parents[1]
CALLS = costs.calls()
RECORD = costs.read_snapshot()


def test_every_call_is_on_record():
    assert RECORD["costs"].keys() == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_operations_are_those_on_record(name):
    assert costs.contractions(CALLS[name]) == RECORD["costs"][name]["contractions"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_memory_does_not_grow(name):
    if jax.__version__ != RECORD["jax"]:
        pytest.skip(f"memory was recorded under jax {RECORD['jax']}")
    recorded = RECORD["costs"][name]["temporary_bytes"]
    assert costs.temporary_bytes(CALLS[name]) <= 1.1 * recorded


def test_a_dearer_function_is_seen():
    array = costs.array(8, 8)
    cheap = costs.Call(lambda a, b: a @ b, (array, array))
    dear = costs.Call(lambda a, b: (a @ b) @ b, (array, array))
    assert costs.contractions(dear) == 2 * costs.contractions(cheap) == 2 * 2 * 8**3


def test_costs_are_no_comparison_of_their_own():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "costs"],
        capture_output=True, text=True, cwd=ROOT, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert (
        done.stdout.strip()
        == "unknown: costs; known: diffusion, operators, ot, rmt, sweep"
    )
