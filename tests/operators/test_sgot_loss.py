"""Atoms in given features, and the distance to targets as a loss of them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from jaxrepro import operators as op

T, D, M, RANK, DT = 60, 4, 5, 4, 0.3


def recordings(n=2, seed=0):
    """Windows of two steps of two damped oscillations, mixed into two channels."""
    rng = np.random.default_rng(seed)
    t = DT * np.arange(T + 1)
    waves = np.stack([np.exp(-0.02 * t) * np.sin(w * t + 1) for w in (1.0, 2.6)], 1)
    x = waves @ rng.normal(size=(n, 2, 2)) + 0.02 * rng.normal(size=(n, T + 1, 2))
    return np.concatenate([x[:, :-1], x[:, 1:]], axis=2)


def apply(params, z):
    return jnp.tanh(z @ params["w"]) / 2 + z @ params["v"]


def parameters(seed=0):
    w, v = np.random.default_rng(seed).normal(size=(2, D, M))
    return {"w": jnp.asarray(w), "v": jnp.asarray(v)}


def atoms_of(params, z):
    fit = functools.partial(op.feature_atoms, gamma=1e-3, rank=RANK, apply=apply)
    return jax.vmap(fit, (None, 0, None))(params, z, DT)


def loss(params, targets, **options):
    return op.sgot_loss(
        params, recordings(), targets, DT, gamma=1e-3, rank=RANK, apply=apply, **options
    )


def stack(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def shifted(params, direction, step):
    return jax.tree.map(lambda p, d: p + step * d, params, direction)


def inner(a, b):
    return sum(jnp.vdot(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)))


@pytest.fixture(scope="module")
def batched():
    """Losses and gradients for batches of parameters, shares and gap guards."""
    with jax.enable_x64(True):
        targets = atoms_of(parameters(9), recordings(seed=1))

        def one(params, eta, gap_tol):
            return loss(params, targets, eta=eta, gap_tol=gap_tol)

        return targets, jax.jit(jax.vmap(jax.value_and_grad(one)))


def test_atoms_are_those_of_regression_with_intercept(x64):
    z, params = recordings()[0], parameters()
    f = np.asarray(apply(params, z))
    fx, fy = f[:-1] - f[:-1].mean(axis=0), f[1:] - f[1:].mean(axis=0)
    atoms = op.feature_atoms(
        params, z, DT, gamma=0.0, rank=M, mag_floor=0.0, apply=apply
    )
    values = np.exp(np.asarray(atoms.lam) * DT)
    expected = np.linalg.eigvals(np.linalg.lstsq(fx, fy, rcond=None)[0])
    np.testing.assert_allclose(
        np.sort_complex(values), np.sort_complex(expected), rtol=1e-8
    )
    assert atoms.right.shape == (M, M)
    offset = op.feature_atoms(
        params,
        z,
        DT,
        gamma=0.0,
        rank=M,
        mag_floor=0.0,
        apply=lambda p, z: apply(p, z) + 3,
    )
    np.testing.assert_allclose(offset.lam, atoms.lam, rtol=1e-8)


def test_features_that_do_not_move_have_no_atoms(x64):
    # Their mean is rounded, and a relative gamma knows no scale to compare that with.
    for value in (0.1, 0.3, 0.7, 1.0):
        still = np.full((2, T, D), value)
        assert not np.any(atoms_of(parameters(), still).weight > 0)
        value = op.sgot_loss(
            parameters(), still, np.array([-0.1 + 1j, -0.1 - 1j]), DT,
            gamma=1e-3, rank=RANK, apply=apply,
        )  # fmt: skip
        assert np.isnan(value)
    # One feature that moves is enough, however little, and has its own atom.
    moving = np.where(np.arange(D) == 0, 1e-6 * recordings(), 0.7)
    assert np.any(atoms_of(parameters(), moving).weight > 0)


@pytest.mark.parametrize("name", ["mag_floor", "gap_tol"])
def test_traced_numbers_out_of_range_give_nan(name):
    operator = jnp.array([[0.8, 0.1], [0.2, 0.7]])
    values = jax.vmap(lambda bad: op.spectral_atoms(operator, DT, **{name: bad}).lam)(
        jnp.array([1e-3, -1.0, jnp.nan])
    )
    np.testing.assert_array_equal(jnp.isnan(values), [2 * [b] for b in (0, 1, 1)])


def pick(tree, k):
    return jax.tree.map(lambda x: x[k], tree)


def assigned(cost):
    """Mean cost of the best assignment: exact transport of equal masses."""
    return cost[scipy.optimize.linear_sum_assignment(cost)].mean()


def by_hand(atoms, target, eta):
    """The distance from dense projectors, for atoms that are all live."""
    assert np.allclose(atoms.weight, 1 / RANK)
    gap = np.abs(atoms.lam[:, None] - target.lam[None, :])
    projectors = [
        np.einsum("ir,jr->rij", a.right, np.conj(a.left)) for a in (atoms, target)
    ]
    unit = [p / np.linalg.norm(p, axis=(1, 2), keepdims=True) for p in projectors]
    shape = np.linalg.norm(unit[0][:, None] - unit[1][None, :], axis=(2, 3))
    return assigned(eta * gap + (1 - eta) * shape)


def test_loss_is_the_mean_distance(batched, x64):
    targets, program = batched
    etas = jnp.array([0.0, 0.3, 1.0])
    values, _ = program(stack(3 * [parameters()]), etas, jnp.full(3, 1e-6))
    atoms = atoms_of(parameters(), recordings())
    for eta, value in zip(etas, values):
        each = [by_hand(pick(atoms, k), pick(targets, k), eta) for k in (0, 1)]
        assert float(value) == pytest.approx(np.mean(each), rel=1e-9)


@pytest.mark.slow
def test_options_are_those_of_the_metric(batched, x64):
    targets, _ = batched
    atoms = atoms_of(parameters(), recordings())
    options = {"eta": 0.3, "scaling": (1.0, 0.2), "kind": "subspace", "p": 2}
    one = pick(targets, 0)  # for all recordings
    distances = [op.sgot(pick(atoms, k), one, **options) for k in (0, 1)]
    value = loss(parameters(), one, **options)
    assert float(value) == pytest.approx(float(sum(distances)) / 2, rel=1e-12)
    options = {"eta": 0.3, "convention": "quad"}
    distances = [op.sgot(pick(atoms, k), one, **options) for k in (0, 1)]
    value = loss(parameters(), one, **options)
    assert float(value) == pytest.approx(float(sum(distances)) / 2, rel=1e-12)


def test_eigenvalues_as_targets(x64, plain_errors):
    """Beside a step of time for each recording, in a list, which types leave out."""
    known = np.array([[1.0j, -1.0j, 2.6j, -2.6j], [0.5j, -0.5j, 3j, -3j]])
    value = op.sgot_loss(
        parameters(), recordings(), known, [DT, DT / 2],
        gamma=1e-3, rank=RANK, apply=apply,
    )  # fmt: skip
    lam = np.asarray(atoms_of(parameters(), recordings()).lam) * [[1.0], [2.0]]
    gaps = np.abs(lam[:, :, None] - known[:, None, :])
    assert float(value) == pytest.approx(np.mean([assigned(g) for g in gaps]), rel=1e-9)


def test_gradient_equals_finite_differences(batched, x64):
    _, program = batched
    seeds, etas, h = (0, 1), (0.2, 0.9), 1e-5
    direction = parameters(5)
    for seed, eta in zip(seeds, etas):
        params = [shifted(parameters(seed), direction, s) for s in (0, h, -h)]
        values, gradients = program(stack(params), jnp.full(3, eta), jnp.full(3, 1e-6))
        gradient = jax.tree.map(lambda g: g[0], gradients)
        difference = (values[1] - values[2]) / (2 * h)
        assert float(inner(gradient, direction)) == pytest.approx(
            float(difference), rel=1e-5
        )


@pytest.mark.slow
def test_seeds_and_shares_side_by_side(batched, x64):
    targets, program = batched
    params = stack([parameters(seed) for seed in range(3)])
    etas = jnp.array([0.0, 0.5, 1.0])
    values, _ = program(params, etas, jnp.full(3, 1e-6))
    for seed, eta, value in zip(range(3), etas, values):
        single = loss(parameters(seed), targets, eta=eta)
        assert float(single) == pytest.approx(float(value), rel=1e-12)


def test_gap_guard_cuts_couplings_and_not_eigenvalues(batched, x64):
    _, program = batched
    params = stack(3 * [parameters()])
    off, on = jnp.zeros(3), jnp.full(3, 10.0)
    etas = jnp.array([1.0, 0.5, 0.0])
    (values, plain), (same, guarded) = (
        program(params, etas, off),
        program(params, etas, on),
    )
    np.testing.assert_allclose(values, same, rtol=1e-14)
    np.testing.assert_allclose(plain["w"][0], guarded["w"][0], rtol=1e-10)
    assert not np.allclose(plain["w"][2], guarded["w"][2], rtol=1e-2)


def test_gap_guard_where_eigenvalues_collide(x64):
    """Without it the derivative grows as the inverse of the gap."""
    other = op.spectral_atoms(jnp.array([[0.8, 0.1], [0.2, 0.7]]), DT)

    @jax.jit
    def slope(gap, gap_tol):
        def distance(matrix):
            atoms = op.spectral_atoms(matrix, DT, gap_tol=gap_tol)
            return op.sgot(atoms, other, eta=0.5)

        gradient = jax.grad(distance)(jnp.diag(jnp.array([0.9, 0.9 + gap])))
        return jnp.linalg.norm(gradient)

    assert float(slope(1e-9, 0.0)) > 1e7
    assert float(slope(1e-9, 1e-6)) < 1e2
    assert float(slope(0.0, 0.0)) < 1e2
    assert float(slope(1e-9, 0.0)) == pytest.approx(
        100 * float(slope(1e-7, 0.0)), rel=1e-2
    )


def test_features_that_say_nothing_new_have_finite_gradients(batched, x64):
    """Two equal features: the regression has one singular value 0."""
    _, program = batched
    params = jax.tree.map(lambda p: p.at[:, 1].set(p[:, 0]), parameters())
    values, gradients = program(
        stack(3 * [params]), jnp.full(3, 0.5), jnp.full(3, 1e-6)
    )
    assert jnp.all(jnp.isfinite(values))
    assert all(jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(gradients))


KNOWN = np.array([1j, -1j])
ATOMS = op.SpectralAtoms(KNOWN, np.ones((M, 2)), np.ones((M, 2)))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"windows": np.ones((T, D))}, ValueError, r"windows: .* shape \(N, T, d\)"),
        ({"windows": np.ones((0, T, D))}, ValueError, "windows: expected at least one"),
        ({"windows": np.ones((1, 2, D))}, ValueError, "number of rows of windows"),
        ({"dt": np.ones(2)}, ValueError, r"dt: expected shape \(1,\)"),
        ({"dt": 0.0}, ValueError, "dt: expected a value in"),
        ({"gamma": -1.0}, ValueError, "gamma: expected a value in"),
        ({"mag_floor": -1.0}, ValueError, "mag_floor: expected a value in"),
        ({"gap_tol": -1.0}, ValueError, "gap_tol: expected a value in"),
        ({"rank": 1.5}, TypeError, "rank: expected an integer"),
        ({"rank": M + 1}, ValueError, "rank: expected an integer in"),
        ({"targets": ATOMS}, ValueError, "eta: expected a value beside"),
        ({"targets": ATOMS, "eta": 2.0}, ValueError, "eta: expected a value in"),
        ({"eta": 0.5}, ValueError, "eta, kind, convention: expected none"),
        ({"scaling": (1.0,)}, ValueError, "scaling: expected 2 factors"),
        ({"targets": 1j * np.ones((3, 2))}, ValueError, r"targets: .* shape \(1, r\)"),
        ({"targets": [-0.1, -0.2]}, TypeError, "targets: expected complex generator"),
        ({"targets": None}, TypeError, "targets: .* eigenvalues; got None"),
        (
            {"targets": op.KernelAtoms(KNOWN, *4 * [np.ones((2, 2))])},
            TypeError,
            "targets: expected SpectralAtoms or .* eigenvalues; got KernelAtoms",
        ),
        (
            {"targets": op.AtomClusters(KNOWN, np.arange(2), np.ones(2), ATOMS)},
            TypeError,
            "targets: expected SpectralAtoms or .* eigenvalues; got AtomClusters",
        ),
        (
            {"targets": ATOMS._replace(lam=[1j, -1j]), "eta": 0.5},
            TypeError,
            r"targets\.lam: expected an array; got list",
        ),
        ({"dt": [DT, DT]}, ValueError, r"dt: expected shape \(1,\)"),
        ({"windows": 1j * np.ones((1, T, D))}, TypeError, "windows: expected real"),
        ({"apply": None}, TypeError, "apply: expected a function; got None"),
        ({"apply": lambda p, z: z[0]}, ValueError, r"apply\(params, windows\): "),
        (
            {"targets": op.SpectralAtoms(KNOWN, *np.ones((2, 3, 2))), "eta": 0.5},
            ValueError,
            r"targets.right: expected shape \(5, r\)",
        ),
    ],
)  # fmt: skip
def test_errors(plain_errors, change, error, message):
    arguments = {
        "params": parameters(), "windows": np.ones((1, T, D)), "targets": KNOWN,
        "dt": DT, "gamma": 1e-3, "rank": 2, "apply": apply,
    } | change  # fmt: skip
    with pytest.raises(error, match=message):
        op.sgot_loss(**arguments)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"windows": np.ones(T)}, ValueError, r"windows: expected shape \(T, d\)"),
        ({"windows": np.ones((2, D))}, ValueError, "number of rows .* >= 3; got 2"),
        ({"windows": np.ones((T, 0))}, ValueError, "windows: expected at least one"),
        ({"gamma": -1.0}, ValueError, "gamma: expected a value in"),
        ({"rank": 1.5}, TypeError, "rank: expected an integer"),
        ({"rank": M + 1}, ValueError, "rank: expected an integer in"),
        ({"dt": -1.0}, ValueError, "dt: expected a value in"),
        ({"gap_tol": -1.0}, ValueError, "gap_tol: expected a value in"),
        ({"windows": 1j * np.ones((T, D))}, TypeError, "windows: expected real"),
        ({"apply": None}, TypeError, "apply: expected a function; got None"),
        (
            {"apply": lambda p, z: [z]},
            TypeError,
            r"apply\(params, windows\): expected an array; got list",
        ),
        (
            {"apply": lambda p, z: 1j * z},
            TypeError,
            r"apply\(params, windows\): expected real numbers",
        ),
    ],
)
def test_errors_of_atoms(plain_errors, change, error, message):
    arguments = {
        "params": parameters(), "windows": recordings()[0], "dt": DT, "gamma": 1e-3,
        "rank": 2, "apply": apply,
    } | change  # fmt: skip
    with pytest.raises(error, match=message):
        op.feature_atoms(**arguments)
