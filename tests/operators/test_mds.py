import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.spatial

from jaxrepro.operators import classical_mds, distance_correlation

pytestmark = pytest.mark.usefixtures("x64")


def points(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)


def distances_of(x):
    return scipy.spatial.distance_matrix(x, x)


def test_points_in_few_dimensions_come_back():
    x = points(0, 12, 3)
    coordinates = np.asarray(classical_mds(distances_of(x), k=3))
    np.testing.assert_allclose(distances_of(coordinates), distances_of(x), atol=1e-10)
    np.testing.assert_allclose(coordinates.mean(axis=0), 0, atol=1e-10)
    centred = x - x.mean(axis=0)
    _, s, _ = np.linalg.svd(centred)
    np.testing.assert_allclose(np.linalg.norm(coordinates, axis=0), s, rtol=1e-10)
    rotation, *_ = scipy.linalg.orthogonal_procrustes(coordinates, centred)
    np.testing.assert_allclose(coordinates @ rotation, centred, atol=1e-9)


@pytest.mark.peer
def test_equals_principal_components():
    decomposition = pytest.importorskip("sklearn.decomposition")
    x = points(1, 15, 5)
    expected = decomposition.PCA(2).fit_transform(x)
    got = np.asarray(classical_mds(distances_of(x), k=2))
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-9)


def test_sign_is_fixed_and_missing_axes_are_zero():
    x = points(2, 8, 2)
    got = np.asarray(classical_mds(distances_of(x), k=5))
    assert np.all(got[np.abs(got).argmax(axis=0), np.arange(5)][:2] > 0)
    np.testing.assert_allclose(got[:, 2:], 0, atol=1e-6)
    # Four points at distance 1, and one at 0.6 of all: not Euclidean.
    odd = np.ones((5, 5)) - np.eye(5)
    odd[4, :4] = odd[:4, 4] = 0.6
    assert np.all(np.isfinite(classical_mds(odd, k=5)))
    np.testing.assert_array_equal(classical_mds(np.zeros((3, 3))), 0)


def test_derivative_of_the_picture():
    x = points(3, 6, 2)

    def stress(d):
        coordinates = classical_mds(d, k=2)
        return jnp.sum(jnp.abs(coordinates) ** 3)

    d = distances_of(x)
    gradient = jax.grad(stress)(d)
    e = np.zeros_like(d)
    e[0, 1] = e[1, 0] = 1e-6
    slope = (stress(d + e) - stress(d - e)) / 2e-6
    np.testing.assert_allclose(gradient[0, 1] + gradient[1, 0], slope, rtol=1e-6)


def loop_correlation(a, b):
    """The definition, entry by entry."""
    n = len(a)

    def centred(d):
        out = np.zeros_like(d)
        for i in range(n):
            for j in range(n):
                out[i, j] = d[i, j] - d[i].mean() - d[:, j].mean() + d.mean()
        return out

    a, b = centred(a), centred(b)
    covariance, variance = (a * b).mean(), (a * a).mean() * (b * b).mean()
    return np.sqrt(covariance / np.sqrt(variance))


def test_distance_correlation():
    x, y = points(0, 20, 2), points(1, 20, 3)
    a, b = distances_of(x), distances_of(y)
    value = distance_correlation(a, b)
    np.testing.assert_allclose(value, loop_correlation(a, b), rtol=1e-12)
    np.testing.assert_allclose(distance_correlation(b, a), value, rtol=1e-12)
    np.testing.assert_allclose(distance_correlation(a, 3 * a), 1, rtol=1e-12)
    order = np.random.default_rng(0).permutation(20)
    moved = distance_correlation(a[order][:, order], b[order][:, order])
    np.testing.assert_allclose(moved, value, rtol=1e-12)
    assert distance_correlation(a, np.zeros((20, 20))) == 0
    gradient = jax.grad(distance_correlation)(jnp.zeros((4, 4)), jnp.array(a[:4, :4]))
    assert np.all(np.isfinite(gradient))


def test_single_precision():
    x = points(0, 12, 3)
    d = distances_of(x)
    narrow = d.astype(np.float32)
    assert classical_mds(narrow).dtype == np.float32
    np.testing.assert_allclose(classical_mds(narrow), classical_mds(d), atol=1e-4)
    value = distance_correlation(narrow, narrow**2)
    np.testing.assert_allclose(value, distance_correlation(d, d**2), rtol=1e-5)


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"distances: expected shape \(2, 2\); got"):
        classical_mds(np.ones((2, 3)))
    with pytest.raises(ValueError, match="distances: expected at least one element"):
        classical_mds(np.ones((0, 0)))
    with pytest.raises(ValueError, match=r"k: expected an integer in \[1, 3\]; got 4"):
        classical_mds(np.ones((3, 3)), k=4)
    with pytest.raises(TypeError, match="k: expected an integer"):
        classical_mds(np.ones((3, 3)), k=1.5)
    with pytest.raises(ValueError, match=r"distances2: expected shape \(3, 3\); got"):
        distance_correlation(np.ones((3, 3)), np.ones((4, 4)))
