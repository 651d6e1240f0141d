"""Every public function of every area keeps the contract.

Cases come from the files beside this one, one an area, each with a list
``CASES`` and a mapping ``EXEMPT`` from names to reasons.
"""

import functools
import importlib
import runpy
from pathlib import Path

import jax
import pytest

import jaxrepro
from jaxrepro.testing import check_contract, contract_gaps


@functools.cache
def contract(area):
    file = Path(__file__).with_name(f"{area}.py")
    if not file.exists():
        return [], {}
    found = runpy.run_path(str(file), run_name=f"contract_{area}")
    return found["CASES"], found["EXEMPT"]


def every_case():
    for area in jaxrepro._AREAS:
        cases, _ = contract(area)
        labels = [case.label for case in cases]
        assert len(set(labels)) == len(labels), f"{area}: labels repeat in {labels}"
        for case in cases:
            yield pytest.param(case, id=f"{area}.{case.label}")


@pytest.fixture(autouse=True)
def _cheap_programs():
    """A case compiles a dozen programs that no other case uses, and runs them once."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    jax.clear_caches()


@pytest.mark.parametrize("case", list(every_case()))
def test_contract(case):
    check_contract(case)


@pytest.mark.parametrize("area", jaxrepro._AREAS)
def test_every_function_has_a_case(area):
    module = importlib.import_module(f"jaxrepro.{area}")
    assert not contract_gaps(module, *contract(area))


def test_every_file_belongs_to_an_area():
    files = {f.stem for f in Path(__file__).parent.glob("*.py")} - {"test_contract"}
    assert files <= set(jaxrepro._AREAS)
