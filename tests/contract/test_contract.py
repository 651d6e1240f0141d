"""Every public function of every area keeps the contract.

Cases come from the files beside this one, one an area, each with a list
``CASES`` and a mapping ``EXEMPT`` from names to reasons. ``SLOW`` may name cases that
compile large programs, and variants that repeat most of another case: they run with
the other slow tests. A function all of whose cases are slow is traced and lowered here.
"""

import functools
import importlib
import runpy
from pathlib import Path

import jax
import pytest

from jaxrepro.testing import area_names, check_contract, contract_gaps


@functools.cache
def contract(area):
    file = Path(__file__).with_name(f"{area.replace('.', '_')}.py")
    if not file.exists():
        return [], {}, ()
    found = runpy.run_path(str(file), run_name=f"contract_{area}")
    return found["CASES"], found["EXEMPT"], found.get("SLOW", ())


def every_case():
    for area in area_names():
        cases, _, slow = contract(area)
        labels = [case.label for case in cases]
        assert len(set(labels)) == len(labels), f"{area}: labels repeat in {labels}"
        assert set(slow) <= set(labels), f"{area}: SLOW names no case of {labels}"
        executed = {case.function for case in cases if case.label not in slow}
        for case in cases:
            name = f"{area}.{case.label}"
            if case.label not in slow:
                yield pytest.param(case, True, id=name)
                continue
            yield pytest.param(case, True, id=name, marks=pytest.mark.slow)
            if case.function not in executed:
                yield pytest.param(case, False, id=f"{name}, traced")


@pytest.fixture(autouse=True)
def _bounded_memory():
    """A case compiles a dozen programs that no other case uses."""
    yield
    jax.clear_caches()


@pytest.mark.parametrize(("case", "execute"), list(every_case()))
def test_contract(case, execute):
    check_contract(case, execute=execute)


@pytest.mark.parametrize("area", area_names())
def test_every_function_has_a_case(area):
    module = importlib.import_module(f"jaxrepro.{area}")
    assert not contract_gaps(module, *contract(area)[:2])


def test_every_file_belongs_to_an_area():
    files = {f.stem for f in Path(__file__).parent.glob("*.py")} - {"test_contract"}
    assert files <= {area.replace(".", "_") for area in area_names()}
