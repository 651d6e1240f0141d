import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from jax.test_util import check_grads

from jaxrepro.operators import (
    GaussianKernel,
    KernelAtoms,
    KernelOperatorFit,
    LinearKernel,
    LinearOperatorFit,
    SpectralAtoms,
    biorthonormalize,
    overlap,
    sgot,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")


def matrix_with(eigenvalues, seed=0):
    """A real matrix with given eigenvalues; complex ones stand for a pair."""
    blocks = []
    for mu in eigenvalues:
        if np.iscomplex(mu):
            blocks.append([[mu.real, mu.imag], [-mu.imag, mu.real]])
        else:
            blocks.append([[np.real(mu)]])
    block = scipy.linalg.block_diag(*blocks)
    p = np.random.default_rng(seed).normal(size=block.shape)
    return p @ block @ np.linalg.inv(p)


def mu_of(atoms, dt):
    return np.exp(np.asarray(atoms.lam) * dt)


def check_decomposition(atoms, dense, dt, tol=1e-9):
    right, left = np.asarray(atoms.right), np.asarray(atoms.left)
    mu = mu_of(atoms, dt)
    np.testing.assert_allclose(left.conj().T @ right, np.eye(len(mu)), atol=tol)
    np.testing.assert_allclose((right * mu) @ left.conj().T, dense, atol=tol)


def test_matrix_decomposition(stable_matrices):
    for dense in stable_matrices(3, 5):
        atoms = spectral_atoms(dense, 0.1)
        check_decomposition(atoms, dense, 0.1)
        size = np.abs(mu_of(atoms, 0.1))
        assert np.all(np.diff(size) <= 1e-12)
        np.testing.assert_allclose(atoms.weight, 0.2)


def test_oscillator_has_its_frequency_and_decay():
    dt, tau, hertz = 0.02, 0.3, 1.7
    lam = -tau + 2j * np.pi * hertz
    atoms = spectral_atoms(matrix_with([np.exp(lam * dt)]), dt)
    np.testing.assert_allclose(atoms.lam, [lam, np.conj(lam)], atol=1e-11)


def test_factored_fit_equals_its_dense_matrix(getkey):
    v, w = np.random.default_rng(0).normal(size=(2, 6, 3))
    fit = LinearOperatorFit(jnp.array(v), jnp.array(w), jnp.ones(3))
    atoms = spectral_atoms(fit, 0.5)
    check_decomposition(atoms, v @ w.T, 0.5)
    dense = np.linalg.eigvals(v @ w.T)
    top = dense[np.argsort(-np.abs(dense))][:3]
    np.testing.assert_allclose(
        np.sort_complex(mu_of(atoms, 0.5)), np.sort_complex(top), atol=1e-10
    )


def kernel_fit(n=7, d=4, r=3, seed=1):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n, r))
    x, y = rng.normal(size=(2, n, d))
    mask = np.arange(n) < n - 2
    for z in (u, v, x, y):
        z[~mask] = np.nan
    fields = map(jnp.array, (u, v, x, y, mask, np.ones(r)))
    return KernelOperatorFit(*fields)


def test_linear_kernel_equals_explicit_features():
    fit = kernel_fit()
    live = np.asarray(fit.mask)
    u, v, x, y = (np.asarray(z)[live] for z in fit[:4])
    dense = x.T @ u @ v.T @ y / len(x)
    atoms = spectral_atoms(fit, 0.5, kernel=LinearKernel())
    assert isinstance(atoms, KernelAtoms)
    # The eigenfunctions as weight vectors on the features.
    n = np.sqrt(len(x))
    right = x.T @ np.asarray(atoms.beta)[live] / n
    left = y.T @ np.asarray(atoms.alpha)[live] / n
    explicit = SpectralAtoms(atoms.lam, jnp.array(right), jnp.array(left))
    check_decomposition(explicit, dense, 0.5)
    primal = spectral_atoms(dense, 0.5, rank=3)
    np.testing.assert_allclose(atoms.lam, primal.lam, atol=1e-9)
    np.testing.assert_allclose(atoms.condition, primal.condition, rtol=1e-9)
    s = overlap(explicit, primal)
    np.testing.assert_allclose(np.diag(s), 1, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_negative_real_eigenvalue_keeps_its_branch(seed):
    dense = matrix_with([-0.7, 0.9, 0.5 + 0.3j], seed)
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))
    for matrix in (dense, q @ dense @ q.conj().T):
        lam = np.asarray(spectral_atoms(matrix, 0.1).lam)
        np.testing.assert_allclose(lam[1], np.log(0.7) / 0.1 + 10j * np.pi, atol=1e-9)


def test_eigenvalues_below_the_floor_have_no_weight():
    dense = matrix_with([0.9, 0.5, 1e-5, 0.0])
    atoms = spectral_atoms(dense, 0.5, mag_floor=1e-3)
    np.testing.assert_allclose(atoms.weight, [0.5, 0.5, 0, 0])
    np.testing.assert_allclose(atoms.lam[2:], np.log(1e-3) / 0.5, rtol=1e-12)
    for field in atoms:
        assert np.all(np.isfinite(field))
    without = spectral_atoms(dense, 0.5, mag_floor=0.0)
    assert np.all(np.isfinite(without.lam))
    assert without.weight[2] > 0


def test_zero_singular_value_gives_finite_atoms_and_derivatives():
    rng = np.random.default_rng(0)
    v, w = rng.normal(size=(2, 6, 4))
    w[:, 2:] = 0
    fit = LinearOperatorFit(jnp.array(v), jnp.array(w), jnp.ones(4))
    atoms = spectral_atoms(fit, 0.5)
    np.testing.assert_allclose(atoms.weight, [0.5, 0.5, 0, 0])
    for field in atoms:
        assert np.all(np.isfinite(field))
    check_decomposition(
        SpectralAtoms(atoms.lam[:2], atoms.right[:, :2], atoms.left[:, :2]),
        v @ w.T, 0.5,
    )  # fmt: skip
    other = spectral_atoms(matrix_with([0.9, 0.8, 0.5, 0.4, 0.3, 0.2]), 0.5)

    def distance(v, w):
        return sgot(spectral_atoms(fit._replace(V=v, W=w), 0.5), other, eta=0.5)

    for g in jax.jit(jax.grad(distance, (0, 1)))(fit.V, fit.W):
        assert np.all(np.isfinite(g))


def test_zero_operator_is_an_empty_measure():
    atoms = spectral_atoms(np.zeros((3, 3)), 0.5)
    np.testing.assert_array_equal(atoms.weight, 0)
    assert np.all(np.isfinite(atoms.lam))
    other = spectral_atoms(0.9 * np.eye(3), 0.5)
    assert np.isnan(sgot(atoms, other, eta=0.5))


def test_cut_through_a_pair_drops_the_half():
    dense = matrix_with([0.9, 0.8 + 0.1j, 0.5])
    weights = [spectral_atoms(dense, 1.0, rank=k).weight for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(weights[0], [1])
    np.testing.assert_allclose(weights[1], [1, 0])
    np.testing.assert_allclose(weights[2], 1 / 3)
    np.testing.assert_allclose(weights[3], 1 / 4)


@pytest.mark.parametrize("seed", range(10))
def test_pairs_of_one_modulus_stay_together(seed):
    angles = np.random.default_rng(seed).uniform(0.1, 3.0, 4)
    q, _ = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(9, 9)))
    dense = q @ matrix_with_rotations(angles) @ q.T
    for rank in range(1, 10):
        atoms = spectral_atoms(dense, 1.0, rank=rank)
        live = np.asarray(atoms.weight) > 0
        lam = np.asarray(atoms.lam)[live]
        assert np.sum(lam.imag > 1e-9) == np.sum(lam.imag < -1e-9)
        assert live.sum() >= rank - 1


def matrix_with_rotations(angles):
    blocks = [[[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]] for t in angles]
    return scipy.linalg.block_diag(*blocks, [[1.0]])


def test_condition_is_one_for_a_normal_and_large_for_a_nearly_defective_operator():
    normal = matrix_with_rotations([0.3, 1.0])
    np.testing.assert_allclose(spectral_atoms(normal, 1.0).condition, 1, rtol=1e-12)
    jordan = np.array([[0.5, 1.0], [0.0, 0.5 + 1e-6]])
    # Right vectors (1, 0) and (1, 1e-6): the angle between them is 1e-6.
    np.testing.assert_allclose(spectral_atoms(jordan, 1.0).condition, 1e6, rtol=1e-5)


def test_nan_operator_gives_nan():
    dense = np.full((3, 3), np.nan)
    atoms = spectral_atoms(dense, 1.0)
    assert np.all(np.isnan(atoms.lam.real))
    other = spectral_atoms(np.diag([0.9, 0.8, 0.7]), 1.0)
    assert np.isnan(sgot(atoms, other, eta=0.5))


def test_traced_step_that_is_not_positive_gives_nan():
    dense = jnp.diag(jnp.array([0.9, 0.5]))
    lam = jax.jit(lambda dt: spectral_atoms(dense, dt).lam)(-1.0)
    assert np.all(np.isnan(lam.real))


def test_derivative_of_eigenvalues(stable_matrices):
    dense = jnp.array(stable_matrices(1, 4)[0])

    def lam(a):
        atoms = spectral_atoms(a, 0.1)
        return jnp.sum(atoms.lam.real * jnp.arange(4.0)) + jnp.sum(atoms.lam.imag**2)

    check_grads(lam, (dense,), 1, atol=1e-6, rtol=1e-6)


def test_dtype_follows_the_operator():
    atoms = spectral_atoms(np.eye(2, dtype=np.float32) * [0.9, 0.5], 0.1)
    single = spectral_atoms(jnp.diag(jnp.array([0.9, 0.5], jnp.float32)), 0.1)
    assert atoms.lam.dtype == np.complex128  # a float64 product
    assert {f.dtype.name for f in single} == {"complex64", "float32"}


def test_single_precision_is_accurate(stable_matrices):
    for dense in stable_matrices(5, 6):
        exact = spectral_atoms(dense, 0.1)
        single = spectral_atoms(dense.astype(np.float32), 0.1)
        # Backward error of the eigen-solver times the condition of eigenvalues.
        tol = 1e-5 * float(exact.condition) / 0.1 / np.abs(mu_of(exact, 0.1)).min()
        np.testing.assert_allclose(single.lam, exact.lam, atol=tol)


def test_batch_equals_loop(stable_matrices):
    dense = jnp.array(stable_matrices(4, 4))
    batch = jax.vmap(lambda a: spectral_atoms(a, 0.1))(dense)
    for i, a in enumerate(dense):
        one = spectral_atoms(a, 0.1)
        np.testing.assert_allclose(batch.lam[i], one.lam, atol=1e-12)
        np.testing.assert_allclose(batch.right[i], one.right, atol=1e-12)


def test_unmatched_scales_are_undone(stable_matrices):
    (dense,) = stable_matrices(1, 5)
    mu, left, right = scipy.linalg.eig(dense, left=True)
    rng = np.random.default_rng(0)
    left = left * (rng.normal(size=5) + 1j * rng.normal(size=5))
    atoms = biorthonormalize(SpectralAtoms(jnp.log(mu), right, left))
    unit = spectral_atoms(dense, 1.0)
    np.testing.assert_allclose(
        np.asarray(atoms.left).conj().T @ np.asarray(atoms.right), np.eye(5), atol=1e-11
    )
    np.testing.assert_allclose(atoms.condition, unit.condition, rtol=1e-10)
    np.testing.assert_allclose(sgot(atoms, unit, eta=0.5), 0, atol=1e-9)


def test_padding_is_cleared_by_biorthonormalize():
    nan = jnp.full((3, 1), jnp.nan + 0j)
    eye = jnp.eye(3) + 0j
    atoms = SpectralAtoms(
        jnp.array([0, 1, 2, jnp.nan]) + 0j, jnp.hstack([2 * eye, nan]),
        jnp.hstack([3 * eye, nan]), jnp.array([0.3, 0.3, 0.4, 0]),
    )  # fmt: skip
    unit = biorthonormalize(atoms)
    np.testing.assert_array_equal(unit.right[:, 3], 0)
    np.testing.assert_allclose(unit.right[:, :3], np.eye(3))
    np.testing.assert_allclose(unit.condition, 1)


def test_kernel_atoms_are_biorthonormalised():
    kernel = GaussianKernel(1.5)
    atoms = spectral_atoms(kernel_fit(), 0.5, kernel=kernel)
    phase = jnp.array([2.0, 1j, 0.5 - 1j])
    scaled = atoms._replace(beta=atoms.beta * phase, alpha=atoms.alpha * 3)
    unit = biorthonormalize(scaled, kernel=kernel)
    n = float(jnp.sum(atoms.mask))
    gram = kernel(unit.y, unit.x) / n
    product = unit.alpha.conj().T @ (gram @ unit.beta)
    np.testing.assert_allclose(product, np.eye(3), atol=1e-10)
    norm = unit.beta.conj().T @ (kernel(unit.x, unit.x) / n @ unit.beta)
    np.testing.assert_allclose(jnp.diag(norm), 1, rtol=1e-10)
    np.testing.assert_allclose(unit.condition, atoms.condition, rtol=1e-9)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones((2, 3)), 1.0), {}, r"operator: expected shape \(2, 2\); got"),
        ((np.ones(3), 1.0), {}, r"operator: expected shape \(d, d\); got shape"),
        ((np.ones((0, 0)), 1.0), {}, "operator: expected at least one element"),
        ((np.eye(2), 0.0), {}, r"dt: expected a value in \(0, inf\); got 0.0"),
        ((np.eye(2), np.ones(2)), {}, r"dt: expected shape \(\); got shape \(2,\)"),
        ((np.eye(2), 1.0), {"rank": 3}, r"rank: expected an integer in \[1, 2\]"),
        ((np.eye(2), 1.0), {"select": "fast"}, "select: expected one of 'slowest'"),
        ((np.eye(2), 1.0), {"mag_floor": -1.0}, r"mag_floor: expected a value in \[0"),
        ((np.eye(2), 1.0), {"gap_tol": -1.0}, r"gap_tol: expected a value in \[0"),
        ((kernel_fit, 1.0), {}, "kernel: expected the kernel of the regression"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    operator, dt = arguments
    operator = operator() if callable(operator) else operator
    with pytest.raises(ValueError, match=message):
        spectral_atoms(operator, dt, **options)


@pytest.mark.usefixtures("plain_errors")
def test_a_bare_function_is_no_kernel():
    with pytest.raises(TypeError, match="kernel: expected an equinox.Module"):
        spectral_atoms(kernel_fit(), 1.0, kernel=lambda x, y: x @ y.T)


@pytest.mark.usefixtures("plain_errors")
def test_half_precision_is_named():
    with pytest.raises(TypeError, match="operator: expected float32 or float64; got"):
        spectral_atoms(np.eye(2, dtype=np.float16), 1.0)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("field", "shape", "message"),
    [
        ("lam", (3, 1), r"atoms.lam: expected shape \(r,\); got shape \(3, 1\)"),
        ("right", (4, 2), r"atoms.right: expected shape \(d, 3\); got shape \(4, 2\)"),
        ("left", (5, 3), r"atoms.left: expected shape \(4, 3\); got shape \(5, 3\)"),
        ("weight", (4,), r"atoms.weight: expected shape \(3,\); got shape \(4,\)"),
    ],
)
def test_fields_that_disagree_are_named(field, shape, message):
    atoms = SpectralAtoms(jnp.ones(3), jnp.ones((4, 3)), jnp.ones((4, 3)), jnp.ones(3))
    with pytest.raises(ValueError, match=message):
        biorthonormalize(atoms._replace(**{field: jnp.ones(shape)}))


def test_nilpotent_operator_has_finite_derivatives():
    nilpotent = np.diag(np.ones(2), 1)
    fn = lambda a: jnp.sum(spectral_atoms(a, 0.1).lam.real)
    value, gradient = jax.value_and_grad(fn)(nilpotent)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


@pytest.mark.usefixtures("plain_errors")
def test_fields_of_a_fit_must_go_together():
    fit = LinearOperatorFit(jnp.ones((4, 2)), jnp.ones((4, 1)), jnp.ones(2))
    with pytest.raises(ValueError, match=r"operator.W: expected shape \(4, 2\)"):
        spectral_atoms(fit, 0.1)
