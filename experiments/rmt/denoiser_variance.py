"""Which inputs a linear denoiser treats differently from one training set to the next.

Denoisers are fitted to many training sets of small pictures, drawn from a population of
them, and applied to the same noisy pictures. The variance of each result is compared
with the Gaussian law, with the published law that lacks one of its terms, and with the
law that takes the fourth moments of the pictures. Gaussian data of the same covariance
show how much is due to the law itself.
"""

import functools
from dataclasses import dataclass

import jax
import numpy as np
from scipy.stats import spearmanr

from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.rmt import denoiser_variance, denoiser_variance_moments
from jaxrepro.sweep import Grid, Static, sweep

from ._images import FASHION, PHOTOS, eigen_coordinates, load_pictures
from ._samples import covariance, gaussian_rows, shrinkage, some_rows

GAUSSIAN, PICTURES = "Gaussian surrogate", "pictures"
LAWS = ("Gaussian law", "published term", "fourth moments")
LEVELS = [m * 10.0**e for e in range(-5, 2) for m in (1, 2, 5)]


@dataclass(frozen=True)
class Config:
    """Settings."""

    images: tuple[str, ...] = (FASHION, PHOTOS)
    """Fashion-MNIST, MNIST, photographs, or several."""
    sizes: tuple[int, ...] = (300, 1000, 3000)
    """Training samples."""
    sigmas: tuple[float, ...] = (0.1, 0.5)
    """Noise levels; pixels are in [-1, 1]."""
    n_splits: int = 400
    """Training sets of each size."""
    n_inputs: int = 60
    """Noisy pictures."""


QUICK = {"images": (PHOTOS,), "sizes": (300,), "n_splits": 100, "n_inputs": 30}
PAPERS = ("wang2026random",)


def denoised(z, eigs, y, key, params, *, n, data):
    """A trial: pictures ``y`` as the denoiser of one training set sees them.

    The noise of the inputs scales with its level, so that all levels share it.
    """
    x = some_rows(key, n, z) if data == PICTURES else gaussian_rows(key, n, eigs)
    mean, cov = covariance(x)
    clean, noise = y
    gap = clean + params["sigma"] * noise - mean
    return {"out": mean + gap @ shrinkage(cov, params["sigma"])}


def laws(z, eigs, y, sigma, n, data):
    """Predicted variance of every input, by law."""
    predicted = {
        "Gaussian law": denoiser_variance(y, sigma, n, eigs, reduce="modes"),
        "published term": denoiser_variance(
            y, sigma, n, eigs, reduce="modes", wick="paper"
        ),
    }
    if data == PICTURES:
        predicted["fourth moments"] = denoiser_variance_moments(
            y, z, sigma, n, eigs, reduce="modes"
        )
    return predicted


def ratio(rows):
    """Measured over predicted variance, over all inputs."""
    return rows["measured"].sum() / rows["predicted"].sum()


def settings(tables, law, data=PICTURES, **equal):
    """Rows of every set of pictures, sample size and noise level."""
    rows = select_rows(tables["variance"], data=data, law=law, **equal)
    return [
        select_rows(rows, images=images, n=n, sigma=sigma)
        for images in np.unique(rows["images"])
        for n in np.unique(rows["n"])
        for sigma in np.unique(rows["sigma"])
    ]


def measured(reduce, law, data=PICTURES, **equal):
    """One number a setting."""
    return lambda tables: [reduce(r) for r in settings(tables, law, data, **equal)]


def rank_correlation(rows):
    """Spearman correlation of measured and predicted variances over the inputs."""
    correlation, _ = spearmanr(rows["measured"], rows["predicted"])
    return correlation


def nearer(tables):
    """Quotients of the distances of the two laws from the measurement."""
    moments, gaussian = (
        np.abs(np.log(measured(ratio, law)(tables)))
        for law in ("fourth moments", "Gaussian law")
    )
    return moments / gaussian


CLAIMS = [
    Claim(
        "surrogate",
        "on Gaussian data of the same covariance the total variance of the inputs is "
        "that of the law (ratio, by pictures, size and level)",
        "derivation; an earlier measurement on other pictures gave 0.996 to 1.004",
        measure=measured(ratio, "Gaussian law", GAUSSIAN),
        target=1.0,
        tolerance=0.04,
    ),
    Claim(
        "tails",
        "on pictures the Gaussian law is low (least ratio of measured and predicted)",
        "measurement on Fashion-MNIST and MNIST, which gave 1.03 to 1.26",
        measure=lambda tables: min(measured(ratio, "Gaussian law")(tables)),
        target=1.03,
        relation=">",
    ),
    Claim(
        "tails of garments",
        "on Fashion-MNIST the ratio is 1.03 to 1.26",
        "measurement on Fashion-MNIST and MNIST",
        measure=measured(ratio, "Gaussian law", images=FASHION),
        target=1.145,
        tolerance=0.125,
        quick=False,
        expected=False,
        reason="It is 1.2 to 1.3 at noise 0.5 and 1.3 to 1.6 at noise 0.1: with more "
        "samples or less noise the tails of the pictures count more.",
    ),
    Claim(
        "order",
        "the law tells which inputs vary most (Spearman correlation over inputs)",
        "measurement on Fashion-MNIST and MNIST, which gave 0.86 to 0.98",
        measure=measured(rank_correlation, "Gaussian law"),
        target=0.86,
        relation=">",
    ),
    Claim(
        "moments",
        "with the fourth moments the ratio at noise 0.5 is 0.94 to 1 on Fashion-MNIST",
        "measurement on Fashion-MNIST and MNIST, which gave 0.94 to 0.98, n >= 300",
        measure=measured(ratio, "fourth moments", images=FASHION, sigma=0.5),
        target=0.97,
        tolerance=0.03,
        quick=False,
    ),
    Claim(
        "nearer",
        "the fourth moments bring every ratio nearer to 1 (largest quotient of the "
        "logarithms)",
        "derivation, variance with fourth moments; the bound is ours",
        measure=lambda tables: max(nearer(tables)),
        target=1.0,
        relation="<",
    ),
]


def plot(tables, out):
    """Measured against predicted variances, an input a dot."""
    names = list(dict.fromkeys(tables["variance"]["images"]))
    panels = [(GAUSSIAN, names[0]), *((PICTURES, name) for name in names)]
    caption = (
        "Variance over training sets of each denoised picture against its prediction, "
        "at the largest sample size and noise. First: Gaussian data of the same "
        "covariance. Then: pictures, by the Gaussian law and that with fourth moments."
    )
    with out.figure(
        "variance", width="page", height=2.7, caption=caption, ncols=len(panels)
    ) as (_, axes):
        for panel, (data, name) in zip(axes, panels):
            laws = LAWS[:1] if data == GAUSSIAN else (LAWS[0], LAWS[2])
            for law, marker in zip(laws, "ox"):
                rows = settings(tables, law, data, images=name)[-1]
                panel.loglog(
                    rows["predicted"], rows["measured"], marker, ms=3, label=law
                )
            ends = rows["predicted"].min(), rows["predicted"].max()
            panel.loglog(ends, ends, "k:", linewidth=0.8)
            panel.set(title=name if data == PICTURES else data, xlabel="predicted")
            for axis in (panel.xaxis, panel.yaxis):
                low, high = axis.get_view_interval()
                shown = [x for x in LEVELS if low < x < high]
                axis.set_ticks(shown, [f"{x:g}" for x in shown])
                axis.set_ticks([], minor=True)
        axes[0].set_ylabel("measured variance")
        axes[-1].legend()


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="4 min on two cores",
    plot=plot,
)
def run(config, out):
    rows = []
    for images in config.images:
        population = load_pictures(images)
        z, eigs = eigen_coordinates(population), population.fit.eigs
        k_inputs, k_noise = jax.random.split(out.key)
        chosen = jax.random.randint(k_inputs, (config.n_inputs,), 0, len(z))
        y = z[chosen], jax.random.normal(k_noise, (config.n_inputs, len(eigs)))
        result = sweep(
            functools.partial(denoised, z, eigs, y),
            Static(data=[GAUSSIAN, PICTURES], n=config.sizes)
            * Grid(sigma=config.sigmas),
            seeds=config.n_splits,
            base_seed=out.seed,
            out=out.path / f"sweep-{images}",
            dims={"out": ("input", "mode")},
        )
        variances = result["out"].var("seed", ddof=1).sum("mode")
        for data in (GAUSSIAN, PICTURES):
            for n in config.sizes:
                for sigma in config.sigmas:
                    seen = variances.sel(data=data, n=n, sigma=sigma).values
                    noisy = y[0] + sigma * y[1]
                    found = laws(z, eigs, noisy, sigma, n, data)
                    for law, predicted in found.items():
                        about = {
                            "images": images, "data": data, "n": n, "sigma": sigma,
                            "law": law,
                        }  # fmt: skip
                        rows += [
                            {**about, "predicted": p, "measured": m}
                            for p, m in zip(np.asarray(predicted), seen)
                        ]
    return {"variance": table_from_rows(rows)}
