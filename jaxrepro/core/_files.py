"""Files that are whole or absent: every write is to a temporary name, then a rename."""

import dataclasses
import enum
import json
import math
import os
import secrets
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

import numpy as np


def write_bytes(path: Path, data: bytes, *, exclusive: bool = False) -> bool:
    """Write a file atomically: a reader sees the old content, the new, or no file.

    With ``exclusive`` a file that exists stays as it is. Returns whether the file
    now holds ``data`` by this call.
    """
    return _write(path, lambda file: file.write(data), exclusive=exclusive)


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a NumPy archive atomically."""

    def write(file):
        # np.savez takes no array of the name "file", and stores in the same way.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    _write(path, write)


def _write(path: Path, write: Callable[[IO[bytes]], object], *, exclusive=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(path)
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if exclusive:
            try:
                os.link(temporary, path)  # unlike a rename, it replaces nothing
            except FileExistsError:
                return False
            finally:
                temporary.unlink()
        else:
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return True


def temporary_path(path: Path) -> Path:
    """A name beside ``path``, of this call alone, also if threads write at once."""
    return path.with_name(f".tmp-{os.getpid()}-{secrets.token_hex(4)}-{path.name}")


def _sync_folder(folder: Path) -> None:
    """Make the new name as durable as the content."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, value) -> None:
    """Write ``value`` as JSON in UTF-8, atomically."""
    write_bytes(path, (to_json(value, indent=1) + "\n").encode())


class RecordError(ValueError):
    """A file of a results folder that is damaged; the message names it."""


def read_json(path: Path, keys: Iterable[str] = ()):
    """Read a JSON file; with ``keys``, one that holds a dict with these keys."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # also bytes that are no UTF-8
        raise RecordError(f"{path}: expected JSON; got {error}") from error
    missing = [key for key in keys if not isinstance(value, dict) or key not in value]
    if missing:
        raise RecordError(f"{path}: expected {', '.join(missing)}; got no such entry")
    return value


def to_json(value, indent: int | None = None) -> str:
    """JSON text of nested containers, dataclasses, arrays and paths.

    NaN and infinities, which JSON does not know, become the strings that
    Python's ``float`` reads.
    """
    plain = to_plain(value)
    return json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)


def to_plain(value):
    """Nested lists, dicts and scalars that JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value)]
        return {name: to_plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, enum.Enum):
        return to_plain(value.value)
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        return to_plain(np.asarray(value).tolist())
    return str(value)
