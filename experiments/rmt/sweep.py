"""Renormalised noise over a grid of noise levels, sample sizes and spectra.

One vectorised sweep over exponents of a power law, numbers of samples and noise levels.
What scales with what: the floor of the renormalised noise falls with the number of
samples by the exponent of the spectrum, and the disagreement of two models by one less.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.rmt import (
    consistency_coefficient,
    denoiser_cross_split,
    kappa_info,
    solve_kappa,
)
from jaxrepro.sweep import Grid, Static, sweep

from ._samples import power_law


@dataclass(frozen=True)
class Config:
    """Settings."""

    dimension: int = 3072
    """Modes, as many as a colour picture of 32 x 32 pixels has numbers."""
    exponents: tuple[float, ...] = (1.5, 2.0, 3.0)
    """Exponents of the power laws."""
    n_sizes: int = 24
    """Numbers of samples, from 10 to 1,000,000."""
    n_sigmas: int = 24
    """Noise levels, from 0.001 to 10."""


QUICK = {"dimension": 1024, "n_sizes": 11, "n_sigmas": 8}
PAPERS = ("wang2026random",)


def point(key, params, *, dimension):
    """A trial: what the theory says of one spectrum, size and noise level."""
    eigs = power_law(dimension, params["exponent"])
    n, sigma = params["n"], params["sigma"]
    info = kappa_info(sigma**2, n, eigs)
    total = jnp.sum(eigs)
    return {
        "kappa": info.kappa,
        "freedom": info.df1,
        "floor": solve_kappa(0.0, n, eigs),
        "disagreement": denoiser_cross_split(None, sigma, n, n, eigs, reduce="modes")
        / (2 * total),
        "agreement": jnp.mean(consistency_coefficient(n, eigs)[:10]),
    }


def slope(x, y):
    """Slope of a line through logarithms."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def floors(tables):
    """Slope of the floor against the number of samples, over the exponent."""
    table = tables["grid"]
    found = []
    for exponent in np.unique(table["exponent"]):
        rows = select_rows(table, exponent=exponent, sigma=table["sigma"].min())
        # Well below the dimension, where the power law ends.
        keep = rows["n"] <= tables["settings"]["dimension"][0] / 16
        found.append(slope(rows["n"][keep], rows["floor"][keep]) / -exponent)
    return found


def large_samples(tables):
    """Slope of the disagreement against the number of samples, beyond the dimension."""
    table = tables["grid"]
    keep = table["n"] > 30 * tables["settings"]["dimension"][0]
    found = []
    for exponent in np.unique(table["exponent"]):
        for sigma in np.unique(table["sigma"]):
            here = keep & (table["exponent"] == exponent) & (table["sigma"] == sigma)
            found.append(slope(table["n"][here], table["disagreement"][here]))
    return np.array([min(found), max(found)])


CLAIMS = [
    Claim(
        "floor",
        "without noise, kappa falls like the number of samples to the power of the "
        "exponent of the spectrum (slope over minus the exponent, by exponent)",
        "derivation, power laws",
        measure=floors,
        target=1.0,
        tolerance=0.08,
    ),
    Claim(
        "lower bound",
        "kappa is never below the noise nor below its floor (least quotient)",
        "derivation, properties of kappa",
        measure=lambda tables: min(
            (tables["grid"]["kappa"] / tables["grid"]["sigma"] ** 2).min(),
            (
                tables["grid"]["kappa"] / np.maximum(tables["grid"]["floor"], 1e-30)
            ).min(),
        ),
        target=1 - 1e-5,
        relation=">=",
    ),
    Claim(
        "rate",
        "with far more samples than dimensions models disagree by 1/n at every noise "
        "level (least and largest slope)",
        "paper, scaling of the disagreement with the sample size",
        measure=large_samples,
        target=-1.0,
        tolerance=0.06,
    ),
    Claim(
        "residual",
        "every kappa solves its equation (largest relative residual)",
        "derivation, self-consistent equation",
        measure=lambda tables: tables["grid"]["residual"].max(),
        target=1e-5,
        relation="<",
    ),
]


def plot(tables, out):
    """Renormalisation over the grid, one panel a spectrum."""
    table = tables["grid"]
    exponents = np.unique(table["exponent"])
    with out.figure(
        "grid",
        width="page",
        height=2.4,
        caption="Renormalised noise over noise variance (logarithm to base 10), by "
        "number of samples and noise level, for three power laws.",
        ncols=len(exponents),
        sharey=True,
    ) as (figure, axes):
        for panel, exponent in zip(axes, exponents):
            rows = select_rows(table, exponent=exponent)
            sizes, sigmas = np.unique(rows["n"]), np.unique(rows["sigma"])
            ratio = np.log10(rows["kappa"] / rows["sigma"] ** 2)
            image = panel.pcolormesh(
                sizes, sigmas, ratio.reshape(len(sizes), len(sigmas)).T,
                vmin=0, vmax=4, shading="nearest",
            )  # fmt: skip
            panel.set(
                xscale="log", yscale="log", xlabel="samples",
                title=f"exponent {exponent:g}",
            )  # fmt: skip
        axes[0].set_ylabel("noise level")
        figure.colorbar(image, ax=axes, label="log10 of the ratio")


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="1 min on two cores",
    plot=plot,
)
def run(config, out):
    sizes = np.geomspace(10, 1e6, config.n_sizes)
    sigmas = np.geomspace(1e-3, 10, config.n_sigmas)
    space = Grid(exponent=config.exponents) * Grid(n=sizes) * Grid(sigma=sigmas)
    result = sweep(
        point, Static(dimension=[config.dimension]) * space, out=out.path / "sweep"
    ).squeeze()
    names = list(result.data_vars)
    out.save_arrays("grid", {name: result[name].values for name in names})
    rows = []
    for exponent in config.exponents:
        for n in sizes:
            for sigma in sigmas:
                at = result.sel(exponent=exponent, n=n, sigma=sigma, method="nearest")
                row = {name: float(at[name]) for name in names}
                kappa = row["kappa"]
                left = kappa * (1 - row["freedom"] / n)
                residual = abs(left - sigma**2) / kappa
                about = {"exponent": exponent, "n": float(n), "sigma": float(sigma)}
                rows.append({**about, **row, "residual": residual})
    return {
        "grid": table_from_rows(rows),
        "settings": {"dimension": [config.dimension]},
    }
