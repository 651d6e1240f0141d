"""Evidence of a run: versions, devices, flags, commit, command, papers."""

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import jax

from ..core import bibtex_entries

_PACKAGE = "jaxrepro"


def environment(source: Path | None) -> dict:
    """Where a run takes place; ``source`` is a file of the checkout, or None."""
    devices = jax.devices()
    return {
        "git": git_state(source),
        "versions": versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "devices": {
            "platform": devices[0].platform,
            "kind": devices[0].device_kind,
            "count": len(devices),
        },
        "flags": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(("XLA_", "JAX_"))
        },
    }


def git_state(source: Path | None) -> dict:
    """Commit and dirty flag of the checkout around a file, or "unknown"."""
    unknown = {"commit": "unknown", "dirty": "unknown"}
    if source is None:
        return unknown
    commit = _git(source.parent, "rev-parse", "HEAD")
    changes = _git(source.parent, "status", "--porcelain")
    if commit is None or changes is None:
        return unknown
    return {"commit": commit, "dirty": bool(changes)}


def _git(folder, *arguments):
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def versions() -> dict[str, str]:
    """Versions of this package and of the dependencies that are installed."""
    names = [_PACKAGE, "jax", "jaxlib"]
    for requirement in importlib.metadata.requires(_PACKAGE) or ():
        name = re.match(r"[\w.-]+", requirement)
        if name and name[0] != _PACKAGE and "extra ==" not in requirement:
            names.append(name[0])
    names += ["matplotlib", "aeon"]
    found = {}
    for name in dict.fromkeys(names):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def bibliography(keys: Iterable[str], area: str) -> list[dict[str, str]]:
    """Entries of papers, from the area's ``references.bib`` or any other area's.

    A key without an entry gets an empty text, which the report points out.
    """
    package = sys.modules[_PACKAGE]
    areas = [area] + sorted(
        file.parent.name
        for folder in package.__path__
        for file in Path(folder).glob("*/references.bib")
    )
    found = []
    for key in keys:
        entries = (bibtex_entries(f"{_PACKAGE}.{name}").get(key) for name in areas)
        text = next((entry for entry in entries if entry), "")
        found.append({"key": key, "bibtex": text})
    return found
