"""Laws of a sample covariance against simulation, within standard errors."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro import rmt

pytestmark = pytest.mark.usefixtures("x64")

SIGMA = np.sqrt(0.1)
TRIALS = 2000


@functools.cache
def denoisers(n):
    """Moments of the matrix R of the denoiser with a known mean."""
    eigs = jnp.asarray(1 / np.arange(1.0, 49))

    def matrix(covariance):
        shifted = covariance + SIGMA**2 * jnp.eye(48)
        return jnp.linalg.solve(shifted, covariance)

    options = {"trials": TRIALS, "centered": False}
    return rmt.mc_moments(jax.random.key(0), matrix, n, eigs, **options)


@pytest.mark.parametrize("n", [24, 96])
def test_denoiser(n, power_law):
    moments = denoisers(n)
    want = np.diag(moments.mean)
    for order, bound in ((0, 0.02), (1, 0.01 if n == 96 else 0.02)):
        gain = rmt.denoiser_gain(SIGMA, n, power_law, order=order, centered=False)
        assert np.abs(gain / want - 1).max() < bound
    full, single = (
        rmt.denoiser_variance(
            np.eye(48), SIGMA, n, power_law, wick=wick, centered=False
        ).T
        for wick in ("full", "paper")
    )
    off = ~np.eye(48, dtype=bool)
    assert abs(moments.variance[off].sum() / full[off].sum() - 1) < 0.04
    assert abs(np.median(np.diag(moments.variance) / np.diag(full)) - 1) < 0.06
    assert 1.8 < np.median(np.diag(moments.variance) / np.diag(single)) < 2.2


def test_moments_are_those_of_all_draws(power_law):
    key, eigs = jax.random.key(3), jnp.asarray(power_law[:4])
    moments = rmt.mc_moments(key, lambda s: s, 5, eigs, trials=50)
    draws = []
    for k in jax.random.split(key, 50):
        x = jnp.sqrt(eigs) * jax.random.normal(k, (5, 4))
        draws.append(np.cov(x.T, ddof=0))
    np.testing.assert_allclose(moments.mean, np.mean(draws, 0), 1e-12)
    np.testing.assert_allclose(moments.variance, np.var(draws, 0, ddof=1), 1e-12)
    error = np.std(draws, 0, ddof=1) / np.sqrt(50)
    np.testing.assert_allclose(moments.standard_error, error, 1e-12)


@pytest.fixture(scope="module")
def samples(power_law):
    """Means and covariances of 2000 training sets of 60 points in 24 dimensions."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(TRIALS, 60, 24)) * np.sqrt(power_law[:24])
    mean = x.mean(1)
    x -= mean[:, None]
    return mean, np.einsum("tni,tnj->tij", x, x) / 60, power_law[:24]


def within(mean, values, n_errors=4.0, bias=0.0):
    """Whether a prediction is that of a Monte Carlo mean."""
    error = np.std(values, 0) / np.sqrt(len(values))
    return np.abs(np.mean(values, 0) - mean) <= n_errors * error + bias * np.abs(mean)


def test_estimated_mean(samples):
    mean, covariance, eigs = samples
    y = np.random.default_rng(1).normal(size=24) * np.sqrt(eigs + SIGMA**2)
    shift = covariance + SIGMA**2 * np.eye(24)
    gap = (y - mean)[:, :, None]
    out = mean + (covariance @ np.linalg.solve(shift, gap))[:, :, 0]
    spread = (out - out.mean(0)) ** 2
    variance = rmt.denoiser_variance(y, SIGMA, 60, eigs)
    assert within(variance.sum(), spread.sum(1), bias=0.01)
    known = rmt.denoiser_variance(y, SIGMA, 60, eigs, centered=False)
    assert not within(known.sum(), spread.sum(1), bias=0.01)
    covariance_ = rmt.denoiser_covariance(y, SIGMA, 60, eigs)
    direction = np.random.default_rng(2).normal(size=24)
    along = (out - out.mean(0)) @ direction
    predicted = direction @ np.asarray(covariance_.matvec(jnp.asarray(direction)))
    assert within(predicted, along**2, bias=0.02)
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(24, 24)))[0]
    dense = np.diag(covariance_.diag) + np.outer(covariance_.left, covariance_.right)
    pixels = covariance_.pixel_var(jnp.asarray(rotation))
    np.testing.assert_allclose(pixels, np.diag(rotation @ dense @ rotation.T), 1e-12)


def test_disagreement_of_two_splits(samples):
    mean, covariance, eigs = samples
    y = np.random.default_rng(1).normal(size=24) * np.sqrt(eigs + SIGMA**2)
    gap = (y - mean)[:, :, None]
    shift = covariance + SIGMA**2 * np.eye(24)
    out = mean + (covariance @ np.linalg.solve(shift, gap))[:, :, 0]
    squares = ((out[::2] - out[1::2]) ** 2).sum(1)
    predicted = rmt.denoiser_cross_split(y, SIGMA, 60, 60, eigs, reduce="modes")
    assert within(predicted, squares, bias=0.01)
    population = eigs / (eigs + SIGMA**2) * y
    squares = ((out - population) ** 2).sum(1)
    predicted = rmt.denoiser_cross_split(y, SIGMA, 60, np.inf, eigs, reduce="modes")
    assert within(predicted, squares, bias=0.01)


@pytest.mark.parametrize("levels", [(0.0, np.inf), (0.1, 5.0)])
def test_sampling_map(samples, levels):
    mean, covariance, eigs = samples
    a, b = levels[0] ** 2, levels[1] ** 2
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0)
    f = np.sqrt(values + a) if np.isinf(b) else np.sqrt((values + a) / (values + b))
    matrix = np.einsum("tik,tk,tjk->tij", vectors, f, vectors)
    options = {"sigma_0": levels[0], "sigma_T": levels[1]}
    own = np.diagonal(matrix, axis1=1, axis2=2)
    gain = rmt.sampling_gain(60, eigs, order=1, **options)
    assert np.all(within(gain, own, bias=2e-3))
    plain = rmt.sampling_gain(60, eigs, **options)
    error = lambda g: np.sqrt(np.mean((g / own.mean(0) - 1) ** 2))
    assert error(gain) < 0.8 * error(plain)  # the rest is that of the simulation
    assert np.all(within(rmt.sampling_second_moment(60, eigs, **options),
                         np.sum(matrix**2, axis=1), bias=5e-3))  # fmt: skip

    q = np.random.default_rng(4).normal(size=24) * (1 if np.isinf(b) else np.sqrt(b))
    gap = q - (0 if np.isinf(b) else mean)
    out = mean + np.einsum("tij,tj->ti", matrix, np.broadcast_to(gap, mean.shape))
    spread = (out - out.mean(0)) ** 2
    variance = rmt.sampling_variance(q, 60, eigs, reduce="modes", **options)
    assert within(variance, spread.sum(1), bias=0.01)
    squares = ((out[::2] - out[1::2]) ** 2).sum(1)
    predicted = rmt.sampling_cross_split(q, 60, 60, eigs, reduce="modes", **options)
    assert within(predicted, squares, bias=0.01)


def test_train_loss_at_the_training_samples():
    eigs, n, rng = 1 / np.arange(1.0, 41), 80, np.random.default_rng(5)
    losses = []
    for _ in range(400):
        x = rng.normal(size=(n, 40)) * np.sqrt(eigs)
        x -= x.mean(0)
        covariance = x.T @ x / (n - 1)
        w = covariance @ np.linalg.inv(covariance + SIGMA**2 * np.eye(40))
        missed = np.sum((x - x @ w) ** 2) / n
        losses.append(missed + SIGMA**2 * np.sum(w**2))
    train = rmt.dsm_losses(SIGMA, n, eigs, ddof=1).train
    assert within(train, losses, bias=2e-3)


def test_fourth_moments(power_law):
    eigs, n = power_law[:12], 150
    rng = np.random.default_rng(6)
    # Heavy tails along a common scale: fourth moments far from Gaussian ones.
    scale = np.sqrt(rng.gamma(2.0, 0.5, size=(10**5, 1)))
    z = scale * rng.normal(size=(10**5, 12)) * np.sqrt(eigs)
    y = rng.normal(size=12) * np.sqrt(eigs + SIGMA**2)
    out = []
    for _ in range(1500):
        x = z[rng.integers(len(z), size=n)]
        covariance = x.T @ x / n
        out.append(covariance @ np.linalg.solve(covariance + SIGMA**2 * np.eye(12), y))
    measured = np.var(out, 0).sum()
    options = {"reduce": "modes", "centered": False}
    gaussian = rmt.denoiser_variance(y, SIGMA, n, eigs, **options)
    moments = rmt.denoiser_variance_moments(y, z, SIGMA, n, eigs, **options)
    assert gaussian < 0.85 * measured
    assert abs(moments / measured - 1) < 0.12


def test_ridge(power_law):
    eigs, w, noise = power_law[:30], np.ones(30) / 5, 0.3
    rng = np.random.default_rng(7)
    for n, lam in ((60, 0.05), (15, 0.0)):
        test, train = [], []
        for _ in range(600):
            x = rng.normal(size=(n, 30)) * np.sqrt(eigs)
            y = x @ w + noise * rng.normal(size=n)
            gram = x @ x.T / n + lam * np.eye(n)
            fit = x.T @ np.linalg.solve(gram, y) / n
            test.append(np.sum(eigs * (fit - w) ** 2) + noise**2)
            train.append(np.mean((x @ fit - y) ** 2))
        curves = rmt.ridge_curves(lam, n, eigs, w, noise_var=noise**2)
        assert within(curves.test, test, bias=0.02)
        assert np.all(within(curves.train, train, bias=0.02)) or curves.train < 1e-20
        total = curves.bias + curves.variance + noise**2
        np.testing.assert_allclose(curves.test, total, 1e-12)
        # Generalised cross-validation
        df1 = rmt.df1(curves.kappa, eigs)
        if lam > 0:
            guess = curves.train / (1 - df1 / n) ** 2
            np.testing.assert_allclose(guess, curves.test, 1e-12)


def everything_within(matrix, left, right, bias):
    """Whether all entries of a covariance are those of pairs of outputs."""
    left, right = left - left.mean(0), right - right.mean(0)
    products = np.einsum("tk,tm->tkm", left, right)
    error = products.std(0) / np.sqrt(len(products))
    scale = np.sqrt(np.outer((left**2).mean(0), (right**2).mean(0)))
    gap = np.abs(products.mean(0) - matrix)
    # 24 * 24 entries: five standard errors, and the next order relative to deviations.
    assert (gap <= 5 * error + bias * scale).all()
    off = ~np.eye(len(matrix), dtype=bool)
    assert np.corrcoef(matrix[off], products.mean(0)[off])[0, 1] > 0.8


def test_covariance_of_two_denoised_inputs(samples):
    mean, covariance, eigs = samples
    rng = np.random.default_rng(5)
    y = rng.normal(size=(2, 24)) * np.sqrt(eigs + SIGMA**2)
    y[1] += y[0]
    shift = covariance + SIGMA**2 * np.eye(24)
    gain = covariance @ np.linalg.inv(shift)
    one, two = (mean + np.einsum("tij,tj->ti", gain, x - mean) for x in y)
    found = rmt.denoiser_covariance(y[0], SIGMA, 60, eigs, other=y[1])
    dense = np.diag(found.diag) + np.outer(found.left, found.right)
    everything_within(dense, one, two, 0.02)
    # Not symmetric: the first index is that of the first input.
    assert np.abs(dense - dense.T).max() > 0.05 * np.abs(dense).max()
    np.testing.assert_allclose(found.diagonal(), np.diag(dense))
    x = rng.normal(size=24)
    np.testing.assert_allclose(found.matvec(jnp.asarray(x)), dense @ x)
    basis = np.linalg.qr(rng.normal(size=(24, 24)))[0]
    pixels = np.diag(basis @ dense @ basis.T)
    np.testing.assert_allclose(found.pixel_var(jnp.asarray(basis)), pixels)
    many = rmt.denoiser_covariance(y, SIGMA, 60, eigs, other=y[1])
    np.testing.assert_allclose(many.left[0], found.left)


@pytest.mark.parametrize("levels", [(0.0, np.inf), (0.1, 5.0)])
def test_covariance_of_two_generated_samples(samples, levels):
    mean, covariance, eigs = samples
    a, b = levels[0] ** 2, levels[1] ** 2
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0)
    f = np.sqrt(values + a) if np.isinf(b) else np.sqrt((values + a) / (values + b))
    matrix = np.einsum("tik,tk,tjk->tij", vectors, f, vectors)
    scale = 1 if np.isinf(b) else np.sqrt(b)
    q = scale * np.random.default_rng(6).normal(size=(2, 24))
    q[1] += q[0]
    gaps = [x - (0 * mean if np.isinf(b) else mean) for x in q]
    one, two = (mean + np.einsum("tij,tj->ti", matrix, gap) for gap in gaps)
    options = {"sigma_0": levels[0], "sigma_T": levels[1]}
    found = rmt.sampling_covariance(q[0], 60, eigs, other=q[1], **options)
    everything_within(np.asarray(found), one, two, 0.02)
    own = rmt.sampling_covariance(q[0], 60, eigs, **options)
    np.testing.assert_allclose(own, own.T, atol=1e-15)
    variance = rmt.sampling_variance(q[0], 60, eigs, **options)
    np.testing.assert_allclose(np.diag(own), variance, rtol=1e-10)


def test_covariance_of_functions(power_law):
    """Two roads to the covariance of a root: a contour and an elliptic rule."""
    eigs = power_law[:12]
    q = np.random.default_rng(7).normal(size=(2, 12))
    options = {"centered": False}
    root = lambda s: jnp.sqrt(s + 0.01)
    found = rmt.spectral_function_covariance(
        root, q[0], 30, eigs, a=0.01, other=q[1], num_nodes=48, **options
    )
    expected = rmt.sampling_covariance(
        q[0], 30, eigs, other=q[1], sigma_0=0.1, num_nodes=48, **options
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    own = rmt.spectral_function_covariance(root, q[0], 30, eigs, a=0.01, **options)
    variance = rmt.spectral_function_variance(root, q[0], 30, eigs, a=0.01, **options)
    np.testing.assert_allclose(np.diag(own), variance, rtol=1e-10)
