"""Several experiments in one command: progress, summary, report; resumable."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..core._files import read_json, write_json
from ._folder import new_folder, utc_now, utc_stamp
from ._registry import load_or_explain
from ._report import write_report
from ._runner import (
    RunResult,
    different_settings,
    failed_run,
    new_run_folder,
    read_result,
    run_experiment,
    run_folders,
    run_settings,
)
from ._text import outcome_text


class SessionResult(NamedTuple):
    """Outcome of one ``run`` command.

    Attributes
    ----------
    folder : Path
        ``results/<UTC stamp>``, with ``summary.json``.
    report : Path
        The page.
    results : tuple of RunResult
        One an experiment, in order.
    """

    folder: Path
    report: Path
    results: tuple[RunResult, ...]

    @property
    def as_declared(self) -> bool:
        """Whether every experiment succeeded with the declared verdicts."""
        return all(result.as_declared for result in self.results)


def run_session(
    package: str,
    names: Sequence[str],
    *,
    config: Any = None,
    results: str | Path = "results",
    quick: bool = False,
    seed: int = 0,
    x64: bool | None = None,
    resume: str | Path | None = None,
    command: Sequence[str] = (),
) -> SessionResult:
    """Run experiments one after the other and write a summary and a report.

    An experiment that fails does not stop the others. Progress goes to stderr.

    Parameters
    ----------
    package : str
        Import name of the folder of experiments.
    names : sequence of str
        Experiments, ``area/file``.
    config : dataclass, optional
        Settings of the experiment, if it is a single one.
    results : str or Path, default "results"
        Parent of all folders.
    quick, seed, x64
        As in :func:`run_experiment`.
    resume : str or Path, optional
        ``results/<UTC stamp>`` of an earlier session. Complete runs are not
        repeated, the others continue in their folders.
    command : sequence of str, default ()
        Command line, for the records; a session is resumed from it.

    Returns
    -------
    SessionResult
        Folder, report and the outcome of every experiment.

    Raises
    ------
    OSError
        If the folder of the session cannot be made.
    ValueError
        If ``config`` is given for other than one experiment, or the records in
        ``resume`` are damaged.

    Examples
    --------
    >>> import tempfile
    >>> from jaxrepro.experiment import run_session
    >>> session = run_session("jaxrepro.experiment", [], results=tempfile.mkdtemp())
    >>> session.report.name, session.as_declared
    ('report.html', True)
    """
    if config is not None and len(names) != 1:
        raise ValueError(f"config: expected None for {len(names)} experiments")
    results = Path(results).absolute()  # an experiment may change the directory
    if resume is None:
        folder, runs, started = new_folder(results, utc_stamp()), {}, utc_now()
    else:
        folder = Path(resume).absolute()
        runs = _earlier_runs(folder)
        started = read_json(folder / "summary.json", ["started"])["started"]
    options = {"quick": quick, "seed": seed}
    record = {"package": package, "command": list(command), "started": started}

    def save(status):
        entries = [_entry(run, folder) for run in runs.values()]
        outcome = {"status": status, "written": utc_now(), "experiments": entries}
        write_json(folder / "summary.json", {**record, **options, **outcome})

    def keep(status="running"):
        # Before and after each run, so that a killed session can go on. A disk
        # that is full now does not stop the experiments.
        try:
            save(status)
        except OSError as error:
            print(f" (summary.json: {error})", end="", flush=True, file=sys.stderr)

    save("running")
    try:
        for position, name in enumerate(names, start=1):
            label = f"[{position}/{len(names)}] {name} ..."
            print(label, end="", flush=True, file=sys.stderr)
            experiment = load_or_explain(package, name)
            own = experiment.settings(quick=quick) if config is None else config
            settings = run_settings(experiment, own, **options, x64=x64)
            run = _with_same_settings(runs.get(name), settings)
            if run is None:
                run = _new_run(experiment, results, settings)
            elif run.status != "complete":
                run = RunResult(name, run.folder, "running")
            runs[name] = run
            if run.status == "running":
                keep()
                places = {"resume": run.folder, "command": command}
                runs[name] = run_experiment(
                    experiment, own, **options, x64=x64, **places
                )
                keep()
            _finish_line(label, runs[name])
    except BaseException:
        keep("interrupted")
        again = f"python -m {package} run --resume {folder}"
        print(f"\nstopped; continue with: {again}", file=sys.stderr)
        raise
    save("finished")
    return SessionResult(folder, write_report(folder), tuple(runs[n] for n in names))


def _earlier_runs(folder):
    runs = {}
    for name, place in run_folders(folder):
        started = (place / "manifest.json").exists()
        run = RunResult(name, place, "running")
        runs[name] = read_result(place) if started else run
    return runs


def _new_run(experiment, results, settings):
    """A run that has not started, or that could not because the disk is full."""
    try:
        folder = new_run_folder(results, settings)
    except OSError as error:
        text = f"{type(error).__name__}: {error}\n"
        return failed_run(experiment, results / experiment.name, text)
    return RunResult(experiment.name, folder, "running")


def _with_same_settings(run, settings):
    if run is None:
        return None
    different = different_settings(run.folder, settings)
    if different:
        changed = ", ".join(different)
        print(f" ({changed} changed: anew)", end="", flush=True, file=sys.stderr)
        return None
    return run


def _entry(run, folder):
    return {
        "experiment": run.name,
        "folder": Path(os.path.relpath(run.folder, folder)).as_posix(),
        "status": run.status,
        "as_declared": run.as_declared,
        "seconds": run.seconds,
        "claims": {claim.name: str(claim.verdict) for claim in run.claims},
    }


def _finish_line(label, run):
    # On a terminal the line is written anew: a progress bar may have been over it.
    start = f"\r{label}" if sys.stderr.isatty() else ""
    print(f"{start} {outcome_text(run)}", flush=True, file=sys.stderr)
