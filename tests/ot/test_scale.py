"""A regularisation in the scale of the cost."""

import re

import jax
import numpy as np
import pytest

from jaxrepro import ot


def test_weighted_mean(x64):
    rng = np.random.default_rng(0)
    cost, a, b = rng.random((4, 3)), 3 * rng.random(4), rng.random(3)
    expected = 0.05 * a @ cost @ b / (a.sum() * b.sum())
    assert abs(ot.scale_eps(cost, a, b) - expected) < 1e-15
    assert abs(ot.scale_eps(cost, rel=0.2) - 0.2 * cost.mean()) < 1e-15


def test_padding_does_not_count(x64):
    rng = np.random.default_rng(1)
    cost, a = rng.random((4, 3)), rng.random(4)
    padded = np.full((6, 3), np.nan)
    padded[:4] = cost
    padded_a = np.pad(a, (0, 2))
    value, gradients = jax.value_and_grad(ot.scale_eps, argnums=(0, 1))(
        padded, padded_a
    )
    assert abs(value - ot.scale_eps(cost, a)) < 1e-15
    assert np.all(gradients[0][4:] == 0)
    assert np.all(gradients[1][4:] == 0)
    assert np.isnan(ot.scale_eps(padded))
    assert np.isnan(ot.scale_eps(cost, -a))


@pytest.mark.parametrize("seed", range(3))
def test_scale_equivariance(x64, seed):
    cost = np.random.default_rng(seed).random((5, 5))
    eps = ot.scale_eps(cost)
    assert abs(ot.scale_eps(7 * cost) - 7 * eps) < 1e-14
    plan = ot.sinkhorn_plan(cost, eps=eps)
    scaled = ot.sinkhorn_plan(7 * cost, eps=7 * eps)
    np.testing.assert_allclose(plan, scaled, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rel": 0.0}, "rel: expected a value in (0, inf); got 0.0"),
        ({"cost": np.ones(3)}, "cost: expected shape (n, m); got shape (3,)"),
        ({"a": np.ones(2)}, "a: expected shape (4,); got shape (2,)"),
    ],
)
def test_errors(plain_errors, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.scale_eps(**({"cost": np.ones((4, 3))} | arguments))
