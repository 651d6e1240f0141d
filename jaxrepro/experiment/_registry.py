"""Experiments register themselves: a decorator, and discovery by walking files."""

import contextlib
import dataclasses
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ._claim import Claim

# Options of the command line, which a field of a Config may not be called.
RESERVED = ("name", "quick", "out", "seed", "x64", "no_x64", "resume", "help")


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment as declared by :func:`experiment`; calling it runs the function.

    Attributes
    ----------
    name : str
        ``area/file``, from the place of the file.
    run : callable
        ``run(config, out) -> dict of tables``.
    config : type
        Frozen dataclass of the settings.
    quick : mapping
        Settings that differ in quick mode.
    claims : tuple of Claim
        What is checked.
    papers : tuple of str
        BibTeX keys.
    cost : str
        Estimated cost of the full run.
    plot : callable or None
        ``plot(tables, out)``.
    x64 : bool
        Whether the experiment runs in double precision by default.
    title, description : str
        First paragraph of the docstring, and the rest of it.
    """

    name: str
    run: Callable
    config: type
    quick: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    papers: tuple[str, ...] = ()
    cost: str = ""
    plot: Callable | None = None
    x64: bool = False
    title: str = ""
    description: str = ""

    def __call__(self, config, out) -> dict:
        """Run the function itself, without folder, claims or figures."""
        return self.run(config, out)

    def settings(self, *, quick: bool = False):
        """Default configuration of a full or a quick run."""
        return self.config(**(self.quick if quick else {}))


def experiment(
    *,
    config: type,
    quick: Mapping[str, Any],
    claims: Iterable[Claim],
    papers: Iterable[str],
    cost: str,
    plot: Callable | None = None,
    x64: bool = False,
) -> Callable[[Callable], Experiment]:
    """Turn ``run(config, out)`` into the experiment of its file.

    The name follows from the place of the file: ``experiments/area/file.py``
    holds the experiment ``area/file``. The docstring of ``run``, or else of the
    file, gives title and description.

    Parameters
    ----------
    config : type
        A frozen dataclass with a default for every field. Fields become flags of
        the command line and the docstrings below them its help.
    quick : mapping
        Fields with their values in quick mode (at most 60 s on two CPU cores).
    claims : iterable of Claim
        What is checked, with unique names.
    papers : iterable of str
        BibTeX keys of the papers behind the experiment.
    cost : str
        Estimated cost of the full run, such as ``"3 min on two cores"``.
    plot : callable, optional
        ``plot(tables, out)``, called after ``run``; figures are opened with
        ``out.figure(name)``.
    x64 : bool, default False
        Whether to run in double precision unless the user says otherwise.

    Returns
    -------
    callable
        A decorator that returns an :class:`Experiment`.

    Raises
    ------
    TypeError
        If ``config`` is not a frozen dataclass.
    ValueError
        If a field has no default or is named like an option of the command line,
        if ``quick`` has an unknown field, or if two claims share a name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from jaxrepro.experiment import experiment
    >>> @dataclass(frozen=True)
    ... class Config:
    ...     n: int = 1000
    >>> @experiment(config=Config, quick={"n": 10}, claims=[], papers=[], cost="1 s")
    ... def run(config, out):
    ...     return {"squares": {"n": range(config.n)}}
    >>> run.settings(quick=True)
    Config(n=10)
    """
    claims, papers = tuple(claims), tuple(papers)
    _check_config(config, quick)
    names = [claim.name for claim in claims]
    if len(set(names)) < len(names):
        raise ValueError(f"claims: expected unique names; got {names}")

    def register(run):
        module = sys.modules.get(run.__module__)
        doc = inspect.getdoc(run) or inspect.getdoc(module) or ""
        title, _, description = doc.partition("\n\n")
        return Experiment(
            name="/".join(run.__module__.split(".")[-2:]),
            run=run,
            config=config,
            quick=dict(quick),
            claims=claims,
            papers=papers,
            cost=cost,
            plot=plot,
            x64=x64,
            title=" ".join(title.split()).removesuffix("."),
            description=description.strip(),
        )

    return register


def _check_config(config, quick):
    frozen = dataclasses.is_dataclass(config) and config.__dataclass_params__.frozen  # pyright: ignore
    if not frozen:
        raise TypeError(f"config: expected a frozen dataclass; got {config!r}")
    names = [field.name for field in dataclasses.fields(config)]
    missing = dataclasses.MISSING
    for field in dataclasses.fields(config):
        if field.default is missing and field.default_factory is missing:
            raise ValueError(f"config: expected a default for the field {field.name!r}")
        if field.name in RESERVED:
            raise ValueError(
                f"config: {field.name!r} is an option of the command line; "
                "expected another name for the field"
            )
    unknown = sorted(set(quick) - set(names))
    if unknown:
        raise ValueError(f"quick: expected fields among {names}; got {unknown}")


def experiment_names(package: str) -> list[str]:
    """Names of all experiments of a package, without importing any of them.

    Parameters
    ----------
    package : str
        Import name of the folder of experiments. Every file ``area/file.py``
        in it whose name does not begin with ``_`` is one experiment.

    Returns
    -------
    list of str
        The names ``area/file``, sorted.

    Raises
    ------
    ModuleNotFoundError
        If there is no such package.

    Examples
    --------
    >>> from jaxrepro.experiment import experiment_names
    >>> experiment_names("jaxrepro.experiment")
    []
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"there is no package {package!r} of experiments")
    files = (
        file
        for location in spec.submodule_search_locations
        for file in Path(location).glob("*/*.py")
    )
    return sorted(
        f"{file.parent.name}/{file.stem}"
        for file in files
        if not file.name.startswith("_") and file.parent.name.isidentifier()
    )


def load_experiment(package: str, name: str) -> Experiment:
    """Import one experiment of a package.

    Parameters
    ----------
    package : str
        Import name of the folder of experiments.
    name : str
        ``area/file``.

    Returns
    -------
    Experiment
        What the file has registered.

    Raises
    ------
    ImportError
        If the file does not register exactly one experiment. Whatever the file
        raises when imported comes through.

    Examples
    --------
    >>> from jaxrepro.experiment import load_experiment
    >>> load_experiment("jaxrepro", "core/_checks")
    Traceback (most recent call last):
    ...
    ImportError: jaxrepro.core._checks: expected one experiment in the file; got 0
    """
    with contextlib.chdir(Path.cwd()):  # the file may change the working directory
        module = importlib.import_module(f"{package}.{name.replace('/', '.')}")
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, Experiment) and value.run.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise ImportError(
            f"{module.__name__}: expected one experiment in the file; got {len(found)}"
        )
    return found[0]


def load_or_explain(package: str, name: str) -> Experiment:
    """As :func:`load_experiment`, but a file that fails gives a run that fails."""
    try:
        return load_experiment(package, name)
    except (Exception, SystemExit) as error:
        reason = error

    @dataclasses.dataclass(frozen=True)
    class NoConfig:
        pass

    def run(config, out):
        raise reason

    words = " ".join(str(reason).split())
    said = f"{type(reason).__name__}: {words}" if words else type(reason).__name__
    title = f"The file cannot be imported ({said})"
    return Experiment(name, run, NoConfig, title=title)
