import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    GaussianKernel,
    KernelOperatorFit,
    LinearKernel,
    LinearOperatorFit,
    SpectralAtoms,
    hs_distance,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")


def linear_fit(seed, d=6, r=3):
    v, w = np.random.default_rng(seed).normal(size=(2, d, r))
    return LinearOperatorFit(jnp.array(v), jnp.array(w), jnp.ones(r))


def kernel_fit(seed, n=7, d=4, r=3, padded=0):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n, r))
    x, y = rng.normal(size=(2, n, d))
    mask = np.arange(n) < n - padded
    for z in (u, v, x, y):
        z[~mask] = np.nan
    return KernelOperatorFit(*map(jnp.array, (u, v, x, y, mask, np.ones(r))))


def test_reference(reference):
    pair = reference["baselines"]["matrices"]
    value = hs_distance(np.array(pair["A"]), np.array(pair["B"]))
    np.testing.assert_allclose(value, pair["hilbert_schmidt"], atol=1e-9)


def test_atoms_equal_dense_matrices(stable_matrices):
    one, two = stable_matrices(2, 5)
    atoms = spectral_atoms(one, 0.5), spectral_atoms(two, 0.5)
    expected = np.linalg.norm(one - two)
    np.testing.assert_allclose(hs_distance(*atoms, dt=0.5), expected, rtol=1e-9)


def test_each_system_at_its_own_step(stable_matrices):
    one, two = stable_matrices(2, 5)
    atoms = spectral_atoms(one, 0.5), spectral_atoms(two, 0.1)
    value = hs_distance(*atoms, dt=0.5, dt2=0.1)
    np.testing.assert_allclose(value, np.linalg.norm(one - two), rtol=1e-9)


def test_padded_atoms_are_left_out(stable_matrices):
    one, two = stable_matrices(2, 4)
    a, b = spectral_atoms(one, 0.5), spectral_atoms(two, 0.5)
    nan = jnp.full((4, 1), jnp.nan)
    padded = SpectralAtoms(
        jnp.append(a.lam, jnp.nan), jnp.hstack([a.right, nan]),
        jnp.hstack([a.left, nan]), jnp.append(a.weight, 0.0),
    )  # fmt: skip
    value, gradient = jax.value_and_grad(lambda a: hs_distance(a, b, dt=0.5))(padded)
    np.testing.assert_allclose(value, np.linalg.norm(one - two), rtol=1e-9)
    assert all(np.all(np.isfinite(g)) for g in jax.tree.leaves(gradient))


def test_linear_fits():
    one, two = linear_fit(0), linear_fit(1)
    expected = np.linalg.norm(one.V @ one.W.T - two.V @ two.W.T)
    np.testing.assert_allclose(hs_distance(one, two), expected, rtol=1e-12)


def test_linear_kernel_equals_explicit_features():
    one, two = kernel_fit(0, padded=2), kernel_fit(1, n=6)

    def dense(fit):
        live = np.asarray(fit.mask)
        u, v, x, y = (np.asarray(z)[live] for z in fit[:4])
        return x.T @ u @ v.T @ y / len(x)

    expected = np.linalg.norm(dense(one) - dense(two))
    value = hs_distance(one, two, kernel=LinearKernel())
    np.testing.assert_allclose(value, expected, rtol=1e-11)


def test_kernel_atoms_equal_their_fit():
    kernel = GaussianKernel(1.5)
    one, two = kernel_fit(0, padded=2), kernel_fit(1, n=6)
    atoms = [spectral_atoms(f, 0.5, kernel=kernel, mag_floor=0.0) for f in (one, two)]
    expected = hs_distance(one, two, kernel=kernel)
    value = hs_distance(*atoms, dt=0.5, kernel=kernel)
    np.testing.assert_allclose(value, expected, rtol=1e-9)


def test_equal_operators(stable_matrices):
    (dense,) = stable_matrices(1, 4)
    for operator, options in ((dense, {}), (spectral_atoms(dense, 0.5), {"dt": 0.5}),
                              (linear_fit(0), {})):  # fmt: skip
        value, pull = jax.vjp(lambda z: hs_distance(z, operator, **options), operator)  # noqa: B023
        assert value <= 1e-6
        for g in jax.tree.leaves(pull(jnp.ones(()))):
            assert np.all(np.isfinite(g))


def test_single_precision(stable_matrices):
    one, two = (a.astype(np.float32) for a in stable_matrices(2, 5))
    value = hs_distance(one, two)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, np.linalg.norm(one - two), rtol=1e-6)


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named(stable_matrices):
    atoms = spectral_atoms(stable_matrices(1, 4)[0], 0.5)
    with pytest.raises(ValueError, match="dt: expected a time step, as atoms do not"):
        hs_distance(atoms, atoms)
    with pytest.raises(ValueError, match=r"dt: expected a value in \(0, inf\); got -1"):
        hs_distance(atoms, atoms, dt=-1.0)
    with pytest.raises(ValueError, match=r"operator2: expected shape \(2, 2\); got"):
        hs_distance(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match=r"operator1: expected shape \(2, 2\); got"):
        hs_distance(np.ones((2, 3)), np.eye(3))
    with pytest.raises(TypeError, match="operator2: expected SpectralAtoms, as operat"):
        hs_distance(atoms, linear_fit(0), dt=0.5)
    with pytest.raises(ValueError, match=r"operator2: expected shape \(6, r\); got"):
        hs_distance(linear_fit(0), linear_fit(0, d=5))
    with pytest.raises(ValueError, match="kernel: expected the kernel"):
        hs_distance(kernel_fit(0), kernel_fit(1))
    with pytest.raises(ValueError, match=r"operator2.x: expected shape \(n, 4\); got"):
        hs_distance(kernel_fit(0), kernel_fit(1, d=3), kernel=LinearKernel())
