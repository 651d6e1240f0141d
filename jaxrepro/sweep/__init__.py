"""Sweeps of a function over hyper-parameters and seeds.

A pure function ``fn(key, params) -> arrays`` is run at every point of a space and
for every seed, vectorised, split over devices and processes, written to disk as it
goes, and returned as a labelled data set::

    from jaxrepro.sweep import Grid, sweep

    result = sweep(fn, Grid(lr=[0.01, 0.1], wd=[0.0, 1e-4]), seeds=8, out="run")
"""

from ._bootstrap import (
    BootstrapInterval as BootstrapInterval,
    bootstrap_ci as bootstrap_ci,
)
from ._distributions import (
    Choice as Choice,
    IntUniform as IntUniform,
    LogUniform as LogUniform,
    Uniform as Uniform,
)
from ._export import export as export
from ._halving import SuccessiveHalving as SuccessiveHalving
from ._handles import WorkerError as WorkerError, Workers as Workers
from ._launch import launch as launch
from ._load import SweepStatus as SweepStatus, load as load, status as status
from ._optuna import OptunaSearch as OptunaSearch
from ._paired import (
    PairedDifference as PairedDifference,
    paired_difference as paired_difference,
)
from ._plots import (
    heatmap_plot as heatmap_plot,
    learning_curve_plot as learning_curve_plot,
)
from ._samplers import (
    RandomSearch as RandomSearch,
    Sampler as Sampler,
    SobolSearch as SobolSearch,
)
from ._search import SearchResult as SearchResult, search as search
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
from ._summary import Best as Best, best as best, summarise as summarise
from ._sweep import sweep as sweep
from ._trials import trial_key as trial_key
from ._workers import worker_from_env as worker_from_env

__all__ = [
    "Best",
    "BootstrapInterval",
    "Choice",
    "Grid",
    "IntUniform",
    "LogUniform",
    "OptunaSearch",
    "PairedDifference",
    "Points",
    "Random",
    "RandomSearch",
    "Sampler",
    "SearchResult",
    "Sobol",
    "SobolSearch",
    "Space",
    "Static",
    "SuccessiveHalving",
    "SweepMismatchError",
    "SweepStatus",
    "Uniform",
    "WorkerError",
    "Workers",
    "Zip",
    "best",
    "bootstrap_ci",
    "export",
    "heatmap_plot",
    "launch",
    "learning_curve_plot",
    "load",
    "paired_difference",
    "search",
    "status",
    "summarise",
    "sweep",
    "trial_key",
    "worker_from_env",
]
