"""Losses of linear diffusion models against the number of samples.

Training and test loss of the denoiser, the divergence from the true law and the squared
Frechet distance, for sample sizes on both sides of the dimension: measured on Gaussian
samples and predicted. An additional ridge is chosen by the derivatives of the predicted
loss.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.core import safe_eigh
from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.rmt import bures_equivalent, dsm_losses, gaussian_kl_equivalent
from jaxrepro.sweep import Static, Zip, sweep

from ._samples import covariance, function_of, gaussian_rows, power_law


@dataclass(frozen=True)
class Config:
    """Settings."""

    dimension: int = 64
    """Modes; their variances fall like 1/k."""
    ratios: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0, 8.0)
    """Training samples over the dimension."""
    sigmas: tuple[float, ...] = (0.03, 0.3)
    """Noise levels."""
    n_models: int = 300
    """Training sets of each size."""


QUICK = {"ratios": (0.5, 1.0, 2.0), "n_models": 100}
PAPERS = ("wang2026random",)
# Quantities by name: measured in a trial, predicted by `predictions`.
QUANTITIES = ("train", "test", "tuned", "divergence", "bures")


def measured(eigs, key, params, *, n):
    """A trial: all quantities for one training set."""
    d, level = len(eigs), params["sigma"] ** 2
    mean, cov = covariance(gaussian_rows(key, n, eigs))
    values, vectors = safe_eigh(cov)
    values = jnp.maximum(values, 0.0)

    def losses(rho):
        kept = values / (values + level + rho)
        weights = (vectors * kept) @ vectors.T
        rest = jnp.eye(d) - weights
        noise = level * jnp.sum(kept**2)
        train = jnp.sum((1 - kept) ** 2 * values) + noise
        bias = jnp.sum(rest**2 * eigs[None]) + jnp.sum((rest @ mean) ** 2)
        return train, bias + noise

    train, test = losses(0.0)
    _, tuned = losses(params["rho"])
    # From the truth to the model, both with the noise added.
    inverse = (vectors / (values + level)) @ vectors.T
    divergence = jnp.sum(jnp.diagonal(inverse) * (eigs + level)) - d
    divergence += jnp.sum(jnp.log(values + level)) - jnp.sum(jnp.log(eigs + level))
    divergence += mean @ inverse @ mean
    unbiased = cov * n / (n - 1)
    root = jnp.sqrt(eigs)
    mixed = root[:, None] * unbiased * root[None]
    trace = jnp.trace(function_of(mixed, jnp.sqrt))
    bures = jnp.sum(mean**2) + jnp.sum(eigs) + jnp.trace(unbiased) - 2 * trace
    return {
        "train": train,
        "test": test,
        "tuned": tuned,
        "divergence": divergence / 2,
        "bures": bures,
    }


def predictions(eigs, sigma, rho, n):
    """The same quantities by theory."""
    losses = dsm_losses(sigma, n, eigs)
    return {
        "train": losses.train,
        "test": losses.test,
        "tuned": dsm_losses(sigma, n, eigs, rho=rho).test,
        "divergence": gaussian_kl_equivalent(sigma**2, n, eigs, order=1),
        "bures": bures_equivalent(n, eigs),
    }


def best_ridge(eigs, sigma, n):
    """Ridge of least predicted test loss, by Newton's method on its logarithm."""
    loss = lambda s: dsm_losses(sigma, n, eigs, rho=jnp.exp(s)).test
    slope, curve = jax.grad(loss), jax.grad(jax.grad(loss))
    scan = jnp.linspace(jnp.log(1e-6), jnp.log(10.0), 65)
    start = scan[jnp.argmin(jax.vmap(loss)(scan))]

    def step(s, _):
        bend = curve(s)
        move = jnp.where(bend > 0, slope(s) / bend, 0.0)
        return s - jnp.clip(move, -0.3, 0.3), None

    last, _ = jax.lax.scan(step, start, length=8)
    return jnp.exp(last)


def ratios(tables, quantity):
    """Measured over predicted, for all sizes and noise levels."""
    rows = select_rows(tables["losses"], quantity=quantity)
    return rows["measured"] / rows["predicted"]


def peak(tables):
    """Ratio of samples to dimensions at which the test loss is largest."""
    rows = select_rows(tables["losses"], quantity="test")
    rows = select_rows(rows, sigma=rows["sigma"].min())
    return rows["ratio"][np.argmax(rows["measured"])]


def tuned_over_plain(tables):
    """Largest quotient of the test losses with and without the ridge."""
    tuned, plain = (
        select_rows(tables["losses"], quantity=name)["measured"]
        for name in ("tuned", "test")
    )
    return (tuned / plain).max()


def agreement(name, quantity, words, tolerance, source):
    return Claim(
        name,
        f"{words} is that predicted (measured over predicted, by size and level)",
        source,
        measure=lambda tables: ratios(tables, quantity),
        target=1.0,
        tolerance=tolerance,
    )


CLAIMS = [
    agreement(
        "train", "train", "the training loss", 0.02,
        "derivation; an earlier measurement agreed to 0.2 %",
    ),
    agreement(
        "test", "test", "the test loss", 0.05,
        "derivation; an earlier measurement, off the peak, agreed to 0.3 %",
    ),
    agreement(
        "divergence", "divergence", "the divergence from the truth", 0.04,
        "derivation; an earlier measurement agreed to 0.4 %",
    ),
    agreement(
        "frechet", "bures", "the squared Frechet distance", 0.05,
        "derivation; an earlier measurement was 0.7 to 1.9 % above",
    ),
    Claim(
        "peak",
        "with little noise the test loss is largest where samples are about as many as "
        "dimensions (ratio of the two)",
        "derivation",
        measure=peak,
        target=1.0,
        tolerance=0.3,
        expected=False,
        reason="The noise that a denoiser expects is the right ridge for the noise "
        "that it meets: there is no double descent, the loss falls with every sample.",
    ),
    Claim(
        "ridge",
        "the ridge of least predicted loss never harms (largest test loss with it over "
        "that without)",
        "derivation; the bound is ours",
        measure=tuned_over_plain,
        target=1.005,
        relation="<",
    ),
]  # fmt: skip


def plot(tables, out):
    """Losses and distances against the sample size."""
    table = tables["losses"]
    with out.figure(
        "losses",
        width="page",
        height=2.8,
        caption="Left: losses of the linear denoiser at the least noise, against "
        "samples over dimensions; tuned: with the ridge of least predicted loss. "
        "Right: divergence from the true law, and squared Frechet distance. Dots "
        "measured, lines predicted.",
        ncols=2,
    ) as (_, axes):
        low = select_rows(table, sigma=table["sigma"].min())
        for panel, names in ((axes[0], QUANTITIES[:3]), (axes[1], QUANTITIES[3:])):
            for name in names:
                rows = select_rows(low, quantity=name)
                (line,) = panel.loglog(rows["ratio"], rows["predicted"], label=name)
                panel.loglog(
                    rows["ratio"], rows["measured"], ".", color=line.get_color()
                )
            panel.set(xlabel="samples / dimensions", ylabel="loss")
            shown = np.unique(table["ratio"])
            panel.set_xticks(shown, [f"{r:g}" for r in shown])
            panel.set_xticks([], minor=True)
            panel.legend()
        axes[1].set_ylabel("distance")


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="1 min on two cores",
    plot=plot,
)
def run(config, out):
    eigs = power_law(config.dimension)
    rows = []
    ridge = jax.jit(best_ridge)
    for ratio in out.progress(config.ratios, "sample sizes"):
        n = round(ratio * config.dimension)
        rhos = [float(ridge(eigs, sigma, n)) for sigma in config.sigmas]
        result = sweep(
            functools.partial(measured, eigs),
            Static(n=[n]) * Zip(sigma=config.sigmas, rho=rhos),
            seeds=config.n_models,
            base_seed=out.seed,
            out=out.path / f"sweep-{n}",
            progress=False,
        ).mean("seed")
        for i, (sigma, rho) in enumerate(zip(config.sigmas, rhos)):
            law = predictions(eigs, sigma, rho, n)
            rows += [
                {
                    "quantity": name, "ratio": ratio, "n": n,
                    "sigma": sigma, "rho": rho,
                    "measured": float(result[name].values.reshape(-1)[i]),
                    "predicted": float(law[name]),
                }
                for name in QUANTITIES
            ]  # fmt: skip
    return {"losses": table_from_rows(rows)}
