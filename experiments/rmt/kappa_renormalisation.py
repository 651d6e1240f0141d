"""How a finite sample renormalises the noise level of a linear denoiser.

The denoiser of n samples acts on average like the population's at a larger noise
variance kappa. For a power law and for the spectrum of natural image patches, kappa is
drawn against the noise variance for sample sizes below and above the dimension.
"""

from dataclasses import dataclass

import numpy as np

from jaxrepro.data import load_photo_patches
from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.rmt import fit_gaussian, kappa_info, support_edges

POWER_LAW, PATCHES = "power law", "image patches"


@dataclass(frozen=True)
class Config:
    """Settings."""

    exponent: float = 1.0
    """Eigenvalues of the power law fall like the mode's number to this power."""
    dimension: int = 192
    """Modes of the power law, as many as an image patch has numbers."""
    ratios: tuple[float, ...] = (0.1, 0.5, 0.9, 2.0, 5.0, 25.0)
    """Dimension divided by the number of samples."""
    n_noises: int = 81
    """Noise variances, from 1e-8 to 1e6 times the mean eigenvalue."""
    stride: int = 2
    """Pixels between image patches."""


QUICK = {"stride": 4}
PAPERS = ("wang2026random",)


def spectra(config):
    """Eigenvalues by name, with mean 1."""
    images = load_photo_patches(8, stride=config.stride).images
    eigs = {
        POWER_LAW: np.arange(1.0, config.dimension + 1) ** -config.exponent,
        PATCHES: np.asarray(fit_gaussian(images.reshape(len(images), -1)).eigs),
    }
    return {name: values / values.mean() for name, values in eigs.items()}


def curve(tables, spectrum, ratio):
    """Renormalised noise at all noise variances."""
    return select_rows(tables["kappa"], spectrum=spectrum, ratio=ratio)


def over_all(tables, measure, keep):
    """The largest of a figure over all spectra and the ratios that are kept."""
    ratios = [ratio for ratio in np.unique(tables["kappa"]["ratio"]) if keep(ratio)]
    return max(
        measure(curve(tables, name, ratio), ratio)
        for name in (POWER_LAW, PATCHES)
        for ratio in ratios
    )


def floor_error(rows, ratio):
    """How far kappa at the smallest noise is from a level that keeps n modes."""
    return abs(rows["df1"][0] * ratio / rows["dimension"][0] - 1)


def slope_error(rows, ratio):
    """How far kappa over the noise is from n / (n - d) at the smallest noise."""
    return abs(rows["kappa"][0] / rows["noise"][0] * (1 - ratio) - 1)


def shift_error(rows, ratio):
    """How far kappa minus the noise is from Tr / n at the largest noise, relative."""
    return abs((rows["kappa"][-1] - rows["noise"][-1]) / ratio - 1)


CLAIMS = [
    Claim(
        "floor",
        "with fewer samples than dimensions kappa has a floor, where as many degrees "
        "of freedom remain as there are samples (relative error at the least noise)",
        "paper, limit of the self-consistent equation",
        measure=lambda tables: over_all(tables, floor_error, lambda r: r > 1),
        target=1e-3,
        relation="<",
    ),
    Claim(
        "slope",
        "with more samples than dimensions kappa is n / (n - d) times a small noise "
        "(relative error at the least noise)",
        "derivation, limit of the self-consistent equation",
        measure=lambda tables: over_all(tables, slope_error, lambda r: r < 1),
        target=1e-2,
        relation="<",
    ),
    Claim(
        "shift",
        "far above the data kappa exceeds the noise variance by the trace over n "
        "(relative error at the largest noise)",
        "derivation, limit of the self-consistent equation",
        measure=lambda tables: over_all(tables, shift_error, lambda r: True),
        target=1e-2,
        relation="<",
    ),
    Claim(
        "growth",
        "kappa grows with the noise and falls with the number of samples",
        "paper, figure of the renormalised noise, in words",
        measure=lambda tables: np.mean(
            [
                np.all(np.diff(curve(tables, name, ratio)["kappa"]) > 0)
                for name in (POWER_LAW, PATCHES)
                for ratio in np.unique(tables["kappa"]["ratio"])
            ]
            + [
                np.all(
                    curve(tables, name, more)["kappa"]
                    > curve(tables, name, less)["kappa"]
                )
                for name in (POWER_LAW, PATCHES)
                for less, more in zip(
                    np.unique(tables["kappa"]["ratio"])[:-1],
                    np.unique(tables["kappa"]["ratio"])[1:],
                )
            ]
        ),
        target=1.0,
        tolerance=0.0,
    ),
]


def plot(tables, out):
    """Renormalised noise against the noise, a panel a spectrum."""
    caption = (
        "Renormalised noise against the noise variance, both in units of the mean "
        "eigenvalue, for several ratios of dimension and sample size. Dotted: a "
        "renormalised noise that is the noise itself."
    )
    with out.figure("kappa", width="page", height=2.8, caption=caption, ncols=2) as (
        _,
        axes,
    ):
        for panel, name in zip(axes, (POWER_LAW, PATCHES)):
            for ratio in np.unique(tables["kappa"]["ratio"]):
                rows = curve(tables, name, ratio)
                panel.loglog(rows["noise"], rows["kappa"], label=f"d/n = {ratio:g}")
            panel.loglog(rows["noise"], rows["noise"], "k:", linewidth=0.8)
            panel.set(title=name, xlabel="noise variance", ylabel="renormalised noise")
        axes[0].legend(loc="lower right")


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="10 s on two cores",
    plot=plot,
    x64=True,
)
def run(config, out):
    noise = np.geomspace(1e-8, 1e6, config.n_noises)
    rows, edges = [], []
    for name, eigs in out.cached("spectra", spectra, config).items():
        d = len(eigs)
        for ratio in config.ratios:
            info = kappa_info(noise, d / ratio, eigs)
            about = {"spectrum": name, "ratio": ratio, "dimension": d}
            rows += [
                {**about, "noise": x, "kappa": kappa, "df1": df1}
                for x, kappa, df1 in zip(noise, info.kappa, info.df1)
            ]
            left, right = support_edges(d / ratio, eigs)
            edges.append({**about, "smallest": left, "largest": right})
    return {"kappa": table_from_rows(rows), "edges": table_from_rows(edges)}
