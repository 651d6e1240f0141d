"""Regression in explicit features; test_kernel_regression.py has the other route."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from jaxrepro.operators import (
    GaussianKernel,
    LinearKernel,
    LinearOperatorFit,
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
GAMMAS = [0.0, 1e-3, 0.5]


def pairs(n=20, d=4, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.geomspace(2, 0.3, d)
    return x, x @ rng.normal(size=(d, d)) / d**0.5 + noise * rng.normal(size=(n, d))


def product(fit):
    return np.asarray(fit.V) @ np.asarray(fit.W).T


def objective(g, x, y, gamma):
    return np.sum((y - x @ g) ** 2) / len(x) + gamma * np.sum(g**2)


def test_reference(reference):
    r = reference["rrr_primal"]
    x, y = np.array(r["X"]), np.array(r["Y"])
    fit = reduced_rank_regression(x, y, gamma=r["gamma"], rank=r["rank"])
    np.testing.assert_allclose(product(fit), r["G"], atol=1e-9)
    np.testing.assert_allclose(
        fit.singular_values, r["singular_values"][: r["rank"]], atol=1e-12
    )
    eigenvalues = np.linalg.eigvals(fit.W.T @ fit.V)
    np.testing.assert_allclose(np.sort(eigenvalues), r["eigenvalues"].real, atol=1e-8)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_reduced_rank_minimises_its_objective(gamma):
    x, y = pairs(d=3)
    fit = reduced_rank_regression(x, y, gamma=gamma, rank=2)

    def over_factors(factors):
        a, b = factors.reshape(2, 3, 2)
        return objective(a @ b.T, x, y, gamma)

    starts = np.random.default_rng(1).normal(size=(5, 12))
    found = [scipy.optimize.minimize(over_factors, s, tol=1e-12) for s in starts]
    best = min(found, key=lambda r: r.fun)
    a, b = best.x.reshape(2, 3, 2)
    assert objective(product(fit), x, y, gamma) <= best.fun * (1 + 1e-12)
    np.testing.assert_allclose(product(fit), a @ b.T, atol=1e-4)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_ridge_minimises_its_objective(gamma):
    x, y = pairs()
    n, d = x.shape
    stacked = np.vstack([x / n**0.5, gamma**0.5 * np.eye(d)])
    target = np.vstack([y / n**0.5, np.zeros((d, d))])
    want = np.linalg.lstsq(stacked, target, rcond=None)[0]
    np.testing.assert_allclose(product(ridge_regression(x, y, gamma=gamma)), want,
                               atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("gamma", GAMMAS)
def test_principal_components(gamma):
    x, y = pairs()
    n, d = x.shape
    p, s, q = np.linalg.svd(x / n**0.5, full_matrices=False)
    want = (q[:2].T * (s[:2] / (s[:2] ** 2 + gamma))) @ p[:, :2].T @ y / n**0.5
    fit = principal_component_regression(x, y, gamma=gamma, rank=2)
    np.testing.assert_allclose(product(fit), want, atol=1e-12)
    np.testing.assert_allclose(fit.singular_values, s[:2], rtol=1e-12)


@pytest.mark.peer
def test_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    decomposition = pytest.importorskip("sklearn.decomposition")
    x, y = pairs()
    ridge = linear_model.Ridge(alpha=0.1 * len(x), fit_intercept=False).fit(x, y)
    np.testing.assert_allclose(product(ridge_regression(x, y, gamma=0.1)),
                               ridge.coef_.T, atol=1e-10)  # fmt: skip
    # TruncatedSVD is PCA without centring.
    svd = decomposition.TruncatedSVD(2, algorithm="arpack").fit(x)
    line = linear_model.LinearRegression(fit_intercept=False).fit(svd.transform(x), y)
    fit = principal_component_regression(x, y, gamma=0.0, rank=2)
    np.testing.assert_allclose(
        x @ product(fit), line.predict(svd.transform(x)), atol=1e-10
    )


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_full_rank_estimators_agree(fn, static):
    x, y = pairs()
    static = static and {"rank": 4}
    want = np.linalg.solve(x.T @ x / 20 + 0.1 * np.eye(4), x.T @ y / 20)
    np.testing.assert_allclose(product(fn(x, y, gamma=0.1, **static)), want, atol=1e-12)


def test_a_known_operator_is_found():
    a = np.array([[0.9, 0.3, 0.0], [-0.3, 0.9, 0.0], [0.0, 0.0, 0.5]])
    x = np.random.default_rng(0).normal(size=(10, 3))
    fit = reduced_rank_regression(x, x @ a.T, gamma=0.0, rank=3)
    np.testing.assert_allclose(product(fit).T, a, atol=1e-13)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_factors_and_diagnostics(fn, static):
    fit = fn(*pairs(), gamma=0.1, **static)
    assert isinstance(fit, LinearOperatorFit)
    r = static.get("rank", 4)
    assert fit.V.shape == fit.W.shape == (4, r)
    assert np.all(np.diff(fit.singular_values) <= 0)
    assert np.all(fit.singular_values > 0)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
@pytest.mark.parametrize("gamma_rel", [False, True])
def test_masked_rows_are_as_good_as_absent(fn, static, gamma_rel):
    x, y = pairs()
    mask = np.arange(20) % 3 != 0
    padded_x, padded_y = (np.where(mask[:, None], z, np.nan) for z in (x, y))

    def estimate(x, y, mask):
        fit = fn(x, y, gamma=0.1, gamma_rel=gamma_rel, mask=mask, **static)
        return fit.V @ fit.W.T

    got = estimate(padded_x, padded_y, mask)
    np.testing.assert_allclose(got, estimate(x[mask], y[mask], None), atol=1e-13)

    @functools.partial(jax.jit, static_argnames="masked")
    @functools.partial(jax.grad, argnums=(0, 1))
    def gradient(x, y, masked):
        return jnp.sum(jnp.sin(estimate(x, y, mask if masked else None)))

    wanted = gradient(x[mask], y[mask], masked=False)
    for g, w in zip(gradient(padded_x, padded_y, masked=True), wanted):
        np.testing.assert_allclose(g[mask], w, atol=1e-12)
        np.testing.assert_array_equal(g[~mask], 0)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_nothing_live_gives_nan(fn, static):
    fit = fn(*pairs(), gamma=0.1, mask=np.zeros(20, bool), **static)
    assert np.all(np.isnan(product(fit)))


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_relative_gamma_ignores_the_amplitude(fn, static):
    x, y = pairs()
    want = product(fn(x, y, gamma=0.1 * np.sum(x**2) / 20, **static))
    for scale in (1.0, 1e3):
        fit = fn(scale * x, scale * y, gamma=0.1, gamma_rel=True, **static)
        np.testing.assert_allclose(product(fit), want, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_data_of_low_rank(fn, static, gamma):
    x, y = pairs(d=2)
    lift = np.random.default_rng(3).normal(size=(2, 5))
    static = static and {"rank": 4}
    fit = fn(x @ lift, y @ lift, gamma=gamma, **static)
    scale = fit.singular_values[0]
    if fn is not reduced_rank_regression:
        np.testing.assert_array_equal(fit.singular_values[2:], 0)
    # The operator that predicts in the plane, and does nothing outside.
    np.testing.assert_allclose(fit.singular_values[2:], 0, atol=1e-7 * scale)
    c = lift.T @ (x.T @ x / 20) @ lift
    t = lift.T @ (x.T @ y / 20) @ lift
    shrunk = c + gamma * np.eye(5)
    want = np.linalg.pinv(shrunk, rcond=1e-10) @ t
    np.testing.assert_allclose(product(fit), want, atol=1e-8)

    def total(x, y):
        fit = fn(x @ lift, y @ lift, gamma=gamma, **static)
        return jnp.sum(jnp.sin(fit.V @ fit.W.T))

    assert all(np.all(np.isfinite(g)) for g in jax.grad(total, (0, 1))(x, y))


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_all_zero_data(fn, static):
    x = jnp.zeros((6, 3))

    def total(x):
        fit = fn(x, x, gamma=0.1, gamma_rel=True, **static)
        return jnp.sum(fit.V @ fit.W.T) + jnp.sum(fit.singular_values)

    value, gradient = jax.value_and_grad(total)(x)
    assert value == 0
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_derivatives_equal_finite_differences(fn, static, gamma):
    x, y = pairs()
    weights = np.random.default_rng(5).normal(size=(4, 4))

    def total(x, y, gamma):
        fit = fn(x, y, gamma=gamma, **static)
        return jnp.sum(weights * (fit.V @ fit.W.T)) + jnp.sum(fit.singular_values**2)

    check_directional(total, (x, y, np.asarray(gamma)), fixed=() if gamma else (2,))


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_derivatives_at_white_data(fn, static):
    # C = I: all eigenvalues of the covariance are equal.
    x, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 3)))
    x = x * 20**0.5
    y = x @ np.diag([0.9, 0.5, 0.1]) + pairs(20, 3)[1] * 0.01
    static = static and {"rank": 3}

    def total(x, y):
        fit = fn(x, y, gamma=0.1, **static)
        return jnp.sum(jnp.sin(fit.V @ fit.W.T))

    check_directional(total, (x, y))


def test_derivatives_at_equal_kept_singular_values():
    x, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 3)))
    x = x * 20**0.5
    y = x @ np.diag([0.9, 0.9, 0.1])

    def total(x, y):
        fit = reduced_rank_regression(x, y, gamma=0.1, rank=2)
        return jnp.sum(jnp.sin(fit.V @ fit.W.T))

    check_directional(total, (x, y))


def check_directional(fn, args, fixed=(), tol=1e-7):
    """Forward and reverse derivative against a central difference of order four."""
    rng = np.random.default_rng(7)
    step = [0 * a if i in fixed else 0.1 * rng.normal(size=np.shape(a))
            for i, a in enumerate(args)]  # fmt: skip
    step = [s * 0.1 if np.ndim(s) == 0 else s for s in step]
    f = jax.jit(fn)
    h = 2e-4

    def difference(h):
        ahead, behind = (f(*[a + k * s for a, s in zip(args, step)]) for k in (h, -h))
        return (ahead - behind) / (2 * h)

    want = (4 * difference(h) - difference(2 * h)) / 3
    _, forward = jax.jvp(f, args, tuple(step))
    gradients = jax.grad(f, tuple(range(len(args))))(*args)
    reverse = sum(np.vdot(g, s) for g, s in zip(gradients, step))
    np.testing.assert_allclose(forward, want, rtol=tol, atol=tol)
    np.testing.assert_allclose(reverse, forward, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_float32(fn, static):
    # C_gamma has condition about (2/0.3)^2: a relative error of that times eps.
    x, y = pairs()
    exact = product(fn(x, y, gamma=1e-3, **static))
    fit = fn(x.astype(np.float32), y.astype(np.float32), gamma=1e-3, **static)
    assert {leaf.dtype.name for leaf in fit} == {"float32"}
    bound = 50 * np.finfo(np.float32).eps * 20**0.5
    np.testing.assert_allclose(product(fit), exact, atol=bound * np.abs(exact).max())


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
@pytest.mark.parametrize("kernel", [None, GaussianKernel(1.0)])
def test_traced_negative_or_nan_gamma_gives_nan(fn, static, kernel):
    x, y = pairs(6)

    @jax.jit
    def estimate(gamma):
        return fn(x, y, gamma=gamma, kernel=kernel, **static)[:2]

    for gamma in (-1.0, np.nan):
        first, second = estimate(gamma)
        assert np.all(np.isnan(first @ second.T))


@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
def test_traces_once_for_new_values(fn, static):
    count = 0

    @jax.jit
    def estimate(x, y, gamma, scale):
        nonlocal count
        count += 1
        return fn(x, y, gamma=gamma, kernel=GaussianKernel(scale), **static)

    for k in range(3):
        estimate(*pairs(6, seed=k), 0.1 * k, 1.0 + k)
    assert count == 1


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(("fn", "static"), ESTIMATORS)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": np.zeros((20, 3))}, ValueError, r"y: expected shape \(20, 4\)"),
        ({"x": np.zeros(20)}, ValueError, r"x: expected shape \(n, d\)"),
        ({"x": np.zeros((0, 4))}, ValueError, "x: expected at least one element"),
        ({"gamma": -1.0}, ValueError, r"gamma: expected a value in \[0, inf\); got -1"),
        ({"gamma": np.nan}, ValueError, "gamma: expected a value"),
        ({"gamma": np.zeros(2)}, ValueError, r"gamma: expected shape \(\)"),
        ({"mask": np.ones(3, bool)}, ValueError, r"mask: expected shape \(20,\)"),
        ({"kernel": lambda x, y: x @ y.T}, TypeError, "kernel: expected an equinox"),
        ({"y": np.ones((20, 4), np.float16)}, TypeError, "y: expected float32"),
    ],
)
def test_errors(fn, static, change, error, message):
    x, y = pairs()
    with pytest.raises(error, match=message):
        fn(**({"x": x, "y": y, "gamma": 0.1} | static | change))


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize("fn", [fn for fn, static in ESTIMATORS if static])
def test_rank_errors(fn):
    x, y = pairs()
    with pytest.raises(
        ValueError, match=r"rank: expected an integer in \[1, 4\]; got 5"
    ):
        fn(x, y, gamma=0.1, rank=5)
    with pytest.raises(ValueError, match=r"rank: expected an integer in \[1, 20\]"):
        fn(x, y, gamma=0.1, rank=21, kernel=LinearKernel())
    with pytest.raises(TypeError, match="rank: expected an integer"):
        fn(x, y, gamma=0.1, rank=2.0)
