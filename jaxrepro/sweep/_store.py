"""The folder of a sweep: parts that are whole or absent, and what was noted beside.

    spec.json            what the sweep is; written once
    order.npy            order of execution, if trials have unequal costs
    invocations.jsonl    one line a start
    errors.jsonl         one line a trial that raised
    parts/part-<start>-<stop>.npz    results of execution positions [start, stop)

The presence of a part is the only mark that its trials are done.
"""

import io
import json
import os
import re
import socket
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core._files import RecordError, read_json, to_json, write_bytes, write_npz

_NAME = re.compile(r"part-(\d{9,})-(\d{9,})\.npz")
STATUS = "status"


class Part(NamedTuple):
    """Execution positions [start, stop) and the file that holds their results."""

    start: int
    stop: int
    path: Path


class Store(NamedTuple):
    """A sweep's folder."""

    folder: Path

    @property
    def spec_path(self) -> Path:
        """The file that says what the sweep is."""
        return self.folder / "spec.json"

    def write_spec(self, spec: Mapping[str, Any]) -> bool:
        """Write ``spec.json`` unless it exists; whether this call made it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = (to_json(spec, indent=1) + "\n").encode()
        return write_bytes(self.spec_path, text, exclusive=True)

    def read_spec(self) -> dict[str, Any]:
        """The specification, or a clear error."""
        if not self.spec_path.is_file():
            raise FileNotFoundError(
                f"out: expected a sweep's folder; got {self.folder}"
            )
        return read_json(self.spec_path, ["format", "trials", "outputs"])

    def write_order(self, order: np.ndarray) -> None:
        """Write the execution order: the trial number at each position."""
        buffer = io.BytesIO()
        np.save(buffer, order)
        write_bytes(self.folder / "order.npy", buffer.getvalue())

    def read_order(self) -> np.ndarray | None:
        """The execution order, or None for that of the trial numbers."""
        path = self.folder / "order.npy"
        return np.load(path) if path.exists() else None

    def parts(self) -> list[Part]:
        """All parts that are there, by position."""
        folder = self.folder / "parts"
        names = os.listdir(folder) if folder.is_dir() else []
        matches = [m for m in map(_NAME.fullmatch, names) if m]
        return sorted(Part(int(m[1]), int(m[2]), folder / m[0]) for m in matches)

    def write_part(
        self, start: int, results: Mapping[str, np.ndarray], status: np.ndarray
    ) -> None:
        """Commit the results of the positions from ``start`` on."""
        name = f"part-{start:09d}-{start + len(status):09d}.npz"
        arrays = {f"value/{key}": x for key, x in results.items()} | {STATUS: status}
        write_npz(self.folder / "parts" / name, arrays)

    def read_part(self, part: Part, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Outputs of these names, and ``status``, of a part."""
        keys = {f"value/{name}": name for name in names} | {STATUS: STATUS}
        arrays = _read(part.path, keys)
        size = part.stop - part.start
        if any(len(x) != size for x in arrays.values()):
            raise _damaged(part.path, f"its arrays do not have {size} rows")
        return {keys[key]: x for key, x in arrays.items()}

    def note(self, name: str, record: Mapping[str, Any]) -> None:
        """Append a line to ``invocations.jsonl`` or ``errors.jsonl``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / f"{name}.jsonl", "ab") as file:
            file.write((to_json(record) + "\n").encode())  # one write: no mixed lines

    def notes(self, name: str) -> list[dict[str, Any]]:
        """The lines noted; a last line that was cut short is left out."""
        path = self.folder / f"{name}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [record for line in lines if (record := _parsed(line)) is not None]

    def sweep_up(self) -> None:
        """Remove unfinished files of processes of this host that are gone."""
        folder, here = self.folder / "parts", socket.gethostname()
        starts = self.notes("invocations")
        ours = {x.get("pid") for x in starts if x.get("host") == here}
        others = {x.get("pid") for x in starts if x.get("host") != here}
        for path in folder.glob(".tmp-*") if folder.is_dir() else ():
            pid = int(path.name.split("-")[1])
            if pid in ours - others and not (pid != os.getpid() and _is_alive(pid)):
                path.unlink(missing_ok=True)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as archive:
            return {key: archive[key] for key in keys}
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> RecordError:
    return RecordError(
        f"{path}: damaged ({why}). Remove it, and run the sweep again to compute "
        f"these trials anew:\n    rm {path}"
    )
