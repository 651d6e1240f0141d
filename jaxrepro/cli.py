"""The console script: ``jaxrepro doctor | cite NAME ... | version``.

Standard output holds the requested result and nothing else. Exit code 0 means
success, 1 that a check failed, 2 that the command was used wrongly.
"""

import importlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence

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

    try:
        try:
            return tyro.extras.subcommand_cli_from_dict(
                {"doctor": _doctor, "cite": _cite, "version": _version},
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


def _version() -> int:
    """Print the version of jaxrepro."""
    print(importlib.metadata.version("jaxrepro"))
    return 0


def _find(name: str):
    """Find a public name, written as area.function."""
    import jaxrepro

    area, _, function = name.removeprefix("jaxrepro.").partition(".")
    if area not in jaxrepro.__all__ or not function:
        areas = ", ".join(sorted(set(jaxrepro.__all__) - {"cite"}))
        raise _UsageError(
            f"{name}: expected area.function, where area is one of {areas}"
        )
    module = importlib.import_module(f"jaxrepro.{area}")
    if function not in module.__all__:
        raise _UsageError(f"{name}: no such name; see help(jaxrepro.{area})")
    return getattr(module, function)
