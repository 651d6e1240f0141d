"""Mean and variance of what linear diffusion models generate from one noise.

Models of many training sets generate from the same noises, exactly or by the steps of
Euler's or Heun's method. Their mean and variance by noise are compared with theory; the
average over noises has a closed form, the sum rule.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.rmt import (
    discrete_sampler_factor,
    sampling_gain,
    sampling_second_moment,
    sampling_variance_seed_average,
    spectral_function_mean,
    spectral_function_variance,
)
from jaxrepro.sweep import Static, sweep

from ._samples import function_of, gaussian_rows, power_law

EXACT = "exact"
SAMPLERS = (EXACT, "euler", "heun")
# The mean of the data is 0 and known.
KNOWN = {"centered": False}


@dataclass(frozen=True)
class Config:
    """Settings."""

    dimension: int = 96
    """Modes; their variances fall like 1/k."""
    sizes: tuple[int, ...] = (48, 96, 384)
    """Training samples."""
    n_models: int = 1000
    """Training sets of each size."""
    n_seeds: int = 48
    """Noises."""
    samplers: tuple[str, ...] = SAMPLERS
    """Ways to generate: exact, euler, heun."""
    n_steps: int = 18
    """Steps of the discrete samplers."""
    sigma_0: float = 0.1
    """Noise level at the end."""
    sigma_T: float = 10.0
    """Noise level at the start."""


QUICK = {"samplers": (EXACT, "heun"), "sizes": (96,), "n_models": 150, "n_seeds": 24}
PAPERS = ("wang2026random", "karras2022elucidating")


def factor(config, sampler):
    """What the sampler does to a mode of a given variance."""
    if sampler == EXACT:
        low, high = config.sigma_0**2, config.sigma_T**2
        return lambda s: jnp.sqrt((s + low) / (s + high))
    # Levels in Karras' spacing that end above zero.
    ends = config.sigma_T ** (1 / 7), config.sigma_0 ** (1 / 7)
    sigmas = jnp.linspace(*ends, config.n_steps + 1) ** 7
    return lambda s: discrete_sampler_factor(s, sigmas, kind=sampler)


def generated(config, eigs, x, key, params, *, n, sampler):
    """A trial: what one model makes of all noises."""
    data = gaussian_rows(key, n, eigs)
    return {"out": x @ function_of(data.T @ data / n, factor(config, sampler))}


def sum_rule_gap(n, eigs, config):
    """Relative gap between two forms of the variance averaged over noises."""
    levels = {"sigma_0": config.sigma_0, "sigma_T": config.sigma_T}
    summed = sampling_variance_seed_average(n, eigs, wick="paper", **levels, **KNOWN)
    second = sampling_second_moment(n, eigs, **levels, **KNOWN)
    gain = sampling_gain(n, eigs, **levels, **KNOWN)
    closed = config.sigma_T**2 * (second - gain**2)
    return float(jnp.max(jnp.abs(summed / closed - 1)))


def cases(tables):
    """Rows of every sampler and sample size."""
    table = tables["seeds"]
    return [
        select_rows(table, sampler=sampler, n=n)
        for sampler in np.unique(table["sampler"])
        for n in np.unique(table["n"])
    ]


def of_cases(measure):
    return lambda tables: [measure(rows) for rows in cases(tables)]


CLAIMS = [
    Claim(
        "mean",
        "the mean over models is that of the theory (root mean square error over modes "
        "over the root mean square, less the Monte Carlo error, by sampler and size)",
        "measurement, which gave an error of 0.5 % at most",
        measure=lambda tables: tables["means"]["error"],
        target=0.01,
        relation="<",
    ),
    Claim(
        "variance",
        "so is the variance, over all noises (measured over predicted, by sampler and "
        "size)",
        "measurement, which gave 0.985 to 1.02",
        measure=of_cases(lambda r: r["measured"].sum() / r["predicted"].sum()),
        target=1.0,
        tolerance=0.05,
    ),
    Claim(
        "noises",
        "theory tells which noises vary most between models (Spearman correlation over "
        "noises, by sampler and size)",
        "derivation; the bound is ours",
        measure=of_cases(lambda r: spearmanr(r["measured"], r["predicted"])[0]),
        target=0.8,
        relation=">",
    ),
    Claim(
        "one pair",
        "a single pair of models tells it badly (mean Spearman correlation)",
        "measurement, which gave about 0.6",
        measure=lambda tables: tables["pairs"]["correlation"].mean(),
        target=0.6,
        tolerance=0.25,
    ),
    Claim(
        "sum rule",
        "the variance averaged over noises is the second moment less the squared mean "
        "(largest relative gap between the closed form and the double integral)",
        "derivation, sum rule",
        measure=lambda tables: tables["sum_rule"]["gap"].max(),
        target=1e-3,
        relation="<",
    ),
]


def plot(tables, out):
    """Variance by noise, measured against predicted."""
    sizes = np.unique(tables["seeds"]["n"])
    with out.figure(
        "variance",
        width="page",
        height=2.6,
        caption="Variance over models of what is generated from one noise, against the "
        "prediction; a noise a dot, a panel a size of the training set.",
        ncols=len(sizes),
        squeeze=False,
    ) as (_, axes):
        axes = axes[0]
        for panel, n in zip(axes, sizes):
            for sampler, marker in zip(np.unique(tables["seeds"]["sampler"]), "o+x"):
                rows = select_rows(tables["seeds"], sampler=sampler, n=n)
                panel.plot(
                    rows["predicted"], rows["measured"], marker, ms=3, label=sampler
                )
            ends = np.array([rows["predicted"].min(), rows["predicted"].max()])
            panel.plot(ends, ends, "k:", linewidth=0.8)
            panel.set(title=f"n = {n}", xlabel="predicted")
        axes[0].set_ylabel("measured")
        axes[0].legend()


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="3 min on two cores",
    plot=plot,
)
def run(config, out):
    eigs = power_law(config.dimension)
    shape = config.n_seeds, config.dimension
    x = config.sigma_T * jax.random.normal(out.key, shape)
    result = sweep(
        functools.partial(generated, config, eigs, x),
        Static(sampler=config.samplers, n=config.sizes),
        seeds=config.n_models,
        base_seed=out.seed,
        out=out.path / "sweep",
        dims={"out": ("noise", "mode")},
    )["out"]
    low = config.sigma_0**2 / 2
    means, seeds, pairs, rules = [], [], [], []
    for sampler in config.samplers:
        fn = factor(config, sampler)
        for n in config.sizes:
            models = result.sel(sampler=sampler, n=n).transpose("seed", ...).values
            about = {"sampler": sampler, "n": n}
            gain = np.asarray(spectral_function_mean(fn, n, eigs, **KNOWN, a=low))
            spread = models.std(0, ddof=1) / np.sqrt(len(models))
            gap = models.mean(0) - gain * np.asarray(x)
            excess = max(np.mean(gap**2) - np.mean(spread**2), 0.0)
            size = np.sqrt(np.mean((gain * np.asarray(x)) ** 2))
            means.append({**about, "error": float(np.sqrt(excess) / size)})
            predicted = spectral_function_variance(fn, x, n, eigs, **KNOWN, a=low)
            predicted = np.asarray(predicted).sum(-1)
            measured = models.var(0, ddof=1).sum(-1)
            seeds += [
                {**about, "noise": i, "predicted": float(p), "measured": float(m)}
                for i, (p, m) in enumerate(zip(predicted, measured))
            ]
            single = ((models[0::2] - models[1::2]) ** 2).sum(-1)[:100]
            found = [spearmanr(row, predicted)[0] for row in single]
            pairs.append({**about, "correlation": float(np.mean(np.array(found)))})
    for n in config.sizes:
        rules.append({"n": n, "gap": sum_rule_gap(n, eigs, config)})
    return {
        "means": table_from_rows(means),
        "seeds": table_from_rows(seeds),
        "pairs": table_from_rows(pairs),
        "sum_rule": table_from_rows(rules),
    }
