"""Which inputs a linear denoiser treats differently from one training set to the next.

Denoisers are fitted to many training sets of natural image patches, drawn from all
patches of two photographs, and applied to the same noisy patches. The variance of each
denoised patch is compared with the Gaussian law, with the published law that lacks one
of its terms, and with the law that takes the fourth moments of the patches. Gaussian
data of the same covariance show how much is due to the law itself.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

from jaxrepro.data import load_photo_patches
from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.rmt import denoiser_variance, denoiser_variance_moments, fit_gaussian
from jaxrepro.sweep import Grid, Static, sweep

GAUSSIAN, PATCHES = "Gaussian surrogate", "image patches"
LAWS = ("Gaussian law", "published term", "fourth moments")
LEVELS = [m * 10.0**e for e in range(-5, 2) for m in (1, 2, 5)]


@dataclass(frozen=True)
class Config:
    """Settings."""

    sizes: tuple[int, ...] = (300, 1000, 3000)
    """Training samples."""
    sigmas: tuple[float, ...] = (0.1, 0.5)
    """Noise levels; pixels are in [-1, 1]."""
    n_splits: int = 400
    """Training sets of each size."""
    n_inputs: int = 60
    """Noisy patches."""
    stride: int = 2
    """Pixels between the patches of the population."""


QUICK = {"sizes": (300, 1000), "n_splits": 100, "n_inputs": 30, "stride": 4}
PAPERS = ("wang2026random",)


def coordinates(config):
    """All patches, centred, in the eigenbasis of their covariance; its eigenvalues."""
    images = load_photo_patches(8, stride=config.stride).images
    x = images.reshape(len(images), -1)
    fit = fit_gaussian(x)
    z = (x - np.asarray(fit.mean)) @ np.asarray(fit.vectors)
    return {"z": z, "eigs": np.asarray(fit.eigs)}


def denoised(z, eigs, y, key, params, *, n, data):
    """A trial: patches ``y`` as the denoiser of one training set sees them.

    The noise of the inputs scales with its level, so that all levels share it.
    """
    if data == PATCHES:
        x = z[jax.random.randint(key, (n,), 0, len(z))]
    else:
        x = jnp.sqrt(eigs) * jax.random.normal(key, (n, len(eigs)))
    clean, noise = y
    mean = jnp.mean(x, axis=0)
    x = x - mean
    covariance = x.T @ x / n
    shifted = covariance + params["sigma"] ** 2 * jnp.eye(len(eigs))
    gap = clean + params["sigma"] * noise - mean
    weights = jnp.linalg.solve(shifted, covariance)
    return {"out": mean + gap @ weights}


def laws(z, eigs, y, sigma, n, data):
    """Predicted variance of every input, by law."""
    predicted = {
        "Gaussian law": denoiser_variance(y, sigma, n, eigs, reduce="modes"),
        "published term": denoiser_variance(
            y, sigma, n, eigs, reduce="modes", wick="paper"
        ),
    }
    if data == PATCHES:
        predicted["fourth moments"] = denoiser_variance_moments(
            y, z, sigma, n, eigs, reduce="modes"
        )
    return predicted


def ratio(rows):
    """Measured over predicted variance, over all inputs."""
    return rows["measured"].sum() / rows["predicted"].sum()


def settings(tables, data, law):
    """Rows of every sample size and noise level."""
    rows = select_rows(tables["variance"], data=data, law=law)
    return [
        select_rows(rows, n=n, sigma=sigma)
        for n in np.unique(rows["n"])
        for sigma in np.unique(rows["sigma"])
    ]


def measured(reduce, data, law):
    """One number a setting."""
    return lambda tables: [reduce(rows) for rows in settings(tables, data, law)]


def rank_correlation(rows):
    """Spearman correlation of measured and predicted variances over the inputs."""
    correlation, _ = spearmanr(rows["measured"], rows["predicted"])
    return correlation


CLAIMS = [
    Claim(
        "surrogate",
        "on Gaussian data of the same covariance the total variance of the inputs is "
        "that of the law (ratio)",
        "derivation; an earlier measurement on other images gave 0.996 to 1.004",
        measure=measured(ratio, GAUSSIAN, "Gaussian law"),
        target=1.0,
        tolerance=0.04,
    ),
    Claim(
        "tails",
        "on images the Gaussian law is low (smallest ratio of measured and predicted)",
        "measurement on Fashion-MNIST and MNIST, which gave 1.03 to 1.26",
        measure=lambda tables: min(measured(ratio, PATCHES, "Gaussian law")(tables)),
        target=1.03,
        relation=">",
    ),
    Claim(
        "order",
        "on images it tells which inputs vary most (Spearman correlation over inputs)",
        "measurement on Fashion-MNIST and MNIST, which gave 0.86 to 0.98",
        measure=measured(rank_correlation, PATCHES, "Gaussian law"),
        target=0.86,
        relation=">",
    ),
    Claim(
        "moments",
        "with the fourth moments of the images the ratio at noise 0.5 is 0.94 to 0.98",
        "measurement on Fashion-MNIST and MNIST, n >= 300",
        measure=lambda tables: [
            ratio(rows)
            for rows in settings(tables, PATCHES, "fourth moments")
            if rows["sigma"][0] == 0.5
        ],
        target=0.96,
        tolerance=0.06,
        expected=False,
        reason="The tails of colour patches are far heavier than those of digits: with "
        "300 samples single patches of great leverage decide, which no moment tells.",
    ),
    Claim(
        "nearer",
        "the fourth moments bring every ratio nearer to 1 (largest quotient of the "
        "logarithms)",
        "derivation, variance with fourth moments; the bound is ours",
        measure=lambda tables: max(
            np.abs(np.log(measured(ratio, PATCHES, "fourth moments")(tables)))
            / np.abs(np.log(measured(ratio, PATCHES, "Gaussian law")(tables)))
        ),
        target=0.3,
        relation="<",
    ),
]


def plot(tables, out):
    """Measured against predicted variances, an input a dot."""
    caption = (
        "Variance over training sets of each denoised patch against its prediction, at "
        "the largest sample size. Left: Gaussian data of the same covariance. Right: "
        "image patches, by the Gaussian law and by the one with fourth moments."
    )
    shown = ((GAUSSIAN, LAWS[:1]), (PATCHES, (LAWS[0], LAWS[2])))
    with out.figure("variance", width="page", height=3.0, caption=caption, ncols=2) as (
        _,
        axes,
    ):
        for panel, (data, names) in zip(axes, shown):
            for law, marker in zip(names, "ox"):
                rows = settings(tables, data, law)[-1]
                panel.loglog(rows["predicted"], rows["measured"], marker, label=law)
            ends = rows["predicted"].min(), rows["predicted"].max()
            panel.loglog(ends, ends, "k:", linewidth=0.8)
            panel.set(
                title=data, xlabel="predicted variance", ylabel="measured variance"
            )
            for axis in (panel.xaxis, panel.yaxis):
                low, high = axis.get_view_interval()
                shown = [x for x in LEVELS if low < x < high]
                axis.set_ticks(shown, [f"{x:g}" for x in shown])
                axis.set_ticks([], minor=True)
            panel.legend()


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="1 min on two cores",
    plot=plot,
)
def run(config, out):
    data = out.cached("coordinates", coordinates, config)
    z, eigs = (jnp.asarray(data[name], jnp.float32) for name in ("z", "eigs"))
    k_inputs, k_noise = jax.random.split(out.key)
    chosen = jax.random.randint(k_inputs, (config.n_inputs,), 0, len(z))
    y = z[chosen], jax.random.normal(k_noise, (config.n_inputs, len(eigs)))
    result = sweep(
        functools.partial(denoised, z, eigs, y),
        Static(data=[GAUSSIAN, PATCHES], n=config.sizes) * Grid(sigma=config.sigmas),
        seeds=config.n_splits,
        base_seed=out.seed,
        out=out.path / "sweep",
        dims={"out": ("input", "mode")},
    )
    variances = result["out"].var("seed", ddof=1).sum("mode")
    rows = []
    for name in (GAUSSIAN, PATCHES):
        for n in config.sizes:
            for sigma in config.sigmas:
                seen = variances.sel(data=name, n=n, sigma=sigma).values
                noisy = y[0] + sigma * y[1]
                for law, predicted in laws(z, eigs, noisy, sigma, n, name).items():
                    about = {"data": name, "n": n, "sigma": sigma, "law": law}
                    rows += [
                        {**about, "predicted": p, "measured": m}
                        for p, m in zip(np.asarray(predicted), seen)
                    ]
    return {"variance": table_from_rows(rows)}
