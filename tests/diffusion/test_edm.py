"""Preconditioning, noise levels and the loss, against what defines them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from jaxrepro.diffusion import (
    denoising_loss,
    edm_loss_weight,
    edm_scalings,
    karras_levels,
    lognormal_levels,
)

SIGMAS = np.geomspace(1e-3, 100, 7)


@pytest.mark.parametrize("sigma_data", [0.1, 0.5, 3.0])
def test_inputs_and_targets_of_the_network_have_unit_variance(sigma_data):
    rng = np.random.default_rng(0)
    y = sigma_data * rng.normal(size=(200_000, 1))
    x = y + SIGMAS * rng.normal(size=(200_000, 7))
    c = edm_scalings(SIGMAS, sigma_data=sigma_data)
    # The standard error of a variance of 200,000 normal numbers is 0.3 %.
    np.testing.assert_allclose((c.inp * x).var(0), 1, rtol=0.015)
    np.testing.assert_allclose(((y - c.skip * x) / c.out).var(0), 1, rtol=0.015)
    # The skip is the best linear estimate of the data: the error does not depend on x.
    errors = y - np.asarray(c.skip) * x
    correlations = [np.corrcoef(e, z)[0, 1] for e, z in zip(errors.T, x.T)]
    assert np.abs(correlations).max() < 0.01
    np.testing.assert_allclose(c.noise, np.log(SIGMAS) / 4)
    weight = edm_loss_weight(SIGMAS, sigma_data=sigma_data)
    expected = (SIGMAS**2 + sigma_data**2) / (SIGMAS * sigma_data) ** 2
    np.testing.assert_allclose(weight, expected, rtol=1e-12)


def test_extreme_levels_stay_finite():
    with jax.enable_x64(False):
        for sigma in (1e-18, 1e18):
            c = edm_scalings(np.float32(sigma))
            assert np.isfinite(np.array(c)).all()
    assert np.isnan(jax.jit(edm_scalings)(jnp.array([-1.0, 0.0])).out).all()


def test_karras_levels():
    levels = np.asarray(karras_levels(18))
    i = np.arange(18)
    power = 1 / 7
    formula = (80**power + i / 17 * (0.002**power - 80**power)) ** 7
    np.testing.assert_allclose(levels[:-1], formula, rtol=1e-12)
    assert levels[-1] == 0
    assert (levels[0], levels[-2]) == (80, 0.002)
    np.testing.assert_allclose(karras_levels(3, rho=1.0, sigma_max=1.0)[1], 0.501)
    assert np.isnan(jax.jit(lambda s: karras_levels(4, sigma_min=s))(100.0)[1:-1]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": 1}, "n_steps: "),
        ({"n_steps": 4, "sigma_min": 2.0, "sigma_max": 1.0}, "sigma_min: .*below"),
        ({"n_steps": 4, "rho": 0.0}, "rho: "),
        ({"n_steps": 4, "sigma_max": np.inf}, "sigma_max: "),
    ],
)
def test_errors_of_levels(arguments, message):
    with pytest.raises(ValueError, match=message):
        karras_levels(**arguments)


def test_lognormal_levels():
    levels = lognormal_levels(jax.random.key(3), (4000,), mean=0.5, std=0.3)
    assert kstest((np.log(levels) - 0.5) / 0.3, "norm").pvalue > 1e-3
    with pytest.raises(ValueError, match="std: "):
        lognormal_levels(jax.random.key(3), std=-1.0)


def test_loss():
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(2, 5, 3, 2))
    sigma = rng.uniform(0.1, 2, 5)

    def apply(scale, x, sigma):
        return scale * x / sigma[:, None, None]

    total = 0.0
    for xi, e, s in zip(x, noise, sigma):
        error = 0.7 * (xi + s * e) / s - xi
        total += (s**2 + 4) / (2 * s) ** 2 * (error**2).mean()
    value = denoising_loss(0.7, x, noise, sigma, sigma_data=2.0, apply=apply)
    np.testing.assert_allclose(value, total / 5, rtol=1e-12)


@pytest.mark.usefixtures("plain_errors")
def test_errors_of_the_loss():
    x, sigma = np.ones((4, 2)), np.ones(4)
    apply = lambda params, x, sigma: x
    with pytest.raises(ValueError, match="noise: "):
        denoising_loss(None, x, x[:3], sigma, apply=apply)
    with pytest.raises(ValueError, match="sigma: "):
        denoising_loss(None, x, x, sigma[:3], apply=apply)
    with pytest.raises(ValueError, match="sigma: "):
        denoising_loss(None, x, x, 0 * sigma, apply=apply)
    with pytest.raises(TypeError, match="apply: "):
        denoising_loss(None, x, x, sigma, apply="mean")
    with pytest.raises(ValueError, match="sigma: "):
        edm_scalings(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="sigma_data: "):
        edm_loss_weight(1.0, sigma_data=-1.0)
