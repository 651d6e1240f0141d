"""Gauss rules against exact moments."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.core import gauss_hermite, gauss_legendre


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 200])
def test_legendre_is_exact_to_its_degree(x64, n):
    x, w = gauss_legendre(n, -1.0, 3.0)
    assert x.shape == w.shape == (n,)
    assert np.all(np.diff(x) > 0)
    assert np.all(w > 0)
    t = (x - 1) / 2
    for degree in range(min(2 * n, 30)):
        moment = 0 if degree % 2 else 2 / (degree + 1)
        np.testing.assert_allclose(jnp.sum(w * t**degree), 2 * moment, atol=2e-14)
    if n < 8:
        assert abs(jnp.sum(w * t ** (2 * n)) - 4 / (2 * n + 1)) > 1e-5


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 150, 151, 300, 371, 1000])
def test_hermite_is_exact_to_its_degree(x64, n):
    x, w = gauss_hermite(n)
    assert x.shape == w.shape == (n,)
    assert np.all(np.diff(x) > 0)
    assert np.all(w >= 0)
    for degree in range(min(2 * n, 13)):
        moment = 0 if degree % 2 else math.prod(range(1, degree, 2))
        np.testing.assert_allclose(
            jnp.sum(w * x**degree), moment, rtol=1e-12, atol=1e-9
        )
    if n > 20:
        mean = jnp.sum(w * jnp.exp(x))
        np.testing.assert_allclose(mean, np.exp(0.5), rtol=1e-13)


@pytest.mark.parametrize("rule", [gauss_legendre, gauss_hermite])
def test_dtype(rule):
    assert rule(3).nodes.dtype == jnp.float32
    assert rule(3, dtype=jnp.float16).weights.dtype == jnp.float16
    with jax.enable_x64(True):
        assert rule(3).nodes.dtype == jnp.float64
        double = rule(40)
        single = rule(40, dtype=jnp.float32)
    # Made in float64 and cast once: every entry is the nearest float32.
    np.testing.assert_array_equal(single.nodes, np.asarray(double.nodes, np.float32))
    np.testing.assert_array_equal(rule(40).nodes, single.nodes)


@pytest.mark.parametrize("rule", [gauss_legendre, gauss_hermite])
def test_errors(rule):
    with pytest.raises(ValueError, match=r"^n: expected an integer >= 1; got 0"):
        rule(0)


@pytest.mark.parametrize("rule", [gauss_legendre, gauss_hermite])
def test_type_errors(rule, plain_errors):
    with pytest.raises(TypeError, match=r"^n: expected an integer >= 1; got 2.5"):
        rule(2.5)
    with pytest.raises(TypeError, match=r"^dtype: expected a real .*; got int32"):
        rule(3, dtype=jnp.int32)


@pytest.mark.parametrize("end", [jnp.inf, jnp.nan])
def test_infinite_ends(end):
    with pytest.raises(ValueError, match="^low: expected a finite number"):
        gauss_legendre(3, -end, 1.0)
    with pytest.raises(ValueError, match="^high: expected a finite number"):
        gauss_legendre(3, 0.0, end)
