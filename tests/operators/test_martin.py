import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import martin_distance, spectral_atoms

pytestmark = pytest.mark.usefixtures("x64")


def random_poles(seed, n_pairs=2):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.2, 0.85, n_pairs) * np.exp(1j * rng.uniform(0.2, 3, n_pairs))
    return np.concatenate([p, p.conj()])


def test_reference(reference):
    entry = reference["baselines"]["martin"]
    result = martin_distance(entry["poles1"], entry["poles2"])
    np.testing.assert_allclose(result.value, entry["value"], atol=1e-9)
    assert not result.rescaled


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_cepstral_sum(seed):
    p, q = random_poles(seed), random_poles(seed + 10)
    n = np.arange(1, 500)[:, None]
    gap = np.sum(p**n, axis=1) - np.sum(q**n, axis=1)
    # sum_n n |c_n - c_n'|^2 with c_n = sum_i p_i^n / n; the tail is below 0.85^998.
    expected = np.sqrt(np.sum(np.abs(gap) ** 2 / n[:, 0]))
    np.testing.assert_allclose(martin_distance(p, q).value, expected, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_equals_angles_between_observability_subspaces(seed):
    p, q = random_poles(seed), random_poles(seed + 10)
    t = np.arange(400)[:, None]
    bases = [np.linalg.qr(z[None, :] ** t)[0] for z in (p, q)]
    cosines = np.linalg.svd(bases[0].conj().T @ bases[1], compute_uv=False)
    expected = np.sqrt(-2 * np.sum(np.log(cosines)))
    np.testing.assert_allclose(martin_distance(p, q).value, expected, rtol=1e-8)


def test_real_poles_and_padding():
    p, q = np.array([0.5, -0.3]), np.array([0.2])
    s = np.log1p(-np.outer(p, p)).sum(), np.log1p(-np.outer(q, q)).sum()
    expected = np.sqrt(2 * np.log1p(-np.outer(p, q)).sum() - sum(s))
    np.testing.assert_allclose(martin_distance(p, q).value, expected, rtol=1e-12)
    padded = np.array([0.5, 0.0, -0.3, 0.0])
    np.testing.assert_allclose(martin_distance(padded, q).value, expected, rtol=1e-12)


def test_atoms_give_their_poles(stable_matrices):
    one, two = stable_matrices(2, 4)
    expected = martin_distance(np.linalg.eigvals(one), np.linalg.eigvals(two)).value
    a, b = spectral_atoms(one, 0.5), spectral_atoms(two, 0.1)
    result = martin_distance(a, b, dt=0.5, dt2=0.1)
    np.testing.assert_allclose(result.value, expected, rtol=1e-9)
    # A padded atom is a pole at 0, which counts nothing.
    cut = a._replace(lam=a.lam.at[3].set(jnp.nan), weight=a.weight.at[3].set(0.0))
    value = martin_distance(cut, b, dt=0.5, dt2=0.1).value
    poles = np.exp(np.asarray(a.lam[:3]) * 0.5)
    expected = martin_distance(poles, np.linalg.eigvals(two)).value
    np.testing.assert_allclose(value, expected, rtol=1e-9)


def test_poles_outside_the_disc_are_moved_and_flagged():
    p, q = np.array([2.0, 0.5]), np.array([0.3, -0.3])
    result = martin_distance(p, q)
    assert result.rescaled
    expected = martin_distance(p * 0.999 / 2, q)
    assert not expected.rescaled
    np.testing.assert_allclose(result.value, expected.value, rtol=1e-12)
    assert martin_distance(q, np.array([1.0])).rescaled


def test_equal_poles():
    p = jnp.array(random_poles(0))
    value, gradient = jax.value_and_grad(lambda z: martin_distance(z, p).value)(p)
    assert value <= 1e-6
    assert np.all(np.isfinite(gradient))


def test_single_precision():
    p, q = (random_poles(s).astype(np.complex64) for s in (0, 1))
    value = martin_distance(p, q).value
    assert value.dtype == np.float32
    exact = martin_distance(p.astype(complex), q.astype(complex)).value
    np.testing.assert_allclose(value, exact, rtol=1e-5)


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named(stable_matrices):
    atoms = spectral_atoms(stable_matrices(1, 4)[0], 0.5)
    with pytest.raises(ValueError, match="dt: expected a time step, as atoms do not"):
        martin_distance(atoms, atoms)
    batch = jax.tree.map(lambda leaf: leaf[None], atoms)
    with pytest.raises(ValueError, match=r"poles1\.lam: .* \(r,\); got shape \(1, 4\)"):
        martin_distance(batch, atoms, dt=0.5)
    with pytest.raises(ValueError, match=r"poles2\.lam: .* \(r,\); got shape \(1, 4\)"):
        martin_distance(atoms, batch, dt=0.5)
    with pytest.raises(ValueError, match=r"poles1: expected shape \(r,\); got shape"):
        martin_distance(np.ones((2, 2)), np.ones(2))
    with pytest.raises(ValueError, match="poles2: expected at least one element"):
        martin_distance(np.ones(2), np.ones(0))


@pytest.mark.parametrize("turn", [1.0, -1.0, 1j])
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_poles_next_to_the_unit_circle(gap, turn):
    # d^2 = -log(1 - p^2) from 0; 1 - p is exact, so only the last digits may go.
    modulus = 1 - gap
    expected = np.sqrt(-np.log((1 - modulus) * (1 + modulus)))
    pole, zero = np.array([turn * modulus]), np.array([0.0])
    result = martin_distance(pole, zero)
    np.testing.assert_allclose(result.value, expected, rtol=1e-14)
    assert not result.rescaled
    assert martin_distance(pole, pole).value == 0
    assert np.isfinite(jax.grad(lambda p: martin_distance(p, zero).value)(pole))


def test_single_precision_next_to_the_unit_circle():
    pole = np.float32([0.999])
    exact = martin_distance(pole.astype(float), np.zeros(1)).value
    value = martin_distance(pole, np.zeros(1, np.float32)).value
    np.testing.assert_allclose(value, exact, rtol=1e-6)
