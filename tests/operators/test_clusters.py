import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro import operators
from jaxrepro.operators import (
    AtomClusters,
    GaussianKernel,
    KernelAtoms,
    LinearKernel,
    SpectralAtoms,
    cluster_atoms,
    ground_cost,
    sgot,
    sgot_pairwise,
    sot,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")

DOUBLE, TWICE = [0.9, 0.9, 0.9, 0.5, 0.2], [0.8, 0.8, 0.6, 0.6, 0.3]


def matrix(values, seed):
    """A real matrix with given eigenvalues and oblique eigenvectors."""
    values = np.asarray(values)
    rng = np.random.default_rng(seed)
    p = np.eye(len(values)) + 0.3 * rng.normal(size=2 * values.shape)
    return p @ np.diag(values) @ np.linalg.inv(p)


def exact_atoms(values, seed):
    """Atoms whose repeated eigenvalues are equal to the last bit."""
    rng = np.random.default_rng(seed)
    right = np.eye(5) + 0.3 * rng.normal(size=(5, 5)) + 0.3j * rng.normal(size=(5, 5))
    left = np.linalg.inv(right).conj().T
    return SpectralAtoms(
        *(np.asarray(z, complex) for z in (np.log(values), right, left))
    )


def rotated(atoms, seed=7):
    """The same operator, in another basis of every eigenspace."""
    rng = np.random.default_rng(seed)
    same = atoms.lam[:, None] == atoms.lam[None, :]
    mix = np.where(
        same, rng.normal(size=same.shape) + 1j * rng.normal(size=same.shape), 0
    )
    return atoms._replace(
        right=atoms.right @ mix, left=atoms.left @ np.linalg.inv(mix).conj().T
    )


def dense_distance(one, two, i, j):
    """Distance of the projections onto spans of operators, as d^2 x d^2 matrices."""

    def projection(atoms, chosen):
        q_r, q_l = (np.linalg.qr(z[:, chosen])[0] for z in (atoms.right, atoms.left))
        return np.kron(q_r @ q_r.conj().T, (q_l @ q_l.conj().T).conj())

    return np.linalg.norm(projection(one, i) - projection(two, j))


def test_equals_distances_of_dense_projections():
    one, two = exact_atoms(DOUBLE, 0), exact_atoms(TWICE, 1)
    a, b = (cluster_atoms(atoms, tol=1e-6) for atoms in (one, two))
    np.testing.assert_array_equal(a.label, [0, 0, 0, 3, 4])
    np.testing.assert_array_equal(b.label, [0, 0, 2, 2, 4])
    np.testing.assert_allclose(a.weight, [0.6, 0, 0, 0.2, 0.2], rtol=1e-15)
    np.testing.assert_allclose(b.lam, np.log([0.8, 1, 0.6, 1, 0.3]), atol=1e-15)

    expected = np.zeros((5, 5))
    for i in np.unique(a.label):
        for j in np.unique(b.label):
            expected[i, j] = dense_distance(one, two, a.label == i, b.label == j)
    np.testing.assert_allclose(ground_cost(a, b, eta=0.0), expected, atol=1e-13)
    naive = ground_cost(a, b, eta=0.0, stable=False)
    np.testing.assert_allclose(naive, expected, atol=1e-13)


def test_basis_of_an_eigenspace_does_not_matter():
    one, two = exact_atoms(DOUBLE, 0), exact_atoms(TWICE, 1)
    turned = rotated(one)
    assert sgot(one, turned, eta=0.3) > 0.1  # plain atoms take it for another operator
    a, b, c = (cluster_atoms(atoms, tol=0.0) for atoms in (one, two, turned))
    np.testing.assert_allclose(sgot(a, b, eta=0.3), sgot(c, b, eta=0.3), atol=1e-13)
    assert sgot(a, c, eta=0.3) < 1e-13
    assert sgot(a, a, eta=0.3) == 0


def test_order_of_atoms_does_not_matter():
    one, two = exact_atoms(DOUBLE, 0), exact_atoms(TWICE, 1)
    order = np.array([3, 1, 4, 0, 2])
    mixed = SpectralAtoms(one.lam[order], one.right[:, order], one.left[:, order])
    a, b, c = (cluster_atoms(atoms, tol=0.0) for atoms in (one, two, mixed))
    np.testing.assert_array_equal(c.label, [0, 1, 2, 1, 1])
    for field in ("right", "left"):
        basis, permuted = getattr(a.basis, field), getattr(c.basis, field)
        np.testing.assert_allclose(permuted, basis[:, order], atol=1e-14)
    np.testing.assert_allclose(sgot(c, b, eta=0.3), sgot(a, b, eta=0.3), atol=1e-13)


def test_simple_spectrum_is_that_of_plain_atoms():
    one, two = exact_atoms([0.9, 0.7, 0.5, 0.3, 0.1], 0), exact_atoms(np.ones(5), 1)
    two = two._replace(lam=one.lam * 1j)
    a, b = (cluster_atoms(atoms, tol=0.0) for atoms in (one, two))
    expected = ground_cost(one, two, eta=0.3, kind="subspace")
    np.testing.assert_allclose(ground_cost(a, b, eta=0.3), expected, atol=1e-13)
    for options in ({}, {"convention": "pot"}):
        expected = sgot(one, two, eta=0.3, kind="subspace", **options)
        np.testing.assert_allclose(sgot(a, b, eta=0.3, **options), expected, rtol=1e-12)
    np.testing.assert_allclose(sot(a, b), sot(one, two), rtol=1e-12)


def test_infinite_tolerance_joins_everything():
    weight = np.array([0.25, 0.0, 0.25, 0.25, 0.25])
    one, two = (exact_atoms(TWICE, seed)._replace(weight=weight) for seed in (0, 1))
    a, b = (cluster_atoms(atoms, tol=np.inf) for atoms in (one, two))
    live = weight != 0  # padding stays outside
    np.testing.assert_array_equal(a.label, [0, 1, 0, 0, 0])
    np.testing.assert_allclose(a.weight, [1, 0, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(a.lam[0], one.lam[live].mean(), atol=1e-15)
    expected = dense_distance(one, two, live, live)
    np.testing.assert_allclose(sgot(a, b, eta=0.0), expected, atol=1e-12)


def test_chains_are_joined_by_single_linkage():
    # A chain out of order, which takes as many steps as there are atoms.
    lam = np.array([0.0, 4.0, 2.0, 5.0, 1.0, 3.0, 9.0])
    atoms = SpectralAtoms(lam, np.eye(7), np.eye(7))
    label = lambda tol: cluster_atoms(atoms, tol=tol).label
    np.testing.assert_array_equal(label(1.0), [0, 0, 0, 0, 0, 0, 6])
    np.testing.assert_array_equal(label(0.9), np.arange(7))
    np.testing.assert_array_equal(label(4.0), 0)


def test_conjugate_pairs_stay_closed():
    turn = np.array([[0.5, -0.6], [0.6, 0.5]])
    block = np.zeros((5, 5))
    block[:2, :2], block[2:4, 2:4], block[4, 4] = turn, turn + 1e-4 * np.eye(2), 0.3
    p = np.eye(5) + 0.3 * np.random.default_rng(0).normal(size=(5, 5))
    atoms = spectral_atoms(p @ block @ np.linalg.inv(p), 1.0)
    clusters = cluster_atoms(atoms, tol=1e-2)
    slots = np.unique(clusters.label)
    assert len(slots) == 3
    mirrored = jax.tree.map(jnp.conj, clusters)
    cost = np.asarray(ground_cost(clusters, mirrored, eta=0.5))[np.ix_(slots, slots)]
    # Each cluster is the mirror image of exactly one, up to the accuracy of
    # eigenvectors with a gap of 1e-4.
    assert np.sum(cost < 1e-9) == 3
    assert np.min(cost[cost > 1e-9]) > 0.1


def test_padding_holds_nan_and_nobody_sees_it():
    one, two = exact_atoms(DOUBLE, 0), exact_atoms(TWICE, 1)
    weight = np.array([0.3, 0.3, 0.2, 0.2, 0.0])
    bad = one._replace(weight=weight)
    for field in ("lam", "right", "left"):
        value = getattr(one, field).copy()
        value[..., -1] = np.nan
        bad = bad._replace(**{field: value})
    a = cluster_atoms(bad, tol=1e-6)
    np.testing.assert_allclose(a.weight, [0.8, 0, 0, 0.2, 0], atol=1e-15)
    b = cluster_atoms(two, tol=1e-6)
    clean = cluster_atoms(one._replace(weight=weight), tol=1e-6)
    np.testing.assert_array_equal(sgot(a, b, eta=0.3), sgot(clean, b, eta=0.3))

    @jax.jit
    @jax.grad
    def gradient(atoms):
        clusters = cluster_atoms(atoms._replace(weight=weight), tol=1e-6)
        return jnp.sum(ground_cost(clusters, b, eta=0.3))

    for g in jax.tree.leaves(gradient(bad)):
        assert np.all(np.isfinite(g))


def test_derivative_at_a_repeated_eigenvalue():
    target = cluster_atoms(exact_atoms(TWICE, 1), tol=1e-6)
    rng = np.random.default_rng(3)
    direction, plan = rng.normal(size=(5, 5)), rng.random(size=(5, 5))

    @jax.jit
    @jax.value_and_grad
    def transport(operator):
        # Couplings within the cluster would have the size of 1 / gap.
        atoms = spectral_atoms(operator, 1.0, gap_tol=1e-6)
        cost = ground_cost(cluster_atoms(atoms, tol=1e-3), target, eta=0.3)
        return jnp.sum(plan * cost)

    operator, h = matrix(DOUBLE, 0), 1e-5
    (ahead, _), (back, _) = (transport(operator + s * h * direction) for s in (1, -1))
    slope = np.sum(transport(operator)[1] * direction)
    np.testing.assert_allclose(slope, (ahead - back) / (2 * h), rtol=1e-5)


def test_derivative_at_distance_zero_is_zero():
    atoms = exact_atoms(DOUBLE, 0)
    target = cluster_atoms(atoms, tol=0.0)

    @jax.jit
    @jax.grad
    def gradient(atoms):
        cost = ground_cost(cluster_atoms(atoms, tol=0.0), target, eta=0.3)
        return jnp.trace(cost)

    for g in jax.tree.leaves(gradient(atoms)):
        np.testing.assert_allclose(g, 0, atol=1e-12)


def test_tolerance_is_traced():
    atoms = exact_atoms(DOUBLE, 0)
    label = jax.vmap(lambda tol: cluster_atoms(atoms, tol=tol).label)
    tolerances = jnp.array([0.0, 0.7, 3.0])
    np.testing.assert_array_equal(
        label(tolerances), [[0, 0, 0, 3, 4], [0, 0, 0, 0, 4], [0, 0, 0, 0, 0]]
    )
    traced = jax.jit(lambda tol: cluster_atoms(atoms, tol=tol).lam)
    assert np.all(np.isnan(traced(-1.0)))


def kernel_atoms(seed, n=8, d=5, r=5, masked=0):
    rng = np.random.default_rng(seed)
    beta, alpha = rng.normal(size=(2, n, r)) + 1j * rng.normal(size=(2, n, r))
    lam = np.array([1.0, 1, 2, 2, 2]) + 0j
    x, y = rng.normal(size=(2, n, d))
    mask = np.arange(n) < n - masked
    return KernelAtoms(lam, beta, alpha, x, y, mask=mask)


def test_linear_kernel_equals_explicit_features():
    kernel, systems = LinearKernel(), [kernel_atoms(0), kernel_atoms(1, masked=2)]
    explicit = [
        SpectralAtoms(
            a.lam, a.x[a.mask].T @ a.beta[a.mask], a.y[a.mask].T @ a.alpha[a.mask]
        )
        for a in systems
    ]
    expected = ground_cost(*(cluster_atoms(a, tol=0.1) for a in explicit), eta=0.3)
    a, b = (cluster_atoms(a, tol=0.1, kernel=kernel) for a in systems)
    cost = ground_cost(a, b, eta=0.3, kernel=kernel)
    np.testing.assert_allclose(cost, expected, atol=1e-12)
    for field, points in (("beta", "x"), ("alpha", "y")):
        basis, z = (np.asarray(getattr(b.basis, f))[:6] for f in (field, points))
        gram = basis.conj().T @ z @ z.T @ basis / 6
        together = b.label[:, None] == b.label[None, :]
        np.testing.assert_allclose(gram[together], np.eye(5)[together], atol=1e-13)
    assert sgot(a, a, eta=0.3, kernel=kernel) < 1e-6  # the floor of Gram matrices


def test_pairwise_equals_a_loop():
    systems = [exact_atoms(v, s) for s, v in enumerate((DOUBLE, TWICE, DOUBLE))]
    batch = jax.tree.map(lambda *z: jnp.stack(z), *systems)
    clusters = jax.vmap(lambda atoms: cluster_atoms(atoms, tol=1e-6))(batch)
    got = sgot_pairwise(clusters, eta=0.3)
    singles = [cluster_atoms(atoms, tol=1e-6) for atoms in systems]
    expected = [[sgot(a, b, eta=0.3) for b in singles] for a in singles]
    np.testing.assert_allclose(got, expected, atol=1e-13)


@pytest.mark.slow
def test_pairwise_in_a_kernel_space():
    kernel = GaussianKernel(2.0)
    systems = [kernel_atoms(seed, masked=seed) for seed in range(3)]
    batch = jax.tree.map(lambda *z: jnp.stack(z), *systems)
    clusters = jax.vmap(lambda a: cluster_atoms(a, tol=0.1, kernel=kernel))(batch)
    got = sgot_pairwise(clusters, eta=0.3, kernel=kernel)
    singles = [cluster_atoms(a, tol=0.1, kernel=kernel) for a in systems]
    expected = [[sgot(a, b, eta=0.3, kernel=kernel) for b in singles] for a in singles]
    expected = np.array(expected)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("angle", [1e-1, 1e-3, 1e-5])
def test_nearly_parallel_eigenvectors(angle):
    atoms = exact_atoms([0.9, 0.9, 0.9, 0.2, 0.2], 0)
    right = atoms.right.copy()
    right[:, 4] = right[:, 3] + angle * right[:, 4]
    left = np.linalg.inv(right).conj().T
    a = cluster_atoms(atoms._replace(right=right, left=left), tol=0.0)
    q = np.asarray(a.basis.right)[:, 3:]
    np.testing.assert_allclose(q.conj().T @ q, np.eye(2), atol=1e-14)
    exact = np.linalg.qr(right[:, 3:])[0]
    off = q - exact @ (exact.conj().T @ q)
    assert np.abs(off).max() < 100 * np.finfo(float).eps / angle
    assert sgot(a, a, eta=0.3) == 0


def test_single_precision():
    one, two = exact_atoms(DOUBLE, 0), exact_atoms(TWICE, 1)
    exact = ground_cost(*(cluster_atoms(a, tol=1e-3) for a in (one, two)), eta=0.3)
    single = [
        cluster_atoms(SpectralAtoms(*(z.astype(np.complex64) for z in a[:3])), tol=1e-3)
        for a in (one, two)
    ]
    cost = ground_cost(*single, eta=0.3)
    assert cost.dtype == np.float32
    np.testing.assert_allclose(cost, exact, rtol=1e-5, atol=1e-6)
    # The stable form resolves what the difference of numbers near 4 does not.
    a = cluster_atoms(one, tol=1e-3)
    turn = np.eye(5) + 5e-4 * np.random.default_rng(5).normal(size=(5, 5))
    moved = one._replace(right=turn @ one.right, left=np.linalg.inv(turn).T @ one.left)
    exact = np.diag(ground_cost(a, cluster_atoms(moved, tol=1e-3), eta=0.0))
    narrow = moved._replace(
        **{k: getattr(moved, k).astype(np.complex64) for k in ("lam", "right", "left")}
    )
    close = np.diag(ground_cost(single[0], cluster_atoms(narrow, tol=1e-3), eta=0.0))
    np.testing.assert_allclose(close, exact, rtol=1e-2)


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named():
    atoms = exact_atoms(DOUBLE, 0)
    clusters = cluster_atoms(atoms, tol=0.0)
    assert isinstance(clusters, AtomClusters)
    with pytest.raises(ValueError, match="kind: expected 'subspace' for AtomClusters"):
        sgot(clusters, clusters, eta=0.3, kind="projector")
    with pytest.raises(TypeError, match="atoms2: expected AtomClusters, as atoms1 is"):
        sgot(clusters, atoms, eta=0.3)
    with pytest.raises(ValueError, match=r"atoms1.label: expected shape \(5,\)"):
        sgot(clusters._replace(label=jnp.zeros(3, int)), clusters, eta=0.3)
    other = cluster_atoms(SpectralAtoms(atoms.lam[:2], *np.ones((2, 3, 2))), tol=0.0)
    with pytest.raises(ValueError, match="atoms2.basis: expected features of dim"):
        sgot(clusters, other, eta=0.3)
    with pytest.raises(
        TypeError, match="atoms1: expected SpectralAtoms or KernelAtoms"
    ):
        operators.overlap(clusters, clusters)
    with pytest.raises(ValueError, match="tol: expected a value in"):
        cluster_atoms(atoms, tol=-1.0)
    with pytest.raises(ValueError, match="tol: expected shape"):
        cluster_atoms(atoms, tol=np.ones(2))
    with pytest.raises(ValueError, match="kernel: expected the kernel"):
        cluster_atoms(kernel_atoms(0), tol=1.0)
    with pytest.raises(ValueError, match=r"atoms.left: expected shape \(5, 5\)"):
        cluster_atoms(atoms._replace(left=np.eye(4)), tol=1.0)
    with pytest.raises(TypeError, match="atoms: expected SpectralAtoms or KernelAtoms"):
        cluster_atoms(clusters, tol=1.0)
