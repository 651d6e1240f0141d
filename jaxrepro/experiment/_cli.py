"""``python -m experiments list | run | report``."""

import dataclasses
import difflib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from ..core._files import RecordError, read_json
from ._registry import Experiment, experiment_names, load_or_explain
from ._report import write_report
from ._runner import read_result, run_experiment
from ._session import run_session
from ._text import claims_table, count_text

_VALUED = ("--out", "--seed", "--resume")  # options of "run" and what follows them
_FLAGS = ("--quick", "--x64", "--no-x64")


class UsageError(Exception):
    """A command that cannot be carried out as given: exit code 2."""


@dataclasses.dataclass(frozen=True)
class List:
    """List the experiments with their cost and papers."""


@dataclasses.dataclass(frozen=True)
class Run:
    """Run one experiment, all of an area, or all.

    The settings of a single experiment are flags: see "run NAME --help".
    """

    name: tyro.conf.Positional[str] = ""
    """An experiment (area/file), an area, or "all"."""
    quick: bool = False
    """Quick form: the same code with smaller settings."""
    out: Path = Path("results")
    """Folder for the results."""
    seed: int = 0
    """Seed of everything random."""
    x64: bool = False
    """Double precision, whatever the experiment declares."""
    no_x64: bool = False
    """Single precision, whatever the experiment declares."""
    resume: Path | None = None
    """Continue a stopped run, given its folder; takes no other options."""


@dataclasses.dataclass(frozen=True)
class Report:
    """Build the page of a run again from its folder."""

    folder: tyro.conf.Positional[Path]
    """results/STAMP, or results/AREA/FILE/STAMP-HASH."""


def main(package: str, argv: Sequence[str] | None = None) -> int:
    """Command line of a package of experiments: ``list``, ``run``, ``report``.

    Parameters
    ----------
    package : str
        Import name of the package: one folder an area, one file an experiment.
    argv : sequence of str, optional
        Arguments, by default those of the process.

    Returns
    -------
    int
        0 for success, 1 if an experiment failed or a verdict is not the declared
        one, 2 for a command that cannot be carried out. The parser itself leaves
        by ``SystemExit``, with 0 after help and 2 after an error.

    Examples
    --------
    >>> from jaxrepro.experiment import main
    >>> main("jaxrepro.experiment", ["list"])
    0
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        return _main(package, argv)
    except BrokenPipeError:
        return _leave_broken_pipe()
    except (UsageError, RecordError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _main(package, argv):
    try:
        command = _parse(package, argv)
    except SystemExit:
        sys.stdout.flush()  # the help: a broken pipe is noticed here
        raise
    if isinstance(command, List):
        return _list(package)
    if isinstance(command, Report):
        _print(str(write_report(command.folder)))
        return 0
    if command.resume is not None:
        return _resume(package, command.resume, argv)
    return _run(package, command, argv)


def _parse(package, argv):
    run_type = Run
    if argv[:1] == ["run"]:
        named = _experiment_in(argv, experiment_names(package))
        if named is not None:
            experiment = load_or_explain(package, named)
            run_type = _with_settings(experiment, quick="--quick" in argv)
    try:
        return tyro.extras.subcommand_cli_from_dict(
            {"list": List, "run": run_type, "report": Report},
            args=argv,
            prog=f"python -m {package}",
            description="Run experiments and check what they claim.",
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except (ValueError, TypeError) as error:  # raised by a Config that checks itself
        raise UsageError(error) from error


def _experiment_in(argv, known):
    """The experiment that a command names, other than as the value of an option."""
    pairs = [(before.replace("_", "-"), word) for before, word in zip(argv, argv[1:])]
    found = [pair for pair in pairs if pair[1] in known and pair[0] not in _VALUED]
    # Whether an option of an experiment takes a value is not known yet: last choice.
    found.sort(key=lambda pair: pair[0].startswith("--") and pair[0] not in _FLAGS)
    return found[0][1] if found else None


def _with_settings(experiment: Experiment, *, quick: bool):
    """``Run`` with the fields of the experiment's Config as further flags."""
    flags = Annotated[experiment.config, tyro.conf.arg(name="")]
    default = dataclasses.field(default=experiment.settings(quick=quick))
    run_type = dataclasses.make_dataclass(
        "Run", [("config", flags, default)], bases=(Run,), frozen=True
    )
    run_type.__doc__ = f"Run {experiment.name}: {experiment.title}."
    return run_type


def _list(package):
    names = experiment_names(package)
    lines = []
    for name in names:
        found = load_or_explain(package, name)
        papers = ", ".join(found.papers)
        facts = "; ".join(fact for fact in (found.cost, papers) if fact)
        lines += [name, f"    {found.title}"] + [f"    {facts}"] * bool(facts)
    if not names:
        print(f"no experiments in {package}", file=sys.stderr)
    else:
        _print("\n".join(lines))
    return 0


def _run(package, command, argv):
    names = _select(package, command.name)
    _require_folder(command.out)
    session = run_session(
        package,
        names,
        config=getattr(command, "config", None),
        results=command.out,
        quick=command.quick,
        seed=command.seed,
        x64=_precision(command),
        command=argv,
    )
    return _show(session.results, session.report)


def _require_folder(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--out: expected a folder, or the name of a new one; got {path} "
            f"({error.strerror})"
        ) from error


def _resume(package, folder, argv):
    """Repeat the recorded command in the folders that it has left."""
    record = next(
        (
            folder / name
            for name in ("summary.json", "manifest.json")
            if (folder / name).exists()
        ),
        None,
    )
    if record is None:
        raise UsageError(f"{folder}: neither a session nor a run that has started")
    recorded = read_json(record, ["command"])["command"]
    if not isinstance(recorded, list) or recorded[:1] != ["run"]:
        raise UsageError(f"{record}: expected the command of a run; got {recorded!r}")
    if _without_resume(argv) not in (["run"], recorded):
        raise UsageError(
            "--resume takes no other options; the run in "
            f"{folder} was started with: {' '.join(recorded)}"
        )
    command = _parse(package, recorded)
    options = {
        "config": getattr(command, "config", None),
        "quick": command.quick,
        "seed": command.seed,
        "x64": _precision(command),
        "command": recorded,
        "resume": folder,
    }
    if record.name == "summary.json":
        names = _select(package, command.name)
        session = run_session(package, names, results=folder.parent, **options)
        return _show(session.results, session.report)
    run = read_result(folder)
    if run.status != "complete":
        try:
            run = run_experiment(load_or_explain(package, run.name), **options)
        except ValueError as error:  # other settings than then
            raise UsageError(error) from error
    return _show([run], write_report(folder))


def _precision(command):
    if command.x64 and command.no_x64:
        raise UsageError("--x64 and --no-x64 exclude each other")
    return True if command.x64 else False if command.no_x64 else None


def _show(runs, report):
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    claims = [claim for run in runs for claim in run.claims]
    _print(claims_table(runs, width=width))
    _print(f"{count_text(claims)}\nreport: {_short(report)}")
    return 0 if all(run.as_declared for run in runs) else 1


def _short(path):
    """A path as seen from the working directory, if it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _without_resume(argv):
    kept, skip = [], False
    for argument in argv:
        if not skip and not argument.startswith("--resume"):
            kept.append(argument)
        skip = argument == "--resume"
    return kept


def _select(package, name):
    names = experiment_names(package)
    if not names:
        raise UsageError(f"there are no experiments in {package}")
    if name == "":
        raise UsageError('run: expected an experiment, an area or "all"; got nothing')
    chosen = [n for n in names if name in ("all", n, n.partition("/")[0])]
    if chosen:
        return chosen
    known = {"all": "all", **{n.partition("/")[2]: n for n in names}}
    for n in names:
        known |= {n: n, n.partition("/")[0]: n.partition("/")[0]}
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        hint = f"did you mean {' or '.join(dict.fromkeys(known[c] for c in close))}?"
    else:
        hint = f"python -m {package} list shows all"
    raise UsageError(f"unknown experiment {name!r}; {hint}")


def _leave_broken_pipe() -> int:
    """Exit code where nobody reads the output any more, as in ``list | head``."""
    # What is still in the buffer must go somewhere when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return 128 + 13  # as a process that the signal SIGPIPE has ended


def _print(text):
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), flush=True)
