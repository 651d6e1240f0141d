"""Bi-orthogonal eigenpairs and their derivative."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, strategies as st

from jaxrepro.core import EigResult, _eig, eig_biorthogonal


def random_matrix(seed, n=5, kind=float):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n))
    return a + 1j * rng.normal(size=(n, n)) if kind is complex else a


def check_pairs(a, result, tol):
    values, right, left = map(np.asarray, result)
    n, scale = len(a), max(1, np.abs(a).max())
    np.testing.assert_allclose(a @ right, right * values, atol=tol * scale)
    np.testing.assert_allclose(
        left.conj().T @ a,
        values[:, None] * left.conj().T,
        atol=tol * scale * np.abs(left).max(),
    )
    np.testing.assert_allclose(left.conj().T @ right, np.eye(n), atol=tol)
    np.testing.assert_allclose(np.linalg.norm(right, axis=0), 1, rtol=tol)
    back = (right * values) @ left.conj().T
    np.testing.assert_allclose(back, a, atol=tol * scale * np.abs(left).max())


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_defining_equations(x64, kind, n):
    a = random_matrix(n, n, kind)
    result = eig_biorthogonal(a)
    assert result.values.dtype == jnp.complex128
    check_pairs(a, result, 1e-11)
    want = scipy.linalg.eigvals(a)
    np.testing.assert_allclose(np.sort(result.values), np.sort(want), rtol=1e-10)


def test_single_precision_also_under_x64(x64):
    a = random_matrix(0).astype(np.float32)
    result = eig_biorthogonal(a)
    assert {x.dtype for x in result} == {jnp.dtype(jnp.complex64)}
    check_pairs(a, result, 3e-5)


def test_left_vectors_against_scipy(x64):
    """SciPy's own left vectors, normalised by the conjugate of their product."""
    a = random_matrix(7, 6, complex)
    values, left, right = scipy.linalg.eig(a, left=True, right=True)
    left = left / np.sum(left.conj() * right, axis=0).conj()
    want = np.einsum("ir,jr->rij", right, left.conj())
    result = eig_biorthogonal(a)
    got = np.einsum("ir,jr->rij", result.right, result.left.conj())
    order, wanted = np.argsort(np.asarray(result.values)), np.argsort(values)
    np.testing.assert_allclose(got[order], want[wanted], atol=1e-10)


def test_a_rotation_in_closed_form(x64):
    angle = 0.3
    c, s = np.cos(angle), np.sin(angle)
    result = eig_biorthogonal(np.array([[c, -s], [s, c]]))
    want = [np.exp(-1j * angle), np.exp(1j * angle)]
    np.testing.assert_allclose(sorted(result.values, key=np.imag), want, atol=1e-14)
    # A normal matrix has equal right and left vectors.
    np.testing.assert_allclose(result.left, result.right, atol=1e-14)


def gauge_free(a, gap_tol=0.0):
    """Values that see neither the phase nor the order of the eigenvectors."""
    values, right, left = eig_biorthogonal(a, gap_tol=gap_tol)
    projectors = jnp.einsum("ir,jr->rij", right, left.conj())
    decay = jnp.exp(-(jnp.abs(values - 0.3) ** 2))
    mixed = jnp.einsum("r,rij->ij", decay, projectors)
    return jnp.sum(jnp.sin(mixed.real) + mixed.imag**2) + jnp.sum(decay)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_derivative_against_finite_differences(x64, kind, seed):
    a, direction = random_matrix(seed, kind=kind), random_matrix(seed + 50, kind=kind)
    step = 1e-6
    want = (gauge_free(a + step * direction) - gauge_free(a - step * direction)) / (
        2 * step
    )
    forward = jax.jvp(gauge_free, (a,), (direction,))[1]
    np.testing.assert_allclose(forward, want, rtol=1e-7)
    gradient = jax.grad(gauge_free)(a)
    reverse = np.sum(np.asarray(gradient) * direction).real
    np.testing.assert_allclose(reverse, want, rtol=1e-7)


def test_derivatives_of_values_and_projectors_one_by_one(x64):
    a, direction = random_matrix(3), random_matrix(4)

    def parts(a):
        values, right, left = eig_biorthogonal(a)
        return values, jnp.einsum("ir,jr->rij", right, left.conj())

    step = 1e-6
    above, below = parts(a + step * direction), parts(a - step * direction)
    _, tangents = jax.jvp(parts, (a,), (direction,))
    for tangent, up, down in zip(tangents, above, below):
        np.testing.assert_allclose(tangent, (up - down) / (2 * step), atol=1e-7)


def test_right_vectors_stay_of_unit_norm(x64):
    a, direction = random_matrix(5), random_matrix(6)
    (_, right, left), (_, d_right, d_left) = jax.jvp(
        eig_biorthogonal, (a,), (direction,)
    )
    change = np.sum(right.conj() * d_right, axis=0).real
    np.testing.assert_allclose(change, 0, atol=1e-13)
    biorthogonal = d_left.conj().T @ right + left.conj().T @ d_right
    np.testing.assert_allclose(biorthogonal, 0, atol=1e-12)


def test_second_derivative(x64):
    a, direction = random_matrix(8), random_matrix(9)

    def along(t):
        return gauge_free(a + t * direction)

    step = 1e-4
    want = (along(step) - 2 * along(0.0) + along(-step)) / step**2
    np.testing.assert_allclose(jax.jit(jax.hessian(along))(0.0), want, rtol=1e-5)


def test_repeated_eigenvalues_have_finite_derivatives(x64):
    def trace_of_exponential(a):
        return jnp.sum(jnp.exp(eig_biorthogonal(a).values)).real

    # The derivative of tr exp(A) is exp(A) transposed, here with 2 twice.
    q = random_matrix(2, 3)
    a = q @ np.diag([2.0, 2.0, -1.0]) @ np.linalg.inv(q)
    gradient = jax.grad(trace_of_exponential)(a)
    np.testing.assert_allclose(gradient, scipy.linalg.expm(a).T, rtol=1e-9)
    np.testing.assert_allclose(
        jax.grad(trace_of_exponential)(jnp.eye(3)), np.e * np.eye(3), rtol=1e-12
    )
    for seed in range(3):
        direction = random_matrix(seed, 3)
        tangents = jax.jvp(eig_biorthogonal, (jnp.eye(3),), (direction,))[1]
        assert all(np.isfinite(t).all() for t in tangents)


def test_gap_tol_uncouples_close_eigenvalues(x64):
    a = jnp.diag(jnp.array([1.0, 1.0 + 1e-9, 3.0]))
    direction = random_matrix(1, 3)

    def slope(gap_tol):
        fn = lambda a: eig_biorthogonal(a, gap_tol=gap_tol).right
        return np.abs(jax.jvp(fn, (a,), (direction,))[1]).max()

    assert slope(0.0) > 1e7
    assert slope(1e-6) < 10
    assert slope(jnp.float32(1e-6)) < 10


def test_a_batch_equals_its_members(x64):
    batch = np.stack([random_matrix(seed, 4) for seed in range(5)])
    together = jax.vmap(eig_biorthogonal)(batch)
    for i, a in enumerate(batch):
        for got, want in zip(together, eig_biorthogonal(a)):
            np.testing.assert_allclose(got[i], want, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_gives_nan_everywhere(bad):
    a = random_matrix(0, 3).astype(np.float32)
    a[0, 1] = bad
    for field in eig_biorthogonal(a):
        assert np.isnan(field).all()


def test_integers_and_lists(plain_errors):
    values = eig_biorthogonal([[2, 0], [0, 1]]).values
    np.testing.assert_allclose(np.sort(values), [1, 2])


def test_errors(plain_errors):
    with pytest.raises(ValueError, match=r"^matrix: expected shape \(n, n\); got"):
        eig_biorthogonal(jnp.ones(3))
    with pytest.raises(ValueError, match=r"^matrix: expected shape \(2, 2\); got"):
        eig_biorthogonal(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match=r"^matrix: expected at least one element"):
        eig_biorthogonal(jnp.ones((0, 0)))


class TestPlacement:
    """On a platform without a kernel the small problem goes to the host."""

    def test_concrete_matrices_go_to_the_cpu_and_back(self, monkeypatch):
        a = jnp.asarray(random_matrix(0).astype(np.float32))
        want = eig_biorthogonal(a)
        moved = []
        device_put = jax.device_put

        def spy(x, device):
            moved.append(device)
            return device_put(x, device)

        monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
        monkeypatch.setattr(jax, "device_put", spy)
        got = eig_biorthogonal(a)
        assert isinstance(got, EigResult)
        for x, y in zip(got, want):
            np.testing.assert_array_equal(x, y)
        assert moved == [jax.devices("cpu")[0], *a.devices()]

    @pytest.mark.parametrize("backend", ["cpu", "gpu", "cuda", "rocm"])
    def test_platforms_with_a_kernel_stay(self, monkeypatch, backend):
        monkeypatch.setattr(jax, "default_backend", lambda: backend)
        monkeypatch.setattr(_eig, "_on_cpu", lambda *_: pytest.fail("moved"))
        eig_biorthogonal(jnp.eye(2))

    def test_traced_matrices_stay(self, monkeypatch):
        monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
        monkeypatch.setattr(_eig, "_on_cpu", lambda *_: pytest.fail("moved"))
        jax.eval_shape(eig_biorthogonal, jnp.eye(2))


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_similar_matrices_have_the_same_eigenvalues(x64, seed, n):
    a = random_matrix(seed, n)
    q, _ = np.linalg.qr(random_matrix(seed + 1, n))
    first, second = eig_biorthogonal(a).values, eig_biorthogonal(q @ a @ q.T).values
    gaps = np.abs(np.asarray(first)[:, None] - np.asarray(second)[None, :])
    condition = np.linalg.cond(np.asarray(eig_biorthogonal(a).right))
    assert gaps.min(axis=1).max() < 1e-13 * condition * np.linalg.norm(a)
