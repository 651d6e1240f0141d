from dataclasses import dataclass, field

import pytest

from jaxrepro.experiment import (
    Claim,
    RunFolder,
    experiment,
    experiment_names,
    load_experiment,
)
from jaxrepro.experiment._registry import load_or_explain


@dataclass(frozen=True)
class Config:
    n: int = 3


def declare(**changes):
    options = {"config": Config, "quick": {}, "claims": [], "papers": [], "cost": "1 s"}
    return experiment(**{**options, **changes})


def test_the_function_can_still_be_called(tmp_path):
    @declare()
    def run(config, out):
        """A title over
        two lines.

        The rest.
        """
        return {"t": {"x": range(config.n)}}

    assert list(run(Config(2), RunFolder(tmp_path))["t"]["x"]) == [0, 1]
    assert run.title == "A title over two lines"
    assert run.description == "The rest."
    assert run.name.endswith("test_experiment_registry")


def test_settings_of_full_and_quick_runs():
    @declare(quick={"n": 1})
    def run(config, out):
        return {}

    assert run.settings() == Config(3)
    assert run.settings(quick=True) == Config(1)


@dataclass
class Mutable:
    n: int = 1


@dataclass(frozen=True)
class NoDefault:
    n: int


@dataclass(frozen=True)
class Clash:
    seed: int = 0


@dataclass(frozen=True)
class Factory:
    sizes: tuple = field(default_factory=tuple)


TWICE = [Claim("a", "s", "paper", lambda t: 1, 1)] * 2


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"config": Mutable}, TypeError, "config: expected a frozen dataclass"),
        ({"config": int}, TypeError, "config: expected a frozen dataclass; got .*int"),
        ({"config": NoDefault}, ValueError, "expected a default for the field 'n'"),
        ({"config": Clash}, ValueError, "'seed' is an option of the command line"),
        (
            {"quick": {"m": 1}},
            ValueError,
            r"expected fields among \['n'\]; got \['m'\]",
        ),
        ({"claims": TWICE}, ValueError, r"unique names; got \['a', 'a'\]"),
    ],
)
def test_declarations_that_are_wrong(changes, error, message):
    with pytest.raises(error, match=message):
        declare(**changes)


def test_a_default_factory_is_a_default():
    assert declare(config=Factory)


def test_names_come_from_files_and_import_nothing(package):
    fails = "raise RuntimeError"
    name = package(b__two=fails, a__one=fails, a___helper=fails, top=fails)
    assert experiment_names(name) == ["a/one", "b/two"]


def test_unknown_package():
    with pytest.raises(ModuleNotFoundError, match="no package 'no_such_package'"):
        experiment_names("no_such_package")


def test_load(package, source):
    name = package(maths__squares=source(papers="'key'"))
    found = load_experiment(name, "maths/squares")
    assert found.name == "maths/squares"
    assert found.title == "Squares"
    assert found.papers == ("key",)


def test_an_experiment_imported_from_another_file_does_not_count(package, source):
    name = package(
        maths__squares=source(),
        maths__other=source(title="Other", plot="from .squares import run as theirs"),
        maths__none="from .squares import run",
    )
    assert load_experiment(name, "maths/other").title == "Other"
    with pytest.raises(ImportError, match="expected one experiment in the file; got 0"):
        load_experiment(name, "maths/none")


@pytest.mark.parametrize(
    "text", ["import no_such_module", "def f(:", "raise SystemExit(3)", ""]
)
def test_a_broken_file_becomes_a_run_that_fails(package, text, tmp_path):
    broken = load_or_explain(package(a__broken=text), "a/broken")
    assert broken.name == "a/broken"
    assert "cannot be imported" in broken.title
    with pytest.raises((ImportError, SyntaxError, SystemExit)):
        broken(broken.settings(), RunFolder(tmp_path))
