"""Experiments on random matrices: tiny runs, a trial against the model, the claims."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.rmt import denoiser_variance, kappa_renormalisation
from jaxrepro.experiment import experiment_names, run_experiment
from jaxrepro.rmt import fit_gaussian, linear_denoiser

pytest.importorskip("sklearn")

MODULES = [denoiser_variance, kappa_renormalisation]
CONFIGS = {
    "denoiser_variance": denoiser_variance.Config(
        sizes=(40, 80), n_splits=6, n_inputs=5, stride=40
    ),
    "kappa_renormalisation": kappa_renormalisation.Config(
        dimension=192, ratios=(0.5, 2.0), n_noises=5, stride=40
    ),
}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_run(module, tmp_path):
    name = module.__name__.split(".")[-1]
    result = run_experiment(module.run, CONFIGS[name], results=tmp_path, quick=True)
    assert (result.status, result.error, result.plot_error) == ("complete", "", "")
    assert all(claim.verdict != "error" for claim in result.claims), result.claims
    assert list((result.folder / "figures").glob("*.png"))
    assert f"rmt/{name}" in experiment_names("experiments")


@pytest.mark.parametrize(
    "data", [denoiser_variance.GAUSSIAN, denoiser_variance.PATCHES]
)
def test_trial_is_the_denoiser_of_a_training_set(data, x64, getkey):
    rng = np.random.default_rng(0)
    z, eigs = jnp.asarray(rng.normal(size=(30, 4))), jnp.array([2.0, 1.0, 0.5, 0.1])
    y, key = tuple(jnp.asarray(rng.normal(size=(2, 3, 4)))), getkey()
    trial = denoiser_variance.denoised
    out = trial(z, eigs, y, key, {"sigma": 0.3}, n=20, data=data)["out"]
    if data == denoiser_variance.PATCHES:
        x = z[jax.random.randint(key, (20,), 0, 30)]
    else:
        x = jnp.sqrt(eigs) * jax.random.normal(key, (20, 4))
    want = linear_denoiser(y[0] + 0.3 * y[1], 0.3, *fit_gaussian(x))
    np.testing.assert_allclose(out, want, 1e-10)


def test_claims_on_variances():
    def table(ratios):
        rows = {"data": [], "law": [], "n": [], "sigma": [], "predicted": []}
        for (data, law), _ in ratios.items():
            for predicted in (1.0, 2.0, 3.0):
                for name, value in zip(rows, (data, law, 300, 0.5, predicted)):
                    rows[name].append(value)
        rows = {name: np.array(values) for name, values in rows.items()}
        scale = np.repeat([x for x in ratios.values()], 3)
        return {"variance": rows | {"measured": scale * rows["predicted"]}}

    gaussian, patches = denoiser_variance.GAUSSIAN, denoiser_variance.PATCHES
    tables = table(
        {
            (gaussian, "Gaussian law"): 1.01,
            (patches, "Gaussian law"): 2.0,
            (patches, "fourth moments"): 0.9,
        }
    )
    claims = {claim.name: claim for claim in denoiser_variance.CLAIMS}
    values = {
        "surrogate": [1.01], "tails": 2.0, "order": [1.0], "moments": [0.9],
        "nearer": np.log(1 / 0.9) / np.log(2),
    }  # fmt: skip
    for name, value in values.items():
        np.testing.assert_allclose(claims[name].measure(tables), value, 1e-9)
