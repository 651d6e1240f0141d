"""Workers that run elsewhere: asked, waited for, ended."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ._load import load

if TYPE_CHECKING:
    import xarray

_PAUSES = (0.02, 0.5)  # seconds between two looks, at first and at most
_PATIENCE = 10.0  # seconds that a cancelled worker has to end
_TAIL = 20


class WorkerError(RuntimeError):
    """Workers ended before their share was done; the message says how each did."""


@runtime_checkable
class Handle(Protocol):
    """A worker, whatever has started it."""

    def done(self) -> bool:
        """Whether it has ended."""
        ...

    def failure(self) -> str | None:
        """Why it failed, once it has ended; None if it did not."""
        ...

    def cancel(self) -> None:
        """End it."""
        ...


class Workers:
    """The workers that :func:`launch` has started.

    Parameters
    ----------
    out : Path
        The folder they share.
    handles : sequence of Handle
        The workers.
    close : callable, optional
        What to do when all have ended.

    Examples
    --------
    >>> from jaxrepro.sweep import Grid, launch
    >>> workers = launch(
    ...     fn, Grid(lr=[0.1, 0.2]), out="run", n_workers=2, wait=False
    ... )  # doctest: +SKIP
    >>> workers.done()  # doctest: +SKIP
    False
    >>> result = workers.wait()  # doctest: +SKIP
    """

    def __init__(
        self,
        out: Path,
        handles: Sequence[Handle],
        close: Callable[[], object] | None = None,
    ):
        self.out = out
        self._handles, self._close = list(handles), close

    def done(self) -> bool:
        """Whether all have ended, well or not."""
        return all(handle.done() for handle in self._handles)

    def wait(self) -> "xarray.Dataset":
        """Wait until all have ended; return what :func:`load` does.

        A worker that fails does not stop the others. An interruption by the
        keyboard ends all.

        Returns
        -------
        xarray.Dataset
            The results.

        Raises
        ------
        WorkerError
            If a worker failed; the message has how it ended, and the last lines of
            its log. What was committed is intact.
        """
        pause, longest = _PAUSES
        try:
            while not self.done():
                time.sleep(pause)
                pause = min(1.5 * pause, longest)
        except BaseException:
            self.cancel()
            raise
        failures = self._failures()
        self._finish()
        if failures:
            raise WorkerError(
                f"{len(failures)} of {len(self._handles)} workers failed. What they "
                f"committed to {self.out} is intact; the same call goes on from there"
                "\n" + "\n".join(failures)
            )
        return load(self.out)

    def cancel(self) -> None:
        """End all workers; what they have committed is intact."""
        for handle in self._handles:
            if not handle.done():
                handle.cancel()
        end = time.monotonic() + _PATIENCE
        while not self.done() and time.monotonic() < end:
            time.sleep(_PAUSES[0])
        self._finish()

    def _failures(self):
        reasons = [handle.failure() for handle in self._handles]
        n = len(reasons)
        return [f"worker {i}/{n}: {x}" for i, x in enumerate(reasons) if x is not None]

    def _finish(self):
        close, self._close = self._close, None
        if close is not None:
            close()


def log_tail(path: Path, start: int = 0) -> str:
    """Where a log is, and its last lines beyond the byte ``start``."""
    try:
        text = path.read_bytes()[start:].decode(errors="replace")
    except OSError:
        text = ""
    lines = text.rstrip().splitlines()[-_TAIL:]
    return "\n    ".join([f"log {path}", *(lines or ["(empty)"])])
