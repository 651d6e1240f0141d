"""Which execution positions a worker runs, and in which launches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._trials import Trials

Interval = tuple[int, int]


class Worker(NamedTuple):
    """Worker ``index`` of ``count``; block k belongs to worker k mod count."""

    index: int
    count: int


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same positions as disjoint intervals in order."""
    joined: list[Interval] = []
    for start, stop in sorted(intervals):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


def missing(done: Iterable[Interval], total: int) -> list[Interval]:
    """Positions of [0, total) that no interval of ``done`` holds."""
    gaps, at = [], 0
    for start, stop in union(done):
        if start > at:
            gaps.append((at, min(start, total)))
        at = max(at, stop)
    if at < total:
        gaps.append((at, total))
    return gaps


def launches(
    todo: Sequence[Interval],
    *,
    size: int,
    group_size: int,
    block_size: int,
    worker: Worker,
) -> Iterator[Interval]:
    """Cut positions into launches of at most ``size`` trials of one group.

    Cuts are at fixed positions, counted from the start of a group, so that a resumed
    sweep launches what the first one would have. With several workers no launch
    leaves its block.

    Parameters
    ----------
    todo : sequence of intervals
        Positions that are not done.
    size : int
        Trials a launch.
    group_size : int
        Trials a static group.
    block_size : int
        Positions a block.
    worker : Worker
        Whose launches to return.
    """
    for start, stop in todo:
        at = start
        while at < stop:
            block, group = at // block_size, at // group_size
            origin = group * group_size
            ends = [stop, _next(at, group_size)]
            if worker.count > 1:
                origin = max(origin, block * block_size)
                ends.append(_next(at, block_size))
            end = min(*ends, _next(at, size, origin))
            if block % worker.count == worker.index:
                yield at, end
            at = end


def _next(at, step, origin=0):
    """The first multiple of ``step`` from ``origin`` beyond ``at``."""
    return origin + ((at - origin) // step + 1) * step


def cost_order(
    cost: Callable[[dict[str, np.ndarray]], Any] | None, trials: Trials
) -> np.ndarray | None:
    """Trial number at each execution position: groups in order, dearest point first."""
    if cost is None:
        return None
    if not callable(cost):
        raise TypeError(f"cost: expected a function of the columns; got {cost!r}")
    columns, n_points = trials.space.columns, trials.space.n_points
    given = cost(columns)
    costs = np.asarray(given)
    numbers = costs.dtype.kind in "biuf" and costs.shape == (n_points,)
    if not numbers or not np.isfinite(costs).all():
        raise ValueError(
            f"cost: expected {n_points} finite numbers, one a point; got {given!r}"
        )
    each = np.repeat(costs.astype(float), len(trials.seeds))
    within = np.argsort(-each, kind="stable")
    firsts = np.arange(len(trials.space.groups)) * trials.group_size
    return (firsts[:, None] + within).ravel()
