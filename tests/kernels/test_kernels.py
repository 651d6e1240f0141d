"""Recursions against textbook forms, simulation and derivatives; limits; errors."""

import fractions

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import eval_chebyt, eval_legendre

from jaxrepro import kernels
from jaxrepro.kernels import (
    branch_schedule,
    cusp_slope,
    gegenbauer,
    kappa0,
    kappa1,
    kappa1_minus_rho,
    limit_dual,
    mlp_ntk_dual,
    multiplicity,
    pairwise_delta,
    resnet_kernels,
    resnet_ntk,
    rntk_dual,
    sphere_eigenvalues,
)

DELTA = np.array([0.0, 1e-12, 1e-4, 0.3, 1.0, 1.7, 2 - 1e-9, 2.0])
ONES = np.ones(20)


def textbook(rho, alphas, train="VW"):
    """Tangent kernel of unit inputs by the backward sum over layers."""
    theta = lambda r: np.arccos(np.clip(r, -1, 1))
    k0 = lambda r: 1 - theta(r) / np.pi
    k1 = lambda r: (np.sin(theta(r)) + (np.pi - theta(r)) * r) / np.pi
    rhos, sizes = [rho], [1.0]
    for alpha in alphas:
        total = rhos[-1] + alpha**2 * k1(rhos[-1])
        rhos.append(total / (1 + alpha**2))
        sizes.append(sizes[-1] * (1 + alpha**2))
    result, back = 0.0, 1.0
    for l in reversed(range(len(alphas))):
        source = 0.0
        if "V" in train:
            source = source + k1(rhos[l])
        if "W" in train:
            source = source + rhos[l] * k0(rhos[l])
        result = result + back * alphas[l] ** 2 * sizes[l] * source
        back = back * (1 + alphas[l] ** 2 * k0(rhos[l]))
    if "A" in train:
        result = result + back * rho
    if "v" in train:
        result = result + sizes[-1] * rhos[-1]
    return result


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("train", ["V", "W", "VW", "A", "v", "VWAv", "WA"])
def test_forward_form_is_the_textbook_sum(train):
    alphas = np.array([0.0, 1.3, 0.0, 0.4, 2.0, 0.7])
    rho = np.array([-0.9, -0.2, 0.4, 0.95])
    want, unit = textbook(rho, alphas, train), textbook(np.ones(1), alphas, train)
    found = rntk_dual(1 - rho, alphas, train=train, normalize=False).ntk
    np.testing.assert_allclose(found, want, rtol=1e-12)
    found = rntk_dual(1 - rho, alphas, train=train).ntk
    np.testing.assert_allclose(found, want / unit, rtol=1e-12)


@pytest.mark.usefixtures("x64")
def test_covariances_of_rectified_gaussians():
    rng = np.random.default_rng(0)
    u, w = rng.normal(size=(2, 400_000))
    for rho in (-0.6, 0.2, 0.9):
        v = rho * u + np.sqrt(1 - rho**2) * w
        for function, products in (
            (kappa1, 2 * np.maximum(u, 0) * np.maximum(v, 0)),
            (kappa0, 2.0 * ((u > 0) & (v > 0))),
        ):
            error = products.std() / np.sqrt(len(u))
            assert abs(function(np.array(1 - rho)) - products.mean()) < 4 * error


@pytest.mark.usefixtures("x64")
def test_kernels_are_those_of_wide_random_networks():
    """Mean over random networks of products of outputs, and of their gradients."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 4))
    alphas, sigma_b, m = np.array([0.8, 0.5]), 0.6, 96

    def output(weights, x):
        h = weights["A"] @ x / 2  # c_in = 1/4
        for l, alpha in enumerate(alphas):
            u = weights["W"][l] @ h / np.sqrt(m) + sigma_b * weights["b"][l]
            step = weights["V"][l] @ jnp.maximum(u, 0) * np.sqrt(2 / m)
            h = (h + alpha * step) / np.sqrt(1 + alpha**2)
        return weights["v"] @ h / np.sqrt(m)

    def one(key):
        shapes = {"A": (m, 4), "W": (2, m, m), "V": (2, m, m), "b": (2, m), "v": (m,)}
        keys = jax.random.split(key, len(shapes))
        w = {n: jax.random.normal(k, s) for (n, s), k in zip(shapes.items(), keys)}
        grads = jax.vmap(jax.grad(output), (None, 0))(w, x)
        rows = [grads[name].reshape(3, -1) for name in ("V", "W", "b")]
        f = jax.vmap(output, (None, 0))(w, x)
        return f[:, None] * f[None], sum(g @ g.T for g in rows)

    products, tangents = jax.lax.map(one, jax.random.split(jax.random.key(0), 400))
    options = {"alphas": alphas, "sigma_b": sigma_b, "c_in": 0.25}
    want = resnet_kernels(x, **options)
    for values, kernel in ((products, want.nngp), (tangents, want.ntk)):
        error = values.std(0) / np.sqrt(len(values))
        # Four standard errors, and the effect of a finite width, about 1 / m.
        assert (np.abs(values.mean(0) - kernel) < 4 * error + 0.02 * kernel.max()).all()


@pytest.mark.usefixtures("x64")
def test_derivatives_of_the_arc_cosine_functions():
    delta = np.array([0.01, 0.4, 1.0, 1.5, 1.99])
    for function in (kernels.theta_from_delta, kappa0, kappa1, kappa1_minus_rho):
        slope = jax.vmap(jax.grad(function))(delta)
        numeric = (function(delta + 1e-6) - function(delta - 1e-6)) / 2e-6
        np.testing.assert_allclose(slope, numeric, rtol=1e-6)


@pytest.mark.usefixtures("x64")
def test_slopes_of_the_tangent_kernel():
    slope = jax.grad(lambda delta: rntk_dual(delta, ONES).ntk)
    np.testing.assert_allclose(slope(0.3), -0.40288788, atol=1e-8)
    np.testing.assert_allclose(slope(1.0), -0.07996799, atol=1e-8)
    alphas = np.array([0.7, 0.2, 1.5])
    of_alphas = lambda a: rntk_dual(np.array(0.6), a, train="VWAv").ntk
    found = jax.grad(of_alphas)(alphas)
    numeric = [
        (of_alphas(alphas + e) - of_alphas(alphas - e)) / 2e-6 for e in 1e-6 * np.eye(3)
    ]
    np.testing.assert_allclose(found, numeric, rtol=1e-6)
    forward = jax.jacfwd(of_alphas)(alphas)
    np.testing.assert_allclose(found, forward, rtol=1e-12)
    both = jax.jvp(lambda d, a: rntk_dual(d, a).ntk, (0.6, alphas), (0.3, np.ones(3)))[
        1
    ]
    parts = 0.3 * jax.grad(lambda d: rntk_dual(d, alphas).ntk)(0.6)
    parts += jax.grad(lambda a: rntk_dual(np.array(0.6), a).ntk)(alphas).sum()
    np.testing.assert_allclose(both, parts, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1e-8, 1.0, 10.0])
def test_no_nan_anywhere(dtype, alpha):
    with jax.enable_x64(dtype == np.float64):
        for depth in (1, 300):
            alphas = np.full(depth, alpha)
            f = lambda delta, alphas=alphas: rntk_dual(delta, alphas).ntk
            for function in (f, jax.vmap(jax.grad(f)), jax.vmap(jax.hessian(f))):
                assert np.isfinite(function(DELTA.astype(dtype)[[0, 3, 4, 5, 7]])).all()


def test_great_depth():
    alphas = np.full(100_000, 10.0)
    value, slope = jax.value_and_grad(lambda d: rntk_dual(d, alphas).ntk)(
        np.float32(1.0)
    )
    np.testing.assert_allclose(value, 0.25, atol=1e-3)
    assert np.isfinite(slope)
    assert rntk_dual(np.zeros((), np.float32), alphas).ntk == 1


@pytest.mark.usefixtures("x64")
def test_duplicates_and_antipodes_have_finite_derivatives():
    x = np.array([[1.0, 2.0], [1.0, 2.0], [-2.0, -4.0], [3.0, 0.0]])
    for sigma_b in (0.0, 0.5):
        total = lambda x, s=sigma_b: resnet_ntk(x, alphas=ONES, sigma_b=s).sum()
        assert np.isfinite(jax.grad(total)(x)).all()


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("sigma_b", [0.0, 0.7])
def test_gram_matrices(sigma_b):
    x = np.random.default_rng(0).normal(size=(40, 5))
    options = {"alphas": np.full(30, 0.5), "sigma_b": sigma_b}
    gram = np.asarray(resnet_ntk(x, normalize=True, **options))
    assert (np.diag(gram) == 1).all() if sigma_b == 0 else True
    np.testing.assert_allclose(np.diag(gram), 1, rtol=1e-14)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-12 * 40
    cross = resnet_ntk(x, x[:7], normalize=True, **options)
    np.testing.assert_allclose(cross, gram[:, :7], rtol=0, atol=2e-7)
    plain = resnet_ntk(x, **options)
    root = np.sqrt(np.diag(plain))
    np.testing.assert_allclose(plain / root / root[:, None], gram, rtol=1e-12)
    # Branches without weight change nothing.
    padded = options | {"alphas": np.concatenate([np.zeros(3), options["alphas"]])}
    np.testing.assert_allclose(resnet_ntk(x, **padded), plain, rtol=1e-12)


@pytest.mark.usefixtures("x64")
def test_schedules_and_seeds_are_mapped():
    x = np.random.default_rng(0).normal(size=(4, 6, 3))
    alphas = np.random.default_rng(1).uniform(0, 1, (8, 5))
    ntk = lambda a, x: resnet_ntk(x, alphas=a)
    together = jax.vmap(jax.vmap(ntk, (None, 0)), (0, None))(alphas, x)
    for i, a in enumerate(alphas):
        for j, points in enumerate(x):
            np.testing.assert_allclose(together[i, j], ntk(a, points), rtol=1e-10)


@pytest.mark.usefixtures("x64")
def test_pairwise_delta():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 7)), rng.normal(size=(3, 7))
    unit = lambda z: z / np.linalg.norm(z, axis=1)[:, None]
    want = 1 - unit(x) @ unit(y).T
    for mode in ("dot", "difference"):
        found = pairwise_delta(x, y, mode=mode)
        np.testing.assert_allclose(found, want, atol=1e-14)
        own = np.asarray(pairwise_delta(x, mode=mode))
        assert (np.diag(own) == 0).all()
        np.testing.assert_array_equal(own, own.T)
    tiled = pairwise_delta(x, y, mode="difference", tile=2)
    np.testing.assert_allclose(tiled, want, atol=1e-14)
    # Near duplicates and near antipodes keep their digits.
    pair = np.stack([unit(x)[0], unit(x)[0] + 1e-9 * unit(y)[0]])
    gap = pairwise_delta(pair, mode="difference")[0, 1]
    across = y[0] - (unit(x)[0] @ y[0]) * unit(x)[0]
    size = np.linalg.norm(across) / np.linalg.norm(y[0])
    np.testing.assert_allclose(gap, 0.5e-18 * size**2, rtol=1e-6)
    far = pairwise_delta(pair[:1], -pair[1:], mode="difference")[0, 0]
    assert far == 2
    assert np.isfinite(jax.jit(pairwise_delta)(np.zeros((2, 3)))).all()


@pytest.mark.usefixtures("x64")
def test_plain_network():
    rho = np.array([-0.8, 0.1, 0.9])
    sigma, theta = rho, rho
    for _ in range(4):
        angle = np.arccos(sigma)
        k0 = 1 - angle / np.pi
        k1 = (np.sin(angle) + (np.pi - angle) * sigma) / np.pi
        theta, sigma = theta * k0 + k1, k1
    found = mlp_ntk_dual(1 - rho, depth=4)
    np.testing.assert_allclose(found.ntk, theta / 5, rtol=1e-12)
    np.testing.assert_allclose(1 - found.delta, sigma, rtol=1e-12)
    assert mlp_ntk_dual(np.zeros(()), depth=50).ntk == 1


@pytest.mark.usefixtures("x64")
class TestDepth:
    """Limits, with the constants and rates that were derived for them."""

    rho = np.array([-0.5, 0.0, 0.5])

    def gap(self, depth, gamma, kind, **options):
        alphas = branch_schedule(depth, gamma=gamma)
        limit = limit_dual(kind, 1 - self.rho, **options)
        return np.asarray(rntk_dual(1 - self.rho, alphas).ntk - limit)

    def test_one_hidden_layer(self):
        for gamma in (0.75, 1.0):
            scaled = self.gap(10_000, gamma, "one_hidden") * 1e4 ** (2 * gamma - 1)
            bound = 0.02 if gamma == 0.75 else 0.001
            np.testing.assert_allclose(scaled, [0.0831, 0.0398, -0.0372], atol=bound)

    def test_critical(self):
        for depth in (100, 1000):
            scaled = np.abs(self.gap(depth, 0.5, "critical")).max() * depth
            assert 0.02 < scaled < 0.0985

    @pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
    def test_degenerate(self, alpha):
        low, high = 10_000, 100_000
        at = lambda n: n * (rntk_dual(np.array(1.0), np.full(n, alpha)).ntk - 0.25)
        slope = (at(high) - at(low)) / np.log(high / low)
        np.testing.assert_allclose(slope, 3 / 8, atol=0.03)

    def test_cusp(self):
        for gamma, want in ((1.0, 1 / (2 * np.pi)), (0.5, 1 / np.pi)):
            slope = cusp_slope(branch_schedule(20_000, gamma=gamma))
            np.testing.assert_allclose(slope, want, rtol=1e-3)
        alphas = np.ones(10)
        theta = 1e-5
        value = rntk_dual(np.array(2 * np.sin(theta / 2) ** 2), alphas).ntk
        np.testing.assert_allclose((1 - value) / theta, cusp_slope(alphas), rtol=1e-4)
        assert cusp_slope(np.zeros(3)) == 1 / (2 * np.pi)

    def test_all_weights_trained_is_linear(self):
        alphas = branch_schedule(1000, gamma=1.0)
        rho = np.linspace(-1, 1, 41)
        found = rntk_dual(1 - rho, alphas, train="VWAv").ntk
        assert np.abs(found - rho).max() < 2e-3
        assert np.abs(rntk_dual(1 - rho, alphas).ntk - rho).max() > 0.1

    def test_effective_depth_decides(self):
        one = rntk_dual(1 - self.rho, np.full(4000, 0.02)).ntk
        two = rntk_dual(1 - self.rho, np.full(1000, 0.04)).ntk
        assert np.abs(one - two).max() < 2e-3


@pytest.mark.usefixtures("x64")
def test_harmonics():
    t = np.linspace(-1, 1, 9)
    for k, (two, three) in enumerate(zip(gegenbauer(9, 2, t), gegenbauer(9, 3, t))):
        np.testing.assert_allclose(two, eval_chebyt(k, t), atol=1e-13)
        np.testing.assert_allclose(three, eval_legendre(k, t), atol=1e-13)
    assert gegenbauer(0, 5, t).shape == (1, 9)
    # Polynomials of degree k in d variables, less those of degree k - 2.
    for d in (2, 3, 6):
        for k in range(6):
            every = fractions.Fraction(1)
            for i in range(1, k + 1):
                every = every * (d - 1 + i) / i
            lower = fractions.Fraction(1 if k >= 2 else 0)
            for i in range(1, k - 1):
                lower = lower * (d - 1 + i) / i
            assert multiplicity(d, k) == every - lower


@pytest.mark.usefixtures("x64")
def test_spectrum_of_one_layer_is_rational():
    one = lambda delta: limit_dual("one_hidden", delta)
    found = sphere_eigenvalues(one, 3, 4)
    np.testing.assert_allclose(found, [1 / 4, 1 / 6, 5 / 128, 0, 1 / 384], atol=1e-12)
    found = sphere_eigenvalues(one, 2, 1)
    np.testing.assert_allclose(found, [3 / np.pi**2, 1 / 4], atol=1e-12)
    deep = lambda delta: rntk_dual(delta, np.ones(5)).ntk
    for d in (2, 3):
        lam = sphere_eigenvalues(deep, d, 400)
        counts = np.array([float(multiplicity(d, k)) for k in range(401)])
        trace = np.sum(lam * counts)
        assert 0.97 < trace < 1
        # A kernel is the sum of its harmonics.
        mercer = np.sum(
            (lam * counts)[:, None] * gegenbauer(400, d, np.array([0.3])), 0
        )
        np.testing.assert_allclose(mercer, deep(np.array([0.7])), atol=2e-4)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: kappa0(np.array([2.5])), ValueError, "delta: "),
        (lambda: kappa1(np.array([-0.1])), ValueError, "delta: "),
        (lambda: branch_schedule(0), ValueError, "depth: "),
        (lambda: branch_schedule(2.5), TypeError, "depth: "),
        (lambda: branch_schedule(3, "linear"), ValueError, "kind: "),
        (lambda: branch_schedule(3, c=-1.0), ValueError, "c: "),
        (lambda: branch_schedule(3, gamma=np.nan), ValueError, "gamma: "),
        (lambda: branch_schedule(3, "explicit", c=np.ones(2)), ValueError, "c: "),
        (lambda: rntk_dual(np.ones(2), np.ones(0)), ValueError, "alphas: "),
        (lambda: rntk_dual(np.ones(2), -np.ones(2)), ValueError, "alphas: "),
        (lambda: rntk_dual(np.ones(2), ONES, train=()), ValueError, "train: "),
        (lambda: rntk_dual(np.ones(2), ONES, train="X"), ValueError, "train: "),
        (lambda: rntk_dual(np.ones(2) + 0j, ONES), TypeError, "delta: "),
        (lambda: resnet_ntk(np.ones(3), alphas=ONES), ValueError, "x1: "),
        (
            lambda: resnet_ntk(np.ones((3, 2)), np.ones((3, 1)), alphas=ONES),
            ValueError,
            "x2: ",
        ),
        (
            lambda: resnet_ntk(np.ones((3, 2)), alphas=ONES, sigma_b=-1.0),
            ValueError,
            "sigma_b: ",
        ),
        (
            lambda: resnet_ntk(np.eye(3) - np.eye(3)[:1], alphas=ONES, normalize=True),
            ValueError,
            "x1: .*row 0 is zero",
        ),
        (lambda: pairwise_delta(np.zeros((2, 2))), ValueError, "x1: .*row 0"),
        (lambda: pairwise_delta(np.ones((2, 2)), mode="fast"), ValueError, "mode: "),
        (lambda: mlp_ntk_dual(np.ones(2), depth=0), ValueError, "depth: "),
        (lambda: limit_dual("deep", np.ones(2)), ValueError, "kind: "),
        (lambda: limit_dual("critical", np.ones(2), T=0.0), ValueError, "T: "),
        (lambda: gegenbauer(-1, 3, np.ones(2)), ValueError, "k_max: "),
        (lambda: gegenbauer(2, 1, np.ones(2)), ValueError, "d: "),
        (lambda: multiplicity(1, 2), ValueError, "d: "),
        (lambda: sphere_eigenvalues("ntk", 3, 2), TypeError, "dual: "),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_zero_rows_have_kernel_zero():
    x = np.array([[0.0, 0.0], [1.0, 2.0]], np.float32)
    gram = jax.jit(lambda x: resnet_ntk(x, alphas=ONES))(x)
    assert gram[0].tolist() == [0, 0]
    assert np.isfinite(gram).all()


def test_traced_values_out_of_range_give_nan():
    assert np.isnan(jax.jit(kappa0)(np.array([2.5], np.float32))).all()
    assert np.isnan(jax.jit(lambda c: branch_schedule(3, c=c))(-1.0)).all()
    bad = jax.jit(lambda a: rntk_dual(np.ones(1, np.float32), a).ntk)
    assert np.isnan(bad(-np.ones(3, np.float32))).all()
