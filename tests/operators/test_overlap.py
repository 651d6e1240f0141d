import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    GaussianKernel,
    KernelAtoms,
    LinearKernel,
    SpectralAtoms,
    overlap,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")


def dense_overlap(right1, left1, right2, left2):
    """Hilbert-Schmidt inner products of dense normalised projectors."""
    s = np.zeros((right1.shape[1], right2.shape[1]), complex)
    for i in range(s.shape[0]):
        a = np.outer(right1[:, i], left1[:, i].conj())
        for j in range(s.shape[1]):
            b = np.outer(right2[:, j], left2[:, j].conj())
            s[i, j] = np.vdot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))
    return s


def complex_normal(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def random_kernel_atoms(seed, n, d, r):
    rng = np.random.default_rng(seed)
    fields = complex_normal(rng, r), *complex_normal(rng, 2, n, r)
    return KernelAtoms(*fields, *rng.normal(size=(2, n, d)))


@pytest.mark.parametrize("index", [0, 1])
def test_reference(reference, index):
    entry = reference["sgot"][index]
    atoms = [
        SpectralAtoms(entry[f"mu{k}"], entry[f"R{k}"], entry[f"L{k}"]) for k in (1, 2)
    ]
    np.testing.assert_allclose(overlap(*atoms), entry["overlap"], atol=1e-10)


def test_equals_inner_products_of_dense_projectors(stable_matrices):
    one, two = (spectral_atoms(a, 1.0) for a in stable_matrices(2, 5))
    oracle = dense_overlap(*map(np.asarray, (one.right, one.left, two.right, two.left)))
    np.testing.assert_allclose(overlap(one, two), oracle, atol=1e-12)
    np.testing.assert_allclose(jnp.diag(overlap(one, one)), 1, atol=1e-12)


def test_pair_may_be_rescaled(stable_matrices):
    one, two = (spectral_atoms(a, 1.0) for a in stable_matrices(2, 4))
    c = jnp.array([2.0, 1j, -0.5 + 1j, 3.0])
    scaled = one._replace(right=one.right * c, left=one.left / c.conj())
    np.testing.assert_allclose(overlap(scaled, two), overlap(one, two), atol=1e-12)
    # The right vectors alone may not: that turns the phase of the projector.
    broken = one._replace(right=one.right * 1j)
    assert np.abs(overlap(broken, two) - overlap(one, two)).max() > 0.1


def test_linear_kernel_equals_explicit_features():
    one, two = random_kernel_atoms(0, 6, 3, 2), random_kernel_atoms(1, 5, 3, 4)
    explicit = [
        SpectralAtoms(a.lam, a.x.T @ a.beta, a.y.T @ a.alpha) for a in (one, two)
    ]
    expected = overlap(*explicit)
    got = overlap(one, two, kernel=LinearKernel())
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_gaussian_kernel_by_sums_over_samples():
    one, two = random_kernel_atoms(0, 6, 3, 2), random_kernel_atoms(1, 5, 3, 4)

    def product(c1, x1, c2, x2):
        return sum(
            np.outer(c1[i].conj(), c2[j]) * np.exp(-np.sum((x1[i] - x2[j]) ** 2) / 8)
            for i in range(len(x1)) for j in range(len(x2))
        )  # fmt: skip

    def norms(c, x):
        return np.sqrt(np.diag(product(c, x, c, x)).real)

    right = product(one.beta, one.x, two.beta, two.x)
    left = product(one.alpha, one.y, two.alpha, two.y)
    scale1 = norms(one.beta, one.x) * norms(one.alpha, one.y)
    scale2 = norms(two.beta, two.x) * norms(two.alpha, two.y)
    expected = right * left.conj() / np.outer(scale1, scale2)
    got = overlap(one, two, kernel=GaussianKernel(2.0))
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_padding_holds_nan_and_nobody_sees_it():
    one, two = random_kernel_atoms(0, 6, 3, 2), random_kernel_atoms(1, 5, 3, 4)
    kernel = GaussianKernel(2.0)

    def pad(z, rows, columns):
        return np.pad(z, ((0, rows), (0, columns)), constant_values=np.nan)

    padded = KernelAtoms(
        np.append(one.lam, np.nan), pad(one.beta, 2, 1), pad(one.alpha, 2, 1),
        pad(one.x, 2, 0), pad(one.y, 2, 0), np.array([0.5, 0.5, 0]),
        np.arange(8) < 6,
    )  # fmt: skip
    expected = overlap(one, two, kernel=kernel)
    got = overlap(padded, two, kernel=kernel)
    np.testing.assert_allclose(got[:2], expected, atol=1e-12)
    np.testing.assert_array_equal(got[2], 0)

    def total(atoms):
        return jnp.sum(jnp.abs(overlap(atoms, two, kernel=kernel)) ** 2)

    for g in jax.tree.leaves(jax.grad(total, allow_int=True)(padded)):
        if g.dtype != jax.dtypes.float0:
            assert np.all(np.isfinite(g))


def test_single_precision_keeps_its_dtype(stable_matrices):
    one, two = (
        spectral_atoms(a.astype(np.float32), 1.0) for a in stable_matrices(2, 4)
    )
    assert overlap(one, two).dtype == np.complex64
    exact = [spectral_atoms(a, 1.0) for a in stable_matrices(2, 4)]
    np.testing.assert_allclose(overlap(one, two), overlap(*exact), atol=1e-4)


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named(stable_matrices):
    one = spectral_atoms(stable_matrices(1, 4)[0], 1.0)
    other = spectral_atoms(stable_matrices(1, 5)[0], 1.0)
    with pytest.raises(ValueError, match="atoms2: expected features of dimension 4"):
        overlap(one, other)
    kernel_atoms = random_kernel_atoms(0, 6, 4, 2)
    with pytest.raises(ValueError, match="kernel: expected the kernel"):
        overlap(kernel_atoms, kernel_atoms)
    with pytest.raises(TypeError, match="atoms2: expected SpectralAtoms, as atoms1 is"):
        overlap(one, kernel_atoms, kernel=LinearKernel())
    with pytest.raises(
        TypeError, match="atoms1: expected SpectralAtoms or KernelAtoms"
    ):
        overlap(np.eye(3), one)
    with pytest.raises(ValueError, match="samples of dimension 4, as in atoms1; got"):
        overlap(kernel_atoms, random_kernel_atoms(0, 6, 3, 2), kernel=LinearKernel())
