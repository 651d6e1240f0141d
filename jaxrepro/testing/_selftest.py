"""Does the installed jaxlib compute right numbers? Asked in another process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ..core import check_choice
from ._probe import CHECKS

# An ordinary end would wait for a computation that never ends.
_PROBE = (
    "import os, sys; from jaxrepro.testing._probe import main; "
    "main(*sys.argv[1:]); os._exit(0)"
)


class SelfTestCheck(NamedTuple):
    """One check of :func:`selftest`.

    Attributes
    ----------
    name : str
        What was checked.
    passed : bool
        Whether the numbers were right.
    detail : str
        What was seen.
    """

    name: str
    passed: bool
    detail: str


class SelfTestReport(NamedTuple):
    """Result of :func:`selftest`.

    Attributes
    ----------
    passed : bool
        Whether every check passed.
    checks : tuple of SelfTestCheck
        All checks, in the order in which they ran.
    """

    passed: bool
    checks: tuple[SelfTestCheck, ...]


def selftest(
    *, only: Sequence[str] | None = None, timeout: float = 300.0
) -> SelfTestReport:
    """Check the CPU compiler of the installed jaxlib against known results.

    Parameters
    ----------
    only : sequence of str, optional
        Names of the checks to make, by default all.
    timeout : float, default 300.0
        Seconds after which the checking process is ended and counts as failed.

    Returns
    -------
    SelfTestReport
        ``passed`` and ``checks``: the two faults of jaxlib 0.10.2 (wrong rows of
        large batches; a crash), elementwise functions at the sizes 7, 49, 50, 64
        and 1000, where vectorised code has remainders, in both precisions
        against SciPy, and several batches of linear systems at once, for which
        jaxlib 0.10 may wait for ever.

    Raises
    ------
    ValueError
        If a name in ``only`` is no check.

    Notes
    -----
    The checks run in a separate process, so a crash of the compiler is a failed
    check and not the end of the caller; the checks after it run in a new
    process. The environment is the caller's, with the CPU as platform. In
    float64, ``log1p`` and ``arctanh`` of some releases are off by about 130
    units in the last place near -0.414; their limits allow for that.

    Examples
    --------
    >>> from jaxrepro.testing import selftest
    >>> report = selftest(only=["sum over a middle axis"])
    >>> report.passed, report.checks[0].detail
    (True, 'every sum is 2.0')
    """
    remaining = list(CHECKS if only is None else only)
    for name in remaining:
        check_choice("only", name, CHECKS)
    checks = []
    while remaining:
        results, end = _run(remaining, timeout)
        checks += [SelfTestCheck(**result) for result in results]
        remaining = remaining[len(results) :]
        if remaining:
            checks.append(SelfTestCheck(remaining.pop(0), False, end))
    return SelfTestReport(all(check.passed for check in checks), tuple(checks))


def _run(names, timeout) -> tuple[list[dict], str]:
    """Run checks in one process; return what it said, and how it ended."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", _PROBE, *names]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=timeout
        )
        output, end = done.stdout, _ending(done)
    except subprocess.TimeoutExpired as error:
        output = error.stdout or ""
        output = output.decode() if isinstance(output, bytes) else output
        end = f"the process was ended after {timeout:g} s"
    lines = [line for line in output.splitlines() if line.endswith("}")]
    return [json.loads(line) for line in lines], end


def _ending(done) -> str:
    """Say how a process ended before its time."""
    code = done.returncode
    if code < 0:
        return f"the process crashed ({signal.Signals(-code).name})"
    said = done.stderr.strip().splitlines()
    return f"the process ended with code {code}: {said[-1] if said else ''}"
