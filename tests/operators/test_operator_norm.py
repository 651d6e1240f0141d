import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxrepro.operators import (
    GaussianKernel,
    KernelOperatorFit,
    LinearKernel,
    LinearOperatorFit,
    operator_norm_distance,
    operator_norm_pairwise,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")


def linear_fit(seed, d=6, r=3):
    v, w = np.random.default_rng(seed).normal(size=(2, d, r))
    return LinearOperatorFit(jnp.array(v), jnp.array(w), jnp.ones(r))


def kernel_fit(seed, n=7, d=4, r=3):
    rng = np.random.default_rng(seed)
    fields = *rng.normal(size=(2, n, r)), *rng.normal(size=(2, n, d))
    return KernelOperatorFit(*map(jnp.array, fields), jnp.ones(n, bool), jnp.ones(r))


def test_reference(reference):
    pair = reference["baselines"]["matrices"]
    value = operator_norm_distance(np.array(pair["A"]), np.array(pair["B"]))
    np.testing.assert_allclose(value, pair["operator_norm"], atol=1e-9)


def test_atoms_equal_dense_matrices(stable_matrices):
    one, two = stable_matrices(2, 5)
    atoms = spectral_atoms(one, 0.5), spectral_atoms(two, 0.1)
    value = operator_norm_distance(*atoms, dt=0.5, dt2=0.1)
    np.testing.assert_allclose(value, np.linalg.norm(one - two, 2), rtol=1e-9)


@pytest.mark.parametrize("r", [3, 6])
def test_linear_fits(r):
    one, two = linear_fit(0, r=r), linear_fit(1, r=r)
    expected = np.linalg.norm(one.V @ one.W.T - two.V @ two.W.T, 2)
    np.testing.assert_allclose(operator_norm_distance(one, two), expected, rtol=1e-12)


def test_linear_kernel_equals_explicit_features():
    one, two = kernel_fit(0), kernel_fit(1, n=6)

    def dense(fit):
        return fit.x.T @ fit.U @ fit.V.T @ fit.y / len(fit.x)

    expected = np.linalg.norm(dense(one) - dense(two), 2)
    value = operator_norm_distance(one, two, kernel=LinearKernel())
    np.testing.assert_allclose(value, expected, rtol=1e-11)


def test_kernel_atoms_equal_their_fit():
    kernel = GaussianKernel(1.5)
    one, two = kernel_fit(0), kernel_fit(1, n=6)
    atoms = [spectral_atoms(f, 0.5, kernel=kernel, mag_floor=0.0) for f in (one, two)]
    expected = operator_norm_distance(one, two, kernel=kernel)
    value = operator_norm_distance(*atoms, dt=0.5, kernel=kernel)
    np.testing.assert_allclose(value, expected, rtol=1e-9)


def test_derivatives(stable_matrices):
    one, two = (jnp.array(a) for a in stable_matrices(2, 4))
    fit = linear_fit(0), linear_fit(1)

    def of_factors(v, w):
        return operator_norm_distance(fit[0]._replace(V=v, W=w), fit[1])

    check_grads(operator_norm_distance, (one, two), 1, atol=1e-6, rtol=1e-6)
    check_grads(of_factors, (fit[0].V, fit[0].W), 1, atol=1e-6, rtol=1e-6)


def test_equal_operators(stable_matrices):
    (dense,) = stable_matrices(1, 4)
    for operator, options in ((dense, {}), (spectral_atoms(dense, 0.5), {"dt": 0.5}),
                              (linear_fit(0), {})):  # fmt: skip
        value, pull = jax.vjp(
            lambda z: operator_norm_distance(z, operator, **options), operator  # noqa: B023
        )  # fmt: skip
        assert value <= 1e-6
        for g in jax.tree.leaves(pull(jnp.ones(()))):
            assert np.all(np.isfinite(g))


def test_single_precision(stable_matrices):
    one, two = (a.astype(np.float32) for a in stable_matrices(2, 5))
    value = operator_norm_distance(one, two)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, np.linalg.norm(one - two, 2), rtol=1e-5)


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named(stable_matrices):
    atoms = spectral_atoms(stable_matrices(1, 4)[0], 0.5)
    with pytest.raises(ValueError, match="dt: expected a time step, as atoms do not"):
        operator_norm_distance(atoms, atoms)
    with pytest.raises(TypeError, match="operator2: expected SpectralAtoms, as operat"):
        operator_norm_distance(atoms, linear_fit(0), dt=0.5)
    half = np.eye(2, dtype=np.float16)
    with pytest.raises(TypeError, match="operator2: expected float32 or float64; got"):
        operator_norm_distance(np.eye(2), half)
    with pytest.raises(TypeError, match="batch1: expected float32 or float64; got"):
        operator_norm_pairwise(half[None])
