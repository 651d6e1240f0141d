"""Splits, trained models and their comparison, against brute force and theory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from jaxrepro import rmt
from jaxrepro.diffusion import Denoiser, train_denoiser
from jaxrepro.rmt.empirical import (
    disagreement,
    fitted_kappa,
    memorisation,
    mode_gain,
    split_indices,
    stratified_split,
    train_splits,
)

KEY = jax.random.key(0)
AFFINE = Denoiser(
    lambda key: 0.1 * jax.random.normal(key, (2, 2)),
    lambda params, x, sigma: x @ params,
)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def test_splits_are_disjoint_and_grow():
    rows = np.asarray(split_indices(KEY, 100, 30, n_splits=3))
    assert len(np.unique(rows)) == 90
    assert 0 <= rows.min() <= rows.max() < 100
    np.testing.assert_array_equal(split_indices(KEY, 100, 7, n_splits=3), rows[:, :7])
    assert split_indices(KEY, 6, 3).shape == (2, 3)
    # Every row is as likely as any other: 400 draws of 20 of 100 rows.
    keys = jax.random.split(KEY, 400)
    drawn = jax.vmap(lambda k: split_indices(k, 100, 10))(keys)
    counts = np.bincount(np.ravel(drawn), minlength=100)
    assert ((counts - 80) ** 2 / (80 * 0.8)).sum() < 149  # chi2, 99 degrees, 1e-3
    with pytest.raises(ValueError, match="n: .*33"):
        split_indices(KEY, 100, 34, n_splits=3)


@pytest.mark.usefixtures("plain_errors")
def test_strata():
    scores = np.random.default_rng(0).permutation(20)
    groups = stratified_split(scores, 5)
    assert sorted(scores[groups.top]) == [15, 16, 17, 18, 19]
    assert sorted(scores[groups.bottom]) == [0, 1, 2, 3, 4]
    assert sorted(scores[groups.middle]) == [8, 9, 10, 11, 12]
    with pytest.raises(ValueError, match="n: .*third"):
        stratified_split(scores, 7)
    with pytest.raises(ValueError, match="scores: "):
        stratified_split(scores[None], 1)


def test_models_of_splits_share_all_but_data():
    data = np.random.default_rng(0).normal(size=(2, 20, 2))
    options = {"denoiser": AFFINE, "n_steps": 8, "batch_size": 4}
    models = train_splits(KEY, data, **options)
    assert models.params.shape == (3, 2, 2)
    assert models.history.shape == (3, 8)
    # Equal data, equal models; the control differs in all but its start.
    twins = train_splits(KEY, data[[0, 0]], **options)
    np.testing.assert_array_equal(twins.params[0], twins.params[1])
    assert np.abs(twins.params[0] - twins.params[2]).max() > 1e-5
    np.testing.assert_allclose(models.params[::2], twins.params[::2])
    still = train_splits(KEY, data, **options | {"n_steps": 1}, lr=1e-12)
    np.testing.assert_allclose(still.params[0], still.params[2], atol=1e-11)
    # Each is what training alone gives with the same keys.
    k_init, k_stream, _ = jax.random.split(KEY, 3)
    alone = train_denoiser(k_stream, data[1], init_key=k_init, **options)
    np.testing.assert_allclose(models.params[1], alone.params)
    assert train_splits(KEY, data, control=False, **options).params.shape == (2, 2, 2)


def test_training_of_splits_resumes():
    data = np.random.default_rng(0).normal(size=(2, 20, 2))
    options = {"denoiser": AFFINE, "batch_size": 4, "n_used": np.array([20, 5])}
    whole = train_splits(KEY, data, n_steps=6, **options)
    first = train_splits(KEY, data, n_steps=3, **options)
    rest = train_splits(KEY, data, n_steps=3, start=first, **options)
    np.testing.assert_array_equal(whole.params, rest.params)
    np.testing.assert_array_equal(whole.average, rest.average)
    padded = data.copy()
    padded[1, 5:] = np.nan
    ignored = train_splits(KEY, padded, n_steps=6, **options)
    np.testing.assert_array_equal(whole.params, ignored.params)


def test_disagreement_by_brute_force():
    rng = np.random.default_rng(0)
    x1, x2 = rng.normal(size=(2, 12, 4)) + [[[3.0]], [[2.0]]]
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0][:, :3]
    found = disagreement(x1, x2, basis)
    squares = cdist(x1, x2, "sqeuclidean")
    np.testing.assert_allclose(found.per_seed, np.diag(squares))
    off = squares[~np.eye(12, dtype=bool)].mean()
    np.testing.assert_allclose(found.mismatched, off)
    np.testing.assert_allclose(found.normalised, np.diag(squares).mean() / off)
    np.testing.assert_allclose(found.per_mode, (((x1 - x2) @ basis) ** 2).mean(0))
    np.testing.assert_allclose(
        disagreement(x1, x2).per_mode.sum(), found.per_seed.mean()
    )
    assert disagreement(x1[:2] * 0, x2[:2] * 0).normalised == 0


def test_disagreement_of_linear_models_is_the_predicted_one():
    """Many pairs of splits of Gaussian data, one batch of noise."""
    d, n, pairs = 24, 40, 300
    eigs = 1 / np.arange(1.0, d + 1)
    z = np.random.default_rng(1).normal(size=(16, d))

    def pair(key):
        x = jnp.sqrt(eigs) * jax.random.normal(key, (2, n, d))
        out = []
        for half in x:
            fit = rmt.fit_gaussian(half)
            out.append(rmt.linear_sampling_map(z, *fit, sigma_0=0.1))
        return disagreement(*out)

    found = jax.vmap(pair)(jax.random.split(KEY, pairs))
    theory = rmt.sampling_cross_split(z, n, n, eigs, sigma_0=0.1)
    errors = found.per_seed.std(0) / np.sqrt(pairs)
    gap = np.abs(found.per_seed.mean(0) - theory.sum(-1))
    # Four standard errors, and the next order of the theory, about 1 / d.
    assert (gap < 4 * errors + 0.05 * theory.sum(-1)).all()
    errors = found.per_mode.std(0) / np.sqrt(pairs)
    gap = np.abs(found.per_mode.mean(0) - theory.mean(0))
    assert (gap < 4 * errors + 0.06 * theory.mean(0)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memorisation_by_brute_force(dtype):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 6)) + 50
    near = data[:10] + 1e-3 * rng.normal(size=(10, 6))
    samples = np.concatenate([near, rng.normal(size=(15, 6)) + 50])
    found = memorisation(samples.astype(dtype), data.astype(dtype), batch_size=7)
    distances = np.sort(cdist(samples, data), axis=1)
    np.testing.assert_array_equal(found.index, cdist(samples, data).argmin(1))
    loose = {"rtol": 1e-9} if dtype == np.float64 else {"rtol": 1e-2}
    np.testing.assert_allclose(found.distance, distances[:, 0], **loose)
    np.testing.assert_allclose(found.ratio, distances[:, 0] / distances[:, 1], **loose)
    np.testing.assert_array_equal(found.copied, distances[:, 0] * 3 < distances[:, 1])
    assert found.copied[:10].all()
    np.testing.assert_allclose(found.fraction, found.copied.mean())


def test_copies_and_duplicates():
    data = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    found = memorisation(data, data)
    assert found.ratio.tolist() == [0, 1, 1]
    assert found.copied.tolist() == [True, False, False]


def test_gains_of_a_linear_denoiser_give_its_kappa_back():
    d, n, sigma = 30, 60, 0.3
    eigs = 1 / np.arange(1.0, d + 1)
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    noise = rng.normal(size=(4000, d))
    x = (np.sqrt(eigs) * noise) @ basis.T + sigma * rng.normal(size=(4000, d)) + 1
    gain = rmt.denoiser_gain(sigma, n, eigs)
    denoised = (x - 1) @ (basis * gain) @ basis.T
    found = mode_gain(x, denoised, basis)
    np.testing.assert_allclose(found, gain, rtol=1e-10)
    population = rmt.effective_population(eigs, n)
    kappa = rmt.solve_kappa(sigma**2, population.n, population.eigs)
    np.testing.assert_allclose(
        fitted_kappa(gain, population.eigs), np.full(d, kappa), rtol=1e-10
    )
    assert np.isnan(fitted_kappa(np.array([0.0, -1.0]), np.ones(2))).all()
    constant = mode_gain(np.ones((3, 2)), np.arange(6.0).reshape(3, 2))
    assert constant.tolist() == [0, 0]


@pytest.mark.usefixtures("plain_errors")
def test_errors():
    x = np.ones((3, 2))
    with pytest.raises(ValueError, match="x2: "):
        disagreement(x, x[:2])
    with pytest.raises(ValueError, match="rows of x1"):
        disagreement(x[:1], x[:1])
    with pytest.raises(ValueError, match="vectors: "):
        disagreement(x, x, np.ones((3, 1)))
    with pytest.raises(TypeError, match="x1: "):
        disagreement(x + 1j, x)
    with pytest.raises(ValueError, match="rows of data"):
        memorisation(x, x[:1])
    with pytest.raises(ValueError, match="data: "):
        memorisation(x, np.ones((3, 3)))
    with pytest.raises(ValueError, match="threshold: "):
        memorisation(x, x, threshold=1.5)
    with pytest.raises(ValueError, match="denoised: "):
        mode_gain(x, x[:2])
    with pytest.raises(ValueError, match="eigs: "):
        fitted_kappa(np.ones(2), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="datasets: "):
        train_splits(KEY, np.ones(3), denoiser=AFFINE, n_steps=1)
    with pytest.raises(ValueError, match="n_used: "):
        train_splits(KEY, x[None], n_used=[1, 2], denoiser=AFFINE, n_steps=1)
    with pytest.raises(TypeError, match="key: "):
        train_splits(3, x[None], denoiser=AFFINE, n_steps=1)
    with pytest.raises(TypeError, match="n_steps: "):
        train_splits(KEY, x[None], denoiser=AFFINE, n_steps=1.5)
