"""One run of one experiment: settings, folder, tables, figures, claims."""

import contextlib
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from ..core import MissingExtraError
from ..core._files import RecordError, read_json, to_json, to_plain, write_json
from ..core._provenance import environment
from ._bibliography import bibliography
from ._claim import ClaimResult, Verdict, all_in_error, judge
from ._figure import require_matplotlib
from ._folder import RunFolder, new_folder, settings_hash, utc_now, utc_stamp
from ._registry import Experiment
from ._table import as_table


class RunResult(NamedTuple):
    """Outcome of one experiment.

    Attributes
    ----------
    name : str
        Name of the experiment.
    folder : Path
        Its run folder.
    status : str
        ``"complete"`` if ``run`` returned, ``"failed"`` if it raised; a folder
        whose manifest still says ``"running"`` was stopped or is at work.
    claims : tuple of ClaimResult
        Verdicts, empty while the run is incomplete.
    seconds : float
        Wall time.
    error : str
        Traceback of a failed run, else empty.
    plot_error : str
        Traceback of failed figures or why there are none, else empty.
    changed : tuple of str
        Settings other than those the claims were declared for, such as
        ``"noise 0.3 (0.01)"``, with the declared value in brackets.
    """

    name: str
    folder: Path
    status: str
    claims: tuple[ClaimResult, ...] = ()
    seconds: float = 0.0
    error: str = ""
    plot_error: str = ""
    changed: tuple[str, ...] = ()

    @property
    def as_declared(self) -> bool:
        """Whether the run succeeded and every verdict is the declared one."""
        figures_failed = self.plot_error.startswith("Traceback")
        verdicts = all(claim.verdict.as_declared for claim in self.claims)
        return self.status == "complete" and not figures_failed and verdicts


def run_experiment(
    experiment: Experiment,
    config: Any = None,
    *,
    results: str | Path = "results",
    quick: bool = False,
    seed: int = 0,
    x64: bool | None = None,
    resume: str | Path | None = None,
    command: Sequence[str] = (),
) -> RunResult:
    """Run an experiment in a folder of its own and judge its claims.

    Parameters
    ----------
    experiment : Experiment
        What the decorator returned.
    config : dataclass, optional
        Settings; by default those of the full or the quick run.
    results : str or Path, default "results"
        Parent of all run folders.
    quick : bool, default False
        Whether this is a quick run.
    seed : int, default 0
        Seed of everything random.
    x64 : bool, optional
        Precision; by default what the experiment declares.
    resume : str or Path, optional
        Folder of an unfinished run with the same settings, to be continued:
        stages kept by ``out.cached`` are not computed again.
    command : sequence of str, default ()
        Command line, for the manifest.

    Returns
    -------
    RunResult
        Verdicts and folder. An exception of the experiment does not come
        through, nor does a full disk: they make the status ``"failed"``.

    Raises
    ------
    OSError
        If the run folder cannot be made.
    ValueError
        If ``resume`` was started with other settings, or is damaged.

    Examples
    --------
    >>> import dataclasses, tempfile
    >>> from jaxrepro.experiment import Claim, experiment, run_experiment
    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     n: int = 3
    >>> claim = Claim(
    ...     "last", "the last square is 4", "derivation", lambda t: t["x"]["x"][-1], 4
    ... )
    >>> @experiment(config=Config, quick={}, claims=[claim], papers=[], cost="1 s")
    ... def run(config, out):
    ...     return {"x": {"x": [i**2 for i in range(config.n)]}}
    >>> result = run_experiment(run, results=tempfile.mkdtemp())
    >>> result.status, str(result.claims[0].verdict)
    ('complete', 'held')
    """
    config = experiment.settings(quick=quick) if config is None else config
    settings = run_settings(experiment, config, quick=quick, seed=seed, x64=x64)
    if resume is None:
        folder = new_run_folder(results, settings)
    else:
        folder = Path(resume).absolute()
        different = different_settings(folder, settings)
        if different:
            raise ValueError(
                f"resume: {folder} was started with other settings "
                f"({', '.join(different)}); start a new run"
            )
    out = RunFolder(folder, seed=seed, quick=quick)
    try:
        manifest = _open_manifest(experiment, settings, command, folder)
        out.log("continued" if manifest["resumed"] else "started")
        result = _carry_out(experiment, config, out, x64=settings["x64"])
        result = result._replace(changed=tuple(manifest["changed"]))
        _close(result, manifest, out)
    except OSError as raised:  # such as a full disk; other experiments may go on
        return failed_run(experiment, folder, _short_traceback(raised, experiment))
    return result


def read_result(folder: str | Path) -> RunResult:
    """Outcome of a run, from its folder.

    Parameters
    ----------
    folder : str or Path
        A run folder; the run may be unfinished.

    Returns
    -------
    RunResult
        What :func:`run_experiment` returned, or the state of an unfinished run.

    Raises
    ------
    FileNotFoundError
        If the folder holds no manifest.
    ValueError
        If a file in it is damaged.

    Examples
    --------
    >>> from jaxrepro.experiment import read_result
    >>> read_result("results/no/such/run")
    Traceback (most recent call last):
    ...
    FileNotFoundError: results/no/such/run: not a run folder (no manifest.json)
    """
    folder = Path(folder)
    if not (folder / "manifest.json").exists():
        raise FileNotFoundError(f"{folder}: not a run folder (no manifest.json)")
    manifest = read_json(folder / "manifest.json", ("experiment", "status"))
    claims = () if manifest["status"] == "running" else _read_claims(folder)
    return RunResult(
        manifest["experiment"],
        folder,
        manifest["status"],
        claims,
        manifest.get("seconds", 0.0),
        manifest.get("error", ""),
        manifest.get("plot_error", ""),
        tuple(manifest.get("changed", ())),
    )


def _read_claims(folder):
    file = folder / "claims.json"
    entries = read_json(file)
    try:
        return tuple(
            ClaimResult(**{**entry, "verdict": Verdict(entry["verdict"])})
            for entry in entries
        )
    except (TypeError, KeyError, ValueError) as error:
        raise RecordError(f"{file}: expected a list of claims; got {error}") from error


def run_settings(experiment, config, *, quick, seed, x64) -> dict:
    """What identifies a run, in the form that ``config.json`` holds."""
    return {
        "experiment": experiment.name,
        "config": to_plain(config),
        "quick": quick,
        "seed": seed,
        "x64": experiment.x64 if x64 is None else x64,
    }


def changed_settings(experiment, settings: dict) -> list[str]:
    """Which settings differ from the declared ones: ``name used (declared)``."""
    declared = run_settings(
        experiment, experiment.settings(quick=settings["quick"]),
        quick=settings["quick"], seed=settings["seed"], x64=None,
    )  # fmt: skip
    used = {**settings["config"], "x64": settings["x64"]}
    expected = {**declared["config"], "x64": declared["x64"]}
    return [
        f"{name} {to_json(value)} ({to_json(expected.get(name))})"
        for name, value in used.items()
        if value != expected.get(name)
    ]


def new_run_folder(results: str | Path, settings: dict) -> Path:
    """Make the folder of a run that has not started."""
    # Absolute: the experiment may change the working directory.
    parent = Path(results, *settings["experiment"].split("/")).absolute()
    folder = new_folder(parent, f"{utc_stamp()}-{settings_hash(settings)}")
    write_json(folder / "config.json", settings)
    return folder


def run_folders(session: Path) -> list[tuple[str, Path]]:
    """Names and folders of the runs of a session."""
    file = session / "summary.json"
    try:
        entries = read_json(file, ["experiments"])["experiments"]
        return [(entry["experiment"], session / entry["folder"]) for entry in entries]
    except (TypeError, KeyError) as error:
        raise RecordError(f"{file}: expected a list of runs; got {error}") from error


def different_settings(folder: Path, settings: dict) -> list[str]:
    """Names of the settings in which a run folder differs."""
    try:
        recorded = read_json(folder / "config.json", settings)
    except (FileNotFoundError, RecordError):
        return list(settings)
    return [key for key in settings if recorded[key] != settings[key]]


def _open_manifest(experiment, settings, command, folder):
    """Write the manifest of a run that starts, or starts again."""
    file = folder / "manifest.json"
    now = utc_now()
    earlier = {"started": now, "resumed": []}
    if file.exists():
        earlier = read_json(file, earlier)
    source = Path(_source(experiment))
    manifest = {
        "status": "running",
        "experiment": experiment.name,
        "title": experiment.title,
        "description": experiment.description,
        "cost": experiment.cost,
        "started": earlier["started"],
        "resumed": [*earlier["resumed"], now] if file.exists() else [],
        "command": list(command),
        **{key: settings[key] for key in ("quick", "seed", "x64")},
        "changed": changed_settings(experiment, settings),
        **environment(source if source.is_file() else None),
        "papers": bibliography(experiment.papers, experiment.name.partition("/")[0]),
    }
    write_json(file, manifest)
    return manifest


def _carry_out(experiment, config, out, *, x64):
    """Run, judge and plot; what the experiment raises makes the result a failure."""
    start = time.perf_counter()
    # The standard output is for the requested result only, and the working
    # directory is put back for the experiments that follow.
    quiet, here = contextlib.redirect_stdout(sys.stderr), contextlib.chdir(Path.cwd())
    with jax.enable_x64(x64), quiet, here:
        try:
            tables = _run(experiment, config, out)
        except (Exception, SystemExit) as raised:
            error = _short_traceback(raised, experiment)
            result = failed_run(experiment, out.path, error)
        else:
            claims = judge(experiment.claims, tables, quick=out.quick)
            plot_error = _plot(experiment, tables, out)
            result = RunResult(experiment.name, out.path, "complete", claims)
            result = result._replace(plot_error=plot_error)
    return result._replace(seconds=time.perf_counter() - start)


def failed_run(experiment: Experiment, folder: Path, error: str) -> RunResult:
    """Outcome of an experiment that ended with an exception."""
    claims = all_in_error(experiment.claims, "the experiment failed")
    return RunResult(experiment.name, folder, "failed", claims, error=error)


def _close(result, manifest, out):
    """Write the outcome; the manifest last, as it makes the run a finished one."""
    claims = [claim._asdict() for claim in result.claims]
    write_json(out.path / "claims.json", claims)
    out.log(result.status, **({"error": result.error} if result.error else {}))
    outcome = {
        "status": result.status,
        "finished": utc_now(),
        "seconds": result.seconds,
        "error": result.error,
        "plot_error": result.plot_error,
    }
    write_json(out.path / "manifest.json", {**manifest, **outcome})


def _run(experiment, config, out):
    returned = experiment.run(config, out)
    if not isinstance(returned, dict):
        raise TypeError(
            f"run: expected a dict of tables; got {type(returned).__name__}"
        )
    tables = {name: as_table(name, columns) for name, columns in returned.items()}
    for name, columns in tables.items():
        out.save_table(name, columns)
    return tables


def _plot(experiment, tables, out):
    if experiment.plot is None:
        return ""
    try:
        require_matplotlib()
        experiment.plot(tables, out)
    except MissingExtraError as missing:
        out.log("no figures", reason=str(missing))
        return str(missing)
    except (Exception, SystemExit) as raised:
        error = _short_traceback(raised, experiment)
        out.log("figures failed", error=error)
        return error
    return ""


def _short_traceback(error, experiment):
    """Traceback that begins in the experiment, not in what called or imported it."""
    ours = str(Path(__file__).parent)
    source = _source(experiment)
    frames = list(_frames(error))
    names = [frame.tb_frame.f_code.co_filename for frame in frames]
    start = names.index(source) if source in names else 0
    while start < len(names) - 1 and (
        names[start].startswith(ours) or "importlib" in names[start]
    ):
        start += 1
    return "".join(traceback.format_exception(type(error), error, frames[start]))


def _frames(error):
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _source(experiment):
    """Name of the file in which the experiment's function is written, or ''."""
    return getattr(getattr(experiment.run, "__code__", None), "co_filename", "")
