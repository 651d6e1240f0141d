"""Losses of features against loops, and on a chain whose operator is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import spectral_contrastive_loss, vamp2_loss

SCALES = 1e-20, 1e-15, 1e-8, 1e8, 1e15, 1e20

# How often a reversible chain goes from one state to another. One eigenvalue of its
# transition operator is negative.
COUNTS = np.array([[1, 4, 2], [4, 1, 2], [2, 2, 3]])


def chain():
    """Joint distribution, and eigenpairs of the transition operator by size."""
    joint = COUNTS / COUNTS.sum()
    stationary = joint.sum(axis=1)
    root = np.sqrt(stationary)
    values, vectors = np.linalg.eigh(joint / np.outer(root, root))
    order = np.argsort(-np.abs(values))
    assert values[order[1]] < 0  # a pair of states swaps more often than not
    return joint, values[order], (vectors / root[:, None])[:, order]


def pairs_of_the_chain(table):
    """Features of all pairs, each as often as it occurs."""
    x, y = np.nonzero(COUNTS)
    repeats = COUNTS[x, y]
    return table[np.repeat(x, repeats)], table[np.repeat(y, repeats)]


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    fx = rng.normal(size=(20, 3))
    return fx, np.tanh(fx @ rng.normal(size=(3, 3)) + 0.3 * rng.normal(size=(20, 3)))


def inverse_root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors / np.sqrt(values) @ vectors.T


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_vamp2_equals_the_norm(x64, features, gamma):
    fx, fy = (f - f.mean(axis=0) for f in features)
    c = {
        n: inverse_root(f.T @ f / 20 + gamma * np.eye(3))
        for n, f in (("x", fx), ("y", fy))
    }
    expected = -(np.linalg.norm(c["x"] @ (fx.T @ fy / 20) @ c["y"]) ** 2)
    assert float(vamp2_loss(*features, gamma=gamma)) == pytest.approx(
        expected, rel=1e-12
    )


def test_vamp2_does_not_see_affine_maps(x64, features):
    rng = np.random.default_rng(1)
    fx, fy = features
    a, b = rng.normal(size=(2, 3, 3))
    mapped = vamp2_loss(fx @ a + 2.0, fy @ b - 1.0)
    assert float(mapped) == pytest.approx(float(vamp2_loss(fx, fy)), rel=1e-10)


def test_vamp2_of_eigenfunctions_is_the_sum_of_squares(x64):
    _, values, functions = chain()
    for m in (1, 2):
        f = pairs_of_the_chain(functions[:, 1 : 1 + m])
        assert float(vamp2_loss(*f)) == pytest.approx(-np.sum(values[1 : 1 + m] ** 2))
    tables = np.random.default_rng(2).normal(size=(50, 3, 1))
    losses = jax.vmap(lambda t: vamp2_loss(*pairs_of_the_chain(t)))(jnp.asarray(tables))
    assert float(jnp.min(losses)) > -(values[1] ** 2)


def test_vamp2_does_not_depend_on_the_unit_of_each_feature(x64):
    rng = np.random.default_rng(0)
    fx = rng.normal(size=(50, 3)) + 1
    fy = 0.5 * fx + rng.normal(size=(50, 3))
    units = np.array([1e-8, 1.0, 1e8])
    want = vamp2_loss(fx, fy)
    np.testing.assert_allclose(vamp2_loss(fx * units, fy / units), want, rtol=1e-12)
    # A constant feature is left out, though its mean is rounded.
    still = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.1])
    pair = [f * still[0] + still[1] for f in (fx, fy)]
    want = vamp2_loss(fx[:, :2], fy[:, :2])
    np.testing.assert_allclose(vamp2_loss(*pair), want, rtol=1e-12)


def test_vamp2_leaves_out_constant_and_repeated_features(x64, features):
    fx, fy = (jnp.asarray(f) for f in features)

    def loss(fx, fy):
        return vamp2_loss(fx, fy)

    more = [jnp.concatenate([f, jnp.ones((20, 1)), f[:, :1]], axis=1) for f in (fx, fy)]
    value, gradient = jax.value_and_grad(loss)(*more)
    assert float(value) == pytest.approx(float(loss(fx, fy)), rel=1e-10)
    # A step along the gradient of the plain features changes both alike.
    plain = jax.grad(loss)(fx, fy)
    both = gradient[:, :3].at[:, 0].add(gradient[:, 4])
    np.testing.assert_allclose(both, plain, atol=1e-10)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_vamp2_does_not_see_the_unit(features, gamma):
    """With ``gamma`` in squared units, as far as these are numbers."""
    fs = [f.astype(np.float32) for f in features]

    @jax.jit
    def both(fx, fy, gamma):
        return jax.value_and_grad(vamp2_loss, (0, 1))(fx, fy, gamma=gamma)

    value, gradients = both(*fs, gamma)
    for scale in SCALES if gamma == 0 else SCALES[1:-1]:
        for units in ((scale, scale), (scale, 1.0))[: 2 if gamma == 0 else 1]:
            scaled = [f * np.float32(unit) for f, unit in zip(fs, units)]
            same, slopes = both(*scaled, gamma * scale**2 if gamma else 0.0)
            np.testing.assert_allclose(same, value, rtol=1e-4, err_msg=str(units))
            for slope, unit, want in zip(slopes, units, gradients):
                np.testing.assert_allclose(
                    slope * np.float32(unit), want, atol=5e-5, err_msg=str(units)
                )


def test_contrastive_equals_the_double_sum(x64, features):
    fx, fy = features
    b = np.random.default_rng(3).normal(size=(3, 3))
    s = fx @ (b + b.T) / 2 @ fy.T
    apart = sum(s[i, j] ** 2 for i in range(20) for j in range(20) if i != j)
    expected = -2 * np.mean(np.diag(s)) + apart / (20 * 19)
    value = spectral_contrastive_loss(fx, fy, b)
    assert float(value) == pytest.approx(expected, rel=1e-12)


def test_contrastive_is_least_at_the_truncated_decomposition(x64):
    joint, values, functions = chain()
    x, y = np.indices(joint.shape).reshape(2, -1)
    # All batches of two independent pairs, so the mean is an exact expectation.
    first, second = np.indices((9, 9)).reshape(2, -1)
    batch = np.stack([first, second], axis=1)
    probability = joint[x, y][batch].prod(axis=1)

    @jax.jit
    def expected(table, matrix):
        fx, fy = table[x[batch]], table[y[batch]]
        losses = jax.vmap(spectral_contrastive_loss, (0, 0, None))(fx, fy, matrix)
        return jnp.sum(probability * losses)

    m = 2
    best = jnp.asarray(functions[:, :m]), jnp.diag(jnp.asarray(values[:m]))
    assert float(expected(*best)) == pytest.approx(-np.sum(values[:m] ** 2), rel=1e-12)
    for gradient in jax.grad(expected, (0, 1))(*best):
        np.testing.assert_allclose(gradient, 0, atol=1e-12)
    rng = np.random.default_rng(4)
    others = rng.normal(size=(100, 3, m)), rng.normal(size=(100, m, m))
    near = best[0] + 0.01 * others[0], best[1] + 0.01 * others[1]
    for table, matrix in (others, near):
        assert jnp.min(jax.vmap(expected)(table, matrix)) > expected(*best)


def test_equal_the_peer(x64, features):
    """Values of kooplearn 2.0.3, ``kooplearn.jax.nn``, for these features."""
    fx, fy = features
    matrix = np.diag([1.0, -0.5, 0.2])
    contrastive = float(spectral_contrastive_loss(fx, fy, matrix))
    assert float(vamp2_loss(fx, fy)) == pytest.approx(-2.0324375872375238, rel=1e-12)
    assert contrastive == pytest.approx(1.0326221846458228, rel=1e-12)


def test_errors(plain_errors):
    f = jnp.ones((4, 2))
    with pytest.raises(ValueError, match=r"fx: expected shape \(n, m\)"):
        vamp2_loss(f[0], f[0])
    with pytest.raises(ValueError, match=r"fy: expected shape \(4, 2\)"):
        vamp2_loss(f, f[:3])
    with pytest.raises(ValueError, match="fx: expected at least one element"):
        vamp2_loss(f[:0], f[:0])
    with pytest.raises(ValueError, match="gamma: expected a value"):
        vamp2_loss(f, f, gamma=-1.0)
    with pytest.raises(ValueError, match="gamma: expected a value"):
        vamp2_loss(f, f, gamma=jnp.inf)
    values = jax.vmap(lambda gamma: vamp2_loss(f, f, gamma=gamma))(
        jnp.array([0.1, -1.0, jnp.inf, jnp.nan])
    )
    np.testing.assert_array_equal(jnp.isnan(values), [False, True, True, True])
    with pytest.raises(TypeError, match="fx: expected real numbers"):
        vamp2_loss(f + 1j, f)
    with pytest.raises(TypeError, match="fy: expected real numbers"):
        vamp2_loss(f, f + 1j)
    with pytest.raises(TypeError, match="fx: expected real numbers"):
        spectral_contrastive_loss(f + 1j, f, jnp.eye(2))
    with pytest.raises(TypeError, match="matrix: expected real numbers"):
        spectral_contrastive_loss(f, f, 1j * jnp.eye(2))
    with pytest.raises(ValueError, match=r"matrix: expected shape \(2, 2\)"):
        spectral_contrastive_loss(f, f, jnp.eye(3))
    with pytest.raises(ValueError, match="fy: expected shape"):
        spectral_contrastive_loss(f, f[:3], jnp.eye(2))
    with pytest.raises(ValueError, match="fx: expected at least one element"):
        spectral_contrastive_loss(f[:0], f[:0], jnp.eye(2))
    with pytest.raises(ValueError, match="number of rows of fx: .* >= 2; got 1"):
        spectral_contrastive_loss(f[:1], f[:1], jnp.eye(2))
