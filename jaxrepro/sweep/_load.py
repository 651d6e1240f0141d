"""What is in the folder of a sweep: how much is done, and the results."""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core._files import RecordError, to_plain
from ._dataset import Table, attributes
from ._engine import DONE, NON_FINITE, RAISED
from ._schedule import missing
from ._store import Part, Store

if TYPE_CHECKING:
    import xarray


class SweepStatus(NamedTuple):
    """How far a sweep is.

    Attributes
    ----------
    total : int
        Number of trials.
    done : int
        Trials with results.
    ok : int
        Those whose outputs are all finite.
    non_finite : int
        Those with an output that is not.
    raised : int
        Those that raised.
    workers : tuple of str
        Workers seen, as ``i/n on host``.
    """

    total: int
    done: int
    ok: int
    non_finite: int
    raised: int
    workers: tuple[str, ...]


def status(out: str | Path) -> SweepStatus:
    """How far the sweep in a folder is, also while it runs.

    Parameters
    ----------
    out : str or Path
        Folder given to :func:`sweep`.

    Returns
    -------
    SweepStatus
        Counts of trials, and the workers seen.

    Raises
    ------
    FileNotFoundError
        If it is no sweep's folder.
    ValueError
        If a file is damaged; the message says how to mend it.

    Examples
    --------
    >>> import tempfile
    >>> from jaxrepro.sweep import Grid, status, sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = sweep(lambda key, p: 1 / p["x"], Grid(x=[0.0, 1.0]), out=folder)
    ...     state = status(folder)
    >>> state.total, state.ok, state.non_finite
    (2, 1, 1)
    """
    store = Store(Path(out))
    spec = store.read_spec()
    values = np.zeros(spec["trials"], np.int8)
    for part in store.parts():
        rows = store.read_part(part, [], spec["trials"])
        values[part.start : part.stop] = rows["status"]
    ok, non_finite, raised = (
        int(np.sum(values == kind)) for kind in (DONE, NON_FINITE, RAISED)
    )
    starts = store.notes("invocations")
    workers = {f"{'/'.join(map(str, x['worker']))} on {x['host']}" for x in starts}
    done = ok + non_finite + raised
    seen = tuple(sorted(workers))
    return SweepStatus(spec["trials"], done, ok, non_finite, raised, seen)


def load(out: str | Path, *, partial: bool = False) -> "xarray.Dataset":
    """Read the results of a sweep from its folder.

    Parameters
    ----------
    out : str or Path
        Folder given to :func:`sweep`.
    partial : bool, default False
        Whether to accept that trials are missing: real outputs are then NaN,
        others 0, and ``status`` is 0.

    Returns
    -------
    xarray.Dataset
        As :func:`sweep` returns.

    Raises
    ------
    FileNotFoundError
        If it is no sweep's folder.
    ValueError
        If trials are missing, a file is damaged, or two parts contradict each
        other; the message says how to mend it.

    Examples
    --------
    >>> import tempfile
    >>> from jaxrepro.sweep import Grid, load, sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = sweep(lambda key, p: 2 * p["x"], Grid(x=[1.0, 3.0]), out=folder)
    ...     result = load(folder)
    >>> result.value.values.ravel().tolist()
    [2.0, 6.0]
    """
    return load_folder(Store(Path(out)), partial=partial)


def load_folder(
    store: Store, *, partial: bool, labels: Mapping[str, Any] | None = None
) -> "xarray.Dataset":
    """As :func:`load`, of an opened folder; with other ``labels`` than it holds."""
    spec = store.read_spec()
    if labels is not None:
        spec["labels"] = to_plain(labels)
    parts = store.parts()
    gaps = missing([(part.start, part.stop) for part in parts], spec["trials"])
    if gaps and not partial:
        lacking = sum(stop - start for start, stop in gaps)
        raise ValueError(
            f"out: {lacking} of {spec['trials']} trials are missing in {store.folder}; "
            "run the sweep again to go on, or use load(out, partial=True)"
        )
    table = Table(spec, store.read_order(spec))
    filled = np.zeros(spec["trials"], bool)
    for part in parts:
        arrays = store.read_part(part, table.outputs, spec["trials"])
        if filled[part.start : part.stop].any():
            _check_equal(table, part, arrays, filled)
        table.fill(part.start, arrays, arrays.pop("status"))
        filled[part.start : part.stop] = True
    return table.dataset(_attributes(store, spec, parts))


def _attributes(store, spec, parts):
    starts = store.notes("invocations")
    if not starts:  # killed at once, or removed
        return attributes(spec, None, 0.0)
    created = datetime.datetime.fromisoformat(starts[0]["time"]).timestamp()
    last = max((part.path.stat().st_mtime for part in parts), default=created)
    return attributes(spec, starts[0], max(0.0, last - created))


def _check_equal(table: Table, part: Part, arrays, filled):
    """Raise if a part and those before it differ where they overlap."""
    both = np.flatnonzero(filled[part.start : part.stop])
    for name, values in arrays.items():
        before = table.at(part.start + both, name)
        if not np.array_equal(
            before, values[both], equal_nan=values.dtype.kind in "fc"
        ):
            raise RecordError(
                f"{part.path}: its {name!r} differs from that of another part for the "
                "same trials; they stem from different runs. Remove one of them:\n    "
                f"rm {part.path}"
            )
