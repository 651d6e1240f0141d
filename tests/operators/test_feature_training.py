"""Training of features: what is learned, batches, seeds side by side."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxrepro.operators import (
    FeatureMap,
    feature_atoms,
    koopman_features,
    train_features,
    vamp2_loss,
)

OMEGA, DT = 2 * np.pi * 0.25, 0.2


def uneven_oscillator(n):
    """A phase of uneven speed on the circle: seen rightly, it turns at OMEGA.

    The map of the disc onto itself solves theta' = OMEGA (1 + c^2 - 2 c cos theta) /
    (1 - c^2) in closed form.
    """
    turn, c = np.exp(1j * OMEGA * DT * np.arange(n)), 0.6
    z = (turn + c) / (1 + c * turn)
    z = np.stack([z.real, z.imag], axis=1)
    return ((z - z.mean(axis=0)) / z.std(axis=0)).astype(np.float32)


def small(key):
    return {"w": jax.random.normal(key, (2, 3)), "b": jnp.zeros(3)}


def small_apply(params, x):
    return jnp.tanh(x @ params["w"] + params["b"])


SMALL = FeatureMap(small, small_apply)


def vamp2_of_a_tenth(fx, fy):
    return vamp2_loss(fx, fy, gamma=0.1)


@pytest.fixture(scope="module")
def train():
    """Five steps of the small network, for seeds side by side."""
    z = uneven_oscillator(30)

    def five_steps(key, gamma):
        return train_features(
            key, z[:-1], z[1:], gamma=gamma, features=SMALL, n_steps=5, batch_size=8
        )

    return jax.jit(jax.vmap(five_steps, (0, 0)))


def test_learned_features_find_the_frequency(optimised):
    z = uneven_oscillator(120)
    features = koopman_features(2, (16, 16), 2)
    fit = functools.partial(
        train_features, x=z[:-1], y=z[1:], lr=1e-2, features=features, n_steps=400
    )
    fits = jax.vmap(lambda key: fit(key))(jax.random.split(jax.random.key(0), 2))
    losses = np.asarray(fits.history)
    assert np.all(losses[:, -1] < losses[:, 0] - 0.1)
    assert np.all(losses[:, -1] < -1.99)  # both functions are kept but for rounding
    estimate = functools.partial(feature_atoms, windows=z, dt=DT, gamma=1e-6, rank=2)
    learned = jax.vmap(lambda p: estimate(p, apply=features.apply).lam)(fits.params)
    linear = estimate(None, apply=lambda params, z: z).lam
    assert abs(linear[0] - 1j * OMEGA) > 0.1
    assert np.all(np.abs(learned[:, 0] - 1j * OMEGA) < 0.01)


def test_first_loss_is_that_of_the_first_parameters():
    z = uneven_oscillator(30)
    key = jax.random.key(1)
    fit = train_features(key, z[:-1], z[1:], features=SMALL, n_steps=2, gamma=0.1)
    params = small(jax.random.split(key)[0])
    first = vamp2_of_a_tenth(small_apply(params, z[:-1]), small_apply(params, z[1:]))
    assert float(fit.history[0]) == pytest.approx(float(first), rel=1e-5)
    assert fit.matrix is None


def test_own_loss_and_optimiser_equal_the_built_in():
    z = uneven_oscillator(30)
    run = functools.partial(
        train_features, jax.random.key(1), z[:-1], z[1:], features=SMALL, n_steps=2
    )
    own = run(loss=vamp2_of_a_tenth, optimizer=optax.adam)
    np.testing.assert_allclose(own.history, run(gamma=0.1).history, rtol=1e-5)


def test_contrastive_learns_a_symmetric_matrix_beside():
    z = uneven_oscillator(30)
    fit = train_features(
        jax.random.key(1), z[:-1], z[1:], lr=0.05, features=tuple(SMALL),
        loss="contrastive", n_steps=30,
    )  # fmt: skip
    assert fit.history[-1] < fit.history[0] - 0.1
    np.testing.assert_allclose(fit.matrix, fit.matrix.T, atol=1e-6)
    assert not jnp.allclose(fit.matrix, jnp.eye(3))


def test_batches_come_from_the_key(train):
    keys = jax.random.split(jax.random.key(0), 2)
    fits = train(keys, jnp.array([0.1, 0.1]))
    again = train(keys[::-1], jnp.array([0.1, 0.2]))
    np.testing.assert_allclose(fits.history[1], again.history[0], rtol=1e-5)
    assert jnp.all(again.history[1] > fits.history[0])  # more regularised
    # The losses of two batches at nearly the same parameters differ.
    assert float(jnp.ptp(fits.history[0])) > 1e-2


def test_bad_traced_numbers_give_nan(train):
    keys = jax.random.split(jax.random.key(0), 2)
    for bad in (-0.1, jnp.inf):
        fits = train(keys, jnp.array([0.1, bad]))
        assert jnp.all(jnp.isfinite(fits.history[0]))
        assert jnp.all(jnp.isnan(fits.history[1]))


class NoHash:
    __hash__ = None

    def __call__(self, *args):
        return jnp.sum(args[0])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": jnp.ones(3)}, ValueError, r"x: expected shape \(n, d\)"),
        ({"x": jnp.ones((0, 2))}, ValueError, "x: expected at least one element"),
        ({"y": jnp.ones((3, 2))}, ValueError, r"y: expected shape \(4, 2\)"),
        ({"x": jnp.ones((1, 2)), "y": jnp.ones((1, 2))}, ValueError, "number of rows"),
        ({"lr": 0.0}, ValueError, "lr: expected a value in"),
        ({"gamma": -1.0}, ValueError, "gamma: expected a value in"),
        ({"loss": "vamp1"}, ValueError, "loss: expected one of 'vamp2'"),
        ({"loss": "contrastive", "gamma": 0.1}, ValueError, "gamma: expected None"),
        ({"n_steps": 0}, ValueError, "n_steps: expected an integer >= 1"),
        ({"n_steps": 1.5}, TypeError, "n_steps: expected an integer"),
        ({"batch_size": 1}, ValueError, "batch_size: expected an integer >= 2"),
        ({"features": small_apply}, TypeError, "features: expected two functions"),
        ({"features": (small, NoHash())}, TypeError, r"features\.apply: .* a hash"),
        ({"x": 1j * jnp.ones((4, 2))}, TypeError, "x: expected real numbers"),
        ({"y": 1j * jnp.ones((4, 2))}, TypeError, "y: expected real numbers"),
        ({"x": jnp.ones((4, 2), "bfloat16")}, TypeError, "x: expected float32 or fl"),
        ({"key": 3}, TypeError, r"key: expected a random key, .*; got 3"),
        ({"key": jnp.zeros((5, 2), "uint32")}, ValueError, "key: expected one random"),
        ({"loss": NoHash()}, TypeError, "loss: expected a function with a hash"),
        (
            {"loss": lambda fx, fy: jnp.sum(fx, axis=1)},
            ValueError,
            r"loss\(fx, fy\): expected shape \(\); got shape \(4,\)",
        ),
        (
            {"loss": lambda fx, fy: 1j * jnp.sum(fx)},
            TypeError,
            r"loss\(fx, fy\): expected real numbers; got",
        ),
        ({"optimizer": None}, TypeError, "optimizer: expected a function; got None"),
        (
            {"optimizer": optax.adam(1e-3)},
            TypeError,
            "optimizer: expected a function; got Gradient",
        ),
    ],
)
def test_errors(plain_errors, change, error, message):
    x = jnp.ones((4, 2))
    arguments = {"key": jax.random.key(0), "x": x, "y": x, "features": SMALL}
    with pytest.raises(error, match=message):
        train_features(**arguments | {"n_steps": 1} | change)
