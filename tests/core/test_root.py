"""Roots on a bracket and their derivatives, against closed forms and SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, strategies as st
from jax.test_util import check_grads

from jaxrepro.core import Status, scalar_root


@jax.jit
def cube_root(c, lower=0.0, upper=1e3):
    return scalar_root(lambda u, c: u**3 - c, lower, upper, c)


def outcome(result):
    return float(result.root), float(result.residual), int(result.status)


@pytest.mark.parametrize("c", [1e-3, 1.0, 8.0, 123.4])
def test_value_and_three_derivatives(x64, c):
    def root(c):
        return cube_root(c).root

    np.testing.assert_allclose(root(c), c ** (1 / 3), rtol=4e-16)
    want = c ** (-2 / 3) / 3
    derivative = root
    for power in (-2 / 3, -5 / 3, -8 / 3):
        derivative = jax.grad(derivative)
        np.testing.assert_allclose(derivative(c), want, rtol=1e-12)
        want *= power / c
    np.testing.assert_allclose(jax.jvp(root, (c,), (1.0,))[1], jax.grad(root)(c))
    check_grads(root, (c,), order=2, eps=1e-5 * c, rtol=1e-6)


@pytest.mark.parametrize(
    ("fn", "lower", "upper"),
    [
        (lambda u: u * jnp.exp(u) - 3, 0.0, 3.0),
        (lambda u: jnp.cos(u) - u, -10.0, 10.0),
        (lambda u: 2 - u**2, 0.0, 5.0),
        (lambda u: jnp.arctan(u) - 0.3, -1e6, 1e6),
        (lambda u: jnp.tanh(50 * (u - 0.3)), -1.0, 1.0),
    ],
)
def test_against_brentq(x64, fn, lower, upper):
    want = scipy.optimize.brentq(lambda u: float(fn(u)), lower, upper, xtol=1e-14)
    result = scalar_root(lambda u, _: fn(u), lower, upper)
    np.testing.assert_allclose(result.root, want, rtol=1e-13)
    assert result.status == Status.OK
    assert abs(result.residual) < 1e-13
    turned = scalar_root(lambda u, _: fn(u), upper, lower)
    np.testing.assert_allclose(turned.root, want, rtol=1e-13)


@given(st.floats(-37, 37), st.sampled_from([-1.0, 0.0, 1.0]), st.floats(0, 37))
def test_any_magnitude_is_found_to_full_relative_accuracy(exponent, sign, wide):
    root = np.float32(sign * 10**exponent)
    upper = max(abs(root), np.float32(10**wide))
    result = line(-upper, upper, root)
    assert result.status == Status.OK
    np.testing.assert_allclose(result.root, root, rtol=2e-7, atol=1.2e-38)


@jax.jit
def line(lower, upper, root):
    return scalar_root(lambda u, c: u - c, lower, upper, root)


def test_a_root_far_smaller_than_the_bracket():
    np.testing.assert_allclose(cube_root(8.0, 0.0, 1e12).root, 2.0, rtol=2e-7)
    np.testing.assert_allclose(cube_root(1e-30, 0.0, 1.0).root, 1e-10, rtol=2e-7)


def test_float32_within_one_unit():
    c = np.linspace(0.1, 900, 50, dtype=np.float32)
    got = jax.vmap(lambda c: cube_root(c).root)(c)
    np.testing.assert_allclose(got, np.cbrt(c.astype(float)), rtol=1.2e-7)


@pytest.mark.parametrize(
    ("lower", "upper", "root"), [(2.0, 9.0, 2.0), (0.0, 2.0, 2.0), (2.0, 2.0, 2.0)]
)
def test_a_root_on_an_end(lower, upper, root):
    assert outcome(cube_root(8.0, lower, upper)) == (root, 0.0, Status.OK)
    slope = jax.grad(lambda c: cube_root(c, lower, upper).root)(8.0)
    np.testing.assert_allclose(slope, 1 / 12, rtol=1e-6)


def test_no_change_of_sign():
    result = cube_root(8.0, 3.0, 9.0)
    assert np.isnan(result.root)
    assert np.isnan(result.residual)
    assert result.status == Status.BAD_INPUT
    assert jax.grad(lambda c: cube_root(c, 3.0, 9.0).root)(8.0) == 0


@pytest.mark.parametrize(
    ("fn", "lower", "upper"),
    [
        (lambda u, _: jnp.log(u) - 1, -1.0, 9.0),
        (lambda u, _: jnp.log(u) - 1, 0.0, 9.0),
        (lambda u, _: u, -1.0, jnp.inf),
        (lambda u, _: u, -1.0, jnp.nan),
        (lambda u, _: jnp.where((u > 1) & (u < 8), jnp.nan, u - 5), 0.0, 9.0),
        (lambda u, _: 1 / (u - 1), 0.0, 3.0),
    ],
    ids=["NaN at an end", "infinite", "infinite end", "NaN end", "NaN inside", "pole"],
)
def test_what_is_not_finite(fn, lower, upper):
    result = scalar_root(fn, lower, upper)
    assert np.isnan(result.root)
    assert result.status == Status.NON_FINITE


def test_a_batch_keeps_its_members_apart(x64):
    c = jnp.array([1.0, 8.0, -1.0, 1e4, jnp.nan])
    result = jax.vmap(lambda c: cube_root(c, 0.0, 9.0))(c)
    np.testing.assert_allclose(result.root, [1, 2, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(result.status, [0, 0, 4, 4, 2])
    slopes = jax.vmap(jax.grad(lambda c: cube_root(c, 0.0, 9.0).root))(c)
    np.testing.assert_allclose(slopes[:4], [1 / 3, 1 / 12, 0, 0])


def test_parameters_of_any_structure(x64):
    def root(args):
        return scalar_root(
            lambda u, a: u ** a["p"][0] - a["c"] * a["n"], 0.0, 99.0, args
        ).root

    args = {"p": (3.0, None), "c": 4.0}
    value, slopes = jax.value_and_grad(lambda a: root({**a, "n": 2}))(args)
    np.testing.assert_allclose(value, 2.0)
    np.testing.assert_allclose(slopes["c"], 2 / 12)
    np.testing.assert_allclose(slopes["p"][0], -2 * np.log(2) / 3)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_closed_over_values_are_differentiated(transform, x64):
    def root(c):
        return scalar_root(lambda u, _: u**3 - c, 0.0, 9.0).root

    slopes = transform(jax.vmap(jax.grad(root)))(jnp.array([1.0, 8.0]))
    np.testing.assert_allclose(slopes, [1 / 3, 1 / 12])
    np.testing.assert_allclose(transform(jax.hessian(root))(8.0), -1 / 144)


def test_no_derivative_flows_to_the_bracket_or_from_the_residual():
    slopes = jax.grad(lambda a, b: cube_root(8.0, a, b).root, (0, 1))(0.0, 9.0)
    assert slopes == (0, 0)
    assert jax.grad(lambda c: cube_root(c).residual)(8.0) == 0


def test_a_root_without_a_slope_has_no_derivative():
    def root(c):
        return scalar_root(lambda u, c: (u - c) ** 3, 0.0, 2.0, c).root

    np.testing.assert_allclose(root(1.0), 1.0)
    assert np.isnan(jax.grad(root)(1.0))
    assert np.isnan(jax.jvp(root, (1.0,), (1.0,))[1])


def test_dtype_follows_bracket_and_parameters(x64):
    c = jnp.float32(8)
    assert cube_root(c).root.dtype == jnp.float32
    assert scalar_root(lambda u, c: u - c, 0.0, 9.0, c).root.dtype == jnp.float32
    assert scalar_root(lambda u, c: u - c, 0, 9, {"c": c}["c"]).root == 8
    assert cube_root(8.0).root.dtype == jnp.float64
    assert cube_root(c, jnp.float64(0), jnp.float64(9)).root.dtype == jnp.float64
    complex_args = scalar_root(lambda u, z: u - z.real, 0.0, 9.0, jnp.complex64(3))
    assert complex_args.root == 3


def test_fewer_bisections_give_a_rougher_root(x64):
    def error(n):
        fn = lambda u, _: jnp.where(u > np.pi, 1.0, -1.0)
        return abs(float(scalar_root(fn, 3.0, 4.0, n_iter=n).root) - np.pi)

    for n in (1, 5, 20):
        assert error(n) <= 2.0 ** -(n + 1)
    assert error(None) <= 4.5e-16


def test_errors(plain_errors):
    with pytest.raises(ValueError, match=r"^lower: expected shape \(\); got shape \(2"):
        scalar_root(lambda u, _: u, jnp.zeros(2), 1.0)
    with pytest.raises(ValueError, match=r"^upper: expected shape \(\); got shape \(1"):
        scalar_root(lambda u, _: u, 0.0, jnp.ones(1))
    with pytest.raises(ValueError, match=r"^fn\(u, args\): expected shape \(\); got"):
        scalar_root(lambda u, _: jnp.ones(2) * u, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"^n_iter: expected an integer >= 1; got 0"):
        scalar_root(lambda u, _: u, 0.0, 1.0, n_iter=0)
