"""Values and derivatives at the edges, against NumPy, SciPy and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, strategies as st
from jax.test_util import check_grads

from jaxrepro.core import logsumexp, safe_divide, safe_log, safe_norm, safe_sqrt

INF, NAN = np.inf, np.nan


def slopes(fn, xs):
    return np.asarray(jax.vmap(jax.grad(fn))(jnp.asarray(xs)))


def test_safe_sqrt_values_and_slopes(x64):
    x = np.array([4.0, 2.25, 1e-200, 1e200])
    np.testing.assert_allclose(safe_sqrt(x), np.sqrt(x), rtol=1e-15)
    np.testing.assert_allclose(slopes(safe_sqrt, x), 0.5 / np.sqrt(x), rtol=1e-15)


def test_safe_sqrt_at_the_edge():
    x = np.array([0.0, -0.0, -1.0, -INF], np.float32)
    np.testing.assert_array_equal(safe_sqrt(x), 0)
    np.testing.assert_array_equal(slopes(safe_sqrt, x), 0)
    assert jax.hessian(safe_sqrt)(0.0) == 0
    assert np.isnan(safe_sqrt(NAN))
    assert safe_sqrt(INF) == INF
    assert slopes(safe_sqrt, [INF]) == 0


def test_safe_log_values_and_slopes(x64):
    x = np.array([4.0, 1.0, 1e-300, 1e300])
    np.testing.assert_allclose(safe_log(x), np.log(x), rtol=1e-15)
    np.testing.assert_allclose(slopes(safe_log, x), 1 / x, rtol=1e-15)


def test_safe_log_at_the_edge():
    x = np.array([0.0, -0.0, -1.0, -INF], np.float32)
    np.testing.assert_array_equal(safe_log(x), -INF)
    np.testing.assert_array_equal(slopes(safe_log, x), 0)
    assert np.isnan(safe_log(NAN))
    assert safe_log(INF) == INF


def test_entropy_of_weights_with_zeros_has_a_finite_gradient(x64):
    def entropy(w):
        return -jnp.sum(jnp.where(w > 0, w * jnp.maximum(safe_log(w), -1e300), 0))

    gradient = jax.grad(entropy)(jnp.array([0.0, 0.25, 0.75]))
    np.testing.assert_allclose(gradient[1:], -1 - np.log([0.25, 0.75]))
    assert np.isfinite(gradient).all()


def test_safe_divide_values(x64):
    a = np.array([1.0, -3.0, 0.0, 5.0])
    b = np.array([4.0, 2.0, 7.0, np.inf])
    np.testing.assert_allclose(safe_divide(a, b), a / b)
    outer = safe_divide(a[:, None], b[None, :])
    np.testing.assert_allclose(outer, a[:, None] / b[None, :])
    np.testing.assert_allclose(safe_divide(1j, 2.0), 0.5j)
    check_grads(safe_divide, (a[:2], b[:2]), order=2)


def test_safe_divide_by_zero():
    a = np.array([1.0, 0.0, INF, NAN, -2.0], np.float32)
    zeros = np.array([0.0, 0.0, 0.0, 0.0, -0.0], np.float32)
    np.testing.assert_array_equal(safe_divide(a, zeros), 0)
    for slope in jax.vmap(jax.grad(safe_divide, (0, 1)))(a, zeros):
        np.testing.assert_array_equal(slope, 0)
    assert safe_divide(1j, 0.0) == 0


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [True, False])
def test_safe_norm_against_numpy(x64, axis, keepdims):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    want = np.sqrt(np.sum(x**2, axis=axis, keepdims=keepdims))
    got = safe_norm(x, axis, keepdims=keepdims)
    np.testing.assert_allclose(got, want, rtol=1e-14)
    y = x + 1j * x[::-1]
    want = np.sqrt(np.sum(np.abs(y) ** 2, axis=axis, keepdims=keepdims))
    np.testing.assert_allclose(safe_norm(y, axis, keepdims=keepdims), want, rtol=1e-14)


def test_safe_norm_is_real_and_keeps_the_precision():
    assert safe_norm(jnp.ones(3, jnp.complex64)).dtype == jnp.float32
    assert safe_norm(-3.0) == 3.0


def test_safe_norm_at_zero():
    for zero in (jnp.zeros(3), jnp.zeros(3, jnp.complex64)):
        assert safe_norm(zero) == 0
        np.testing.assert_array_equal(jax.grad(safe_norm)(zero), 0)
    np.testing.assert_array_equal(jax.hessian(safe_norm)(jnp.zeros(2)), 0)
    rows = jnp.array([[0.0, 0.0], [3.0, 4.0]])
    gradient = jax.grad(lambda x: jnp.sum(safe_norm(x, 1)))(rows)
    np.testing.assert_allclose(gradient, [[0, 0], [0.6, 0.8]], rtol=1e-6)


def test_safe_norm_derivatives(x64):
    x = np.random.default_rng(1).normal(size=(3, 4))
    check_grads(lambda x: safe_norm(x, 1), (x,), order=2)
    unit = x[0] / np.linalg.norm(x[0])
    hessian = (np.eye(4) - np.outer(unit, unit)) / np.linalg.norm(x[0])
    np.testing.assert_allclose(jax.hessian(safe_norm)(x[0]), hessian, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e-15, 1.0, 1e15, 1e30, 3e37, 6e37])
@pytest.mark.parametrize("jitted", [True, False])
def test_safe_norm_neither_overflows_nor_vanishes(scale, jitted):
    x = np.array([3.0, 4.0], np.float32) * np.float32(scale)
    norm = jax.jit(safe_norm) if jitted else safe_norm
    np.testing.assert_allclose(norm(x), np.float32(5 * scale), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(norm)(x), [0.6, 0.8], rtol=1e-6)


def test_safe_norm_of_what_is_not_finite():
    assert safe_norm(jnp.array([INF, 1.0])) == INF
    assert safe_norm(jnp.array([3e38, 3e38])) == INF
    assert np.isnan(safe_norm(jnp.array([NAN, 1.0])))
    assert np.isnan(safe_norm(jnp.array([NAN, INF])))


def test_safe_norm_of_nothing():
    assert safe_norm(jnp.zeros(0)) == 0
    np.testing.assert_array_equal(safe_norm(jnp.zeros((2, 0)), 1), [0, 0])
    assert jax.grad(safe_norm)(jnp.zeros(0)).shape == (0,)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)])
def test_logsumexp_against_scipy(x64, axis):
    x = 50 * np.random.default_rng(2).normal(size=(2, 3, 4))
    x[0, 1, :] = -INF
    want = scipy.special.logsumexp(x, axis=axis)
    np.testing.assert_allclose(logsumexp(x, axis), want, rtol=1e-14)


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        ([-INF, -INF], -INF),
        ([-INF, 1.0], 1.0),
        ([1000.0, 1000.0], 1000 + np.log(2)),
        ([-1e30, -1e30], -1e30),
        ([INF, 1.0], INF),
        ([INF, -INF], INF),
        ([INF, 1000.0], INF),
        ([NAN, 1.0], NAN),
        ([NAN, -INF], NAN),
        ([NAN, INF], NAN),
        ([], -INF),
    ],
)
def test_logsumexp_at_the_edges(terms, want):
    terms = np.array(terms, np.float32)
    np.testing.assert_allclose(logsumexp(terms), want, rtol=1e-7)
    rows = np.stack([terms, terms])
    np.testing.assert_allclose(logsumexp(rows, 1), [want, want], rtol=1e-7)


def test_logsumexp_derivatives(x64):
    x = np.random.default_rng(3).normal(size=(3, 4))
    check_grads(lambda x: logsumexp(x, 1), (x,), order=2)
    softmax = scipy.special.softmax(x, axis=1)
    gradient = jax.grad(lambda x: jnp.sum(logsumexp(x, 1)))(x)
    np.testing.assert_allclose(gradient, softmax, rtol=1e-13)


def test_logsumexp_derivatives_of_absent_terms():
    x = jnp.array([[-INF, -INF], [-INF, 2.0], [1.0, 1.0]])
    gradient = jax.grad(lambda x: jnp.sum(jnp.maximum(logsumexp(x, 1), -9)))(x)
    np.testing.assert_array_equal(gradient, [[0, 0], [0, 1], [0.5, 0.5]])
    np.testing.assert_array_equal(jax.hessian(logsumexp)(x[0]), 0)
    assert np.isnan(jax.grad(jax.scipy.special.logsumexp)(x[0])).all()


@given(
    st.lists(st.floats(-80, 80, width=32), min_size=1, max_size=6),
    st.floats(-50, 50, width=32),
)
def test_logsumexp_moves_with_its_terms(terms, shift):
    x = np.array(terms, np.float32)
    moved = logsumexp(x + np.float32(shift))
    np.testing.assert_allclose(moved, logsumexp(x) + shift, atol=3e-5)


@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=6),
    st.floats(2**-10, 2**10, width=32),
)
def test_safe_norm_is_homogeneous(entries, factor):
    x = np.array(entries, np.float32)
    scaled = safe_norm(x * np.float32(factor))
    np.testing.assert_allclose(scaled, factor * safe_norm(x), rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("fn", [safe_sqrt, safe_log, safe_norm, logsumexp])
def test_integers_become_the_default_float(fn, plain_errors):
    got = fn(np.array([1, 4, 9]))
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, fn(jnp.array([1.0, 4.0, 9.0])))


@pytest.mark.parametrize("fn", [safe_norm, logsumexp])
def test_an_axis_out_of_bounds_is_refused(fn):
    with pytest.raises(ValueError, match="axis 1 is out of bounds"):
        fn(jnp.ones(3), 1)
