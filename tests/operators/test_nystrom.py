import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    GaussianKernel,
    LinearKernel,
    hs_distance,
    koopman_features,
    nystrom_features,
    reduced_rank_regression,
    ridge_regression,
    sample_centres,
    sgot,
    sgot_from_trajectories,
    sgot_pairwise,
    snapshot_pairs,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")

KERNEL = GaussianKernel(1.5)


def recordings(dtype=float):
    t = 0.1 * np.arange(41)[:, None]
    waves = [(2.0, 0.0), (3.0, 1.0), (2.5, 2.0)]
    curves = [np.hstack([np.sin(f * t + p), np.cos(f * t + p) ** 2]) for f, p in waves]
    return np.stack(curves).astype(dtype)


@jax.jit
def systems(states, features=None, kernel=None):
    """Atoms of every recording, with features or with a kernel."""

    def atoms(z):
        x, y = snapshot_pairs(z if features is None else features(z))
        fit = reduced_rank_regression(
            x, y, gamma=1e-3, rank=4, gamma_rel=True, kernel=kernel
        )
        return spectral_atoms(fit, 0.1, kernel=kernel)

    return jax.vmap(atoms)(states)


def projected_gram(x, centres):
    """K_nm K_mm^+ K_mn by NumPy."""

    def gram(a, b):
        return np.exp(-np.sum((a[:, None] - b[None]) ** 2, -1) / 4.5)

    cross = gram(x, centres)
    return cross @ np.linalg.pinv(gram(centres, centres), 1e-13) @ cross.T, gram(x, x)


def test_distances_converge_to_those_of_the_kernel():
    states = recordings()
    samples = sample_centres(jax.random.key(1), states.reshape(-1, 2), m=123)
    exact = systems(states, kernel=KERNEL)
    distances = sgot_pairwise(exact, eta=0.3, kernel=KERNEL)
    gap = []
    for m in (5, 10, 40, 123):
        # Repeated, so that K is singular and all have the shape of the last.
        features = nystrom_features(samples[np.arange(128) % m], kernel=KERNEL)
        near = systems(states, features)
        gap.append(np.abs(sgot_pairwise(near, eta=0.3) - distances).max())
    assert gap[0] > 10 * gap[1] > 100 * gap[2]
    # All samples are centres. What is null to m eps changes the kernel by some 1e-8.
    assert gap[3] < 1e-6
    np.testing.assert_allclose(near.lam, exact.lam, atol=1e-7)


def test_gram_is_the_projected_kernel():
    x = np.random.default_rng(0).normal(size=(30, 2))
    phi = np.asarray(nystrom_features(x[:12], kernel=KERNEL)(x))
    projected, gram = projected_gram(x, x[:12])
    np.testing.assert_allclose(phi @ phi.T, projected, atol=1e-10)
    # Exact at the centres, and a projection elsewhere: the residual is positive.
    np.testing.assert_allclose((phi @ phi.T)[:12], gram[:12], atol=1e-10)
    residual = gram - phi @ phi.T
    assert np.linalg.eigvalsh(residual).min() > -1e-10
    assert np.abs(residual).max() > 1e-3


def test_single_centre_of_a_linear_kernel():
    centre, x = np.array([[3.0, 4.0]]), np.random.default_rng(0).normal(size=(5, 2))
    phi = nystrom_features(centre, kernel=LinearKernel())(x)
    np.testing.assert_allclose(phi, x @ centre.T / 5, rtol=1e-14)


def test_single_precision():
    states = recordings()
    narrow = states.astype(np.float32)
    features = nystrom_features(narrow.reshape(-1, 2), kernel=KERNEL)
    phi = features(narrow[0])
    assert phi.dtype == np.float32
    # What is cut off counts by at most the square root of m eps.
    _, gram = projected_gram(states[0], states[0])
    assert np.abs(phi @ phi.T - gram).max() < np.sqrt(123 * 1.2e-7)
    assert features(states[0]).dtype == np.float64


@pytest.mark.parametrize(
    "repeated", [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_derivative_in_kernel_centres_and_states(repeated):
    rng = np.random.default_rng(0)
    x, base = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    weight = rng.normal(size=(6, 6))
    pick = np.array([0, 1, 2, 3, 0, 1] if repeated else [0, 1, 2, 3])

    @jax.jit
    def value(scale, base, x):
        # A repeated centre moves with its twin, so that the rank stays.
        phi = nystrom_features(base[pick], kernel=GaussianKernel(scale))(x)
        return jnp.sum(weight * (phi @ phi.T))

    args = jnp.asarray(1.5), jnp.asarray(base), jnp.asarray(x)
    gradient = jax.jit(jax.grad(value, (0, 1, 2)))(*args)
    rng = np.random.default_rng(1)
    direction = [rng.normal(size=z.shape) for z in args]
    h = 1e-5
    ahead, back = (
        value(*(z + s * h * d for z, d in zip(args, direction))) for s in (1, -1)
    )
    slope = sum(np.sum(g * d) for g, d in zip(gradient, direction))
    np.testing.assert_allclose(slope, (ahead - back) / (2 * h), rtol=1e-6)


def test_centres_are_a_uniform_subset():
    x = np.arange(6.0)[:, None]
    draws = jax.vmap(lambda key: sample_centres(key, x, m=2)[:, 0])(
        jax.random.split(jax.random.key(0), 3000)
    )
    first, second = np.asarray(draws, int).T
    assert np.all(first != second)
    share = np.bincount(np.concatenate([first, second]), minlength=6) / 3000
    # Each sample is drawn with probability 1/3; five standard errors.
    np.testing.assert_allclose(share, 1 / 3, atol=5 * np.sqrt(2 / 9 / 3000))
    everything = sample_centres(jax.random.key(1), x, m=6)
    np.testing.assert_array_equal(np.sort(everything, axis=0), x)


@pytest.mark.usefixtures("plain_errors")
def test_samples_may_be_a_list():
    centres = sample_centres(jax.random.key(0), [[1, 2], [3, 4]], m=np.int64(2))
    assert sorted(centres.tolist()) == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named():
    x = np.ones((3, 2))
    with pytest.raises(ValueError, match="centres: expected shape"):
        nystrom_features(np.ones(3), kernel=KERNEL)
    with pytest.raises(ValueError, match="centres: expected at least one element"):
        nystrom_features(np.ones((0, 2)), kernel=KERNEL)
    with pytest.raises(ValueError, match="kernel: expected the kernel"):
        nystrom_features(x, kernel=None)
    with pytest.raises(TypeError, match=r"kernel: expected an equinox\.Module"):
        nystrom_features(x, kernel=lambda a, b: a @ b.T)
    with pytest.raises(TypeError, match="centres: expected real numbers"):
        nystrom_features(x + 0j, kernel=KERNEL)
    with pytest.raises(TypeError, match="centres: expected float32 or float64; got"):
        nystrom_features(x.astype(np.float16), kernel=KERNEL)
    features = nystrom_features(x, kernel=KERNEL)
    with pytest.raises(ValueError, match=r"x: expected shape \(n, 2\)"):
        features(np.ones((3, 4)))
    key = jax.random.key(0)
    with pytest.raises(TypeError, match=r"key: expected a random key, such as"):
        sample_centres(7, x, m=2)
    with pytest.raises(ValueError, match="key: expected one random key"):
        sample_centres(jax.random.split(key, 2), x, m=2)
    with pytest.raises(ValueError, match="m: expected"):
        sample_centres(key, x, m=4)
    with pytest.raises(ValueError, match="m: expected"):
        sample_centres(key, x, m=0)
    for m in (1.5, [1]):
        with pytest.raises(TypeError, match="m: expected"):
            sample_centres(key, x, m=m)
    with pytest.raises(ValueError, match="x: expected shape"):
        sample_centres(key, np.ones(3), m=1)
    with pytest.raises(ValueError, match="x: expected at least one element"):
        sample_centres(key, np.ones((0, 2)), m=1)
    with pytest.raises(TypeError, match="x: expected real numbers"):
        sample_centres(key, x + 0j, m=1)


@pytest.mark.usefixtures("plain_errors")
def test_features_are_no_kernel(stable_matrices):
    """Whether the kernel is needed or not, and whatever takes it."""
    x = np.ones((3, 2))
    (matrix,) = stable_matrices(1, 2)
    atoms = spectral_atoms(matrix, 0.1)
    for features in (nystrom_features(x, kernel=KERNEL), koopman_features(2, (), 1)):
        message = (
            r"^kernel: expected an equinox\.Module such as operators\.GaussianKernel, "
            r"or a jax\.tree_util\.Partial, of two arguments, kernel\(x, y\); got "
            f"{type(features).__name__}, which is features: apply them"
        )
        for call in (
            lambda kernel: nystrom_features(x, kernel=kernel),
            lambda kernel: ridge_regression(x, x, gamma=0.1, kernel=kernel),
            lambda kernel: sgot_from_trajectories(
                [x], 0.1, n_delays=1, rank=1, gamma=0.1, kernel=kernel
            ),
            lambda kernel: sgot(atoms, atoms, eta=0.5, kernel=kernel),
            lambda kernel: hs_distance(matrix, matrix, kernel=kernel),
        ):
            with pytest.raises(TypeError, match=message):
                call(features)
    pair = jax.tree_util.Partial(lambda scale, x, y: scale * (x @ y.T), 2.0)
    assert ridge_regression(x, x, gamma=0.1, kernel=pair).U.shape == (3, 3)
