"""Sweeps of a function over hyper-parameters and seeds.

A pure function ``fn(key, params) -> arrays`` is run at every point of a space and
for every seed, vectorised, split over devices and processes, written to disk as it
goes, and returned as a labelled data set::

    from jaxrepro.sweep import Grid, sweep

    result = sweep(fn, Grid(lr=[0.01, 0.1], wd=[0.0, 1e-4]), seeds=8, out="run")
"""

from ._distributions import (
    Choice as Choice,
    IntUniform as IntUniform,
    LogUniform as LogUniform,
    Uniform as Uniform,
)
from ._export import export as export
from ._load import SweepStatus as SweepStatus, load as load, status as status
from ._space import Space as Space
from ._spaces import (
    Grid as Grid,
    Points as Points,
    Random as Random,
    Sobol as Sobol,
    Static as Static,
    Zip as Zip,
)
from ._spec import SweepMismatchError as SweepMismatchError
from ._sweep import sweep as sweep
from ._trials import trial_key as trial_key
from ._workers import worker_from_env as worker_from_env

__all__ = [
    "Choice",
    "Grid",
    "IntUniform",
    "LogUniform",
    "Points",
    "Random",
    "Sobol",
    "Space",
    "Static",
    "SweepMismatchError",
    "SweepStatus",
    "Uniform",
    "Zip",
    "export",
    "load",
    "status",
    "sweep",
    "trial_key",
    "worker_from_env",
]
