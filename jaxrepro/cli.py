"""The console script: ``jaxrepro doctor | cite NAME ... | status OUT | ...``.

Standard output holds the requested result and nothing else. Exit code 0 means
success, 1 that a check failed or a file is not as it should be, 2 that the command was
used wrongly.
"""

import difflib
import importlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "equinox", "flax", "optax", "ott-jax")


class _UsageError(Exception):
    """The command names something that is not there."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the console script.

    Parameters
    ----------
    args : sequence of str, optional
        Command line without the program's name, by default that of the process.

    Returns
    -------
    int
        Exit code.

    Examples
    --------
    >>> from jaxrepro.cli import main
    >>> main(["cite", "core.safe_norm"])
    0
    """
    import tyro

    args = list(sys.argv[1:] if args is None else args)
    try:
        try:
            if args == ["--version"]:
                return _version()
            return tyro.extras.subcommand_cli_from_dict(
                {
                    "doctor": _doctor,
                    "cite": _cite,
                    "status": _status,
                    "export": _export,
                    "version": _version,
                },
                prog="jaxrepro",
                description="Functional numerics in JAX.",
                args=args,
                config=(tyro.conf.PositionalRequiredArgs,),
            )
        finally:
            sys.stdout.flush()  # a broken pipe is noticed here, not at exit
    except BrokenPipeError:
        return _leave_broken_pipe()
    except _UsageError as error:
        print(f"jaxrepro: {error}", file=sys.stderr)
        return 2


def _leave_broken_pipe() -> int:
    """Exit code where nobody reads the output any more, as in ``list | head``."""
    # What is still in the buffer must go somewhere when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return 128 + 13  # as a process that the signal SIGPIPE has ended


def _doctor() -> int:
    """Print versions, and check that the installed jaxlib computes right numbers."""
    import jax

    from .testing import selftest

    print(f"jaxrepro {importlib.metadata.version('jaxrepro')}")
    print(f"python {platform.python_version()} on {platform.platform()}")
    for package in _PACKAGES:
        try:
            print(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{package} is not installed")
    print(f"devices {', '.join(str(device) for device in jax.devices())}")
    report = selftest()
    for name, passed, detail in report.checks:
        print(f"{'ok  ' if passed else 'FAIL'} {name}: {detail}")
    count = sum(check.passed for check in report.checks)
    print(f"{count} of {len(report.checks)} checks passed")
    return 0 if report.passed else 1


def _cite(names: tuple[str, ...], /) -> int:
    """Print the BibTeX entries of the papers behind functions.

    Args:
        names: Functions, such as operators.sgot or ot.emd.
    """
    from .core import citations, cite

    if not names:
        raise _UsageError("cite: expected at least one name, such as operators.sgot")
    functions = {name: _find(name) for name in names}
    for name, function in functions.items():
        if not citations(function):
            print(f"{name}: stems from no paper", file=sys.stderr)
    entries = cite(*functions.values())
    if entries:
        print(entries)
    return 0


def _status(out: Path, /, *, json: bool = False) -> int:
    """Print how far the sweep in a folder is, also while it runs.

    Args:
        out: Folder of the sweep.
        json: Print JSON, for scripts.
    """
    from .core._files import RecordError, to_json
    from .sweep import status

    try:
        state = status(out)
    except FileNotFoundError as error:
        raise _UsageError(str(error)) from error
    except (OSError, RecordError) as error:
        return _failed(error)
    if json:
        print(to_json(state._asdict()))
        return 0
    share = f"  {100 * state.done / state.total:.1f} %"
    counts = {"trials": state.total, "done": state.done, "ok": state.ok}
    counts |= {"non-finite": state.non_finite, "raised": state.raised}
    counts["missing"] = state.total - state.done
    width = len(str(state.total))
    for name, count in counts.items():
        print(f"{name:<10} {count:>{width}}{share if name == 'done' else ''}")
    for worker in state.workers:
        print(f"worker     {worker}")
    return 0


def _export(out: Path, path: Path, /) -> int:
    """Write the results of a sweep to a file, and print its name.

    Args:
        out: Folder of the sweep.
        path: File with the suffix .nc, .zarr, .parquet or .npz.
    """
    from .core import MissingExtraError
    from .sweep import export
    from .sweep._export import check_format

    try:
        check_format(path)
    except ValueError as error:
        raise _UsageError(str(error)) from error
    if not (out / "spec.json").is_file():
        raise _UsageError(f"out: expected a sweep's folder; got {out}")
    try:
        print(export(out, path))
    except (OSError, ValueError, MissingExtraError) as error:
        return _failed(error)
    return 0


def _failed(error: Exception) -> int:
    """Say what is wrong with files that are there."""
    print(f"jaxrepro: {error}", file=sys.stderr)
    return 1


def _version() -> int:
    """Print the version of jaxrepro."""
    print(importlib.metadata.version("jaxrepro"))
    return 0


def _find(name: str):
    """Find a public name, written as area.function."""
    import jaxrepro

    area, _, function = name.removeprefix("jaxrepro.").partition(".")
    areas = sorted(set(jaxrepro.__all__) - {"cite"})
    if area not in areas:
        owners = [
            a for a in areas if name in importlib.import_module(f"jaxrepro.{a}").__all__
        ]
        hint = _closest(area, areas) or f"area is one of {', '.join(areas)}"
        if owners:
            hint = f"did you mean {owners[0]}.{name}?"
        raise _UsageError(f"{name}: expected area.function; {hint}")
    module = importlib.import_module(f"jaxrepro.{area}")
    if not function:
        raise _UsageError(f"{name}: expected area.function, such as {_cited(module)}")
    if function not in module.__all__:
        hint = _closest(function, module.__all__) or f"see help(jaxrepro.{area})"
        raise _UsageError(f"{name}: no such name; {hint}")
    return getattr(module, function)


def _closest(word, known):
    close = difflib.get_close_matches(word, known, n=3)
    return f"did you mean {' or '.join(close)}?" if close else ""


def _cited(module):
    """The first function of an area that stems from a paper, else any of its names."""
    from .core import citations

    area = module.__name__.removeprefix("jaxrepro.")
    names = [n for n in module.__all__ if callable(getattr(module, n))]
    first = next((n for n in names if citations(getattr(module, n))), names[0])
    return f"{area}.{first}"
