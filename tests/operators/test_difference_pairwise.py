import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    GaussianKernel,
    KernelOperatorFit,
    LinearOperatorFit,
    hs_distance,
    hs_pairwise,
    operator_norm_distance,
    operator_norm_pairwise,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")

KERNEL = GaussianKernel(1.5)
BOTH = pytest.mark.parametrize(
    ("matrix", "distance", "order"),
    [
        (hs_pairwise, hs_distance, None),
        (operator_norm_pairwise, operator_norm_distance, 2),
    ],
)


def norms(one, two, order):
    return np.array([[np.linalg.norm(a - b, order) for b in two] for a in one])


def linear_fits(seed, n, d=5, r=3):
    v, w = np.random.default_rng(seed).normal(size=(2, n, d, r))
    return LinearOperatorFit(jnp.array(v), jnp.array(w), jnp.ones((n, r)))


def kernel_fits(seed, n_systems, n=6, d=2, r=2):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n_systems, n, r))
    x, y = rng.normal(size=(2, n_systems, n, d))
    # Every system has its own length.
    mask = np.arange(n) < n - np.arange(n_systems)[:, None]
    for z in (u, v, x, y):
        z[~mask] = np.nan
    fields = map(jnp.array, (u, v, x, y, mask, np.ones((n_systems, r))))
    return KernelOperatorFit(*fields)


def pick(batch, i):
    return jax.tree.map(lambda z: z[i], batch)


@BOTH
def test_matrices_and_atoms(stable_matrices, matrix, distance, order):
    one, two = stable_matrices(4, 3), stable_matrices(3, 3, seed=1)
    expected = norms(one, two, order)
    np.testing.assert_allclose(matrix(one, two, block=5), expected, rtol=1e-12)
    square = matrix(one)
    np.testing.assert_allclose(square, norms(one, one, order), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(square), 0)
    # Every system at its own step, at which the atoms are the matrix again.
    dt, dt2 = np.array([0.1, 0.2, 0.3, 0.4]), 0.5
    atoms = jax.vmap(spectral_atoms)(one, dt)
    others = jax.vmap(lambda a: spectral_atoms(a, dt2))(two)
    got = matrix(atoms, others, dt=dt, dt2=dt2)
    np.testing.assert_allclose(got, expected, rtol=1e-8)
    got = matrix(atoms, dt=dt)
    np.testing.assert_allclose(got, square, atol=1e-7)
    assert not np.allclose(matrix(atoms, dt=0.1), square)


@BOTH
def test_fits_equal_a_loop_over_pairs(matrix, distance, order):
    one, two = linear_fits(0, 3), linear_fits(1, 2, r=2)
    dense = (np.asarray(f.V @ np.swapaxes(f.W, 1, 2)) for f in (one, two))
    np.testing.assert_allclose(matrix(one, two), norms(*dense, order), rtol=1e-12)
    fits = kernel_fits(0, 3)
    got = matrix(fits, kernel=KERNEL)
    for i in range(3):
        for j in range(i):
            value = distance(pick(fits, i), pick(fits, j), kernel=KERNEL)
            np.testing.assert_allclose(got[[i, j], [j, i]], value, rtol=1e-12)


SCALES = np.float32([1e-30, 1e-20, 1.0, 1e20, 1e36])


@BOTH
@pytest.mark.parametrize(
    "dtype", [pytest.param("float32", marks=pytest.mark.slow), "complex64"]
)
def test_single_precision_serves_matrices_of_every_size(matrix, distance, order, dtype):
    a = np.random.default_rng(0).normal(size=(4, 3, 3)).astype("float32")
    a = (a[:2] + 1j * a[2:]).astype(dtype) if dtype == "complex64" else a[:2]
    want = np.linalg.norm(a[0].astype(complex) - a[1], order)
    batches = jnp.asarray(SCALES[:, None, None, None] * a)
    got = jax.vmap(matrix)(batches)[:, 0, 1]
    np.testing.assert_allclose(got / SCALES, want, rtol=1e-5)
    value, slope = jax.vmap(jax.value_and_grad(distance))(batches[:, 0], batches[:, 1])
    np.testing.assert_allclose(value / SCALES, want, rtol=1e-5)
    # Homogeneous of degree 1: the derivative has no size.
    same = np.broadcast_to(slope[2], slope.shape)
    np.testing.assert_allclose(slope, same, atol=1e-5)
    np.testing.assert_allclose(jnp.sum(slope[2] * (a[0] - a[1])).real, want, rtol=1e-5)


@BOTH
def test_single_precision_serves_factors_of_every_size(matrix, distance, order):
    fits = jax.tree.map(lambda z: z.astype("float32"), linear_fits(0, 2))
    want = norms(*2 * [fits.V @ np.swapaxes(fits.W, 1, 2)], order)[0, 1]
    slope_of = jax.jit(
        lambda one, two: jax.grad(lambda v: distance(one._replace(V=v), two))(one.V)
    )
    slope = slope_of(pick(fits, 0), pick(fits, 1))
    for s, t in ((1e-30, 1.0), (1e30, 1.0), (1e-36, 1e30), (1e10, 1e10), (1e20, 1e16)):
        scaled = fits._replace(V=np.float32(s) * fits.V, W=np.float32(t) * fits.W)
        got = matrix(scaled)[0, 1]
        np.testing.assert_allclose(got / np.float32(s) / t, want, rtol=1e-4)
        got = slope_of(pick(scaled, 0), pick(scaled, 1))
        np.testing.assert_allclose(got / np.float32(t), slope, rtol=1e-3, atol=1e-5)


def test_self_products_are_computed_once_a_system():
    """A pair costs its two kernel matrices, of the six that two systems have."""
    calls = []

    class Counting(GaussianKernel):
        def __call__(self, x, y):
            calls.append(x.shape)
            return super().__call__(x, y)

    jax.make_jaxpr(lambda fits: hs_pairwise(fits, kernel=Counting(1.0)))(
        kernel_fits(0, 3)
    )
    assert len(calls) == 4  # traced once for a system, and once for a pair


@pytest.mark.slow
@BOTH
def test_derivative_equals_that_of_a_loop(matrix, distance, order):
    fits, weights = (
        kernel_fits(2, 3),
        np.triu(np.random.default_rng(0).random((3, 3)), 1),
    )

    def blocked(v):
        fit = fits._replace(V=v)
        return jnp.sum(weights * matrix(fit, kernel=KERNEL, block=2))

    def by_loop(v):
        fit = fits._replace(V=v)
        return sum(
            weights[i, j] * distance(pick(fit, i), pick(fit, j), kernel=KERNEL)
            for j in range(3)
            for i in range(j)
        )

    got, expected = jax.grad(blocked)(fits.V), jax.grad(by_loop)(fits.V)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named(stable_matrices):
    matrices = stable_matrices(3, 4)
    atoms = jax.vmap(spectral_atoms)(matrices, np.full(3, 0.5))
    fits, kernel_fit = linear_fits(0, 2), pick(kernel_fits(0, 2), 0)
    steps = np.ones(3)
    for message, *batches, options in (
        (r"batch1: expected shape \(N, d, d\)", matrices[0], {}),
        (r"batch2: expected shape \(N, 4, 4\)", matrices, np.ones((2, 3, 3)), {}),
        ("batch1: expected at least one element", matrices[:0], {}),
        ("batch2: expected at least one element", matrices, matrices[:0], {}),
        ("dt: expected a time step, as atoms do not", atoms, {}),
        (r"dt: expected shape \(3,\); got shape \(2,\)", atoms, {"dt": np.ones(2)}),
        (r"dt: expected every entry in \(0, inf\)", atoms, {"dt": 0 * steps}),
        ("dt2: expected None without batch2", atoms, {"dt": 1.0, "dt2": 1.0}),
        ("dt2: expected the time steps of batch2", atoms, atoms, {"dt": steps}),
        ("block: expected an integer >= 1; got 0", matrices, {"block": 0}),
        (r"batch1.U: expected shape \(N, n, r\)", kernel_fit, {}),
        ("kernel: expected the kernel", kernel_fits(0, 2), {}),
        (r"batch2: expected shape \(N, 5, r\)", fits, linear_fits(0, 2, d=4), {}),
        ("batch2: expected SpectralAtoms, as batch1 is", atoms, fits, {"dt": 1.0}),
        ("mesh: expected a jax.sharding.Mesh or None", matrices, {"mesh": 2}),
    ):
        for matrix in (hs_pairwise, operator_norm_pairwise):
            with pytest.raises((ValueError, TypeError), match=message):
                matrix(*batches, **options)
