"""Training: streams, resumption, and where it ends for linear denoisers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxrepro.diffusion import Denoiser, edm_denoiser, train_denoiser
from jaxrepro.diffusion.networks import LinearDenoiser
from jaxrepro.rmt import fit_gaussian, linear_denoiser

AFFINE = Denoiser(
    lambda key: {"w": 0.1 * jax.random.normal(key, (2, 2)), "b": jnp.zeros(2)},
    lambda params, x, sigma: x @ params["w"] + params["b"][None],
)
KEY = jax.random.key(0)
DATA = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 0.3] + [0.5, 0.0]
OPTIONS = {"denoiser": AFFINE, "n_steps": 30, "batch_size": 8}


def same(a, b):
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x, y), a, b)


def test_two_calls_are_one():
    whole = train_denoiser(KEY, DATA, **OPTIONS)
    half = train_denoiser(KEY, DATA, **OPTIONS | {"n_steps": 10})
    rest = train_denoiser(KEY, DATA, start=half, **OPTIONS | {"n_steps": 20})
    same(whole[:4], rest[:4])
    history = np.concatenate([half.history, rest.history])
    np.testing.assert_array_equal(whole.history, history)
    assert int(rest.step) == 30


def test_rows_beyond_those_used_are_never_read():
    padded = np.concatenate([DATA[:25], np.full((15, 2), np.nan)])
    found = train_denoiser(KEY, padded, n_used=25, **OPTIONS)
    same(found, train_denoiser(KEY, DATA[:25], **OPTIONS))


def test_sizes_are_trained_side_by_side():
    sizes = np.array([5, 25, 40])
    train = functools.partial(train_denoiser, KEY, DATA, **OPTIONS)
    together = jax.vmap(lambda n: train(n_used=n))(sizes)
    for i, n in enumerate(sizes):
        alone = train(n_used=n)
        np.testing.assert_allclose(together.params["w"][i], alone.params["w"])


def test_parameters_and_streams_have_keys_of_their_own():
    other = jax.random.key(1)
    options = OPTIONS | {"n_steps": 1, "lr": 1e-12}
    first = train_denoiser(KEY, DATA, init_key=other, **options)
    second = train_denoiser(other, DATA, init_key=other, **options)
    np.testing.assert_allclose(first.params["w"], second.params["w"], atol=1e-11)
    assert abs(first.history[0] - second.history[0]) > 1e-3
    third = train_denoiser(KEY, DATA, **options)
    assert np.abs(third.params["w"] - first.params["w"]).max() > 1e-3


def test_the_average_follows():
    result = train_denoiser(KEY, DATA, decay=0.0, **OPTIONS)
    same(result.params, result.average)
    still = train_denoiser(KEY, DATA, decay=0.9, **OPTIONS)
    assert np.abs(still.params["w"] - still.average["w"]).max() > 1e-4


def test_linear_networks_become_the_best_linear_denoiser():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 3)) @ np.diag([1.0, 0.5, 0.2]) + [0.3, -0.2, 0.0]
    denoiser = edm_denoiser(
        LinearDenoiser, (3,), sigma_data=0.6, n_bins=1, sigma_min=0.5, sigma_max=1.0
    )
    result = train_denoiser(
        KEY, x, sigma_data=0.6, sigma_mean=np.log(0.7), sigma_std=0.0,
        lr=3e-3, decay=0.999, denoiser=denoiser, n_steps=4000,
        batch_size=256,
    )  # fmt: skip
    points = rng.normal(size=(200, 3))
    found = denoiser.apply(result.average, points, 0.7)
    expected = linear_denoiser(points, 0.7, *fit_gaussian(x))
    plain = points / (1 + 0.7**2)
    # Averages over 1000 batches of 256: about 1 % of the distance is noise.
    assert np.abs(found - expected).max() < 0.03
    assert np.abs(plain - expected).max() > 0.3


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"key": 3}, TypeError, "key: "),
        ({"key": jax.random.split(KEY)}, ValueError, "key: "),
        ({"init_key": 3}, TypeError, "init_key: "),
        ({"x": DATA[:0]}, ValueError, "x: "),
        ({"x": DATA.astype(complex)}, TypeError, "x: "),
        ({"x": DATA.astype(np.float16)}, TypeError, "x: "),
        ({"n_used": 0}, ValueError, "n_used: "),
        ({"n_used": 41}, ValueError, "n_used: "),
        ({"lr": 0.0}, ValueError, "lr: "),
        ({"lr": np.ones(2)}, ValueError, "lr: "),
        ({"sigma_data": 0.0}, ValueError, "sigma_data: "),
        ({"sigma_std": -1.0}, ValueError, "sigma_std: "),
        ({"sigma_mean": np.nan}, ValueError, "sigma_mean: "),
        ({"decay": 1.5}, ValueError, "decay: "),
        ({"denoiser": AFFINE.apply}, TypeError, "denoiser: .*two functions"),
        ({"optimizer": None}, TypeError, "optimizer: "),
        ({"n_steps": 0}, ValueError, "n_steps: "),
        ({"batch_size": 2.5}, TypeError, "batch_size: "),
    ],
)
def test_errors(change, error, message):
    arguments = {"key": KEY, "x": DATA, **OPTIONS} | change
    with pytest.raises(error, match=message):
        train_denoiser(**arguments)


def test_traced_numbers_out_of_range_give_nan():
    train = jax.jit(lambda n: train_denoiser(KEY, DATA, n_used=n, **OPTIONS).params)
    assert np.isnan(train(0)["w"]).all()
    assert np.isfinite(train(3)["w"]).all()


def test_any_optimizer():
    result = train_denoiser(KEY, DATA, optimizer=optax.sgd, lr=0.01, **OPTIONS)
    assert np.isfinite(result.history).all()
