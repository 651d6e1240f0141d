import re

import jax
import numpy as np
import pytest
import scipy.optimize

from jaxrepro.operators import dsa

pytestmark = pytest.mark.usefixtures("x64")


def orthogonal(seed, d=4, det=1):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    q[:, 0] *= det * np.sign(np.linalg.det(q))
    return q


@pytest.mark.parametrize("det", [1, -1])
def test_conjugate_operators_are_equal(det):
    a = np.random.default_rng(0).normal(size=(4, 4))
    q = orthogonal(1, det=det)
    result = dsa(jax.random.key(0), a, 3 * q @ a @ q.T)
    assert result.value < 1e-6
    np.testing.assert_allclose(
        result.rotation.T @ result.rotation, np.eye(4), atol=1e-12
    )
    assert np.sign(np.linalg.det(result.rotation)) == det
    assert np.sum(result.values < 1e-3) >= 2


def test_symmetric_operators_are_an_assignment_of_eigenvalues():
    # Hoffman and Wielandt: for normal matrices the best rotation matches spectra.
    rng = np.random.default_rng(2)
    one, two = rng.normal(size=(2, 4))
    one, two = one / np.linalg.norm(one), two / np.linalg.norm(two)
    cost = (one[:, None] - two[None, :]) ** 2
    want = np.sqrt(cost[scipy.optimize.linear_sum_assignment(cost)].sum())
    matrices = [
        q @ np.diag(v) @ q.T for q, v in ((orthogonal(3), one), (orthogonal(4), two))
    ]
    result = dsa(jax.random.key(1), *matrices)
    np.testing.assert_allclose(result.value, want, rtol=1e-6)
    angle = dsa(jax.random.key(1), *matrices, metric="angular").value
    np.testing.assert_allclose(angle, np.arccos(1 - want**2 / 2), rtol=1e-6)


def test_no_start_is_below_a_fine_search():
    # In the plane the rotation is one angle.
    a, b = np.random.default_rng(5).normal(size=(2, 2, 2))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    angles = np.linspace(0, 2 * np.pi, 20001)
    c, s = np.cos(angles), np.sin(angles)
    turns = np.moveaxis(np.array([[c, -s], [s, c]]), -1, 0)
    both = np.concatenate([turns, turns @ np.diag([1.0, -1.0])])
    distances = np.linalg.norm(a - both @ b @ np.swapaxes(both, 1, 2), axis=(1, 2))
    result = dsa(jax.random.key(2), a, b)
    np.testing.assert_allclose(result.value, distances.min(), atol=1e-6)


def test_derivative_is_that_at_the_rotation_found():
    a, b = np.random.default_rng(6).normal(size=(2, 3, 3))
    value = jax.jit(lambda a: dsa(jax.random.key(3), a, b).value)
    gradient = jax.grad(value)(a)
    step = np.random.default_rng(7).normal(size=(3, 3))
    slope = (value(a + 1e-5 * step) - value(a - 1e-5 * step)) / 2e-5
    np.testing.assert_allclose(np.sum(gradient * step), slope, rtol=1e-3)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operator1": np.ones((2, 3))}, "operator1: expected shape (2, 2)"),
        ({"operator2": np.ones((3, 3))}, "operator2: expected shape (2, 2)"),
        ({"metric": "cosine"}, "metric: expected one of"),
        ({"n_starts": 1}, "n_starts: expected an integer >= 2; got 1"),
        ({"n_iter": 0}, "n_iter: expected an integer >= 1; got 0"),
        ({"lr": -1.0}, "lr: expected a value in (0, inf); got -1"),
    ],
)
def test_errors(change, message):
    arguments = {"operator1": np.eye(2), "operator2": np.eye(2)} | change
    with pytest.raises(ValueError, match=re.escape(message)):
        dsa(jax.random.key(0), **arguments)


@pytest.mark.parametrize("d", [1, 2])
def test_traced_step_size_out_of_range_gives_nan(d):
    find = lambda lr: dsa(
        jax.random.key(0), np.eye(d), np.ones((d, d)), lr=lr, n_starts=2, n_iter=2
    )
    value = jax.vmap(lambda lr: find(lr).value)(np.array([0.05, 0, -1, np.nan, np.inf]))
    np.testing.assert_array_equal(np.isnan(value), [False, True, True, True, True])


OPERATORS = "operator1", "operator2"


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operator1": 1j * np.eye(2)}, "operator1: expected real numbers; got"),
        ({"operator2": [["a"]]}, "operator2: expected real numbers; got"),
        ({"operator1": np.eye(2, dtype=np.float16)}, "operator1: expected float32 or"),
        ({"key": 0}, "key: expected a random key, such as jax.random.key(0); got 0"),
    ],
)
def test_entries_that_are_not_real_numbers(change, message):
    arguments = {"key": jax.random.key(0)} | dict.fromkeys(OPERATORS, np.eye(2))
    with pytest.raises(TypeError, match=re.escape(message)):
        dsa(**arguments | change)
