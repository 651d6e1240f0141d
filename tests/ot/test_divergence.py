"""The debiased loss between measures."""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.test_util import check_grads

from jaxrepro import ot


def square(x, y):
    return np.sum((x[:, None] - y[None]) ** 2, axis=2)


def clouds(seed, n=6, m=5):
    rng = np.random.default_rng(seed)
    x, y = rng.random((n, 2)), rng.random((m, 2)) + 0.3
    return x, y, rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))


def costs(x, y):
    return square(x, y), square(x, x), square(y, y)


@pytest.mark.parametrize(
    ("rho", "scale"), [pytest.param(math.inf, 1.0, marks=pytest.mark.slow), (0.5, 1.7)]
)
def test_three_terms(x64, rho, scale):
    x, y, a, b = clouds(0)
    a = scale * a
    value = lambda c, a, b: (
        ot.sinkhorn(c, a, b, eps=0.1, rho_a=rho, rho_b=rho, n_iter=5000).reg_value
    )
    ab, aa, bb = costs(x, y)
    expected = value(ab, a, b) - value(aa, a, a) / 2 - value(bb, b, b) / 2
    expected += 0.1 / 2 * (scale - 1) ** 2
    got = ot.sinkhorn_divergence(ab, aa, bb, a, b, eps=0.1, rho=rho, n_iter=1000)
    assert abs(got - expected) < 1e-11


@pytest.mark.peer
def test_against_ott(x64):
    from ott.geometry import pointcloud
    from ott.tools import sinkhorn_divergence as ott

    x, y, a, b = (jnp.asarray(z) for z in clouds(1))
    expected, _ = ott.sinkhorn_divergence(
        pointcloud.PointCloud, x=x, y=y, a=a, b=b, epsilon=0.1,
        solve_kwargs={"threshold": 1e-13, "max_iterations": 20000},
    )  # fmt: skip
    got = ot.sinkhorn_divergence(*costs(x, y), a, b, eps=0.1, n_iter=1000)
    assert abs(got - expected) < 1e-10


@pytest.mark.parametrize("rho", [math.inf, 0.5])
@given(seed=st.integers(0, 2**32 - 1))
def test_properties(x64, rho, seed):
    x, y, a, b = clouds(seed)

    def divergence(x, y, a, b):
        return ot.sinkhorn_divergence(*costs(x, y), a, b, eps=0.2, rho=rho, n_iter=1000)

    value = divergence(x, y, a, b)
    assert value >= -1e-9
    assert abs(divergence(x, x, a, a)) < 1e-9
    assert abs(divergence(y, x, b, a) - value) < 1e-9
    order = np.random.default_rng(seed).permutation(6)
    assert abs(divergence(x[order], y, a[order], b) - value) < 1e-9


def test_unequal_masses(x64):
    x, y, a, b = clouds(2)
    for scale in (0.2, 1.0, 5.0):
        value = ot.sinkhorn_divergence(
            *costs(x, y), scale * a, b, eps=0.2, rho=0.5, n_iter=1000
        )
        assert value >= -1e-9
    balanced = ot.sinkhorn_divergence(*costs(x, y), 2 * a, b, eps=0.2)
    assert np.isnan(balanced)


def test_symmetric_update_needs_few_steps(x64):
    x, _, a, _ = clouds(3)
    value = lambda n: ot.sinkhorn_divergence(
        *costs(x, x), a, a, eps=0.5, n_iter=n, anneal=False
    )
    cross = lambda n: (
        ot.sinkhorn(square(x, x), a, a, eps=0.5, n_iter=n, anneal=False).reg_value
    )
    # What remains after 30 steps is the error of the unsymmetric term alone.
    assert abs(value(30) - (cross(30) - cross(5000))) < 1e-12


@pytest.mark.parametrize("rho", [0.5, pytest.param(math.inf, marks=pytest.mark.slow)])
def test_gradients(x64, rho):
    x, y, a, b = clouds(4, 4, 3)

    def fn(x, y, a, eps):
        cost = lambda x, y: jnp.sum((x[:, None] - y[None]) ** 2, axis=2)
        return ot.sinkhorn_divergence(
            cost(x, y), cost(x, x), cost(y, y), a, b, eps=eps, rho=rho, n_iter=1000
        )

    check_grads(jax.jit(fn), (x, y, a, 0.2), order=1, rtol=1e-6, atol=1e-8, eps=1e-5)


def test_padding_reaches_nothing(x64):
    x, y, a, b = clouds(5)
    ab, aa, bb = costs(x, y)
    padded = []
    for cost, (p, q) in ((ab, (2, 1)), (aa, (2, 2)), (bb, (1, 1))):
        padded.append(np.pad(cost, ((0, p), (0, q)), constant_values=np.nan))
    weights = np.pad(a, (0, 2)), np.pad(b, (0, 1))
    fn = jax.jit(
        jax.value_and_grad(
            lambda *p: ot.sinkhorn_divergence(*p, eps=0.1), argnums=tuple(range(5))
        )
    )
    value, gradients = fn(ab, aa, bb, a, b)
    padded_value, padded_gradients = fn(*padded, *weights)
    assert abs(value - padded_value) < 1e-13
    for g, p in zip(gradients, padded_gradients):
        p = np.array(p)
        live = tuple(map(slice, g.shape))
        np.testing.assert_allclose(p[live], g, atol=1e-12)
        p[live] = 0
        assert np.all(p == 0)


def test_float32():
    x, y, a, b = (np.float32(z) for z in clouds(6))
    single = ot.sinkhorn_divergence(*costs(x, y), a, b, eps=0.1)
    with jax.enable_x64(True):
        double = ot.sinkhorn_divergence(
            *(np.float64(c) for c in costs(x, y)), np.float64(a), np.float64(b), eps=0.1
        )
    assert single.dtype == np.float32
    assert abs(float(single) - float(double)) < 1e-6 * costs(x, y)[0].max()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost_aa": np.ones((5, 5))}, "cost_aa: expected shape (6, 6); got shape"),
        ({"cost_bb": np.ones((5, 6))}, "cost_bb: expected shape (5, 5); got shape"),
        ({"a": np.ones(2)}, "a: expected shape (6,); got shape (2,)"),
        ({"eps": -1.0}, "eps: expected a value in (0, inf); got -1.0"),
        ({"rho": 0.0}, "rho: expected a value in (0, inf]; got 0.0"),
        ({"tol": -1.0}, "tol: expected a value in [0, inf]; got -1.0"),
        ({"n_iter": 0}, "n_iter: expected an integer >= 1; got 0"),
    ],
)
def test_errors(plain_errors, change, message):
    x, y, a, b = clouds(7)
    names = ("cost_ab", "cost_aa", "cost_bb", "a", "b")
    arguments = dict(zip(names, (*costs(x, y), a, b))) | {"eps": 0.1} | change
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.sinkhorn_divergence(**arguments)


def test_gradient_vanishes_at_equal_measures(x64):
    x, _, a, _ = clouds(8)

    def fn(z):
        cost = lambda x, y: jnp.sum((x[:, None] - y[None]) ** 2, axis=2)
        return ot.sinkhorn_divergence(
            cost(z, x), cost(z, z), cost(x, x), a, a, eps=0.2, n_iter=1000
        )

    np.testing.assert_allclose(jax.grad(fn)(jnp.asarray(x)), 0, atol=1e-10)
