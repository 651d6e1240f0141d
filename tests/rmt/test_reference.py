"""The reference file, block by block."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro import rmt

pytestmark = [pytest.mark.reference, pytest.mark.usefixtures("x64")]


def test_edges_and_density(reference):
    for name, rows in reference["edges"].items():
        n, left, right = (
            np.array([r[k] for r in rows]) for k in ("n", "left", "right")
        )
        edges = rmt.support_edges(n, np.array(reference["spectra"][name]))
        np.testing.assert_allclose(edges.left, left, 1e-9, atol=1e-15)
        np.testing.assert_allclose(edges.right, right, 1e-9)
    extras = reference["extras_l8"]
    x, rho = (np.array(extras["density"][k]) for k in ("x", "rho"))
    density = rmt.spectral_density(x, extras["n"], np.array(extras["eigs"]))
    np.testing.assert_allclose(density, rho, 1e-8)


@pytest.mark.parametrize(
    "name", ["sqrt_n5", "sqrt_n16", "edm_n16", "edm_n5", "mild_n12"]
)
def test_sampling_map(reference, name):
    row = reference["sampling_map"][name]
    eigs, n = np.array(row["eigs"]), row["n"]
    endless = row["sigmaT_sq"] is None
    levels = {
        "sigma_0": np.sqrt(row["sigma0_sq"]),
        "sigma_T": np.inf if endless else np.sqrt(row["sigmaT_sq"]),
    }
    options = levels | {"num_nodes": 40, "centered": False}
    gain = rmt.sampling_gain(n, eigs, **options)
    np.testing.assert_allclose(gain, row["gain"], 1e-9)

    first = rmt.sampling_variance(np.eye(8), n, eigs, wick="paper", **options).T
    np.testing.assert_allclose(first, row["var_first_wick"], 1e-7)
    full = rmt.sampling_variance(np.eye(8), n, eigs, **options).T
    own = np.diag(full) - np.diag(first)
    np.testing.assert_allclose(own, row["var_second_wick_diag"], 1e-7)
    assert np.all(full - first >= 0)

    # n + 1 samples with an estimated mean have the freedom of n with a known one.
    options |= {"centered": True, "ddof": 1}
    of_mean = (n + 1) * rmt.sampling_variance(np.zeros(8), n + 1, eigs, **options)
    want = eigs if endless else row["mean_estimation_var_times_n"]
    np.testing.assert_allclose(of_mean, want, 1e-9)

    # The sum over all pairs of nodes is a difference of moments.
    options |= {"centered": False, "ddof": 0}
    mean = rmt.sampling_variance_seed_average(n, eigs, wick="paper", **options)
    moment = rmt.sampling_second_moment(n, eigs, centered=False, **levels)
    scale = 1 if endless else row["sigmaT_sq"]
    np.testing.assert_allclose(mean, scale * (moment - gain**2), 1e-8)
    seeds = scale**0.5 * np.eye(8)
    each = rmt.sampling_variance(seeds, n, eigs, wick="paper", **options)
    np.testing.assert_allclose(each.sum(0), mean, 1e-12)


def test_sampling_gain_of_the_page():
    eigs = np.array([4.0, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.01])
    gain = rmt.sampling_gain(5, eigs, num_nodes=40, centered=False)
    np.testing.assert_allclose(gain[0], 1.8474406316321443, 1e-9)
    np.testing.assert_allclose(gain[-1], 0.019411626815138687, 1e-9)


@pytest.mark.parametrize("name", ["d8_n6", "d8_n24", "d8_n24_low"])
def test_denoiser(reference, name):
    row = reference["denoiser_mc"][name]
    eigs, n, sigma = np.array(row["eigs"]), row["n"], np.sqrt(row["sigma2"])
    for order, key in ((0, "de_gain"), (1, "oneloop_gain")):
        gain = rmt.denoiser_gain(sigma, n, eigs, order=order, centered=False)
        np.testing.assert_allclose(gain, row[key], 1e-8)
    variance = rmt.denoiser_variance(np.eye(8), sigma, n, eigs, centered=False).T
    np.testing.assert_allclose(variance, row["theory_var"], 1e-8)
    if n >= 24:
        error = np.abs(gain - np.array(row["mc_gain"]))
        assert np.all(error < 4 * np.array(row["mc_gain_se"]))


@pytest.mark.parametrize("number", range(5))
def test_losses_and_divergences(reference, number):
    row = reference["losses"][number]
    eigs, n, ddof = (
        np.array(reference["spectra"][row["spectrum"]]),
        row["n"],
        row["ddof"],
    )
    sigma, rho = np.sqrt(row["sigma2"]), row["lam"] - row["sigma2"]
    losses = rmt.dsm_losses(sigma, n, eigs, rho=rho, ddof=ddof)
    got = {
        "test": losses.test,
        "mmse": losses.mmse,
        "bias_term": losses.bias,
        "noise_term": losses.noise,
    }
    if ddof == 0:  # with 1 the file has not the loss at the training samples
        got["train"] = losses.train
    for order, suffix in ((0, ""), (1, "_oneloop")):
        options = {"ddof": ddof, "order": order}
        got["logdet" + suffix] = rmt.logdet_equivalent(row["lam"], n, eigs, **options)
        for direction, key in (("forward", "kl_pop_hat"), ("reverse", "kl_hat_pop")):
            got[key + suffix] = rmt.gaussian_kl_equivalent(
                row["lam"], n, eigs, direction=direction, **options
            )
    for key, value in got.items():
        np.testing.assert_allclose(value, row[key], 1e-8, err_msg=key)
    for key, (mean, error) in row["mc"].items():
        value = got.get(key + "_oneloop", got.get(key))
        if value is not None:
            assert abs(value - mean) < 4 * error + 0.01 * abs(mean), key


def test_quadrature(reference):
    row = reference["quadrature"]
    rule = rmt.sqrt_quadrature(row["m"], row["M"], row["N"])
    np.testing.assert_allclose(rule.nodes, row["v2"], 1e-12)
    np.testing.assert_allclose(rule.weights, row["W"], 1e-12)


def test_bures(reference):
    for row in reference["bures"]:
        eigs, n = np.array(reference["spectra"][row["spectrum"]]), row["n"]
        got = rmt.bures_equivalent(n, eigs, ddof=row["ddof"])
        np.testing.assert_allclose(got, row["bures_sq_pop"], 1e-8)
        got = rmt.bures_cross_split(n, n, eigs, ddof=row["ddof"])
        np.testing.assert_allclose(got, row["bures_sq_cross_split"], 1e-8)


def test_ridge(reference):
    for row in reference["ridge"]:
        eigs = np.array(reference["spectra"][row["spectrum"]])
        w = np.full(len(eigs), len(eigs) ** -0.5)
        noise = {"noise_var": row["noise"] ** 2}
        curves = rmt.ridge_curves(row["ridge"], row["n"], eigs, w, **noise)
        np.testing.assert_allclose(curves.test, row["test"], 1e-8)
        np.testing.assert_allclose(curves.train, row["train"], 1e-8, atol=1e-15)


@pytest.mark.parametrize("kind", ["euler", "heun"])
def test_discrete_sampler(reference, kind):
    row = reference["discrete_sampler"]
    eigs, sigmas = np.array(row["eigs"]), jnp.array(row["sigmas"])
    smallest = np.min(sigmas[sigmas > 0])
    gain = rmt.spectral_function_mean(
        lambda s: rmt.discrete_sampler_factor(s, sigmas, kind=kind),
        row["n"],
        eigs,
        a=smallest**2 / 2,
        num_nodes=56,
        centered=False,
    )
    np.testing.assert_allclose(gain, row[f"{kind}_gain"], 1e-8)
