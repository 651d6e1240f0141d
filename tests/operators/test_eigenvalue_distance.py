import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import spectral_atoms, spectral_w2

pytestmark = pytest.mark.usefixtures("x64")


def test_reference(reference):
    entry = reference["baselines"]["matrices"]
    values = [np.linalg.eigvals(np.asarray(entry[name])) for name in ("A", "B")]
    np.testing.assert_allclose(spectral_w2(*values), entry["eigenvalue_w2"], rtol=1e-9)


def test_all_permutations():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 4)) + 1j * rng.normal(size=(2, 4))
    want = min(
        np.sqrt(np.mean(np.abs(one - two[list(order)]) ** 2))
        for order in itertools.permutations(range(4))
    )
    np.testing.assert_allclose(spectral_w2(one, two), want, rtol=1e-12)
    np.testing.assert_allclose(
        spectral_w2(one.real, two.real),
        np.sqrt(np.mean((np.sort(one.real) - np.sort(two.real)) ** 2)),
        rtol=1e-12,
    )


def test_atoms_give_their_eigenvalues(stable_matrices):
    one, two = stable_matrices(2, 4)
    atoms = spectral_atoms(one, 0.5), spectral_atoms(two, 0.2)
    want = spectral_w2(np.linalg.eigvals(one), np.linalg.eigvals(two))
    np.testing.assert_allclose(spectral_w2(*atoms, dt=0.5, dt2=0.2), want, rtol=1e-10)


def test_equal_spectra_and_unequal_numbers():
    values = jnp.array([0.9, 0.5, 0.5])
    value, gradient = jax.value_and_grad(spectral_w2)(values, values)
    assert value == 0
    np.testing.assert_array_equal(gradient, 0)
    np.testing.assert_allclose(spectral_w2(values, jnp.array([0.5])), 0.4 / 3**0.5)


@pytest.mark.usefixtures("plain_errors")
def test_errors(stable_matrices):
    with pytest.raises(ValueError, match=r"values1: expected shape \(r,\)"):
        spectral_w2(np.ones((2, 2)), np.ones(2))
    with pytest.raises(ValueError, match="values2: "):
        spectral_w2(np.ones(2), np.ones(0))
    atoms = spectral_atoms(stable_matrices(1, 3)[0], 0.5)
    with pytest.raises(ValueError, match="dt: expected a time step"):
        spectral_w2(atoms, atoms)
    batch = jax.tree.map(lambda leaf: leaf[None], atoms)
    with pytest.raises(ValueError, match=r"values1\.lam: .*; got shape \(1, 3\)"):
        spectral_w2(batch, atoms, dt=0.5)
    with pytest.raises(ValueError, match=r"values2\.lam: .*; got shape \(1, 3\)"):
        spectral_w2(atoms, batch, dt=0.5)
