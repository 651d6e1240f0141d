import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from jaxrepro.data import make_linear_system

KEY = jax.random.key(1)
A = np.array([[0.9, 0.2, 0.0], [-0.2, 0.9, 0.1], [0.0, 0.0, 0.5]])


def test_without_noise_it_is_a_power_of_the_matrix(x64):
    start = np.array([1.0, -2.0, 0.5])
    x = make_linear_system(KEY, A, start, noise=0.0, n_steps=12)
    expected = [np.linalg.matrix_power(A, t) @ start for t in range(12)]
    assert_allclose(x, expected, rtol=1e-13, atol=1e-13)


def test_increments_are_white_noise(x64):
    n, sigma = 20_000, 0.7
    x = np.asarray(make_linear_system(KEY, A, noise=sigma, n_steps=n))
    errors = x[1:] - x[:-1] @ A.T
    covariance = errors.T @ errors / len(errors)
    # Five standard errors of a covariance of normal variables.
    assert_allclose(
        covariance, sigma**2 * np.eye(3), atol=5 * sigma**2 * np.sqrt(2 / n)
    )
    lagged = errors[1:].T @ errors[:-1] / n
    assert_allclose(lagged, 0, atol=5 * sigma**2 / np.sqrt(n))


def test_after_the_burn_in_it_is_stationary(x64):
    """Oracle: scipy's Lyapunov solver, over independent trajectories."""
    keys = jax.random.split(KEY, 4000)
    last = jax.vmap(lambda k: make_linear_system(k, A, n_steps=1, n_burn=150)[0])(keys)
    got = np.cov(np.asarray(last).T, bias=True)
    want = scipy.linalg.solve_discrete_lyapunov(A, np.eye(3))
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    assert_allclose(got / scale, want / scale, atol=5 * np.sqrt(2 / 4000))


def test_burn_in_only_leaves_out(x64):
    whole = make_linear_system(KEY, A, n_steps=30)
    part = make_linear_system(KEY, A, n_steps=10, n_burn=20)
    assert_allclose(part, whole[20:], rtol=0, atol=0)


def test_an_unstable_system_overflows_to_infinity_not_to_an_error():
    x = make_linear_system(KEY, 100 * jnp.eye(2), n_steps=40)
    assert not np.isfinite(x[-1]).any()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((A[:2],), {}, r"matrix: expected shape \(2, 2\); got shape \(2, 3\)"),
        ((A[0],), {}, r"matrix: expected shape \(d, d\); got shape \(3,\)"),
        ((A[:0, :0],), {}, "matrix: expected at least one element"),
        ((A, A[0, :2]), {}, r"initial: expected shape \(3,\); got shape \(2,\)"),
        ((A,), {"n_steps": 0}, "n_steps: expected an integer >= 1"),
        ((A,), {"n_burn": -1}, "n_burn: expected an integer >= 0"),
        ((A,), {"noise": A[0]}, r"noise: expected shape \(\)"),
        ((A,), {"noise": -1}, r"noise: expected a value in \[0, inf\); got -1"),
    ],
)
def test_errors(arguments, options, message, plain_errors):
    with pytest.raises(ValueError, match=message):
        make_linear_system(KEY, *arguments, **{"n_steps": 3, **options})


def test_a_seed_is_no_key(plain_errors):
    with pytest.raises(TypeError, match="key: expected a random key, .*; got 0"):
        make_linear_system(0, A, n_steps=3)
