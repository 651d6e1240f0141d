"""The run folder: everything that one run of one experiment leaves behind."""

import contextlib
import dataclasses
import datetime
import hashlib
import io
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..core._files import read_json, to_json, write_bytes, write_json
from ._figure import open_figure
from ._table import write_table

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """Where an experiment writes: ``out`` in ``run(config, out)``.

    The runner makes one at ``results/<name>/<UTC stamp>-<hash of settings>/``,
    fills ``config.json``, ``manifest.json``, ``tables/`` and ``claims.json`` and
    never overwrites a folder. In tests, ``RunFolder(tmp_path)`` will do. All
    files are written atomically.

    Parameters
    ----------
    path : Path
        The folder; made when first written to.
    seed : int, default 0
        The seed of the run.
    quick : bool, default False
        Whether the run is a quick one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from jaxrepro.experiment import RunFolder
    >>> out = RunFolder(pathlib.Path(tempfile.mkdtemp()))
    >>> stage = out.cached("squares", lambda: {"x": [1.0, 4.0]})
    >>> stage["x"].tolist()
    [1.0, 4.0]
    """

    path: Path
    seed: int = 0
    quick: bool = False
    _stages: set = dataclasses.field(default_factory=set, repr=False, compare=False)

    @property
    def key(self) -> jax.Array:
        """Typed random key of the seed; derive others with ``jax.random.fold_in``."""
        return jax.random.key(self.seed)

    def log(self, message: str, **fields: Any) -> None:
        """Append a line with the time, the message and any fields to ``log.jsonl``."""
        self.path.mkdir(parents=True, exist_ok=True)
        line = to_json({"time": utc_now(), "message": message, **fields})
        with open(self.path / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def save_table(self, name: str, columns: Mapping) -> None:
        """Write ``tables/<name>.csv``; what ``run`` returns is written anyway."""
        write_table(self._file("tables", name, ".csv"), columns)

    def save_arrays(self, name: str, arrays: Mapping) -> None:
        """Write a dict of arrays of any shape to ``arrays/<name>.npz``."""
        if not isinstance(arrays, Mapping):
            raise TypeError(
                f"arrays {name!r}: expected a dict of arrays; got "
                f"{type(arrays).__name__}"
            )
        plain = {str(key): np.asarray(value) for key, value in arrays.items()}
        for key, value in plain.items():
            if value.dtype.kind == "O":
                raise TypeError(
                    f"arrays {name!r}, entry {key!r}: expected numbers, booleans or "
                    "strings; got Python objects"
                )
        data = io.BytesIO()
        np.savez(data, **plain)  # pyright: ignore[reportArgumentType]
        write_bytes(self._file("arrays", name, ".npz"), data.getvalue())

    def cached(
        self, name: str, fn: Callable[..., Mapping], *args: Any, **kwargs: Any
    ) -> dict[str, np.ndarray]:
        """Result of a stage, which a resumed run takes from the folder.

        Parameters
        ----------
        name : str
            Name of the stage, used once in a run.
        fn : callable
            ``fn(*args, **kwargs) -> dict of arrays``, called unless
            ``arrays/<name>.npz`` exists.
        *args, **kwargs
            Passed to ``fn``.

        Returns
        -------
        dict of str to array
            The arrays as read back from the file, so that a resumed run sees
            exactly what the first one saw.
        """
        if name in self._stages:
            raise ValueError(f"cached: the stage {name!r} was used twice in one run")
        self._stages.add(name)
        file = self._file("arrays", name, ".npz")
        if file.exists():
            self.log("stage read from the folder", stage=name)
        else:
            start = time.perf_counter()
            self.save_arrays(name, fn(*args, **kwargs))
            seconds = round(time.perf_counter() - start, 3)
            self.log("stage finished", stage=name, seconds=seconds)
        with np.load(file) as stored:
            return {key: stored[key] for key in stored.files}

    @contextlib.contextmanager
    def figure(
        self,
        name: str,
        *,
        width: str = "column",
        height: float | None = None,
        caption: str = "",
        **subplots: Any,
    ):
        """Open a figure in the package's style and save it as PDF and PNG at the end.

        Parameters
        ----------
        name : str
            Name of the files in ``figures/``.
        width : {"column", "page"}, default "column"
            3.25 or 6.75 inches.
        height : float, optional
            In inches; by default 2.3.
        caption : str, default ""
            Sentence below the figure in the report.
        **subplots
            Passed to ``matplotlib.figure.Figure.subplots``, such as ``ncols=2``.

        Yields
        ------
        figure, axes
            A matplotlib figure and its axes (an array if there are several).
        """
        stem = self._file("figures", name, "")
        with open_figure(width, height, subplots) as (figure, axes):
            yield figure, axes
            for suffix in (".pdf", ".png"):
                data = io.BytesIO()
                figure.savefig(data, format=suffix[1:])
                write_bytes(stem.with_name(name + suffix), data.getvalue())
        captions_file = self.path / "figures" / "captions.json"
        captions = read_json(captions_file) if captions_file.exists() else {}
        write_json(captions_file, {**captions, name: caption})

    def progress(self, items: Iterable, label: str = "") -> Iterable:
        """Iterate with a progress bar on a terminal's stderr, else silently."""
        from tqdm import tqdm

        shown = sys.stderr.isatty()
        return tqdm(items, desc=label, leave=False, disable=not shown, file=sys.stderr)

    def _file(self, folder, name, suffix):
        if not _NAME.fullmatch(name):
            raise ValueError(
                "name: expected letters, digits, dots, hyphens and underscores; "
                f"got {name!r}"
            )
        return self.path / folder / (name + suffix)


def utc_now() -> str:
    """Time now in UTC, ISO 8601 to the millisecond."""
    now = datetime.datetime.now(datetime.UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc_stamp() -> str:
    """Time now in UTC for names of folders, such as ``20260131T184500Z``."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")


def settings_hash(settings: Mapping) -> str:
    """First eight hexadecimal digits of the SHA-256 of settings."""
    return hashlib.sha256(to_json(settings).encode()).hexdigest()[:8]


def new_folder(parent: Path, name: str) -> Path:
    """Make a folder that did not exist; a taken name gets ``-2``, ``-3``, ..."""
    parent.mkdir(parents=True, exist_ok=True)
    attempt = 1
    while True:
        path = parent / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            attempt += 1
