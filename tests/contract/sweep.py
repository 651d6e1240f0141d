"""Contract cases of ``jaxrepro.sweep``; most of it runs the functions of others."""

import jax

from jaxrepro import sweep
from jaxrepro.testing import Case


def _sample(key, dtype):
    sample, draws = jax.random.split(key)
    return jax.random.normal(sample, (9,), dtype), draws


CASES = [
    Case(
        sweep.bootstrap_ci,
        _sample,
        traced={"level": 0.9},
        static={"n": 40, "statistic": statistic},
        key_argument=1,
        name=f"bootstrap_ci[{statistic}]",
    )
    for statistic in ("mean", "iqm")
]
SLOW = ("bootstrap_ci[mean]",)
EXEMPT = dict.fromkeys(
    ["export", "launch", "load", "status", "sweep", "worker_from_env"],
    "works on the host: launches, files, environment",
)
EXEMPT["trial_key"] = "returns a key; equals stored ones in tests/sweep/test_trials.py"
EXEMPT |= dict.fromkeys(
    ["best", "paired_difference", "summarise", "heatmap_plot", "learning_curve_plot"],
    "works on data sets, on the host",
)
EXEMPT["search"] = "runs sweeps"
