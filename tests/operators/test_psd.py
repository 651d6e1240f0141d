import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators._psd import regularised_inverse, regularised_inverse_root

pytestmark = pytest.mark.usefixtures("x64")

FUNCTIONS = [(regularised_inverse, -1.0), (regularised_inverse_root, -0.5)]


def matrix(values, seed=0):
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))
    return (q * values) @ q.T


def power(a, gamma, exponent):
    values, q = np.linalg.eigh(a)
    live = values + gamma > 1e-12
    return (q * np.where(live, np.where(live, values + gamma, 1) ** exponent, 0)) @ q.T


@pytest.mark.parametrize(("fn", "exponent"), FUNCTIONS)
@pytest.mark.parametrize("gamma", [0.0, 0.3])
@pytest.mark.parametrize("values", [[1.0, 2.0, 5.0], [2.0, 2.0, 2.0], [0.0, 0.0, 4.0]])
def test_value(fn, exponent, gamma, values):
    a = matrix(np.array(values))
    np.testing.assert_allclose(fn(a, gamma), power(a, gamma, exponent), atol=1e-14)


@pytest.mark.parametrize(("fn", "exponent"), FUNCTIONS)
@pytest.mark.parametrize("gamma", [0.0, 0.3])
@pytest.mark.parametrize("values", [[1.0, 2.0, 5.0], [2.0, 2.0, 2.0], [0.0, 0.0, 4.0]])
def test_derivative(fn, exponent, gamma, values):
    # A rotation of the range together with a change of the live eigenvalues: the
    # rank stays, as the derivative presumes.
    a = matrix(np.array(values))
    rng = np.random.default_rng(1)
    skew = rng.normal(size=(3, 3))
    skew -= skew.T
    inner = rng.normal(size=(3, 3))
    inner = a @ (inner + inner.T) @ a

    def path(h):
        turn = np.linalg.solve(np.eye(3) - h / 2 * skew, np.eye(3) + h / 2 * skew)
        return turn @ (a + h * inner) @ turn.T

    h = 1e-5
    slope = (path(h) - path(-h)) / (2 * h)
    step = 1.0 if gamma else 0.0
    want = (
        power(path(h), gamma + h * step, exponent)
        - power(path(-h), gamma - h * step, exponent)
    ) / (2 * h)
    _, got = jax.jvp(fn, (a, jnp.asarray(gamma)), (slope, jnp.asarray(step)))
    np.testing.assert_allclose(got, want, atol=1e-7 * np.abs(want).max())
    # Reverse mode is its transpose.
    weights = rng.normal(size=(3, 3))
    back = jax.grad(lambda a, g: jnp.sum(weights * fn(a, g)), (0, 1))
    d_a, d_gamma = back(a, gamma)
    np.testing.assert_allclose(
        np.sum(d_a * slope) + d_gamma * step, np.sum(weights * got), rtol=1e-10
    )


@pytest.mark.parametrize(("fn", "exponent"), FUNCTIONS)
def test_hermitian(fn, exponent):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))
    q, slope = np.linalg.qr(z[0])[0], z[1] + z[1].conj().T
    a = (q * [1.0, 1.0, 3.0]) @ q.conj().T

    def exact(h):
        values, q = np.linalg.eigh(a + h * slope)
        return (q * (values + 0.3) ** exponent) @ q.conj().T

    zero, h = jnp.zeros(()), 1e-5
    got, tangent = jax.jvp(fn, (a, jnp.asarray(0.3)), (slope, zero))
    np.testing.assert_allclose(got, exact(0), atol=1e-14)
    np.testing.assert_allclose(tangent, (exact(h) - exact(-h)) / (2 * h), atol=1e-8)


@pytest.mark.parametrize(("fn", "exponent"), FUNCTIONS)
def test_nan_gamma_gives_nan(fn, exponent):
    assert np.all(np.isnan(fn(np.eye(3), jnp.nan)))
