"""Pairs of pure functions: the Flax network, and others in its place."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import FeatureMap, koopman_features


@pytest.fixture(scope="module")
def features():
    return koopman_features(3, (5, 4), 2, activation="softplus")


def test_equals_layer_by_layer(features):
    params = features.init(jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    layers = [params["layers"][i] for i in range(3)]
    expected = x.astype(float)
    for i, layer in enumerate(layers):
        kernel, bias = (np.asarray(layer[k][...], float) for k in ("kernel", "bias"))
        expected = expected @ kernel + bias
        if i < 2:
            expected = np.log1p(np.exp(expected))
    result = features.apply(params, x, key=None, train=True)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_seeds_are_mapped_over_init(features):
    params = jax.vmap(features.init)(jax.random.split(jax.random.key(0), 3))
    shapes = {leaf.shape for leaf in jax.tree.leaves(params)}
    assert shapes == {(3, 3, 5), (3, 5), (3, 5, 4), (3, 4), (3, 4, 2), (3, 2)}
    result = jax.vmap(features.apply, (0, None))(params, jnp.ones((7, 3)))
    assert result.shape == (3, 7, 2)
    assert not jnp.allclose(result[0], result[1])


def test_equal_arguments_give_the_same_pair(features):
    again = koopman_features(3, [5, 4], 2, activation="softplus")
    assert isinstance(again, FeatureMap)
    assert again.apply is features.apply
    assert again.init is features.init
    assert koopman_features(3, (5, 4), 2).apply is not features.apply


def test_dtype_is_the_common_one(features, x64):
    params = features.init(jax.random.key(0))
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    assert features.apply(params, np.ones((2, 3))).dtype == jnp.float64
    assert features.apply(params, np.ones((2, 3), np.float32)).dtype == jnp.float32


def test_no_hidden_layer_is_affine():
    affine = koopman_features(2, (), 1)
    params = affine.init(jax.random.key(0))
    x = jnp.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    value = affine.apply(params, x)[:, 0]
    assert float(value[2] - value[1]) == pytest.approx(float(value[1] - value[0]))


def test_area_does_without_flax():
    look = "import sys, jaxrepro.operators; assert 'flax' not in sys.modules"
    subprocess.run([sys.executable, "-c", look], check=True)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, (4,), 2), ValueError, "in_dim: expected an integer >= 1"),
        ((2, (4, 0), 2), ValueError, r"widths\[1\]: expected an integer >= 1"),
        ((2, 4, 2), TypeError, "widths: expected a sequence of integers; got 4"),
        ((2, None, 2), TypeError, "widths: expected a sequence of integers; got None"),
        ((2, (4,), 1.5), TypeError, "out_dim: expected an integer >= 1"),
    ],
)
def test_bad_sizes(plain_errors, arguments, error, message):
    with pytest.raises(error, match=message):
        koopman_features(*arguments)


def test_bad_activation_and_input(plain_errors, features):
    with pytest.raises(ValueError, match="activation: expected one of 'tanh'"):
        koopman_features(2, (4,), 2, activation="step")
    with pytest.raises(ValueError, match=r"x: expected shape \(_, 3\)"):
        features.apply(features.init(jax.random.key(0)), jnp.ones((7, 2)))
