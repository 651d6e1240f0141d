import itertools

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import linear_sum_assignment

from jaxrepro.operators import (
    GaussianKernel,
    KernelOperatorFit,
    SpectralAtoms,
    eta_heuristic,
    got,
    ground_cost,
    hs_distance,
    overlap,
    reduced_rank_regression,
    sgot,
    sgot_pairwise,
    sot,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")

KINDS = ("projector", "subspace", "chordal", "geodesic", "procrustes", "martin")
METRIC_KINDS = KINDS[:-1]


def reference_atoms(entry, k):
    lam = np.log(entry[f"mu{k}"]) / entry["dt"]
    return SpectralAtoms(lam, entry[f"R{k}"], entry[f"L{k}"])


def transport_value(cost, a, b):
    """Exact transport of weights in twentieths: an assignment of 20 equal grains."""
    rows = np.repeat(np.arange(len(a)), np.rint(20 * np.asarray(a)).astype(int))
    columns = np.repeat(np.arange(len(b)), np.rint(20 * np.asarray(b)).astype(int))
    grains = np.asarray(cost)[np.ix_(rows, columns)]
    return grains[linear_sum_assignment(grains)].mean()


def padded_with_nan(atoms, extra):
    def pad(z):
        width = [(0, 0)] * (z.ndim - 1) + [(0, extra)]
        return jnp.pad(z, width, constant_values=jnp.nan)

    weight = jnp.pad(atoms.weight, (0, extra))
    return SpectralAtoms(pad(atoms.lam), pad(atoms.right), pad(atoms.left), weight)


@pytest.mark.parametrize("index", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_reference(reference, index, kind):
    entry = reference["sgot"][index]
    one, two = reference_atoms(entry, 1), reference_atoms(entry, 2)
    options = {"eta": entry["eta"], "scaling": tuple(entry["scaling"]), "kind": kind}
    distance, tol = entry["distance"], 1e-7 if kind == "martin" else 1e-9
    for p in (1, 2):
        value = sgot(one, two, p=p, **options)
        np.testing.assert_allclose(value, distance[f"{kind}_p{p}"], atol=tol)
    value = sgot(one, two, convention="quad", **options)
    np.testing.assert_allclose(value, distance[f"{kind}_quad"], atol=tol)
    if kind in entry["pot_defaults_p2_q1_r2"]:
        value = sgot(one, two, convention="pot", **options)
        expected = entry["pot_defaults_p2_q1_r2"][kind]
        np.testing.assert_allclose(value, expected, atol=1e-9)


@pytest.mark.parametrize("index", [0, 1])
def test_reference_from_the_operators(reference, index):
    entry = reference["sgot"][index]
    one, two = (
        spectral_atoms(np.array(entry[f"A{k}"]), entry["dt"], rank=entry[f"r{k}"])
        for k in (1, 2)
    )  # fmt: skip
    value = sgot(one, two, eta=entry["eta"], scaling=tuple(entry["scaling"]))
    expected = entry["distance"]["projector_p1"]
    np.testing.assert_allclose(value, expected, atol=1e-9)


def test_reference_in_a_gaussian_kernel_space(reference):
    entry = reference["rrr_rbf_pair"]
    atoms = []
    for name in ("system1", "system2"):
        system = entry[name]
        kernel = GaussianKernel(system["lengthscale"])
        x, y = jnp.array(system["X"]), jnp.array(system["Y"])
        fit = reduced_rank_regression(
            x, y, gamma=system["gamma"], rank=system["rank"], kernel=kernel
        )
        atoms.append(spectral_atoms(fit, entry["dt"], kernel=kernel))
        mu = np.sort_complex(np.exp(atoms[-1].lam * entry["dt"]))
        np.testing.assert_allclose(mu, system["eigenvalues"], atol=1e-7)
    value = sgot(*atoms, eta=entry["eta"], kernel=kernel)
    np.testing.assert_allclose(value, entry["distance_projector_p1"], atol=1e-6)
    value = hs_distance(*atoms, dt=entry["dt"], kernel=kernel)
    np.testing.assert_allclose(value, entry["hilbert_schmidt_distance"], atol=1e-6)


@pytest.mark.peer
@pytest.mark.parametrize("kind", ["chordal", "geodesic", "procrustes", "martin"])
@pytest.mark.parametrize("weighted", [False, True])
def test_convention_of_pot_equals_pot(stable_matrices, kind, weighted):
    peer = pytest.importorskip("ot.sgot")
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 5))
    weights = None, None
    if weighted:
        weights = np.random.default_rng(0).dirichlet(np.ones(5), 2)
    one, two = one._replace(weight=weights[0]), two._replace(weight=weights[1])
    expected = peer.sgot_metric(
        *map(np.asarray, (*one[:3], *two[:3])), eta=0.3, grassmann_metric=kind,
        eigen_scaling=(1, 0.2), Ws=weights[0], Wt=weights[1],
    )  # fmt: skip
    options = {"eta": 0.3, "scaling": (1.0, 0.2), "kind": kind}
    value = sgot(one, two, convention="pot", **options)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    if kind == "chordal":
        fourth_root = sgot(one, two, **options) ** 0.25
        np.testing.assert_allclose(value, fourth_root, rtol=1e-12)


@pytest.mark.parametrize(("d", "kind"), [(1, "projector"), (4, "geodesic")])
def test_equal_weights_by_all_permutations(stable_matrices, d, kind):
    one, two = (
        spectral_atoms(a, 0.5)._replace(weight=None) for a in stable_matrices(2, d)
    )
    for p in (1, 2, 3.5):
        cost = np.asarray(ground_cost(one, two, eta=0.3, p=p, kind=kind))
        best = min(
            sum(cost[i, j] for i, j in enumerate(s)) / d
            for s in itertools.permutations(range(d))
        )
        value = sgot(one, two, eta=0.3, p=p, kind=kind)
        np.testing.assert_allclose(value, best ** (1 / p), rtol=1e-12)


def test_weights_and_unequal_sizes(stable_matrices):
    one = spectral_atoms(stable_matrices(1, 5)[0], 0.5)
    two = spectral_atoms(stable_matrices(1, 4)[0], 0.5, rank=4)
    two = two._replace(
        right=jnp.vstack([two.right, jnp.zeros((1, 4))]),
        left=jnp.vstack([two.left, jnp.zeros((1, 4))]),
    )
    cost = np.asarray(ground_cost(one, two, eta=0.3))
    a, b = np.array([0.1, 0.2, 0.3, 0.15, 0.25]), np.array([0.4, 0.3, 0.2, 0.1])
    for w1, w2 in ((None, None), (None, b), (a, b)):
        value = sgot(one._replace(weight=w1), two._replace(weight=w2), eta=0.3)
        w1 = np.full(5, 1 / 5) if w1 is None else w1
        w2 = np.full(4, 1 / 4) if w2 is None else w2
        expected = transport_value(cost, w1, w2)
        np.testing.assert_allclose(value, expected, rtol=1e-10)


def test_plan_attains_the_value(stable_matrices):
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 5))
    value, plan = sgot(one, two, eta=0.3, p=2, return_plan=True)
    cost = ground_cost(one, two, eta=0.3, p=2)
    np.testing.assert_allclose(jnp.sum(plan * cost) ** 0.5, value, rtol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=1), 0.2, atol=1e-14)
    np.testing.assert_allclose(plan.sum(axis=0), 0.2, atol=1e-14)


def entropic_plan(cost, a, b, eps, n_iter=5000):
    """Scaling iterations in NumPy; entropy relative to the product measure."""
    kernel = np.exp(-cost / eps) * np.outer(a, b)
    v = np.ones(len(b))
    for _ in range(n_iter):
        u = a / (kernel @ v)
        v = b / (kernel.T @ u)
    return u[:, None] * kernel * v[None, :]


@pytest.mark.parametrize("weighted", [False, True])
def test_sinkhorn_solver(stable_matrices, weighted):
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 4))
    a, b = np.full((2, 4), 0.25)
    if weighted:
        a, b = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
        one, two = one._replace(weight=jnp.array(a)), two._replace(weight=jnp.array(b))
    options = {"eta": 0.3, "p": 2, "solver": "sinkhorn", "n_iter": 3000}
    cost = np.asarray(ground_cost(one, two, eta=0.3, p=2))
    value, plan = sgot(one, two, eps=0.3, return_plan=True, **options)
    expected = entropic_plan(cost, a, b, 0.3 * (a @ cost @ b))
    np.testing.assert_allclose(plan, expected, atol=1e-8)
    np.testing.assert_allclose(value, np.sum(cost * expected) ** 0.5, rtol=1e-8)
    exact = sgot(one, two, eta=0.3, p=2)
    assert exact < value < 1.5 * exact
    np.testing.assert_allclose(sgot(one, two, eps=5e-3, **options), exact, rtol=1e-3)

    def shifted(t):
        return sgot(one._replace(lam=one.lam + t), two, eps=0.3, **options)

    slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(shifted)(0.0), slope, rtol=1e-6)


# The closed form of two-mode oscillators that are seen through delay windows.


def oscillator(modes, n_delays=50, spacing=0.02, size=12):
    lam = [-tau + s * 2j * np.pi * f for f, tau in modes for s in (1, -1)]
    lam = np.array(lam)
    right = np.exp(np.outer(np.arange(n_delays) * spacing, lam))
    left = right @ np.linalg.inv(right.conj().T @ right)
    weight = jnp.full(len(lam), 1 / len(lam))
    atoms = SpectralAtoms(jnp.array(lam), jnp.array(right), jnp.array(left), weight)
    # All are padded to one size, so that one program serves every curve.
    return padded_with_nan(atoms, size - len(lam))


def oscillator_distance(modes, eta=0.5):
    reference = oscillator([(0.5, 0.1), (1.0, 0.1)])
    scaling = (1.0, 1 / (2 * np.pi))
    return float(sgot(reference, oscillator(modes), eta=eta, scaling=scaling))


def test_oscillator_curves(reference):
    curves = reference["oscillator_curves"]
    frequency = [
        oscillator_distance([(0.5, 0.1), (f, 0.1)]) for f in curves["freq_grid"]
    ]
    np.testing.assert_allclose(frequency, curves["sgot_freq"], atol=1e-6)
    assert np.all(np.diff(frequency) > 0)
    decay = [oscillator_distance([(0.5, 0.1), (1.0, t)]) for t in curves["decay_grid"]]
    np.testing.assert_allclose(decay, curves["sgot_decay"], atol=1e-6)


def test_oscillator_square_wave(reference):
    curves = reference["oscillator_curves"]
    fundamental, tau = (0.5, 0.1), 0.1
    square = [
        oscillator_distance([fundamental] + [(2 * i + 1.0, tau) for i in range(k)])
        for k in curves["square_terms"]
    ]
    np.testing.assert_allclose(square, curves["sgot_square"], atol=1e-6)


def test_sampling_step_does_not_matter_below_nyquist():
    generator = scipy.linalg.block_diag(
        [[-0.1, 7.5], [-7.5, -0.1]], [[-0.3, 2.0], [-2.0, -0.3]]
    )
    p = np.random.default_rng(0).normal(size=(4, 4))
    generator = p @ generator @ np.linalg.inv(p)

    def seen_at(dt):
        return spectral_atoms(scipy.linalg.expm(generator * dt), dt)

    base = seen_at(0.01)
    for dt in (0.005, 0.1, 0.2):
        assert sgot(base, seen_at(dt), eta=0.5) < 1e-12
    assert sgot(base, seen_at(0.5), eta=0.5) > 0.5


@pytest.mark.parametrize("kind", METRIC_KINDS)
def test_metric_axioms(stable_matrices, kind):
    atoms = [spectral_atoms(a, 0.5) for a in stable_matrices(8, 4)]
    batch = jax.tree.map(lambda *z: jnp.stack(z), *atoms)
    # Two batches, so that nothing is mirrored and no diagonal is set.
    d = np.asarray(sgot_pairwise(batch, batch, eta=0.4, kind=kind))
    np.testing.assert_allclose(d, d.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(d), 0, atol=1e-6)
    assert np.all(d + 1e-12 >= 0)
    assert d[~np.eye(8, dtype=bool)].min() > 0.1
    detour = d[:, :, None] + d[None, :, :]
    assert np.all(d[:, None, :] <= detour + 1e-9)


@pytest.mark.parametrize(
    ("weighted", "options"),
    [
        (False, {}),
        (True, {}),
        (True, {"p": 2, "kind": "subspace"}),
        pytest.param(True, {"kind": "geodesic"}, marks=pytest.mark.slow),
        pytest.param(True, {"convention": "quad"}, marks=pytest.mark.slow),
        pytest.param(True, {"convention": "pot"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_gradient_in_the_operator(stable_matrices, weighted, options):
    first, second = stable_matrices(2, 4, seed=5)
    fixed = spectral_atoms(second, 0.5)
    if not weighted:
        fixed = fixed._replace(weight=None)

    def distance(a):
        atoms = spectral_atoms(a, 0.5)._replace(weight=fixed.weight)
        return sgot(atoms, fixed, eta=0.4, **options)

    gradient = np.asarray(jax.jit(jax.grad(distance))(first))
    for direction in np.random.default_rng(0).normal(size=(4, 4, 4)):
        step = 1e-6 * direction
        slope = (distance(first + step) - distance(first - step)) / 2e-6
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-6)


@pytest.mark.parametrize(
    ("weighted", "kind"),
    [(False, "projector"), (True, "projector"), (True, "martin")],
)
def test_equal_operators(stable_matrices, weighted, kind):
    (dense,) = stable_matrices(1, 4)
    fixed = spectral_atoms(dense, 0.5)
    if not weighted:
        fixed = fixed._replace(weight=None)

    def distance(a):
        atoms = spectral_atoms(a, 0.5)._replace(weight=fixed.weight)
        return sgot(atoms, fixed, eta=0.4, kind=kind)

    value, gradient = jax.jit(jax.value_and_grad(distance))(dense)
    assert value <= 1e-6
    np.testing.assert_array_equal(gradient, 0)


def test_equal_kernel_systems():
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 12, 3))
    x, y = rng.normal(size=(2, 12, 2))
    fields = map(jnp.array, (u, v, x, y, np.ones(12, bool), np.ones(3)))
    fit, kernel = KernelOperatorFit(*fields), GaussianKernel(2.0)
    fixed = spectral_atoms(fit, 0.5, kernel=kernel)

    def distance(u):
        atoms = spectral_atoms(fit._replace(U=u), 0.5, kernel=kernel)
        return sgot(atoms, fixed, eta=0.4, kernel=kernel)

    value, gradient = jax.jit(jax.value_and_grad(distance))(fit.U)
    assert value <= 1e-6
    assert np.all(np.isfinite(gradient))


# Invariances.


@hypothesis.given(st.permutations(range(5)), st.integers(0, 3))
def test_order_of_atoms_does_not_matter(order, seed):
    with jax.enable_x64(True):
        rng = np.random.default_rng(seed)
        one, two = (spectral_atoms(a, 0.5) for a in rng.normal(size=(2, 5, 5)))
        order = np.array(order)
        moved = SpectralAtoms(
            one.lam[order], one.right[:, order], one.left[:, order], one.weight[order]
        )
        expected = sgot(one, two, eta=0.3)
        np.testing.assert_allclose(sgot(moved, two, eta=0.3), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_unitary_change_of_basis_does_not_matter(stable_matrices, seed):
    one, two = stable_matrices(2, 5, seed)
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(5, 5)) + 1j * rng.normal(size=(5, 5)))

    def distance(one, two):
        return sgot(spectral_atoms(one, 0.5), spectral_atoms(two, 0.5), eta=0.3)

    expected = distance(one, two)
    moved = distance(q @ one @ q.conj().T, q @ two @ q.conj().T)
    np.testing.assert_allclose(moved, expected, rtol=1e-9)


def test_scale_of_a_pair_does_not_matter(stable_matrices):
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 4))
    c = jnp.array([2.0, 1j, -0.5 + 1j, 3e4])
    scaled = one._replace(right=one.right * c, left=one.left / c.conj())
    expected = sgot(one, two, eta=0.3)
    np.testing.assert_allclose(sgot(scaled, two, eta=0.3), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "kind", ["projector", pytest.param("martin", marks=pytest.mark.slow)]
)
def test_padded_atoms_do_not_matter(stable_matrices, kind):
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 4))

    def distance(one, two):
        return sgot(one, two, eta=0.3, p=2, kind=kind)

    value, gradient = jax.jit(jax.value_and_grad(distance))(
        padded_with_nan(one, 2), two
    )
    expected, expected_gradient = jax.jit(jax.value_and_grad(distance))(one, two)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for name in ("lam", "right", "left"):
        g = np.asarray(getattr(gradient, name))
        np.testing.assert_array_equal(g[..., 4:], 0)
        want = getattr(expected_gradient, name)
        np.testing.assert_allclose(g[..., :4], want, atol=1e-10)


# Limits, batches, precision.


def test_limits(stable_matrices):
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 5))
    for p in (1, 2):
        scaling = (1.0, 0.2)
        value = sot(one, two, p=p, scaling=scaling)
        expected = sgot(one, two, eta=1.0, p=p, scaling=scaling)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        gap = np.asarray(one.lam)[:, None] - np.asarray(two.lam)[None]
        cost = np.hypot(gap.real, 0.2 * gap.imag) ** p
        expected = transport_value(cost, [0.2] * 5, [0.2] * 5) ** (1 / p)
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        expected = sgot(one, two, eta=0.0, p=p, kind="chordal")
        value = got(one, two, p=p, kind="chordal")
        np.testing.assert_allclose(value, expected, rtol=1e-12)
    size = np.abs(np.asarray(overlap(one, two)))
    expected = transport_value(1 - size**2, [0.2] * 5, [0.2] * 5) ** 0.5
    np.testing.assert_allclose(got(one, two, p=2, kind="chordal"), expected, rtol=1e-9)


def test_eta_heuristic():
    # At this share the Nyquist frequency and the distance sqrt(2) weigh the same.
    for rate in (0.5, 10.0, 200.0):
        eta = float(eta_heuristic(rate))
        np.testing.assert_allclose(eta * rate / 2, (1 - eta) * 2**0.5, rtol=1e-12)
    assert np.isnan(jax.jit(eta_heuristic)(-1.0))
    with pytest.raises(
        ValueError, match=r"sampling_rate: expected a value in \(0, inf"
    ):
        eta_heuristic(0.0)


def test_batch_equals_loop_and_traces_once(stable_matrices):
    first, second = stable_matrices(6, 4), stable_matrices(6, 4, seed=1)
    n_traces = 0

    @jax.jit
    def distance(a, b, eta):
        nonlocal n_traces
        n_traces += 1
        return sgot(spectral_atoms(a, 0.5), spectral_atoms(b, 0.5), eta=eta)

    loop = [distance(a, b, 0.3) for a, b in zip(first, second)]
    distance(first[0], second[0], 0.9)
    assert n_traces == 1
    batch = jax.vmap(distance, (0, 0, None))(first, second, 0.3)
    np.testing.assert_allclose(batch, loop, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_single_precision(stable_matrices, weighted):
    for seed in range(3):
        one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 10, seed))
        if not weighted:
            one, two = one._replace(weight=None), two._replace(weight=None)
        exact = sgot(one, two, eta=0.3)
        single = jax.tree.map(
            lambda z: z.astype(jnp.complex64 if jnp.iscomplexobj(z) else jnp.float32),
            (one, two),
        )
        value = sgot(*single, eta=0.3)
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, exact, rtol=1e-4)
        # Atoms computed in single precision; the eigenproblems are well posed.
        narrow = [spectral_atoms(a.astype(np.float32), 0.5) for a in
                  stable_matrices(2, 10, seed)]  # fmt: skip
        narrow = [a._replace(weight=b.weight) for a, b in zip(narrow, single)]
        np.testing.assert_allclose(sgot(*narrow, eta=0.3), exact, rtol=1e-3)


# Bad input.


def test_bad_values_give_nan(stable_matrices):
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 4))
    for weight in ([-0.1, 0.5, 0.3, 0.3], [0.0] * 4, [0.5] * 4, [np.nan, 1, 0, 0]):
        bad = one._replace(weight=jnp.array(weight))
        assert np.isnan(sgot(bad, two, eta=0.3))
    assert np.isnan(sgot(one._replace(lam=one.lam * np.nan), two, eta=0.3))
    assert np.isnan(jax.jit(lambda eta: sgot(one, two, eta=eta))(1.01))


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": -0.5}, r"eta: expected a value in \[0, 1\]; got -0.5"),
        ({"solver": "lp"}, "solver: expected one of 'exact', 'sinkhorn'; got 'lp'"),
        ({"eps": 0.1}, "eps: expected None with solver 'exact'"),
        ({"n_iter": 5}, "n_iter: expected None with solver 'exact'"),
        ({"eps": 0.0, "solver": "sinkhorn"}, r"eps: expected a value in \(0, inf\)"),
        ({"n_iter": 0, "solver": "sinkhorn"}, "n_iter: expected an integer >= 1"),
        ({"r": 2}, "r: expected 1 with convention 'paper'; got 2"),
        ({"r": -1, "convention": "pot"}, "r: expected a finite number > 0; got -1"),
        ({"kind": "lines"}, "kind: expected one of 'projector'"),
    ],
)
def test_bad_options_are_named(stable_matrices, options, message):
    one, two = (spectral_atoms(a, 0.5) for a in stable_matrices(2, 4))
    with pytest.raises(ValueError, match=message):
        sgot(one, two, **({"eta": 0.5} | options))


@pytest.mark.usefixtures("plain_errors")
def test_bad_atoms_are_named(stable_matrices):
    one = spectral_atoms(stable_matrices(1, 4)[0], 0.5)
    other = spectral_atoms(stable_matrices(1, 5)[0], 0.5)
    with pytest.raises(ValueError, match="atoms2: expected features of dimension 4"):
        sgot(one, other, eta=0.5)
    with pytest.raises(ValueError, match=r"atoms2.weight: expected shape \(4,\); got"):
        sgot(one, one._replace(weight=jnp.ones(3)), eta=0.5)


def test_sinkhorn_solver_at_cost_zero_and_at_nan(stable_matrices):
    one = spectral_atoms(stable_matrices(1, 3)[0], 0.5, rank=1)
    options = {"eta": 0.5, "solver": "sinkhorn"}
    for distance in (sgot, jax.jit(sgot, static_argnames=("solver",))):
        assert distance(one, one, **options) < 1e-12
        assert np.isnan(distance(one._replace(lam=one.lam * np.nan), one, **options))
    batch = jax.tree.map(lambda z: jnp.stack([z, z]), one)
    np.testing.assert_allclose(sgot_pairwise(batch, batch, **options), 0, atol=1e-12)
