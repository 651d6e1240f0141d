"""The folder of a sweep: parts that are whole or absent, and what was noted beside.

    spec.json            what the sweep is; written once
    order.npy            order of execution, if trials have unequal costs
    invocations.jsonl    one line a start
    errors.jsonl         one line a trial that raised
    parts/part-<start>-<stop>.npz    results of execution positions [start, stop)

The presence of a part is the only mark that its trials are done.
"""

import contextlib
import io
import json
import os
import re
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core._files import RecordError, read_json, to_json, write_bytes, write_npz
from ._outputs import Output
from ._spec import FORMAT, array_hash

_NAME = re.compile(r"part-(\d{9,})-(\d{9,})\.npz")
_TEMPORARY = re.compile(r"\.tmp-(\d+)-")
_IMPORTED = time.time()
STATUS, START = "status", "start"


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
        text = (to_json(spec, indent=1) + "\n").encode()
        with self._writing():
            return write_bytes(self.spec_path, text, exclusive=True)

    def read_spec(self) -> dict[str, Any]:
        """The specification, or a clear error."""
        if not self.spec_path.is_file():
            rounds = sorted(self.folder.glob("round-*/spec.json"))
            held = f", a search, with a sweep in {rounds[0].parent}" if rounds else ""
            raise FileNotFoundError(
                f"out: expected a sweep's folder; got {self.folder}{held}"
            )
        try:
            spec = read_json(self.spec_path, ["format"])
        except RecordError as error:
            raise RecordError(
                f"{error}. The file is damaged; the parts beside it are intact. Remove "
                "it and run the sweep again, with the very arguments that it was begun "
                f"with, to write it anew:\n    rm {self.spec_path}"
            ) from error
        if spec["format"] != FORMAT:
            raise RecordError(
                f"{self.spec_path}: expected format {FORMAT}; got {spec['format']}, "
                "of another version of jaxrepro"
            )
        return read_json(self.spec_path, ["trials", "outputs", "order_sha256"])

    @property
    def order_path(self) -> Path:
        """The file of the execution order."""
        return self.folder / "order.npy"

    def write_order(self, order: np.ndarray) -> None:
        """Write the execution order, the trial number at each position, once."""
        buffer = io.BytesIO()
        np.save(buffer, order)
        with self._writing():
            write_bytes(self.order_path, buffer.getvalue(), exclusive=True)

    def read_order(self, spec: Mapping[str, Any]) -> np.ndarray | None:
        """The execution order, or None for that of the trial numbers."""
        if spec["order_sha256"] is None:
            return None
        try:
            order = np.load(self.order_path)
            right = array_hash(order) == spec["order_sha256"]
        except (OSError, ValueError, EOFError):
            right = False
        if not right:
            raise RecordError(
                f"{self.order_path}: expected the order of execution; got no file, or "
                "a damaged one. Remove it if it is there, and run the sweep again "
                f"with the same cost= to write it anew:\n    rm -f {self.order_path}"
            )
        return order

    def parts(self) -> list[Part]:
        """All parts that are there, by position."""
        folder = self.folder / "parts"
        names = os.listdir(folder) if folder.is_dir() else []
        matches = [m for m in map(_NAME.fullmatch, names) if m]
        return sorted(Part(int(m[1]), int(m[2]), folder / m[0]) for m in matches)

    @contextlib.contextmanager
    def _writing(self):
        """Say what an error of the file system means."""
        try:
            yield
        except OSError as error:
            raise OSError(
                error.errno,
                f"out: expected a folder that can be written; got {error.strerror}. "
                "What was committed is intact; mend this, and run the sweep again to "
                "go on",
                str(self.folder),
            ) from error

    def write_part(
        self, start: int, results: Mapping[str, np.ndarray], status: np.ndarray
    ) -> None:
        """Commit the results of the positions from ``start`` on."""
        name = f"part-{start:09d}-{start + len(status):09d}.npz"
        arrays = {f"value/{key}": x for key, x in results.items()} | {STATUS: status}
        arrays[START] = np.asarray(start)  # a file may be given another's name
        with self._writing():
            write_npz(self.folder / "parts" / name, arrays)

    def read_part(
        self, part: Part, outputs: Iterable[Output], n_trials: int
    ) -> dict[str, np.ndarray]:
        """These outputs, and ``status``, of a part of ``n_trials`` trials."""
        wanted = {f"value/{x.name}": x for x in outputs}
        wanted[STATUS] = Output(STATUS, (), "int8")
        arrays = _read(part.path, [*wanted, START])
        if arrays[START] != part.start:
            raise _damaged(part.path, f"its trials start at {arrays[START]}")
        size = part.stop - part.start
        if size < 1 or part.stop > n_trials:
            raise _damaged(part.path, f"the sweep has positions 0 to {n_trials}")
        for key, output in wanted.items():
            shape, dtype = (size, *output.shape), output.dtype
            if arrays[key].shape != shape or arrays[key].dtype != dtype:
                raise _damaged(part.path, f"{key} is not {dtype} of shape {shape}")
        return {output.name: arrays[key] for key, output in wanted.items()}

    def note(self, name: str, record: Mapping[str, Any]) -> None:
        """Append a line to ``invocations.jsonl`` or ``errors.jsonl``."""
        line = (to_json(record) + "\n").encode()
        with self._writing(), open(self.folder / f"{name}.jsonl", "ab+") as file:
            if file.tell() and file.seek(-1, os.SEEK_END) and file.read() != b"\n":
                line = b"\n" + line  # the line before was cut short
            file.write(line)  # in one piece, so that lines of two workers do not mix

    def notes(self, name: str) -> list[dict[str, Any]]:
        """The lines noted; a last line that was cut short is left out."""
        path = self.folder / f"{name}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [record for line in lines if (record := _parsed(line)) is not None]

    def sweep_up(self) -> None:
        """Remove unfinished files of processes of this host that are gone."""
        here = socket.gethostname()
        starts = self.notes("invocations")
        ours = {x.get("pid") for x in starts if x.get("host") == here}
        others = {x.get("pid") for x in starts if x.get("host") != here}
        for path in [*self.folder.glob(".tmp-*"), *self.folder.glob("parts/.tmp-*")]:
            match = _TEMPORARY.match(path.name)
            pid = int(match[1]) if match else -1
            if pid in ours - others and not _is_writing(pid, path):
                path.unlink(missing_ok=True)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _is_writing(pid: int, path: Path) -> bool:
    """Whether a process may still be at work on its temporary file."""
    if pid == os.getpid():  # a thread of ours, or a process before us of this number
        return path.exists() and path.stat().st_mtime >= _IMPORTED
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in keys}
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # damage shows in many ways
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> RecordError:
    return RecordError(
        f"{path}: damaged ({why}). Remove it, and run the sweep again to compute "
        f"these trials anew:\n    rm {path}"
    )
