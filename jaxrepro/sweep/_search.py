"""Search: rounds of sweeps, each at points that a sampler chooses by the last ones."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import check_choice, check_integer
from ._engine import DONE
from ._outputs import outputs_of
from ._program import trial_function
from ._samplers import Sampler
from ._space import Space, device_columns
from ._summary import is_number_axis, scalar_output
from ._sweep import sweep
from ._trials import Trials, seed_array
from ._workers import worker_from_env

if TYPE_CHECKING:
    import xarray


class SearchResult(NamedTuple):
    """What a search has found.

    Attributes
    ----------
    params : dict
        Hyper-parameters of the best point; empty if every point failed.
    value : float
        Mean over the seeds at it; NaN if every point failed.
    trials : xarray.Dataset
        All trials over ``point``, numbered through all rounds, and ``seed``, with
        the hyper-parameters and ``round`` as coordinates of ``point``, and the
        variable ``search_value``, the mean by which points were compared, NaN where
        a seed failed.
    sampler : Sampler
        The sampler that was told all results.
    """

    params: dict[str, Any]
    value: float
    trials: "xarray.Dataset"
    sampler: Sampler


def search(
    fn: Callable[..., Any],
    sampler: Sampler,
    *,
    n_rounds: int,
    batch: int,
    value: str | Callable[["xarray.Dataset"], "xarray.DataArray"],
    mode: str = "min",
    out: str | Path | None = None,
    **sweep_options: Any,
) -> SearchResult:
    """Sweep in rounds, at points that depend on the results of earlier ones.

    Each round is a :func:`sweep` at the points that the sampler asks for; the
    sampler is then told the mean over the seeds at each. With a folder, round k is
    in ``out/round-00k``, and a search that was stopped goes on with the same call:
    trials that are on disk are not run again.

    Parameters
    ----------
    fn : callable
        As for :func:`sweep`.
    sampler : Sampler
        :class:`RandomSearch`, :class:`SobolSearch`, :class:`SuccessiveHalving`,
        :class:`OptunaSearch`, or any object with ``ask`` and ``tell``. A copy of it
        is used, so that the same call can be repeated.
    n_rounds : int
        Number of rounds. A later call with more of them goes on.
    batch : int
        Points to ask for in a round.
    value : str or callable
        What is to be small or large: the name of an output of one number a trial,
        or a function of a round's data set that returns such an array.
    mode : {"min", "max"}, default "min"
        Whether small or large is good.
    out : str or Path, optional
        Folder of the rounds; None keeps them in memory only.
    **sweep_options
        ``seeds``, ``base_seed``, ``exact`` and others of :func:`sweep`, the same in
        all rounds; all but ``worker``. With ``keys="independent"`` round k has the
        base seed ``base_seed`` + k.

    Returns
    -------
    SearchResult
        Best point, its value, all trials, the sampler. A point of which a seed
        failed (``status`` is not 1, or the value is NaN) counts as the worst, since
        the mean of the others would flatter it.

    Raises
    ------
    SweepMismatchError
        If ``out`` holds another search.
    TypeError
        If the sampler has no ``ask`` and ``tell``, or asks for what is no space.
    ValueError
        If ``n_rounds`` or ``batch`` < 1, ``value`` is no output of one real number,
        ``mode`` is none of the two, or this process is one of several workers.

    Examples
    --------
    >>> from jaxrepro.sweep import LogUniform, SobolSearch, search
    >>> def fn(key, params):
    ...     return {"loss": abs(params["lr"] - 0.01)}
    >>> sampler = SobolSearch(0, lr=LogUniform(1e-4, 1.0))
    >>> result = search(fn, sampler, n_rounds=4, batch=16, value="loss")
    >>> f"{result.params['lr']:.2f}", result.trials.sizes["point"]
    ('0.01', 64)
    """
    check_integer("n_rounds", n_rounds)
    check_integer("batch", batch)
    check_choice("mode", mode, ("min", "max"))
    if not isinstance(sampler, Sampler):
        raise TypeError(f"sampler: expected ask and tell; got {type(sampler).__name__}")
    _check_single_worker(out, sweep_options)
    sampler, sign = copy.deepcopy(sampler), 1 if mode == "min" else -1
    rounds = []
    for number in range(n_rounds):
        space = sampler.ask(batch)
        if not isinstance(space, Space):
            kind = type(space).__name__
            raise TypeError(f"sampler: expected ask to return a Space; got {kind}")
        if number == 0 and isinstance(value, str):
            _check_value(fn, space, value, sweep_options.get("seeds", 1))
        options = _round_options(sweep_options, number)
        folder = None if out is None else Path(out) / f"round-{number:03d}"
        result = sweep(fn, space, out=folder, worker=(0, 1), **options)
        values = _point_values(result, value)
        sampler.tell(space, sign * values.values.ravel())
        rounds.append(_by_point(result.assign(search_value=values), number))
    trials = _joined(rounds)
    params, found = _best(trials, sign, getattr(sampler, "budget", None))
    return SearchResult(params, found, trials, sampler)


def _check_single_worker(out, options):
    if "worker" in options:
        raise ValueError("worker: expected none, a round needs all results; got one")
    if out is not None and worker_from_env()[1] > 1:
        index, count = worker_from_env()
        raise ValueError(
            "search: expected a single worker, since a round needs all results; the "
            f"environment says {index} of {count}"
        )


def _check_value(fn, space, value, seeds):
    """Raise before anything runs if ``value`` is no output of one real number."""
    trials = Trials(space, seed_array(seeds), 0, True)
    functions = [trial_function(fn, trials, space.groups[0])]
    outputs = outputs_of(functions, trials, device_columns(space))
    fitting = [
        x.name for x in outputs if x.shape == () and np.dtype(x.dtype).kind in "biuf"
    ]
    if value not in fitting:
        raise ValueError(
            f"value: expected an output of one real number, {', '.join(fitting)}; "
            f"got {value!r}"
        )


def _round_options(options, number):
    if options.get("keys", "common") == "common":
        return options
    # Points are numbered anew in each round, and keys depend on the number.
    return {**options, "base_seed": (options.get("base_seed", 0) + number) % 2**32}


def _point_values(result, value):
    """Mean over seeds at each point, NaN if one of them failed."""
    if isinstance(value, str):
        values = scalar_output(result, value)
    else:
        values, dims = value(result), result["status"].dims
        if set(values.dims) != set(dims):
            raise ValueError(
                f"value: expected an array over {', '.join(dims)}; got one over "
                f"{', '.join(map(str, values.dims))}"
            )
        values = values.transpose(*dims)
    right = values.astype(np.float64).where(result["status"] == DONE)
    return right.mean("seed", skipna=False)


def _by_point(result, number):
    """A round's data set with a single axis of points."""
    lead = [dim for dim in result["status"].dims if dim != "seed"]
    # xarray's, which has no other name for it.
    flat = result.stack(row=lead, create_index=False)  # noqa: PD013
    flat = flat.drop_vars([n for n in flat.coords if is_number_axis(str(n))])
    flat = flat.rename(row="point").transpose("point", "seed", ...)
    return flat.assign_coords(round=("point", np.full(flat.sizes["point"], number)))


def _joined(rounds):
    import xarray

    joined = xarray.concat(
        rounds,
        "point",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="exact",
        combine_attrs="override",
    )
    joined.attrs["elapsed_seconds"] = sum(x.attrs["elapsed_seconds"] for x in rounds)
    return joined.assign_coords(point=np.arange(joined.sizes["point"]))


def _best(trials, sign, budget):
    """Hyper-parameters and value of the best point of the largest budget."""
    losses = sign * trials["search_value"].values
    right = ~np.isnan(losses)
    if not right.any():
        return {}, float("nan")
    if budget is not None:
        budgets = trials[budget].values
        right &= budgets == budgets[right].max()
    candidates = np.flatnonzero(right)
    place = candidates[np.argmin(losses[candidates])]
    names = [n for n, x in trials.coords.items() if x.dims == ("point",)]
    params = {
        str(n): trials[n].values[place].item()
        for n in names
        if n not in ("point", "round")
    }
    return params, float(trials["search_value"].values[place])
