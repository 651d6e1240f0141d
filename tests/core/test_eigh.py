"""Symmetric eigenpairs whose derivative survives repeated eigenvalues."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxrepro.core import safe_eigh


def symmetric(values, seed=0, kind=float):
    rng = np.random.default_rng(seed)
    n = len(values)
    a = rng.normal(size=(n, n))
    if kind is complex:
        a = a + 1j * rng.normal(size=(n, n))
    q, _ = np.linalg.qr(a)
    return (q * np.asarray(values)) @ q.conj().T


def apply(fn, a):
    values, vectors = safe_eigh(a)
    return (vectors * fn(values)) @ vectors.conj().T


@pytest.mark.parametrize("kind", [float, complex])
def test_against_numpy(x64, kind):
    want = np.array([-3.0, -1.0, 0.5, 2.0])
    a = symmetric(want, kind=kind)
    values, vectors = safe_eigh(a)
    np.testing.assert_allclose(values, want, atol=1e-13)
    assert values.dtype == jnp.float64
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-13)
    gram = vectors.conj().T @ vectors
    np.testing.assert_allclose(gram, np.eye(4), atol=1e-13)


def test_only_the_symmetric_part_is_used(x64):
    a = np.random.default_rng(0).normal(size=(4, 4))
    np.testing.assert_allclose(
        safe_eigh(a).values, np.linalg.eigvalsh((a + a.T) / 2), atol=1e-13
    )


def test_float32_also_under_x64(x64):
    result = safe_eigh(symmetric([1.0, 2.0, 3.0]).astype(np.float32))
    assert result.values.dtype == result.vectors.dtype == jnp.float32
    np.testing.assert_allclose(result.values, [1, 2, 3], rtol=2e-6)


@pytest.mark.parametrize("kind", [float, complex])
def test_derivative_at_distinct_eigenvalues(x64, kind):
    a = symmetric([-2.0, -0.5, 1.0, 3.0], kind=kind)

    def fn(a):
        values, vectors = safe_eigh(a)
        projectors = jnp.einsum("ir,jr->rij", vectors, vectors.conj())
        return values, projectors.real, projectors.imag

    # The damping is of relative size (1e-6 * 3 / 1.5)^2, far below the tolerance.
    check_grads(fn, (a,), order=1, atol=1e-6, rtol=1e-6)


def test_second_derivative(x64):
    a, d = symmetric([-2.0, 1.0, 3.0]), symmetric([1.0, 2.0, 3.0], seed=1)
    along = lambda t: jnp.sum(jnp.cos(apply(jnp.tanh, a + t * d)))
    step = 1e-4
    want = (along(step) - 2 * along(0.0) + along(-step)) / step**2
    np.testing.assert_allclose(jax.jit(jax.hessian(along))(0.0), want, rtol=1e-6)


@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [1.0, 1.0, 4.0], [0.0, 0.0, 0.0]])
def test_derivative_at_repeated_eigenvalues_is_finite(x64, values):
    a = symmetric(values)
    gradient = jax.grad(lambda a: jnp.sum(safe_eigh(a).vectors ** 3))(a)
    assert np.isfinite(gradient).all()
    assert not np.isfinite(
        jax.grad(lambda a: jnp.sum(jnp.linalg.eigh(a)[1] ** 3))(2 * jnp.eye(3))
    ).all()


def test_spectral_sums_and_eigenprojectors_are_exact_at_repeated_eigenvalues(x64):
    a = symmetric([1.0, 1.0, 4.0])
    d = symmetric([1.0, 2.0, 3.0], seed=5)
    trace = lambda a: jnp.sum(jnp.exp(safe_eigh(a).values))
    np.testing.assert_allclose(jax.grad(trace)(a), apply(jnp.exp, a), rtol=1e-10)

    def projector(a):
        leading = safe_eigh(a).vectors[:, -1:]
        return jnp.eye(3) - leading @ leading.T

    # dP = P d Q / (1 - 4) + its transpose, with Q the other projector.
    p = projector(a)
    coupling = p @ d @ (np.eye(3) - p) / (1.0 - 4.0)
    tangent = jax.jvp(projector, (a,), (d,))[1]
    np.testing.assert_allclose(tangent, coupling + coupling.T, atol=1e-10)


def test_a_larger_gap_tol_damps_more(x64):
    a = jnp.diag(jnp.array([1.0, 1.0 + 1e-4]))
    d = jnp.array([[0.0, 1.0], [1.0, 0.0]])

    def slope(gap_tol):
        fn = lambda a: safe_eigh(a, gap_tol=gap_tol).vectors
        return np.abs(jax.jvp(fn, (a,), (d,))[1]).max()

    np.testing.assert_allclose(slope(0.0), 1e4, rtol=1e-8)
    np.testing.assert_allclose(slope(1e-4), 1e4 / 2, rtol=1e-3)
    assert slope(1.0) < 1


def test_a_batch_equals_its_members(x64):
    batch = np.stack([symmetric([1.0, 2.0, 4.0], seed) for seed in range(4)])
    together = jax.vmap(safe_eigh)(batch)
    for i, a in enumerate(batch):
        for got, want in zip(together, safe_eigh(a)):
            np.testing.assert_allclose(got[i], want, atol=1e-13)


def test_one_by_one_and_not_finite():
    result = safe_eigh(jnp.array([[3.0]]))
    assert result.values.tolist() == [3.0]
    assert result.vectors.tolist() == [[1.0]]
    assert np.isnan(safe_eigh(jnp.full((2, 2), jnp.nan)).values).all()


def test_errors(plain_errors):
    with pytest.raises(ValueError, match=r"^matrix: expected shape \(n, n\); got"):
        safe_eigh(jnp.ones((2, 2, 2)))
    with pytest.raises(ValueError, match=r"^matrix: expected shape \(2, 2\); got"):
        safe_eigh(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match=r"^matrix: expected at least one element"):
        safe_eigh(jnp.ones((0, 0)))


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_derivative_has_no_scale_of_its_own(scale):
    fn = lambda a: safe_eigh(a).vectors[0, 1]
    a = np.diag([1.0, 2.0]).astype(np.float32)
    got = jax.grad(fn)((scale * a).astype(np.float32)) * np.float32(scale)
    np.testing.assert_allclose(got, jax.grad(fn)(a), rtol=1e-5)
