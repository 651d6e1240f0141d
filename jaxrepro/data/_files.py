"""Where the files of a data set are: a folder of the user's, or a package."""

import hashlib
import importlib.util
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..core import DataUnavailableError


class Shipped(NamedTuple):
    """A package that holds the files of a data set.

    Attributes
    ----------
    package : str
        Name of the package, which is found but never imported.
    folder : str
        Folder of the files within it.
    install : str
        Command that installs it.
    """

    package: str
    folder: str
    install: str = 'pip install "jaxrepro[data]"'


def check_path(name: str, path) -> Path:
    """Path of a text or path without a null character; raises for anything else."""
    if not isinstance(path, str | Path):
        raise TypeError(f"{name}: expected a str or Path; got {type(path).__name__}")
    if "\0" in str(path):
        raise ValueError(f"{name}: expected a path; got one with a null character")
    return Path(path)


def find_folder(
    name: str,
    files: Sequence[str],
    path: str | Path | None = None,
    *,
    shipped: Shipped | None = None,
) -> Path:
    """Folder that holds all files of the data set ``name``.

    It is looked for at ``path`` and nowhere else if that is given, or else in the
    folder of the environment variable ``JAXREPRO_DATA`` and in the package. Both
    times the files may lie in a folder of the data set's name; ``path`` may also be
    one of the files.
    """
    if path is not None:
        given = check_path("path", path)
        beside = (given.parent,) if given.name in files else ()
        for folder in (given, given / name, *beside):
            if _holds(folder, files):
                return folder
        raise DataUnavailableError(
            f"path: expected a folder with {' and '.join(files)}; got {path}"
        )
    own = os.environ.get("JAXREPRO_DATA")
    for folder in (Path(own, name), Path(own)) if own else ():
        if _holds(folder, files):
            return folder
    within = shipped and _within(shipped)
    if within and _holds(within, files):
        return within
    raise DataUnavailableError(
        f"{name}: {_missing(shipped, files, within)}Or give a folder that holds "
        f"{' and '.join(files)}, as argument path or by the environment variable "
        f"JAXREPRO_DATA, with or without a folder {name} in it."
    )


def digest(files: Iterable[Path]) -> str:
    """SHA-256 of the bytes of files, one after the other."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()


def _holds(folder, files):
    return all((folder / file).is_file() for file in files)


def _within(shipped):
    spec = importlib.util.find_spec(shipped.package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / shipped.folder


def _missing(shipped, files, within):
    if shipped is None:
        return "no installed package ships it. "
    if within is None:
        state = "which is not installed. Install it with"
    else:
        state = f"whose installed version lacks {' or '.join(files)}. Update it with"
    return f"it ships with the package {shipped.package}, {state}: {shipped.install} . "
