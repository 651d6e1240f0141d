"""Means of operators and of measures, and paths between operators."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from jaxrepro.operators import (
    GaussianKernel,
    KernelAtoms,
    LinearKernel,
    SpectralAtoms,
    interpolate,
    measure_barycenter,
    operator_barycenter,
    operator_from_atoms,
    reduced_rank_regression,
    sgot,
    sgot_from_trajectories,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")

DT = 0.01
# One number of steps and few shapes, so that few programs are compiled.
N_ITER = 300


def atoms_of(matrices, dt=DT):
    return jax.vmap(lambda a: spectral_atoms(a, dt))(np.asarray(matrices))


def member(batch, k):
    return jax.tree.map(lambda x: x[k], batch)


def mean_cost(atoms, batch, weights, kernel=None, **options):
    """Objective by single distances."""
    return sum(
        w * sgot(atoms, member(batch, k), kernel=kernel, **options) ** 2
        for k, w in enumerate(weights)
    )


@pytest.fixture
def two(x64, reference):
    """The two generators of the reference file as operators over one step."""
    entry = reference["operator_barycenter"]
    generators = np.asarray([entry["generator0"], entry["generator1"]])
    return atoms_of([scipy.linalg.expm(g * DT) for g in generators])


@pytest.mark.parametrize("k", [0, 1, 2])
def test_reference(reference, two, k):
    entry = reference["operator_barycenter"]
    result, bound = entry["results"][k], entry["lower_bound"][k]
    weights = np.array([1 - result["t"], result["t"]])
    free = measure_barycenter(two, weights, eta=entry["eta"])
    assert abs(free.objective - bound["obj"]) < 1e-9
    for start in (None, 0, 1):
        init = None if start is None else member(two, start)
        mean = operator_barycenter(
            two, weights, eta=entry["eta"], init=init, n_iter=N_ITER
        )
        assert bound["obj"] < mean.objective < result["obj"] + 2e-4
        # Eigenvalues lie on the line between those of the ends, which come in order.
        line = jnp.einsum("k,ki->i", weights, two.lam)
        np.testing.assert_allclose(
            np.sort_complex(mean.atoms.lam), np.sort_complex(line), atol=1e-9
        )
        product = mean.atoms.left.conj().T @ mean.atoms.right
        np.testing.assert_allclose(product, np.eye(4), atol=1e-10)
        operator = operator_from_atoms(mean.atoms, DT, real=False)
        assert np.abs(operator.imag).max() < 1e-8


# Two real operators between whose vectors lies a set of singular matrices.
GENERAL = np.array(
    [
        [[2.178, 0.491, 1.45], [0.403, 1.328, 0.408], [-1.431, -0.818, -0.663]],
        [[0.418, 0.791, -0.046], [-0.445, 1.033, 0.138], [-0.782, -0.142, 1.259]],
    ]
)


def is_real_mean(mean, dt):
    operator = operator_from_atoms(mean.atoms, dt, real=False)
    product = mean.atoms.left.conj().T @ mean.atoms.right
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-10)
    return np.abs(operator.imag).max() < 1e-8 and np.all(
        mean.history <= mean.history[0]
    )


def test_mean_of_real_operators_is_real():
    # Blocks of 4, for the program of the reference.
    wide = [scipy.linalg.block_diag(a, m) for a, m in zip(GENERAL, (0.5, 0.7))]
    batch = atoms_of(wide, 0.1)
    mean = operator_barycenter(batch, np.array([0.75, 0.25]), eta=0.5, n_iter=N_ITER)
    assert is_real_mean(mean, 0.1)
    assert mean.objective < mean.history[0]


@pytest.mark.slow
@pytest.mark.parametrize("cost", ["quad", "paper"])
def test_means_from_every_start_are_real(cost):
    batch = atoms_of(GENERAL, 0.1)
    for t in (0.25, 0.5):
        for k in (0, 1):
            mean = operator_barycenter(
                batch, np.array([1 - t, t]), eta=0.5, cost=cost, init=member(batch, k)
            )
            assert is_real_mean(mean, 0.1)
            assert mean.objective <= mean.history[0]


@pytest.mark.slow
def test_path_between_real_operators_is_real():
    ends = atoms_of(GENERAL, 0.1)
    path = interpolate(member(ends, 0), member(ends, 1), np.array([0.25]), eta=0.5)
    assert is_real_mean(member(path, 0), 0.1)
    # From the nearer end, as small steps (0.003) find it.
    np.testing.assert_allclose(path.objective, 0.3277030206, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("cost", ["quad", "paper"])
def test_objective_is_that_of_single_distances(two, cost):
    mean = operator_barycenter(two, eta=0.1, cost=cost, n_iter=N_ITER)
    options = {"convention": "quad"} if cost == "quad" else {"p": 2}
    want = mean_cost(mean.atoms, two, (0.5, 0.5), eta=0.1, **options)
    np.testing.assert_allclose(mean.objective, want, rtol=1e-12)
    assert mean.objective <= mean.history[-1] + 1e-12
    assert mean.objective < mean.history[0]
    np.testing.assert_allclose(mean.plans.sum(1), 0.25, atol=1e-12)


@pytest.mark.slow
def test_steps_that_the_cost_of_the_paper_needs(two):
    """The gaps of the docstring, against a limit within 1e-8 of it."""
    objective = lambda n: (
        operator_barycenter(two, eta=0.1, cost="paper", n_iter=n).objective
    )
    gaps = np.array([objective(n) for n in (150, 600, 2400)]) / objective(10000) - 1
    # Within a factor of 3: which point is the best on the way hangs on rounding.
    np.testing.assert_allclose(np.log10(gaps), [-3, -5, -7], atol=0.5)


def test_no_nearby_operator_is_better(two):
    mean = operator_barycenter(two, np.array([0.3, 0.7]), eta=0.1, n_iter=N_ITER)
    rng = np.random.default_rng(0)
    operator = operator_from_atoms(mean.atoms, DT)
    for _ in range(20):
        near = spectral_atoms(operator + 1e-4 * rng.normal(size=(4, 4)), DT)
        assert mean_cost(near, two, (0.3, 0.7), eta=0.1, convention="quad") > (
            mean.objective
        )


def test_equal_systems_are_their_own_mean(stable_matrices):
    (matrix,) = stable_matrices(1, 4)
    batch = atoms_of([matrix] * 3)
    mean = operator_barycenter(batch, eta=0.3, n_iter=N_ITER)
    np.testing.assert_allclose(operator_from_atoms(mean.atoms, DT), matrix, atol=1e-8)
    for found in (mean, measure_barycenter(batch, eta=0.3)):
        assert found.objective < 1e-8
        np.testing.assert_allclose(
            np.sort_complex(found.atoms.lam), np.sort_complex(batch.lam[0]), atol=1e-10
        )


@pytest.mark.slow
def test_weight_on_one_system_gives_that_system(stable_matrices):
    matrices = stable_matrices(3, 4)
    weights = np.array([0.0, 2.0, 0.0])
    mean = operator_barycenter(atoms_of(matrices), weights, eta=0.3, n_iter=N_ITER)
    assert mean.objective < 1e-8
    np.testing.assert_allclose(
        operator_from_atoms(mean.atoms, DT), matrices[1], atol=1e-8
    )


@pytest.mark.slow
def test_more_starts_are_no_worse(stable_matrices):
    batch = atoms_of(stable_matrices(3, 4, seed=3))
    objectives = [
        operator_barycenter(batch, eta=0.3, n_iter=N_ITER, n_starts=n).objective
        for n in (1, 3)
    ]
    assert objectives[1] <= objectives[0] + 1e-12


def test_measure_objective_never_rises(stable_matrices):
    batch = atoms_of(stable_matrices(3, 4, seed=1))
    mean = measure_barycenter(batch, eta=0.3)
    assert np.diff(mean.history).max() <= 1e-12
    want = mean_cost(mean.atoms, batch, [1 / 3] * 3, eta=0.3, convention="quad")
    np.testing.assert_allclose(mean.objective, want, rtol=1e-10)
    operator = operator_barycenter(batch, eta=0.3, n_iter=N_ITER, n_starts=3)
    assert operator.objective >= mean.objective - 1e-9


def kernel_systems(kernel, n=9, mask=None):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, n, 3))
    maps = 0.8 * np.array(
        [scipy.linalg.expm(a - a.T) for a in rng.normal(size=(2, 3, 3))]
    )
    y = np.einsum("kij,knj->kni", maps, x)

    def fit(x, y):
        fit = reduced_rank_regression(
            x, y, gamma=1e-6, rank=3, kernel=kernel, mask=mask
        )
        return spectral_atoms(fit, DT, kernel=kernel)

    return jax.vmap(fit)(x, y)


@pytest.mark.slow
def test_linear_kernel_equals_explicit_features():
    linear = LinearKernel()
    explicit = operator_barycenter(kernel_systems(None), eta=0.1, n_iter=N_ITER)
    mean = operator_barycenter(kernel_systems(linear), eta=0.1, kernel=linear)
    assert isinstance(mean.atoms, KernelAtoms)
    np.testing.assert_allclose(mean.objective, explicit.objective, rtol=1e-6)
    np.testing.assert_allclose(
        np.sort_complex(mean.atoms.lam), np.sort_complex(explicit.atoms.lam), rtol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("find", [operator_barycenter, measure_barycenter])
def test_in_a_gaussian_kernel_space(find):
    kernel = GaussianKernel(3.0)
    # The last sample is masked and may hold anything.
    batch = kernel_systems(kernel, mask=np.arange(9) < 8)
    batch = batch._replace(x=batch.x.at[:, -1].set(jnp.nan))
    mean = find(batch, eta=0.1, kernel=kernel)
    want = mean_cost(mean.atoms, batch, (0.5, 0.5), kernel, eta=0.1, convention="quad")
    np.testing.assert_allclose(mean.objective, want, rtol=1e-6)
    assert mean.objective < mean.history[0]


@pytest.mark.slow
def test_padded_atoms_do_not_matter(two):
    wide = [(0, 0)] * 2 + [(0, 1)]
    pad = lambda z: jnp.pad(z, wide[3 - z.ndim :], constant_values=jnp.nan)
    padded = two._replace(
        lam=pad(two.lam), right=pad(two.right), left=pad(two.left),
        weight=jnp.pad(two.weight, ((0, 0), (0, 1))),
    )  # fmt: skip
    for find, options in (
        (operator_barycenter, {"n_iter": N_ITER}),
        (measure_barycenter, {}),
    ):
        mean, want = find(padded, eta=0.1, **options), find(two, eta=0.1, **options)
        np.testing.assert_allclose(mean.objective, want.objective, rtol=1e-9)
        np.testing.assert_allclose(mean.atoms.lam[:4], want.atoms.lam, atol=1e-9)
        assert mean.atoms.weight[4] == 0


@pytest.mark.slow
def test_complex_operators():
    rng = np.random.default_rng(2)
    q = np.linalg.qr(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))[0]
    matrices = [
        q @ np.diag(m) @ q.conj().T for m in ([0.9j, 0.5, -0.3j], [0.8j, 0.4, -0.2j])
    ]
    mean = operator_barycenter(atoms_of(matrices), eta=0.5, real=False)
    want = np.log(np.abs([0.9 * 0.8, 0.5 * 0.4, 0.3 * 0.2])) / 2 / DT
    np.testing.assert_allclose(np.sort(mean.atoms.lam.real), np.sort(want), rtol=1e-6)


@pytest.mark.slow
def test_path_runs_from_end_to_end(two):
    ends = member(two, 0), member(two, 1)
    ts = np.linspace(0, 1, 5)
    path = interpolate(*ends, ts, eta=0.1, n_iter=N_ITER)
    np.testing.assert_allclose(path.objective[jnp.array([0, 4])], 0, atol=1e-10)
    lam = np.sort_complex(path.atoms.lam)
    straight = lam[0] + ts[:, None] * (lam[-1] - lam[0])
    np.testing.assert_allclose(lam, straight, atol=1e-9)
    middle = operator_barycenter(two, eta=0.1, n_iter=N_ITER, n_starts=2)
    np.testing.assert_allclose(path.objective[2], middle.objective, rtol=1e-9)


@pytest.mark.slow
def test_frequency_glides_where_the_mean_matrix_damps():
    turn = lambda hertz: scipy.linalg.expm(
        2 * np.pi * hertz * DT * np.array([[0.0, -1.0], [1.0, 0.0]])
    )
    batch = atoms_of([turn(2.0), turn(12.0)])
    mean = operator_barycenter(batch, eta=0.5, n_iter=N_ITER)
    np.testing.assert_allclose(mean.atoms.lam.real, 0, atol=1e-9)
    np.testing.assert_allclose(np.abs(mean.atoms.lam.imag), 2 * np.pi * 7, rtol=1e-9)
    flat = spectral_atoms((turn(2.0) + turn(12.0)) / 2, DT)
    assert np.all(flat.lam.real < -1)


def test_operator_and_atoms_are_inverse(stable_matrices):
    for matrix in stable_matrices(3, 5):
        atoms = spectral_atoms(matrix, 0.5)
        np.testing.assert_allclose(operator_from_atoms(atoms, 0.5), matrix, atol=1e-12)
        twice = operator_from_atoms(atoms, 1.0)
        np.testing.assert_allclose(twice, matrix @ matrix, atol=1e-12)


@pytest.mark.slow
def test_single_precision(two):
    single = jax.tree.map(
        lambda z: z.astype(np.complex64 if jnp.iscomplexobj(z) else np.float32), two
    )
    for find, options in (
        (operator_barycenter, {"n_iter": N_ITER}),
        (measure_barycenter, {}),
    ):
        mean = find(single, eta=np.float32(0.1), **options)
        assert mean.objective.dtype == np.float32
        assert mean.atoms.lam.dtype == np.complex64
        want = find(two, eta=0.1, **options).objective
        np.testing.assert_allclose(mean.objective, want, rtol=1e-4)


@pytest.mark.slow
def test_under_jit_and_vmap(two):
    find = lambda eta: operator_barycenter(two, eta=eta, n_iter=N_ITER).objective
    etas = jnp.array([0.1, 0.4])
    batch = jax.jit(jax.vmap(find))(etas)
    np.testing.assert_allclose(batch, [find(0.1), find(0.4)], rtol=1e-10)


def test_lengths_of_vectors_do_not_matter(two):
    def find(batch, init=None):
        # Weights and an init as in the test of the reference: the same programs.
        return operator_barycenter(
            batch, np.full(2, 0.5), eta=0.1, init=init, n_iter=N_ITER
        )

    products = lambda atoms: jnp.einsum("di,ei->ide", atoms.right, atoms.left.conj())
    want, started = find(two), find(two, member(two, 1))
    assert want.objective < 0.9 * want.history[0]
    for scale in (1e-3, 1e3):
        factor = scale * (1 + jnp.arange(4.0))
        scaled = two._replace(right=two.right * factor, left=two.left / factor)
        mean = find(scaled)
        np.testing.assert_allclose(mean.objective, want.objective, rtol=1e-9)
        np.testing.assert_allclose(
            products(mean.atoms), products(want.atoms), atol=1e-6
        )
        init = member(scaled, 1)
        mean = find(two, init._replace(left=3 * init.left))
        np.testing.assert_allclose(mean.objective, started.objective, rtol=1e-9)


@pytest.mark.slow
def test_unit_of_the_data_does_not_matter():
    time = DT * 5 * np.arange(200)[:, None]
    noise = np.random.default_rng(0).normal(size=(3, 200, 1))
    signals = [
        np.sin(2 * np.pi * hertz * time) + 0.3 * np.sin(5 * np.pi * time) + 0.01 * e
        for hertz, e in zip((0.5, 0.6, 0.8), noise)
    ]
    means = []
    for unit in (1.0, 1e-3, 1e3):
        batch = sgot_from_trajectories(
            [unit * z for z in signals], dt=5 * DT, n_delays=15, rank=4, gamma=1e-3
        )
        means.append(operator_barycenter(batch, eta=0.3, n_iter=N_ITER))
        # No system is a better mean, and none gets below a mean without constraints.
        systems = [
            mean_cost(member(batch, k), batch, [1 / 3] * 3, eta=0.3, convention="quad")
            for k in range(3)
        ]
        assert means[-1].objective < min(systems)
        assert means[-1].objective > measure_barycenter(batch, eta=0.3).objective
    for mean in means[1:]:
        np.testing.assert_allclose(mean.objective, means[0].objective, rtol=1e-6)


def test_bad_weights_and_step_sizes_give_nan_under_jit(two):
    find = jax.jit(
        lambda w, lr: operator_barycenter(two, w, eta=0.1, lr=lr, n_iter=2).objective
    )
    good = np.full(2, 0.5)
    assert np.isfinite(find(good, 0.03))
    assert np.isnan(find(np.array([-0.5, 1.5]), 0.03))
    assert np.isnan(find(np.zeros(2), 0.03))
    for lr in (0.0, -0.03, np.nan, np.inf):
        assert np.isnan(find(good, lr))


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"weights": np.ones(3)}, ValueError, "weights: expected shape (2,); got"),
        ({"weights": np.array([-1.0, 2])}, ValueError, "weights: expected every entry"),
        ({"eta": 2.0}, ValueError, "eta: expected a value in [0, 1]; got 2"),
        ({"cost": "pot"}, ValueError, "cost: expected one of"),
        ({"lr": 0.0}, ValueError, "lr: expected a value in (0, inf); got 0"),
        ({"n_iter": 0}, ValueError, "n_iter: expected an integer >= 1; got 0"),
        ({"n_starts": 3}, ValueError, "n_starts: expected an integer in [1, 2]; got 3"),
    ],
)
def test_errors(two, change, error, message):
    with pytest.raises(error, match=re.escape(message)):
        operator_barycenter(**({"batch": two, "eta": 0.1} | change))


@pytest.mark.usefixtures("plain_errors")
def test_other_errors(two):
    first = member(two, 0)
    with pytest.raises(ValueError, match="n_starts: expected 1 with init; got 2"):
        operator_barycenter(two, eta=0.1, init=first, n_starts=2)
    kernel_atoms = member(kernel_systems(LinearKernel()), 0)
    with pytest.raises(TypeError, match="init: expected SpectralAtoms, as batch is"):
        operator_barycenter(two, eta=0.1, init=kernel_atoms, kernel=LinearKernel())
    with pytest.raises(TypeError, match="atoms: expected SpectralAtoms; got Kernel"):
        operator_from_atoms(kernel_atoms, DT)
    with pytest.raises(TypeError, match=r"atoms\.lam: expected an array; got list"):
        operator_from_atoms(SpectralAtoms([1.0], [[1.0]], [[1.0]]), 1.0)
    with pytest.raises(ValueError, match="dt: expected a value in"):
        operator_from_atoms(first, 0.0)
    with pytest.raises(ValueError, match="ts: expected"):
        interpolate(first, first, [0.0, 1.5], eta=0.1)
    short = SpectralAtoms(first.lam[:2], first.right[:, :2], first.left[:, :2])
    with pytest.raises(ValueError, match=r"atoms2.lam: expected shape \(4,\)"):
        interpolate(first, short, [0.5], eta=0.1)
    with pytest.raises(ValueError, match="n_iter: expected an integer >= 1; got 0"):
        measure_barycenter(two, eta=0.1, n_iter=0)
