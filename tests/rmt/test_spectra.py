"""Densities, edges and transforms against closed forms, integrals and samples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from jaxrepro import rmt

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize(("gamma", "n"), [(0.25, 400), (1.0, 100), (4.0, 25)])
def test_marchenko_pastur(gamma, n):
    edges = rmt.support_edges(n, 3 * np.ones(100))
    law = rmt.marchenko_pastur_support(gamma, scale=3.0)
    np.testing.assert_allclose(edges.left, law.left, atol=1e-13)
    np.testing.assert_allclose(edges.right, law.right, 1e-14)
    x = np.linspace(float(law.left) + 0.01, float(law.right) - 0.01, 50)
    pdf = rmt.marchenko_pastur_pdf(x, gamma, scale=3.0)
    density = rmt.spectral_density(x, n, 3 * np.ones(100))
    np.testing.assert_allclose(density, pdf, 1e-9)
    np.testing.assert_allclose(
        rmt.spectral_density(x, n, 3 * np.ones(100), mode=7), pdf, 1e-9
    )
    atom = rmt.marchenko_pastur_atom(gamma)
    ends = np.linspace(float(law.left), float(law.right), 4)[1:]
    for end in ends:
        mass, _ = quad(
            lambda t: float(rmt.marchenko_pastur_pdf(t, gamma, scale=3.0)),
            float(law.left), end, epsabs=1e-10, limit=200,
        )  # fmt: skip
        cdf = rmt.marchenko_pastur_cdf(end, gamma, scale=3.0)
        np.testing.assert_allclose(cdf, atom + mass, atol=1e-9)
    np.testing.assert_allclose(cdf, 1, 1e-12)
    outside = np.array([-1.0, -0.0, float(law.right) + 1])
    assert np.all(rmt.marchenko_pastur_pdf(outside, gamma, scale=3.0) == 0)
    want = np.array([0, float(atom), 1])
    got = rmt.marchenko_pastur_cdf(outside, gamma, scale=3.0)
    np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("n", [30, 180])
def test_density_of_samples(n):
    eigs, rng = np.repeat([1.0, 0.2, 0.05], 20), np.random.default_rng(0)
    edges = rmt.support_edges(n, eigs)
    # Seen by all modes, and by the last one.
    grid = np.linspace(float(edges.left), float(edges.right), 2001)
    whole, last = (rmt.spectral_density(grid, n, eigs, mode=m) for m in (None, 59))
    mass = np.trapezoid(whole, grid)
    np.testing.assert_allclose(mass, min(n, 60) / 60, rtol=5e-3)
    inner = float(edges.left) + 0.4 * float(edges.right - edges.left)
    counts, weights = [], []
    for _ in range(300):
        x = rng.normal(size=(n, 60)) * np.sqrt(eigs)
        values, vectors = np.linalg.eigh(x.T @ x / n)
        below = (values > 1e-9) & (values < inner)
        counts.append(below.mean())
        weights.append(np.sum(vectors[59, below] ** 2))
    cut = grid < inner
    for density, seen in ((whole, counts), (last, weights)):
        predicted = np.trapezoid(np.asarray(density)[cut], grid[cut])
        error = np.std(seen) / np.sqrt(300)
        assert abs(np.mean(seen) - predicted) < 4 * error + 5e-3


def test_stieltjes_is_that_of_the_density():
    eigs, n, z = 1 / np.arange(1.0, 31), 60, 0.3 + 0.2j
    edges = rmt.support_edges(n, eigs)
    grid = np.linspace(float(edges.left), float(edges.right), 20001)
    density = np.asarray(rmt.spectral_density(grid, n, eigs))
    want = np.trapezoid(np.nan_to_num(density) / (grid - z), grid)
    np.testing.assert_allclose(rmt.stieltjes(z, n, eigs), want, 1e-3)
    conjugate = rmt.stieltjes(z.conjugate(), n, eigs)
    np.testing.assert_allclose(conjugate, np.conj(rmt.stieltjes(z, n, eigs)), 1e-12)


def test_s_transform_is_multiplicative():
    df = np.array([0.1, 0.3, 0.6])
    np.testing.assert_allclose(rmt.s_transform(df, np.ones(10)), 1, 1e-12)
    # Of a sample covariance, whose degrees of freedom come from its own density.
    eigs, n = np.array([2.0, 1.0, 0.5]), 12.0
    white = 1 / (1 - df * 3 / n)
    product = rmt.s_transform(df, eigs) * white
    kappa = (1 - df) / (df * product)  # shift at which the product keeps df
    renormalised = rmt.solve_kappa(kappa, n, eigs)
    np.testing.assert_allclose(rmt.df1(renormalised, eigs) / 3, df, 1e-10)


def test_edges_of_extreme_sizes():
    eigs = np.array([4.0, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.01])
    edges = rmt.support_edges(np.array([1e12, np.inf, 8.0]), eigs)
    np.testing.assert_allclose(edges.right[:2], 4, 1e-4)
    np.testing.assert_allclose(edges.left, [0.01, 0.01, 0], atol=1e-6)
    assert rmt.support_edges(5, np.zeros(3)) == (0, 0)
    single = rmt.support_edges(np.float32(400), jnp.ones(100, jnp.float32))
    np.testing.assert_allclose(single, (0.25, 2.25), 1e-5)


@pytest.mark.parametrize("kind", ["euler", "heun"])
def test_discrete_samplers_converge(kind):
    s, levels = np.array([0.1, 1.0, 4.0]), []
    exact = np.sqrt((s + 0.01) / (s + 100))
    for steps in (64, 128):
        sigmas = np.geomspace(10.0, 0.1, steps + 1)
        factor = rmt.discrete_sampler_factor(s, sigmas, kind=kind)
        levels.append(np.abs(factor / exact - 1).max())
    order = np.log2(levels[0] / levels[1])
    assert abs(order - {"euler": 1, "heun": 2}[kind]) < 0.15


def test_discrete_sampler_is_the_loop():
    rng = np.random.default_rng(0)
    fit = rmt.fit_gaussian(rng.normal(size=(5, 8)))
    x = start = rng.normal(size=(3, 8)) * 10
    sigmas = np.append(np.geomspace(10, 0.1, 9), 0.0)
    slope = lambda x, sigma: (x - rmt.linear_denoiser(x, sigma, *fit)) / sigma
    for sigma, after in zip(sigmas[:-1], sigmas[1:]):
        euler = x + (after - sigma) * slope(x, sigma)
        x = euler if after == 0 else (
            x + (after - sigma) / 2 * (slope(x, sigma) + slope(euler, after))
        )  # fmt: skip
    got = rmt.linear_sampling_map(start, *fit, sampler="heun", sigmas=sigmas)
    np.testing.assert_allclose(got, x, rtol=1e-12, atol=1e-13)


def test_exact_map_solves_the_equation():
    rng = np.random.default_rng(0)
    fit = rmt.fit_gaussian(rng.normal(size=(9, 4)))
    mean, eigs, vectors = (np.asarray(x) for x in fit)
    covariance = (vectors * eigs) @ vectors.T
    x = rng.normal(size=4) * 5

    # dx/dsigma of the variance-exploding flow
    def slope(sigma, x):
        return sigma * np.linalg.solve(covariance + sigma**2 * np.eye(4), x - mean)

    want = solve_ivp(slope, (5.0, 0.1), x, rtol=1e-10, atol=1e-12).y[:, -1]
    got = rmt.linear_sampling_map(x, *fit, sigma_0=0.1, sigma_T=5.0)
    np.testing.assert_allclose(got, want, 1e-7)
    # Another schedule is the same flow of rescaled data.
    scaled = rmt.linear_sampling_map(
        2 * x, *fit, sigma_0=0.3, sigma_T=10.0, alpha_0=3.0, alpha_T=2.0
    )
    np.testing.assert_allclose(scaled, 3 * got, 1e-12)


def test_quadratures():
    x = np.geomspace(1e-4, 1e4, 300)
    for size, bound in ((8, 3e-3), (24, 1e-9), (33, 1e-12)):
        rule = rmt.sqrt_quadrature(1e-4, 1e4, size)
        value = np.sum(rule.weights / (x[:, None] + rule.nodes), axis=1)
        assert np.abs(value * np.sqrt(x) - 1).max() < bound
    s = np.linspace(0, 30, 50)
    rule = rmt.contour_quadrature(0.01, 30.0, 48)
    z = rule.nodes - 0.01
    kernel = (s[:, None] + 0.01) / (z - s[:, None])
    for f in (lambda s: np.sqrt(s + 0.02), lambda s: np.log(s + 0.5)):
        value = np.sum(rule.weights * f(z) * kernel, axis=1).imag
        np.testing.assert_allclose(value, f(s), atol=1e-11)


def test_spectral_function_equals_the_sampling_map():
    eigs, q = 1 / np.arange(1.0, 9), np.ones(8)
    root = lambda s: jnp.sqrt(s + 0.1)
    options = {"centered": False, "num_nodes": 48}
    mean = rmt.spectral_function_mean(root, 16, eigs, a=0.1, **options)
    level = {"sigma_0": np.sqrt(0.1), "centered": False, "num_nodes": 40}
    np.testing.assert_allclose(mean, rmt.sampling_gain(16, eigs, **level), 1e-12)
    variance = rmt.spectral_function_variance(root, q, 16, eigs, a=0.1, **options)
    want = rmt.sampling_variance(q, 16, eigs, **level)
    np.testing.assert_allclose(variance, want, 1e-9)


def test_limits_of_many_samples():
    eigs, y = 1 / np.arange(1.0, 9), np.ones(8)
    gain = rmt.denoiser_gain(0.3, 1e12, eigs)
    np.testing.assert_allclose(gain, eigs / (eigs + 0.09), 1e-9)
    np.testing.assert_allclose(rmt.sampling_gain(np.inf, eigs), np.sqrt(eigs), 1e-9)
    # The delta method: the covariance of a sample covariance is known.
    n = 1e7
    g = np.sqrt(eigs) / (eigs + 0.09)
    w = np.sum((g * y) ** 2)
    classical = 0.09**2 * (g**2 * (1 + w) + (g**2 * y) ** 2) / n
    np.testing.assert_allclose(rmt.denoiser_variance(y, 0.3, n, eigs), classical, 1e-5)
    # Much noise leaves the variance of the mean.
    far = rmt.denoiser_variance(y, 1e6, 20, eigs)
    np.testing.assert_allclose(far, eigs / 20, 1e-4)
    for distance in (
        rmt.bures_equivalent(1e8, eigs),
        rmt.bures_cross_split(1e8, 1e8, eigs),
    ):
        assert abs(distance) < 1e-6
    cross = rmt.bures_cross_split(50, 200, eigs)
    np.testing.assert_allclose(cross, rmt.bures_cross_split(200, 50, eigs), 1e-12)


@pytest.mark.parametrize(
    "function", ["denoiser_gain", "sampling_gain", "logdet_equivalent"]
)
def test_multiplicities_are_repetitions(function):
    eigs, mult = np.array([2.0, 0.5, 0.1]), np.array([2.0, 1.0, 3.0])
    whole = np.repeat(eigs, mult.astype(int))
    leading = () if function == "sampling_gain" else (0.3,)
    call = lambda *args, **options: getattr(rmt, function)(
        *leading, 9, *args, **options
    )
    got, want = call(eigs, mult=mult, order=1), call(whole, order=1)
    if got.ndim:
        got = np.repeat(got, mult.astype(int))
    np.testing.assert_allclose(got, want, 1e-12)


def test_best_ridge_is_where_its_derivative_vanishes():
    eigs = 1 / np.arange(1.0, 101)
    test = lambda rho: rmt.dsm_losses(0.3, 60, eigs, rho=rho).test
    rho = np.linspace(0, 0.2, 81)
    losses = test(rho)
    best = rho[np.argmin(losses)]
    assert 0 < best < 0.2
    slope = jax.grad(test)
    assert slope(best - 0.01) < 0 < slope(best + 0.01)
