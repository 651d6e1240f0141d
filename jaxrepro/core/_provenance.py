"""Where results come from: versions, devices, flags, commit."""

import functools
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

_PACKAGE = "jaxrepro"


def environment(source: Path | None, devices: Sequence[Any] | None = None) -> dict:
    """Where a run takes place; ``source`` is a file of the checkout, or None."""
    devices = jax.devices() if devices is None else devices
    return {
        "git": git_state(source),
        "versions": dict(versions()),
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


@functools.cache
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
