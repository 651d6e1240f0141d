"""The networks: shapes, independence of items, parts against their definitions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxrepro.diffusion import edm_denoiser, edm_scalings
from jaxrepro.diffusion.networks import (
    LinearDenoiser,
    MLPDenoiser,
    SmallDiT,
    SmallUNet,
    _dit,
    _padding,
)
from jaxrepro.diffusion.networks._conv import MatmulConv
from jaxrepro.rmt import fit_gaussian, linear_denoiser

NETWORKS = {
    "linear": (LinearDenoiser, (5, 3, 1), {"n_bins": 3}),
    "mlp": (MLPDenoiser, (5, 3, 2), {"width": 8, "depth": 2}),
    "unet": (SmallUNet, (7, 5, 2), {"channels": 4, "levels": 3}),
    "dit": (SmallDiT, (7, 5, 2), {"width": 8, "depth": 2, "heads": 2}),
}


@functools.cache
def build(name):
    """A denoiser with parameters none of which is 0, compiled."""
    network, shape, options = NETWORKS[name]
    denoiser = edm_denoiser(network, shape, **options)
    params = jax.jit(denoiser.init)(jax.random.key(0))
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    leaves = [
        p + 0.3 * jax.random.normal(k, p.shape, p.dtype) for p, k in zip(leaves, keys)
    ]
    return shape, jax.jit(denoiser.apply), jax.tree.unflatten(tree, leaves)


def inputs(shape, n=4, dtype=np.float32):
    rng = np.random.default_rng(2)
    return rng.normal(size=(n, *shape)).astype(dtype), np.geomspace(0.1, 3, n)


@pytest.mark.parametrize("name", NETWORKS)
def test_items_do_not_depend_on_their_batch(name):
    shape, apply, params = build(name)
    x, sigma = inputs(shape)
    together = apply(params, x, sigma)
    assert together.shape == x.shape
    for i in range(4):
        alone = apply(params, x[i], sigma[i])
        np.testing.assert_allclose(together[i], alone, rtol=2e-4, atol=2e-5)
    others = np.concatenate([x[:1], 100 + x[1:]])
    np.testing.assert_allclose(
        apply(params, others, sigma)[0], together[0], rtol=2e-4, atol=2e-5
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_leading_axes_and_one_level_for_all(name):
    shape, apply, params = build(name)
    x, sigma = inputs(shape)
    pairs = apply(params, x.reshape(2, 2, *shape), sigma.reshape(2, 2))
    flat = apply(params, x, sigma)
    np.testing.assert_allclose(pairs.reshape(x.shape), flat, rtol=2e-4, atol=2e-5)
    one = apply(params, x, 0.7)
    each = apply(params, x, np.full(4, 0.7))
    np.testing.assert_allclose(one, each, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_noise_level_matters_beyond_preconditioning(name):
    shape, apply, params = build(name)
    x, _ = inputs(shape)

    def body(sigma):
        c = edm_scalings(sigma)
        return (apply(params, x / c.inp, sigma) - c.skip * x / c.inp) / c.out

    assert np.abs(body(0.02) - body(1.0)).max() > 0.02


@pytest.mark.parametrize("name", ["mlp", "unet", "dit"])
def test_a_new_network_adds_nothing(name):
    network, shape, options = NETWORKS[name]
    denoiser = edm_denoiser(network, shape, **options)
    x, sigma = inputs(shape)
    found = denoiser.apply(denoiser.init(jax.random.key(0)), x, sigma)
    skip = np.asarray(edm_scalings(sigma).skip)[:, None, None, None]
    np.testing.assert_allclose(found, skip * x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_double_precision(name):
    shape, apply, params = build(name)
    x, sigma = inputs(shape)
    single = apply(params, x, sigma)
    assert single.dtype == np.float32
    double = apply(params, x.astype(np.float64), sigma)
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, rtol=2e-3, atol=2e-4)


def test_equal_arguments_give_the_same_pair():
    first = edm_denoiser(MLPDenoiser, (3,), width=4)
    assert first is edm_denoiser(MLPDenoiser, [3], width=4)
    assert first is not edm_denoiser(MLPDenoiser, (3,), width=4, sigma_data=1.0)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_convolution_is_that_of_flax(size):
    conv = MatmulConv(3, 4, size=size, rngs=nnx.Rngs(0))
    conv.bias[...] = jnp.arange(4.0)
    graph, params = nnx.split(conv)
    x = jax.random.normal(jax.random.key(1), (2, 6, 7, 3))

    def values_and_slopes(call):
        def total(params, x):
            return jnp.sum(jnp.sin(call(nnx.merge(graph, params), x)))

        return call(conv, x), *jax.grad(total, (0, 1))(params, x)

    ours = jax.tree.leaves(values_and_slopes(MatmulConv.__call__))
    theirs = jax.tree.leaves(values_and_slopes(nnx.Conv.__call__))
    assert len(ours) == len(theirs) == 4
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-4)


def test_native_convolutions_are_the_same_network():
    shape, apply, params = build("unet")
    options = NETWORKS["unet"][2]
    native = edm_denoiser(SmallUNet, shape, **options, native=True)
    x, sigma = inputs(shape)
    found = jax.jit(native.apply)(jax.tree.map(jnp.asarray, params), x, sigma)
    np.testing.assert_allclose(found, apply(params, x, sigma), rtol=2e-4, atol=2e-5)


def test_patches_come_back_in_their_places():
    x = np.arange(2 * 6 * 4 * 3).reshape(2, 6, 4, 3)
    patches = _dit._to_patches(x, 2)
    np.testing.assert_array_equal(patches[1, 3], x[1, 2:4, 2:4].ravel())
    np.testing.assert_array_equal(_dit._from_patches(patches, 3, 2, 2), x)
    places = _dit._positions(3, 4, 16)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert places.shape == (12, 16)
    assert (gaps + np.eye(12)).min() > 0.1


def test_padding():
    x = np.random.default_rng(0).normal(size=(2, 14, 9, 1))
    padded = _padding.pad_to_multiple(x, 8)
    assert padded.shape == (2, 16, 16, 1)
    np.testing.assert_array_equal(_padding.crop_centre(padded, 14, 9), x)
    np.testing.assert_allclose(padded.sum(), x.sum())
    assert _padding.pad_to_multiple(padded, 8).shape == padded.shape


def test_linear_network_can_be_the_best_denoiser():
    """At its centres, with the weights of theory, it is that of random matrices."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(50, 4)) * [2.0, 1.0, 0.5, 0.1] + [1.0, 0.0, -1.0, 0.0]
    fit = fit_gaussian(data)
    centres = np.geomspace(0.1, 10, 5)
    denoiser = edm_denoiser(
        LinearDenoiser, (4,), sigma_data=0.8, n_bins=5, sigma_min=0.1, sigma_max=10.0
    )
    params = denoiser.init(jax.random.key(0))
    kernels, biases = [], []
    for sigma in centres:
        c = edm_scalings(sigma, sigma_data=0.8)
        cov = np.cov(data.T, ddof=0)
        gain = cov @ np.linalg.inv(cov + sigma**2 * np.eye(4))
        kernels.append((gain - c.skip * np.eye(4)) / (c.out * c.inp))
        biases.append((np.eye(4) - gain) @ data.mean(0) / c.out)
    params["kernel"][...] = jnp.asarray(kernels)
    params["bias"][...] = jnp.asarray(biases)
    x = rng.normal(size=(5, 4))
    # A little off the centres: the nearest map is taken.
    found = denoiser.apply(params, x, centres * (1 + 1e-9))
    expected = linear_denoiser(x, centres, *fit)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((MLPDenoiser, (0,)), {}, ValueError, r"shape\[0\]: "),
        ((MLPDenoiser, (2.5,)), {}, TypeError, r"shape\[0\]: "),
        ((MLPDenoiser, "ab"), {}, TypeError, "shape: "),
        ((MLPDenoiser, 3), {}, TypeError, "shape: "),
        (("mlp", (3,)), {}, TypeError, "network: "),
        ((MLPDenoiser, (3,)), {"sigma_data": 0.0}, ValueError, "sigma_data: "),
        ((MLPDenoiser, (3,)), {"width": [4]}, TypeError, "width: .*hash"),
        ((MLPDenoiser, (3,)), {"width": 0}, ValueError, "width: "),
        ((SmallUNet, (3,)), {}, ValueError, "shape: .*height"),
        ((SmallUNet, (4, 4, 1)), {"levels": 0}, ValueError, "levels: "),
        ((SmallDiT, (4, 4)), {}, ValueError, "shape: .*height"),
        ((SmallDiT, (4, 4, 1)), {"width": 6}, ValueError, "width: .*multiple"),
        ((LinearDenoiser, (4,)), {"n_bins": 0}, ValueError, "n_bins: "),
        ((LinearDenoiser, (4,)), {"sigma_max": 1e-3}, ValueError, "sigma_max: "),
    ],
)
def test_errors(arguments, options, error, message):
    with pytest.raises(error, match=message):
        edm_denoiser(*arguments, **options)


def test_errors_of_apply():
    shape, apply, params = build("mlp")
    x, _ = inputs(shape)
    with pytest.raises(ValueError, match="x: "):
        apply(params, x[..., :1], 0.5)
    with pytest.raises(ValueError, match="sigma: .*broadcasts"):
        apply(params, x, np.ones(3))
