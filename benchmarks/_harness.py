"""Time several ways to do the same work, in turn, and print their ratios.

Absolute seconds are facts about one machine; ratios of interleaved runs carry
over. Compilation is the first call and stands in a column of its own.
"""

import importlib.metadata
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np


class Contender(NamedTuple):
    """One way to do the work.

    Attributes
    ----------
    name : str
        What the table calls it.
    run : callable
        Does the work once; JAX arrays that it returns are waited for.
    target : float, optional
        How many times faster than this contender ours must be.
    exact : bool, default False
        Whether its numbers must equal ours to 1e-9.
    scale : float, default 1.0
        How many times the work is larger than the part that ``run`` does.
    """

    name: str
    run: Callable
    target: float | None = None
    exact: bool = False
    scale: float = 1.0


def version(distribution: str) -> str:
    """Name and version of an installed distribution."""
    return f"{distribution} {importlib.metadata.version(distribution)}"


def compare(title: str, ours: Contender, *peers: Contender, repeats: int = 7) -> bool:
    """Time ours and its peers in turn, print a table, and say whether targets hold.

    Returns
    -------
    bool
        Whether every target was met.
    """
    contenders = (ours, *peers)
    first = [c.scale * _seconds(c.run) for c in contenders]
    best = [float("inf")] * len(contenders)
    for _ in range(repeats):
        for i, contender in enumerate(contenders):
            best[i] = min(best[i], contender.scale * _seconds(contender.run))
    print(f"\n{title}")
    print(f"  {'':44}{'first call':>11}{'run':>11}{'/ ours':>9}  target")
    met = True
    reference = np.asarray(ours.run())
    for contender, start, seconds in zip(contenders, first, best):
        ratio = seconds / best[0]
        goal = ""
        if contender.exact:
            np.testing.assert_allclose(
                np.asarray(contender.run()), reference, atol=1e-9
            )
        if contender.target is not None:
            met &= ratio >= contender.target
            verdict = "met" if ratio >= contender.target else "MISSED"
            goal = f">= {contender.target:g}  {verdict}"
        print(
            f"  {contender.name:44}{start:9.3f} s{1e3 * seconds:8.2f} ms"
            f"{ratio:9.2f}  {goal}"
        )
    return met


def _seconds(run) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - start
