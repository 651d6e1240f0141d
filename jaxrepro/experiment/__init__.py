"""Experiments that state claims, leave evidence and report verdicts.

An experiment is one file, ``experiments/<area>/<name>.py``; nothing else is
edited to add one. The smallest complete example::

    '''Error of a Monte Carlo mean.

    The mean of n standard normal numbers has an error of n to the power -1/2.
    '''

    from dataclasses import dataclass

    import jax
    import numpy as np

    from jaxrepro.experiment import Claim, experiment


    @dataclass(frozen=True)
    class Config:
        '''Settings.'''

        sizes: tuple[int, ...] = (100, 1000, 10000)
        '''Sample sizes.'''
        repeats: int = 400
        '''Independent repeats a size.'''


    QUICK = {"repeats": 100}
    PAPERS = ("metropolis1949monte",)


    def slope(tables):
        table = tables["error"]
        return np.polyfit(np.log(table["n"]), np.log(table["rms"]), 1)[0]


    CLAIMS = [
        Claim(
            "rate",
            "the error falls like n to the power -1/2",
            "paper, section 2",
            measure=slope,
            target=-0.5,
            tolerance=0.1,
        ),
    ]


    def plot(tables, out):
        with out.figure("error", caption="Error against n.") as (_, axes):
            axes.loglog(tables["error"]["n"], tables["error"]["rms"], "o-")
            axes.set(xlabel="n", ylabel="root mean square error")


    @experiment(
        config=Config, quick=QUICK, claims=CLAIMS, papers=PAPERS,
        cost="1 s on two cores", plot=plot,
    )
    def run(config, out):
        def simulate(i, n):
            key = jax.random.fold_in(out.key, i)
            return {"mean": jax.random.normal(key, (config.repeats, n)).mean(1)}

        rms = []
        for i, n in enumerate(config.sizes):
            stage = out.cached(f"n_{n}", simulate, i, n)  # not repeated by --resume
            rms.append(np.sqrt(np.mean(stage["mean"] ** 2)))
        return {"error": {"n": config.sizes, "rms": rms}}

``python -m experiments run area/name --repeats 50`` runs it. A table is a dict
of columns of equal length (numbers, booleans or strings), stored as CSV;
``run`` returns a dict of tables, and claims and figures see these only. ``out``
is a :class:`RunFolder`: ``out.key``, ``out.seed``, ``out.quick``, ``out.log``,
``out.cached``, ``out.save_arrays``, ``out.figure``, ``out.progress``.
"""

from ._claim import (
    Claim as Claim,
    ClaimResult as ClaimResult,
    Verdict as Verdict,
    judge as judge,
)
from ._cli import main as main
from ._figure import plot_style as plot_style
from ._folder import RunFolder as RunFolder
from ._registry import (
    Experiment as Experiment,
    experiment as experiment,
    experiment_names as experiment_names,
    load_experiment as load_experiment,
)
from ._report import write_report as write_report
from ._runner import (
    RunResult as RunResult,
    read_result as read_result,
    run_experiment as run_experiment,
)
from ._session import run_session as run_session
from ._table import (
    as_table as as_table,
    read_table as read_table,
    select_rows as select_rows,
    table_from_rows as table_from_rows,
)
from ._text import claims_table as claims_table

__all__ = [
    "Claim",
    "ClaimResult",
    "Experiment",
    "RunFolder",
    "RunResult",
    "Verdict",
    "as_table",
    "claims_table",
    "experiment",
    "experiment_names",
    "judge",
    "load_experiment",
    "main",
    "plot_style",
    "read_result",
    "read_table",
    "run_experiment",
    "run_session",
    "select_rows",
    "table_from_rows",
    "write_report",
]
