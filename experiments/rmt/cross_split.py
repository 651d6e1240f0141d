"""How far two linear diffusion models of disjoint samples disagree, and until when.

Pairs of models are fitted to independent samples of pictures and generate from the
same noises. Their squared difference falls with the sample size as predicted, the modes
agree one after the other, and the sample size planned for a tolerance reaches it.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro.experiment import Claim, experiment, select_rows, table_from_rows
from jaxrepro.rmt import consistency_coefficient, plan_samples, sampling_cross_split
from jaxrepro.sweep import Static, sweep

from ._images import FASHION, PHOTOS, eigen_coordinates, load_pictures
from ._samples import covariance, function_of, gaussian_rows, some_rows

SURROGATE, PICTURES = "Gaussian surrogate", "pictures"


@dataclass(frozen=True)
class Config:
    """Settings."""

    images: str = FASHION
    """Fashion-MNIST, MNIST or photographs."""
    sizes: tuple[int, ...] = (30, 100, 300, 1000, 3000)
    """Training samples of each model."""
    tolerance: float = 0.05
    """Share of the difference of unrelated data for which a size is planned."""
    n_pairs: int = 200
    """Pairs of models of each size."""
    n_seeds: int = 64
    """Noises."""
    sigma_0: float = 0.1
    """Noise level at which generation ends."""


QUICK = {"images": PHOTOS, "sizes": (30, 1000), "n_pairs": 40, "n_seeds": 32}
PAPERS = ("wang2026random",)


def compared(z, eigs, noise, key, params, *, n, data, sigma_0):
    """A trial: two models on the same noises."""
    outputs = []
    for half in jax.random.split(key):
        rows = (
            some_rows(half, n, z) if data == PICTURES else gaussian_rows(half, n, eigs)
        )
        mean, cov = covariance(rows)
        generated = function_of(cov, lambda s: jnp.sqrt(s + sigma_0**2))
        outputs.append(mean + noise @ generated)
    one, two = outputs
    return {
        "difference": jnp.mean((one - two) ** 2, axis=0),
        "product": jnp.mean(one * two, axis=0),
        "square": jnp.mean((one**2 + two**2) / 2, axis=0),
    }


def measured_ratio(tables, data):
    """Measured over predicted difference, by sample size."""
    rows = select_rows(tables["difference"], data=data)
    return rows["measured"] / rows["predicted"]


def mode_ratio(tables):
    """Measured over predicted difference, a mean over modes, by sample size."""
    return select_rows(tables["difference"], data=SURROGATE)["mode_ratio"]


def slope(tables):
    """Slope of the predicted difference between the two largest sizes."""
    rows = select_rows(tables["difference"], data=SURROGATE)
    steps = np.diff(np.log(rows["predicted"])) / np.diff(np.log(rows["n"]))
    return steps[-1]


def coefficient_error(tables):
    """Root mean square error of the coefficient over modes, by size."""
    table = select_rows(tables["coefficient"], data=SURROGATE)
    rows = [select_rows(table, n=n) for n in np.unique(table["n"])]
    return [np.sqrt(np.mean((r["measured"] - r["predicted"]) ** 2)) for r in rows]


CLAIMS = [
    Claim(
        "surrogate",
        "along every mode models of Gaussian data of the same covariance differ as "
        "predicted (measured over predicted, a mean over modes, by sample size)",
        "derivation; an earlier measurement gave 0.98 to 1.03",
        measure=mode_ratio,
        target=1.0,
        tolerance=0.05,
    ),
    Claim(
        "pictures",
        "models of pictures differ by more, since these are not Gaussian (measured "
        "over predicted, by sample size)",
        "measurement on Fashion-MNIST: 1.16, 1.29 and 1.17",
        measure=lambda tables: measured_ratio(tables, PICTURES),
        target=1.2,
        tolerance=0.3,
        quick=False,
    ),
    Claim(
        "rate",
        "once all modes are known the difference falls like 1/n (slope between the two "
        "largest sizes)",
        "paper, scaling of the disagreement with the sample size",
        measure=slope,
        target=-1.0,
        tolerance=0.1,
    ),
    Claim(
        "saturation",
        "with few samples there are modes along which two models have little in common "
        "(least correlation at the smallest size)",
        "paper, disagreement of models of small samples; the bound is ours",
        measure=lambda tables: select_rows(
            tables["coefficient"],
            data=SURROGATE,
            n=tables["coefficient"]["n"].min(),
        )["measured"].min(),
        target=0.5,
        relation="<",
    ),
    Claim(
        "coefficient",
        "correlations of the two outputs along each mode are those of the theory (root "
        "mean square error, by sample size)",
        "derivation; the bound is ours",
        measure=coefficient_error,
        target=0.07,
        relation="<",
    ),
    Claim(
        "plan",
        "the sample size planned for a tolerance reaches it on Gaussian data (measured "
        "difference over the tolerance)",
        "derivation",
        measure=lambda tables: tables["plan"]["measured"] / tables["plan"]["tolerance"],
        target=1.0,
        tolerance=0.1,
        quick=False,
    ),
]


def plot(tables, out):
    """Difference against the sample size, and agreement by mode."""
    with out.figure(
        "difference",
        width="page",
        height=2.8,
        caption="Left: mean squared difference of what two models generate from one "
        "noise, in units of that of unrelated data, against the sample size; the line "
        "is predicted, the cross is the planned size. Right: correlation of the two "
        "outputs along each mode, dots for pictures, lines predicted.",
        ncols=2,
    ) as (_, axes):
        for data, marker in ((SURROGATE, "o"), (PICTURES, "s")):
            rows = select_rows(tables["difference"], data=data)
            axes[0].loglog(rows["n"], rows["measured"], marker, ms=4, label=data)
        axes[0].loglog(rows["n"], rows["predicted"], "k-", linewidth=0.8)
        plan = tables["plan"]
        axes[0].loglog(plan["n"], plan["tolerance"], "kx", label="planned")
        axes[0].set(xlabel="samples of each model", ylabel="relative difference")
        axes[0].legend()
        table = select_rows(tables["coefficient"], data=PICTURES)
        for n in np.unique(table["n"])[1:]:
            rows = select_rows(table, n=n)
            (line,) = axes[1].semilogx(
                rows["variance"], rows["predicted"], label=f"n = {n}"
            )
            axes[1].semilogx(
                rows["variance"], rows["measured"], ".", ms=3, color=line.get_color()
            )
        axes[1].set(xlabel="variance of the mode", ylabel="correlation")
        axes[1].legend()


@experiment(
    config=Config,
    quick=QUICK,
    claims=CLAIMS,
    papers=PAPERS,
    cost="3 min on two cores",
    plot=plot,
)
def run(config, out):
    population = load_pictures(config.images)
    z, eigs = eigen_coordinates(population), population.fit.eigs
    noise = jax.random.normal(out.key, (config.n_seeds, len(eigs)))
    plan = plan_samples(eigs, config.tolerance, sigma_0=config.sigma_0)
    options = {"sigma_0": [config.sigma_0]}
    fn = functools.partial(compared, z, eigs, noise)
    names = ("difference", "product", "square")
    dims = {name: ("mode",) for name in names}
    shared = {"seeds": config.n_pairs, "base_seed": out.seed, "dims": dims}
    result = sweep(
        fn,
        Static(data=[SURROGATE, PICTURES], n=config.sizes, **options),
        out=out.path / "sweep",
        **shared,
    )
    planned = sweep(
        fn,
        Static(data=[SURROGATE], n=[plan.n], **options),
        out=out.path / "planned",
        **shared,
    )
    unit = 2 * float(jnp.sum(eigs))
    means = result.mean("seed").squeeze()
    differences, coefficients = [], []
    for n in config.sizes:
        law = sampling_cross_split(noise, n, n, eigs, sigma_0=config.sigma_0)
        agreement = consistency_coefficient(n, eigs, sigma_0=config.sigma_0)
        for data in (SURROGATE, PICTURES):
            about = {"data": data, "n": n}
            at = means.sel(data=data, n=n)
            differences.append(
                {
                    **about,
                    "measured": float(at["difference"].sum()) / unit,
                    "predicted": float(jnp.sum(jnp.mean(law, axis=0))) / unit,
                    "mode_ratio": float(
                        np.mean(at["difference"].values / np.mean(law, axis=0))
                    ),
                }
            )
            correlation = (at["product"] / at["square"]).values
            coefficients += [
                {
                    **about,
                    "variance": float(v),
                    "measured": float(m),
                    "predicted": float(p),
                }
                for v, m, p in zip(eigs, correlation, agreement)
            ]
    return {
        "difference": table_from_rows(differences),
        "coefficient": table_from_rows(coefficients),
        "plan": {
            "n": [plan.n],
            "tolerance": [config.tolerance],
            "measured": [float(planned["difference"].mean("seed").sum()) / unit],
        },
    }
