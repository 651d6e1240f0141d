import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial.distance
from hypothesis import given, strategies as st
from jax.test_util import check_grads

from jaxrepro.operators import (
    GaussianKernel,
    LinearKernel,
    MaternKernel,
    PolynomialKernel,
    median_lengthscale,
)

KERNELS = [
    LinearKernel(),
    PolynomialKernel(degree=3, scale=0.5, offset=0.7),
    GaussianKernel(1.3),
    MaternKernel(1.3, nu=0.5),
    MaternKernel(1.3, nu=1.5),
    MaternKernel(1.3, nu=2.5),
]
RADIAL = KERNELS[2:]


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_definition(kernel):
    x, y = points(6), points(4, seed=1)
    rho = scipy.spatial.distance.cdist(x, y) / 1.3
    want = {
        "LinearKernel": x @ y.T,
        "PolynomialKernel": (0.5 * x @ y.T + 0.7) ** 3,
        "GaussianKernel": np.exp(-(rho**2) / 2),
        "MaternKernel0.5": np.exp(-rho),
        "MaternKernel1.5": (1 + 3**0.5 * rho) * np.exp(-(3**0.5) * rho),
        "MaternKernel2.5": (1 + 5**0.5 * rho + 5 / 3 * rho**2)
        * np.exp(-(5**0.5) * rho),
    }[type(kernel).__name__ + str(getattr(kernel, "nu", ""))]
    np.testing.assert_allclose(kernel(x, y), want, rtol=1e-13)


@pytest.mark.peer
@pytest.mark.usefixtures("x64")
def test_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    gaussian_process = pytest.importorskip("sklearn.gaussian_process.kernels")
    x, y = points(6), points(4, seed=1)
    gaussian = pairwise.rbf_kernel(x, y, gamma=1 / (2 * 1.3**2))
    np.testing.assert_allclose(GaussianKernel(1.3)(x, y), gaussian, rtol=1e-12)
    polynomial = pairwise.polynomial_kernel(x, y, degree=3, gamma=0.5, coef0=0.7)
    np.testing.assert_allclose(KERNELS[1](x, y), polynomial, rtol=1e-12)
    for nu in (0.5, 1.5, 2.5):
        matern = gaussian_process.Matern(1.3, nu=nu)(x, y)
        np.testing.assert_allclose(MaternKernel(1.3, nu)(x, y), matern, rtol=1e-12)


@pytest.mark.usefixtures("x64")
@given(seed=st.integers(0, 1000), n=st.integers(1, 8))
def test_kernel_matrices_are_symmetric_and_positive(seed, n):
    x = points(n, seed=seed)
    for kernel in KERNELS:
        k = np.asarray(kernel(x, x))
        np.testing.assert_array_equal(k, k.T)
        assert np.linalg.eigvalsh(k).min() >= -1e-12 * np.trace(k)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_derivatives(kernel):
    weights = points(6, 4, seed=2)

    def total(kernel, x, y):
        return jnp.sum(weights * jnp.asarray(kernel(x, y)))

    check_grads(total, (kernel, points(6), points(4, seed=1)), order=1, rtol=1e-6)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_derivative_at_equal_points(kernel):
    x = points(5)
    k = kernel(x, x)
    np.testing.assert_array_equal(jnp.diag(k), 1)
    # Each row sees itself at distance 0 and the others at positive distances.
    gradient = jax.grad(lambda x: jnp.sum(kernel(x, x)))(x)
    others = jax.grad(lambda x: 2 * jnp.sum(jnp.triu(kernel(x, x), 1)))(x)
    assert np.all(np.isfinite(gradient))
    np.testing.assert_allclose(gradient, others, atol=1e-12)
    second = jax.grad(lambda x: jnp.sum(jax.grad(lambda x: kernel(x, x).sum())(x)))(x)
    assert np.all(np.isfinite(second))


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_float32_keeps_close_points_far_from_the_origin(kernel):
    # The differences are exact in float32, so what is left is the rounding of a
    # dozen operations; |x|^2 + |y|^2 - 2 x.y would be off by 1e4 * eps.
    x = (100 + np.arange(8)[:, None] / 64 * np.ones(3)).astype(np.float32)
    with jax.enable_x64(True):
        exact = np.asarray(kernel(x.astype(float), x.astype(float)))
    close = kernel(x, x)
    assert close.dtype == np.float32
    np.testing.assert_allclose(close, exact, rtol=5e-6)
    np.testing.assert_array_equal(jnp.diag(close), 1)
    # 1 - k resolves the nearest neighbours.
    np.testing.assert_allclose(1 - close[0, 1], 1 - exact[0, 1], atol=2e-7)


def test_memory_does_not_grow_with_the_features():
    def temporary(d, fn):
        x = jax.ShapeDtypeStruct((400, d), jnp.float32)
        compiled = jax.jit(fn).lower(x, x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    def value(x, y):
        return GaussianKernel(1.0)(x, y)

    def gradient(x, y):
        return jax.grad(lambda x: jnp.sum(value(x, y)))(x)

    matrix = 400 * 400 * 4
    for fn in (value, gradient):
        assert temporary(50, fn) <= temporary(2, fn) + matrix


def test_traced_bad_lengthscale_gives_nan():
    x = points(3).astype(np.float32)
    for make in (GaussianKernel, MaternKernel):
        k = jax.jit(lambda s, make=make: make(s)(x, x))
        assert np.all(np.isnan(k(0.0)))
        assert np.all(np.isnan(k(-1.0)))


def test_lengthscale_can_be_batched():
    x = points(3).astype(np.float32)
    scales = jnp.array([0.5, 2.0])
    batch = jax.vmap(lambda s: MaternKernel(s, nu=0.5)(x, x))(scales)
    np.testing.assert_allclose(batch[1], MaternKernel(2.0, nu=0.5)(x, x), rtol=1e-6)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GaussianKernel(0.0), r"lengthscale: expected a value in \(0, inf\)"),
        (lambda: MaternKernel(-1.0), r"lengthscale: expected a value in \(0, inf\)"),
        (
            lambda: MaternKernel(1.0, nu=2.0),
            "nu: expected one of 0.5, 1.5, 2.5; got 2.0",
        ),
        (lambda: PolynomialKernel(degree=0), "degree: expected an integer >= 1; got 0"),
        (lambda: PolynomialKernel(scale=0.0), "scale: expected a value"),
        (lambda: PolynomialKernel(offset=-1.0), "offset: expected a value"),
        (
            lambda: LinearKernel()(np.zeros((2, 3)), np.zeros((2, 4))),
            r"y: expected shape \(m, 3\); got shape \(2, 4\)",
        ),
        (lambda: LinearKernel()(np.zeros(2), np.zeros((2, 4))), "x: expected shape"),
        (
            lambda: median_lengthscale(jax.random.key(0), np.zeros((1, 2))),
            "x: expected at least 2 rows; got 1",
        ),
        (
            lambda: median_lengthscale(jax.random.key(0), np.zeros((4, 2)), m=1),
            "m: expected an integer >= 2; got 1",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.usefixtures("plain_errors")
def test_a_seed_is_no_key():
    """Although the key has no influence here."""
    with pytest.raises(TypeError, match="key: expected a random key"):
        median_lengthscale(0, np.ones((3, 2)))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("n", [2, 3, 4, 31])
def test_median_of_all_pairs(getkey, n):
    x = points(n)
    want = np.median(scipy.spatial.distance.pdist(x))
    np.testing.assert_allclose(median_lengthscale(getkey(), x), want, rtol=1e-13)
    x[0, 0] = np.nan
    assert np.isnan(median_lengthscale(getkey(), x))


def test_median_of_a_draw(getkey):
    # 60 of 300 rows: the draw is without replacement, so no pair has distance 0,
    # and the median of its 1770 pairs lies among the 40 to 60 % quantiles of all
    # (the standard error of the rank is below 0.05 / sqrt(30)).
    x = points(300).astype(np.float32)
    low, high = np.quantile(scipy.spatial.distance.pdist(x), [0.4, 0.6])
    key = getkey()
    value = median_lengthscale(key, x, m=60)
    assert low < value < high
    assert value == median_lengthscale(key, x, m=60)
    assert value != median_lengthscale(getkey(), x, m=60)


@pytest.mark.usefixtures("plain_errors")
def test_one_lengthscale_only():
    x = np.ones((3, 2))
    with pytest.raises(ValueError, match=r"lengthscale: expected shape \(\)"):
        GaussianKernel(np.ones(3))(x, x)
    with pytest.raises(ValueError, match=r"scale: expected shape \(\)"):
        PolynomialKernel(2, np.ones(3))(x, x)
    with pytest.raises(TypeError, match="x: expected real numbers; got dtype complex"):
        GaussianKernel(1.0)(x + 1j, x)
