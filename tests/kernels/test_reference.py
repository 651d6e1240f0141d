"""Stored reference values: 50-digit arithmetic, or adaptive integration to 1e-13."""

import jax
import numpy as np
import pytest

from jaxrepro.kernels import (
    branch_schedule,
    cusp_slope,
    kappa0,
    kappa1,
    kappa1_minus_rho,
    limit_dual,
    resnet_kernels,
    resnet_nngp,
    resnet_ntk,
    rntk_dual,
    sphere_eigenvalues,
    theta_from_delta,
)

pytestmark = pytest.mark.reference
KINDS = {"const": "constant", "depth": "depth_power", "layer": "layer_power"}
FUNCTIONS = {
    "theta": theta_from_delta,
    "kappa0": kappa0,
    "kappa1": kappa1,
    "g": kappa1_minus_rho,
}


def schedule(entry):
    kind = KINDS.get(entry["schedule"], entry["schedule"])
    with jax.enable_x64(True):
        alphas = branch_schedule(entry["L"], kind, c=entry["c"], gamma=entry["gamma"])
    return np.asarray(alphas)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arc_cosine_functions(reference, name):
    delta = np.array([entry["delta"] for entry in reference["kappa"]])
    want = np.array([entry[name] for entry in reference["kappa"]])
    with jax.enable_x64(True):
        np.testing.assert_allclose(FUNCTIONS[name](delta), want, rtol=1e-13)
    single = FUNCTIONS[name](delta.astype(np.float32))
    np.testing.assert_allclose(single, want, rtol=0, atol=2e-6)


def test_dual_kernels(reference):
    for entry in reference["rntk"]:
        alphas, delta = schedule(entry), 1 - np.array(entry["rho0"])
        with jax.enable_x64(True):
            double = rntk_dual(delta, alphas)
            np.testing.assert_allclose(double.ntk, entry["r"], rtol=0, atol=1e-13)
            np.testing.assert_allclose(1 - double.delta, entry["rhoL"], atol=1e-13)
            assert rntk_dual(np.zeros(()), alphas).ntk == 1
            slope = cusp_slope(alphas)
            np.testing.assert_allclose(slope, entry["cusp_slope"], rtol=1e-12)
        single = rntk_dual(delta.astype(np.float32), alphas)
        np.testing.assert_allclose(single.ntk, entry["r"], rtol=0, atol=5e-6)
        assert rntk_dual(np.zeros((), np.float32), alphas).ntk == 1


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("case", range(3))
def test_general_kernels(reference, case):
    entry = reference["general"][case]
    x, y = np.array(entry["X"]), np.array(entry["Y"])
    other = None if np.array_equal(x, y) else y
    options = {
        "alphas": np.array(entry["alphas"]),
        "sigma_b": entry["sigma_b"],
        "c_in": entry["input_scale"],
        "residual_norm": False,
    }
    found = resnet_nngp(x, other, **options)
    np.testing.assert_allclose(found, entry["nngp"], rtol=1e-12)
    for group in "VWAv":
        found = resnet_ntk(x, other, train=(group,), **options)
        np.testing.assert_allclose(found, entry[group], rtol=1e-12, atol=1e-13)
    # The road over pairs, which a traced size of the biases takes.
    pairs = jax.jit(
        lambda s: resnet_kernels(x, other, **options | {"sigma_b": s}, train="VWAv")
    )(entry["sigma_b"])
    whole = resnet_kernels(x, other, **options, train="VWAv")
    np.testing.assert_allclose(pairs.nngp, whole.nngp, rtol=1e-11)
    # Near equal inputs the road over pairs knows the angle to the root of rounding.
    np.testing.assert_allclose(pairs.ntk, whole.ntk, rtol=1e-7)


@pytest.mark.usefixtures("x64")
def test_limits(reference):
    entry = reference["one_hidden"]
    found = limit_dual("one_hidden", 1 - np.array(entry["rho0"]))
    np.testing.assert_allclose(found, entry["r"], atol=1e-14)
    for entry in reference["half_limit"]:
        found = limit_dual("critical", 1 - np.array(entry["rho0"]), T=entry["T"])
        want = np.array(entry["rhoT_and_r"])[:, 1]
        np.testing.assert_allclose(found, want, atol=1e-10)


@pytest.mark.usefixtures("x64")
def test_degeneration(reference):
    for name, values in reference["degeneration_rho0"].items():
        alpha = float(name.removeprefix("alpha="))
        for depth, want in values.items():
            alphas = np.full(int(depth), alpha)
            found = rntk_dual(np.array(1.0), alphas).ntk
            np.testing.assert_allclose(found, want, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("x64")
def test_spectrum(reference):
    for entry in reference["spectrum"]:
        alphas, degrees = schedule(entry), np.array(entry["k"])
        found = sphere_eigenvalues(
            lambda delta, alphas=alphas: rntk_dual(delta, alphas).ntk,
            entry["d"],
            int(degrees.max()),
            n_quad=800,
        )
        np.testing.assert_allclose(found[degrees], entry["lam"], atol=1e-11)
