"""Regression in the space of a kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    GaussianKernel,
    KernelOperatorFit,
    LinearKernel,
    MaternKernel,
    PolynomialKernel,
    principal_component_regression,
    reduced_rank_regression,
    ridge_regression,
)

pytestmark = pytest.mark.usefixtures("x64")

ESTIMATORS = [
    (ridge_regression, {}),
    (principal_component_regression, {"rank": 2}),
    (reduced_rank_regression, {"rank": 2}),
]


def pairs(n=14, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.sin(x @ rng.normal(size=(d, d))) + 0.1 * rng.normal(size=(n, d))


def apply(fit, kernel, at, f):
    """Values of G f at points, from the definition of the fit."""
    w = fit.U @ fit.V.T
    n = jnp.sum(fit.mask, dtype=w.dtype)
    return kernel(at, fit.x) @ w @ f(fit.y) / n


def test_reference(reference):
    r = reference["rrr_rbf_pair"]
    for system in (r["system1"], r["system2"]):
        x, y = np.array(system["X"]), np.array(system["Y"])
        kernel = GaussianKernel(system["lengthscale"])
        fit = reduced_rank_regression(
            x, y, gamma=system["gamma"], rank=system["rank"], kernel=kernel
        )
        np.testing.assert_allclose(
            fit.singular_values, system["singular_values"], atol=1e-12
        )
        small = fit.V.T @ kernel(y, x) @ fit.U / len(x)
        np.testing.assert_allclose(
            np.sort(np.linalg.eigvals(small)), system["eigenvalues"].real, atol=1e-10
        )


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
@pytest.mark.parametrize("gamma", [0.0, 1e-3, 0.5])
@pytest.mark.parametrize("gamma_rel", [False, True])
def test_linear_kernel_equals_explicit_features(fn, static, gamma, gamma_rel):
    x, y = pairs()
    static = static | {"gamma": gamma, "gamma_rel": gamma_rel}
    primal = fn(x, y, **static)
    fit = fn(x, y, kernel=LinearKernel(), **static)
    g = x.T @ fit.U @ fit.V.T @ y / len(x)
    np.testing.assert_allclose(g, primal.V @ primal.W.T, atol=1e-11)
    r = len(primal.singular_values)
    np.testing.assert_allclose(
        fit.singular_values[:r], primal.singular_values, atol=1e-12
    )


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_polynomial_kernel_equals_its_features(fn, static):
    # (x.x' + 1)^2 in one dimension has the features 1, sqrt(2) x, x^2.
    x, y = pairs(d=1)

    def features(x):
        return np.concatenate([np.ones_like(x), 2**0.5 * x, x**2], axis=1)

    primal = fn(features(x), features(y), gamma=0.1, **static)
    kernel = PolynomialKernel(degree=2)
    fit = fn(x, y, gamma=0.1, kernel=kernel, **static)
    at = np.linspace(-1, 1, 5)[:, None]
    got = apply(fit, kernel, at, features)
    np.testing.assert_allclose(got, features(at) @ primal.V @ primal.W.T, atol=1e-11)


@pytest.mark.peer
def test_scikit_learn():
    kernel_ridge = pytest.importorskip("sklearn.kernel_ridge")
    x, y = pairs()
    at = pairs(5, seed=1)[0]
    kernel = GaussianKernel(1.5)
    peer = kernel_ridge.KernelRidge(alpha=0.01 * 14, kernel="rbf", gamma=1 / 4.5)
    want = peer.fit(x, y).predict(at)
    fit = ridge_regression(x, y, gamma=0.01, kernel=kernel)
    np.testing.assert_allclose(apply(fit, kernel, at, lambda y: y), want, atol=1e-11)


def test_reduced_rank_is_optimal():
    # In coordinates of the span of the samples the risk of W is
    # |sqrt(L) (I - W' K)|^2 + gamma tr(W' K W L), so the estimator must beat all
    # coefficients of its rank near it.
    x, y = pairs()
    kernel = GaussianKernel(1.5)
    k, l = kernel(x, x) / 14, kernel(y, y) / 14
    gamma = 0.01

    def risk(u, v):
        w = u @ v.T
        residual = np.eye(14) - w.T @ k
        return np.trace(residual.T @ l @ residual) + gamma * np.trace(w.T @ k @ w @ l)

    fit = reduced_rank_regression(x, y, gamma=gamma, rank=2, kernel=kernel)
    u, v = np.asarray(fit.U), np.asarray(fit.V)
    best = risk(u, v)
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            du, dv = rng.normal(size=(2, 14, 2)) * size
            assert risk(u + du, v + dv) > best
    np.testing.assert_allclose(
        best, np.trace(l) - np.sum(np.asarray(fit.singular_values) ** 2), rtol=1e-10
    )


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_fields(fn, static):
    x, y = pairs()
    mask = np.arange(14) < 11
    padded = np.where(mask[:, None], x, np.nan)
    fit = fn(padded, y, gamma=0.1, kernel=GaussianKernel(1.5), mask=mask, **static)
    assert isinstance(fit, KernelOperatorFit)
    np.testing.assert_array_equal(fit.mask, mask)
    np.testing.assert_array_equal(fit.x, np.where(mask[:, None], x, 0))
    np.testing.assert_array_equal(fit.U[11:], 0)
    np.testing.assert_array_equal(fit.V[11:], 0)
    r = static.get("rank", 14)
    assert fit.U.shape == fit.V.shape == (14, r)
    assert np.all(np.diff(fit.singular_values) <= 0)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
@pytest.mark.parametrize(
    ("gamma", "gamma_rel"),
    [(0.01, True), pytest.param(0.0, False, marks=pytest.mark.slow)],
)
def test_masked_rows_are_as_good_as_absent(fn, static, gamma, gamma_rel):
    x, y = pairs()
    mask = np.arange(14) % 3 != 0
    padded_x, padded_y = (np.where(mask[:, None], z, np.nan) for z in (x, y))
    kernel = MaternKernel(1.5, nu=0.5)
    at = pairs(5, seed=1)[0]

    def values(x, y, mask):
        fit = fn(x, y, gamma=gamma, gamma_rel=gamma_rel, kernel=kernel, mask=mask,
                 **static)  # fmt: skip
        return jnp.sin(apply(fit, kernel, at, lambda y: y))

    want = values(x[mask], y[mask], None)
    np.testing.assert_allclose(values(padded_x, padded_y, mask), want, atol=1e-11)
    gradient = jax.jit(jax.grad(lambda x, y: jnp.sum(values(x, y, mask)), (0, 1)))
    wanted = jax.jit(jax.grad(lambda x, y: jnp.sum(values(x, y, None)), (0, 1)))
    for g, w in zip(gradient(padded_x, padded_y), wanted(x[mask], y[mask])):
        np.testing.assert_allclose(g[mask], w, atol=1e-10)
        np.testing.assert_array_equal(g[~mask], 0)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_nothing_live_gives_nan(fn, static):
    none = np.zeros(14, bool)
    fit = fn(*pairs(), gamma=0.1, mask=none, kernel=GaussianKernel(1.0), **static)
    assert np.all(np.isnan(fit.singular_values))


@pytest.mark.parametrize("fn", [fn for fn, static in ESTIMATORS if static])
@pytest.mark.parametrize("gamma", [0.0, 0.01])
def test_rank_above_that_of_the_data(fn, gamma):
    x, y = pairs()

    def total(x, y):
        fit = fn(x, y, gamma=gamma, rank=6, kernel=LinearKernel())
        return jnp.sum(jnp.sin(x.T @ fit.U @ fit.V.T @ y / 14)), fit

    gradient, fit = jax.jit(jax.grad(total, (0, 1), has_aux=True))(x, y)
    for columns in (fit.U[:, 3:], fit.V[:, 3:], fit.singular_values[3:]):
        np.testing.assert_array_equal(columns, 0)
    want = np.linalg.solve(x.T @ x / 14 + gamma * np.eye(3), x.T @ y / 14)
    np.testing.assert_allclose(x.T @ fit.U @ fit.V.T @ y / 14, want, atol=1e-11)

    # With all of the rank kept, the derivative is that of ridge regression.
    def ridge(x, y):
        fit = ridge_regression(x, y, gamma=gamma)
        return jnp.sum(jnp.sin(fit.V @ fit.W.T))

    for g, w in zip(gradient, jax.grad(ridge, (0, 1))(x, y)):
        np.testing.assert_allclose(g, w, atol=1e-9)


def test_derivative_with_a_linear_kernel_equals_that_of_features():
    x, y = pairs()

    def total(x, y, gamma, kernel):
        fit = reduced_rank_regression(x, y, gamma=gamma, rank=2, kernel=kernel)
        g = fit.V @ fit.W.T if kernel is None else x.T @ fit.U @ fit.V.T @ y / 14
        return jnp.sum(jnp.sin(g)) + jnp.sum(fit.singular_values)

    gradient = jax.jit(jax.grad(total, (0, 1, 2)))
    for gamma in (1e-3, 0.5):
        wanted = gradient(x, y, gamma, None)
        for g, w in zip(gradient(x, y, gamma, LinearKernel()), wanted):
            # Rounding in the null space of K is divided by gamma squared.
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-15 / gamma**2)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
@pytest.mark.parametrize(
    ("gamma", "make"),
    [
        (0.0, GaussianKernel),
        (1e-3, lambda scale: MaternKernel(scale, nu=0.5)),
        pytest.param(0.5, GaussianKernel, marks=pytest.mark.slow),
    ],
)
def test_derivatives_equal_finite_differences(fn, static, gamma, make):
    x, y = pairs()
    at = pairs(5, seed=1)[0]

    def total(x, y, gamma, scale):
        kernel = make(scale)
        fit = fn(x, y, gamma=gamma, kernel=kernel, **static)
        values = apply(fit, kernel, at, lambda y: y)
        return jnp.sum(jnp.sin(values)) + jnp.sum(fit.singular_values**2)

    rng = np.random.default_rng(7)
    args = x, y, np.asarray(gamma), np.asarray(1.5)
    step = [0.1 * rng.normal(size=np.shape(a)) for a in args]
    step[2] = np.asarray(gamma * 0.1)
    f = jax.jit(total)
    h = 5e-4

    def difference(h):
        ahead, behind = (f(*[a + k * s for a, s in zip(args, step)]) for k in (h, -h))
        return (ahead - behind) / (2 * h)

    want = (4 * difference(h) - difference(2 * h)) / 3
    _, forward = jax.jit(lambda *p: jax.jvp(total, p, tuple(step)))(*args)
    gradients = jax.jit(jax.grad(total, (0, 1, 2, 3)))(*args)
    reverse = sum(np.vdot(g, s) for g, s in zip(gradients, step))
    np.testing.assert_allclose(forward, want, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(reverse, forward, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_float32(fn, static):
    # (K + gamma)^-1 has condition 1 / gamma: a relative error of eps / gamma.
    x, y = pairs()
    at = pairs(5, seed=1)[0]
    kernel = GaussianKernel(1.5)

    def values(dtype):
        fit = fn(x.astype(dtype), y.astype(dtype), gamma=0.01, kernel=kernel, **static)
        return fit, apply(fit, kernel, at.astype(dtype), lambda y: y)

    _, exact = values(np.float64)
    fit, close = values(np.float32)
    assert {leaf.dtype.name for leaf in fit} == {"float32", "bool"}
    bound = np.finfo(np.float32).eps / 0.01 * 14**0.5
    np.testing.assert_allclose(close, exact, atol=bound * np.abs(exact).max())
