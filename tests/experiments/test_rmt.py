"""Experiments on random matrices: tiny runs, a trial against the model, the claims."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.rmt import (
    _images,
    cross_split,
    denoiser_variance,
    dnn_consistency,
    kappa_renormalisation,
    losses,
    overshrinkage,
    ridge_and_spectra,
    sampling_map,
    sweep,
)
from jaxrepro.experiment import experiment_names, run_experiment
from jaxrepro.rmt import dsm_losses, fit_gaussian, linear_denoiser

pytest.importorskip("sklearn")

PHOTOS = _images.PHOTOS
CONFIGS = {
    cross_split: {"images": PHOTOS, "sizes": (30, 60), "n_pairs": 3, "n_seeds": 4},
    denoiser_variance: {
        "images": (PHOTOS,), "sizes": (40, 80), "n_splits": 6, "n_inputs": 5,
    },
    dnn_consistency: {
        "images": PHOTOS, "networks": ("MLP",), "sizes": (20, 40), "group_size": 40,
        "n_train": 3, "batch_size": 4, "chunk": 2, "n_seeds": 4, "n_levels": 3,
    },
    kappa_renormalisation: {
        "dimension": 192, "ratios": (0.5, 2.0), "n_noises": 5, "stride": 40,
    },
    losses: {"dimension": 12, "ratios": (0.5, 1.0), "n_models": 4},
    overshrinkage: {"images": PHOTOS, "sizes": (30, 60), "n_splits": 4},
    ridge_and_spectra: {
        "dimension": 8, "ratios": (0.5, 1.0), "ridges": (0.01,), "n_fits": 4,
        "n_spectra": 2, "spectrum_ratios": (0.5,), "n_points": 20,
    },
    sampling_map: {
        "dimension": 8, "sizes": (6, 12), "n_models": 4, "n_seeds": 5, "n_steps": 4,
    },
    sweep: {"dimension": 512, "exponents": (1.5, 2.0), "n_sizes": 11, "n_sigmas": 2},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _few_photographs():
    """The patches of the photographs, few of them, read once."""
    load = _images.load_photo_patches
    few = load(6, stride=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_images, "load_photo_patches", lambda size, stride: few)
        yield


@pytest.mark.parametrize("module", CONFIGS, ids=lambda module: module.__name__)
def test_run(module, tmp_path):
    name = module.__name__.split(".")[-1]
    config = module.Config(**CONFIGS[module])
    result = run_experiment(module.run, config, results=tmp_path, quick=True)
    assert (result.status, result.error, result.plot_error) == ("complete", "", "")
    assert all(claim.verdict != "error" for claim in result.claims), result.claims
    assert list((result.folder / "figures").glob("*.png"))
    assert f"rmt/{name}" in experiment_names("experiments")


@pytest.mark.parametrize(
    "data", [denoiser_variance.GAUSSIAN, denoiser_variance.PICTURES]
)
def test_trial_is_the_denoiser_of_a_training_set(data, x64, getkey):
    rng = np.random.default_rng(0)
    z, eigs = jnp.asarray(rng.normal(size=(30, 4))), jnp.array([2.0, 1.0, 0.5, 0.1])
    y, key = tuple(jnp.asarray(rng.normal(size=(2, 3, 4)))), getkey()
    trial = denoiser_variance.denoised
    out = trial(z, eigs, y, key, {"sigma": 0.3}, n=20, data=data)["out"]
    if data == denoiser_variance.PICTURES:
        x = z[jax.random.randint(key, (20,), 0, 30)]
    else:
        x = jnp.sqrt(eigs) * jax.random.normal(key, (20, 4))
    want = linear_denoiser(y[0] + 0.3 * y[1], 0.3, *fit_gaussian(x))
    np.testing.assert_allclose(out, want, 1e-10)


def test_claims_on_variances():
    def table(ratios):
        names = ("images", "data", "law", "n", "sigma", "predicted")
        rows = {name: [] for name in names}
        for data, law in ratios:
            for predicted in (1.0, 2.0, 3.0):
                values = (_images.FASHION, data, law, 300, 0.5, predicted)
                for name, value in zip(names, values):
                    rows[name].append(value)
        rows = {name: np.array(values) for name, values in rows.items()}
        scale = np.repeat(list(ratios.values()), 3)
        return {"variance": rows | {"measured": scale * rows["predicted"]}}

    gaussian, pictures = denoiser_variance.GAUSSIAN, denoiser_variance.PICTURES
    tables = table(
        {
            (gaussian, "Gaussian law"): 1.01,
            (pictures, "Gaussian law"): 2.0,
            (pictures, "fourth moments"): 0.9,
        }
    )
    claims = {claim.name: claim for claim in denoiser_variance.CLAIMS}
    values = {
        "surrogate": [1.01], "tails": 2.0, "tails of garments": [2.0], "order": [1.0],
        "moments": [0.9], "nearer": np.log(1 / 0.9) / np.log(2),
    }  # fmt: skip
    for name, value in values.items():
        np.testing.assert_allclose(claims[name].measure(tables), value, 1e-9)


def test_best_ridge_is_the_least_of_a_scan(x64):
    eigs = jnp.array([3.0, 1.0, 0.4, 0.1, 0.05])
    rho = losses.best_ridge(eigs, 0.5, 4)
    scan = np.geomspace(1e-6, 10, 4001)
    best = jax.vmap(lambda r: dsm_losses(0.5, 4, eigs, rho=r).test)(scan).min()
    at = dsm_losses(0.5, 4, eigs, rho=rho).test
    assert best * (1 - 1e-4) <= at <= best * (1 + 1e-12)


def test_measured_losses_by_definition(x64, getkey):
    """The losses of one training set, against averages over noise and data."""
    rng = np.random.default_rng(0)
    eigs, n, sigma, key = jnp.array([2.0, 0.5, 0.1]), 6, 0.4, getkey()
    found = losses.measured(eigs, key, {"sigma": sigma, "rho": 0.3}, n=n)
    x = np.asarray(jnp.sqrt(eigs) * jax.random.normal(key, (n, 3)))
    noise = sigma * rng.normal(size=(200_000, 3))

    def loss(points, rho):
        cov = np.cov(x.T, ddof=0)
        gain = cov @ np.linalg.inv(cov + (sigma**2 + rho) * np.eye(3))
        mean = x.mean(0)
        error = mean + (points + noise - mean) @ gain - points
        values = (error**2).sum(1)
        return values.mean(), 5 * values.std() / np.sqrt(len(values))

    seen = x[rng.integers(0, n, len(noise))]
    new = rng.normal(size=noise.shape) * np.sqrt(eigs)
    pairs = [("train", seen, 0.0), ("test", new, 0.0), ("tuned", new, 0.3)]
    for name, points, rho in pairs:
        value, error = loss(points, rho)
        assert abs(found[name] - value) < error, name


def test_function_of_a_covariance_by_definition(x64):
    from experiments.rmt import _samples

    root = np.random.default_rng(0).normal(size=(5, 5))
    cov = jnp.asarray(root @ root.T)
    np.testing.assert_allclose(
        _samples.function_of(cov, jnp.sqrt) @ _samples.function_of(cov, jnp.sqrt), cov
    )
    np.testing.assert_allclose(
        _samples.shrinkage(cov, 0.3),
        _samples.function_of(cov, lambda s: s / (s + 0.09)),
        atol=1e-10,
    )


def test_images_by_name():
    with pytest.raises(ValueError, match="images: .*photographs"):
        _images.load_pictures("holiday")
    found = _images.load_pictures(PHOTOS)
    assert found.x.shape[1:] == (6, 6, 1)
    assert found.fit.eigs.shape == (36,)
    spread = found.x - found.x.mean(0)
    np.testing.assert_allclose(found.deviation, np.sqrt((spread**2).mean()), 1e-3)
