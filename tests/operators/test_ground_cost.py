import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    KernelAtoms,
    LinearKernel,
    SpectralAtoms,
    ground_cost,
    overlap,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")

KINDS = ("projector", "subspace", "chordal", "geodesic", "procrustes", "martin")


def naive_distance(kind, s):
    size = np.clip(np.abs(s), 0, 1)
    return {
        "projector": np.sqrt(np.clip(2 - 2 * s.real, 0, None)),
        "subspace": np.sqrt(2 - 2 * size**2),
        "chordal": np.sqrt(1 - size**2),
        "geodesic": np.arccos(size),
        "procrustes": np.sqrt(2 - 2 * size),
        "martin": np.sqrt(-np.log(np.maximum(size**2, 1e-12))),
    }[kind]


def naive_cost(one, two, kind, convention, eta, scaling, p, q):
    gap = np.asarray(one.lam)[:, None] - np.asarray(two.lam)[None]
    gap = np.hypot(scaling[0] * gap.real, scaling[1] * gap.imag)
    d = naive_distance(kind, np.asarray(overlap(one, two)))
    if convention == "paper":
        return (eta * gap + (1 - eta) * d) ** p
    if convention == "quad":
        return eta * gap**2 + (1 - eta) * d**2
    return (eta * gap**q + (1 - eta) * d**q) ** (p / 2)


@pytest.fixture
def two_systems(stable_matrices):
    return [spectral_atoms(a, 0.5) for a in stable_matrices(2, 5, seed=3)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("convention", "p", "q"),
    [("paper", 1, 1), ("paper", 2.5, 1), ("quad", None, 1), ("pot", None, 1),
     ("pot", 1, 2), ("pot", 3, 0.5)],
)  # fmt: skip
def test_formula(two_systems, kind, convention, p, q):
    options = {"kind": kind, "convention": convention, "p": p, "q": q}
    got = ground_cost(*two_systems, eta=0.3, scaling=(1.0, 0.2), **options)
    options["p"] = 2 if p is None else p
    expected = naive_cost(*two_systems, eta=0.3, scaling=(1.0, 0.2), **options)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.peer
@pytest.mark.parametrize("kind", ["chordal", "geodesic", "procrustes", "martin"])
@pytest.mark.parametrize(("p", "q"), [(2, 1), (1, 2), (3, 1.5)])
def test_convention_of_pot_equals_pot(two_systems, kind, p, q):
    peer = pytest.importorskip("ot.sgot")
    one, two = (tuple(map(np.asarray, a[:3])) for a in two_systems)
    expected = peer.sgot_cost_matrix(
        *one, *two, eta=0.3, p=p, q=q, grassmann_metric=kind, eigen_scaling=(1, 0.2)
    )
    got = ground_cost(
        *two_systems, eta=0.3, scaling=(1.0, 0.2), p=p, q=q, kind=kind, convention="pot"
    )
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_default_kinds_and_exponents(two_systems):
    def cost(**options):
        return ground_cost(*two_systems, eta=0.3, **options)

    paper, pot = {"kind": "projector", "p": 1}, {"kind": "chordal", "p": 2, "q": 1}
    np.testing.assert_array_equal(cost(), cost(**paper))
    np.testing.assert_array_equal(cost(convention="pot"), cost(convention="pot", **pot))
    np.testing.assert_array_equal(
        cost(convention="quad"), cost(convention="quad", kind="projector", p=2)
    )


def test_end_points_look_at_one_part_only(two_systems):
    one, two = two_systems
    other = two._replace(lam=two.lam + 1)
    np.testing.assert_array_equal(
        ground_cost(one, two, eta=0), ground_cost(one, other, eta=0)
    )
    gap = np.abs(np.asarray(one.lam)[:, None] - np.asarray(two.lam)[None])
    np.testing.assert_allclose(ground_cost(one, two, eta=1), gap, rtol=1e-12)


def near_pair(angle, dtype):
    """Two atoms of one eigenvalue whose lines meet at a given angle."""
    c, s = np.cos(np.float64(angle)), np.sin(np.float64(angle))
    e = np.array([[1.0], [0.0]]) + 0j
    v = np.array([[c], [s]]) + 0j
    lam = np.zeros(1, complex)
    dtype = np.result_type(dtype, np.complex64)
    return [
        SpectralAtoms(*(jnp.array(z, dtype) for z in (lam, e, e))),
        SpectralAtoms(*(jnp.array(z, dtype) for z in (lam, v, v))),
    ]


# The lines span the angle t, so s = cos(t)^2 and 1 - s = sin(t)^2.
EXACT = {
    "projector": lambda t: np.sqrt(2) * np.sin(t),
    "subspace": lambda t: np.sqrt(2 * np.sin(t) ** 2 * (1 + np.cos(t) ** 2)),
    "chordal": lambda t: np.sqrt(np.sin(t) ** 2 * (1 + np.cos(t) ** 2)),
    "geodesic": lambda t: 2 * np.arcsin(np.sin(t) / np.sqrt(2)),
    "procrustes": lambda t: np.sqrt(2) * np.sin(t),
    "martin": lambda t: np.sqrt(-np.log1p(-(np.sin(t) ** 2)) * 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_stable_form_resolves_small_distances(kind):
    def error(angle, dtype, **options):
        d = ground_cost(*near_pair(angle, dtype), eta=0.0, kind=kind, **options)
        exact = EXACT[kind](np.float64(angle))
        return abs(float(d[0, 0]) / exact - 1)

    assert error(0.3, np.float64) < 1e-12
    assert error(1e-10, np.float64) < 1e-5
    # The angle itself is known to half an ulp of the vectors, 6e-8.
    assert error(5e-4, np.float32) < 1e-2
    assert error(5e-5, np.float32) < 1e-2
    # Without it the same distances are lost.
    assert error(1e-10, np.float64, stable=False) > 0.5
    assert error(5e-5, np.float32, stable=False) > 0.5


@pytest.mark.parametrize(
    ("kind", "convention"),
    [*((kind, "paper") for kind in KINDS), ("projector", "quad"), ("projector", "pot")],
)
def test_equal_systems_have_cost_zero_and_finite_derivatives(
    two_systems, kind, convention
):
    one, _ = two_systems
    options = {"eta": 0.3, "kind": kind, "convention": convention}

    def diagonal(atoms):
        return jnp.sum(jnp.diag(ground_cost(atoms, one, **options)))

    value, gradient = jax.jit(jax.value_and_grad(diagonal))(one)
    assert abs(value) < 1e-10
    for g in jax.tree.leaves(gradient):
        np.testing.assert_allclose(g, 0, atol=1e-10)


def test_padding_holds_nan_and_nobody_sees_it(two_systems):
    one, two = two_systems
    nan = jnp.full((5, 1), jnp.nan + 0j)
    padded = SpectralAtoms(
        jnp.append(one.lam, jnp.nan), jnp.hstack([one.right, nan]),
        jnp.hstack([one.left, nan]), jnp.append(one.weight, 0.0),
    )  # fmt: skip
    for kind in ("projector", "martin"):
        options = {"eta": 0.3, "kind": kind, "p": 2}
        got, pull = jax.vjp(lambda a: ground_cost(a, two, **options), padded)  # noqa: B023
        expected = ground_cost(one, two, **options)
        np.testing.assert_allclose(got[:5], expected, rtol=1e-12)
        np.testing.assert_array_equal(got[5], 0)
        for g in jax.tree.leaves(pull(jnp.ones_like(got))):
            assert np.all(np.isfinite(g))


def test_traced_eta_out_of_range_gives_nan(two_systems):
    cost = jax.jit(lambda eta: ground_cost(*two_systems, eta=eta))
    assert np.all(np.isnan(cost(1.5)))
    assert np.all(np.isnan(cost(-0.1)))
    assert np.all(np.isfinite(cost(1.0)))


@pytest.mark.parametrize("split", [tuple, jnp.stack])
def test_traced_scaling_out_of_range_gives_nan(two_systems, split):
    cost = jax.jit(
        lambda re, im: ground_cost(*two_systems, eta=0.3, scaling=split([re, im]))
    )
    for bad in ((-1.0, 1.0), (1.0, -1.0), (np.nan, 1.0)):
        assert np.all(np.isnan(cost(*bad)))
    assert np.all(np.isfinite(cost(0.0, 1.0)))


def test_scaling_may_be_an_array_and_is_differentiated(two_systems):
    def total(scaling):
        return jnp.sum(ground_cost(*two_systems, eta=0.5, scaling=scaling))

    scaling = jnp.array([1.0, 0.3])
    np.testing.assert_allclose(total(scaling), total((1.0, 0.3)), rtol=1e-14)
    step = 1e-6
    for i in range(2):
        e = step * np.eye(2)[i]
        slope = (total(scaling + e) - total(scaling - e)) / (2 * step)
        np.testing.assert_allclose(jax.grad(total)(scaling)[i], slope, rtol=1e-7)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 1.5}, r"eta: expected a value in \[0, 1\]; got 1.5"),
        ({"eta": np.nan}, r"eta: expected a value in \[0, 1\]; got nan"),
        ({"eta": np.ones(2)}, r"eta: expected shape \(\); got shape \(2,\)"),
        ({"kind": "line"}, "kind: expected one of 'projector', 'subspace', 'chordal'"),
        ({"convention": "l2"}, "convention: expected one of 'paper', 'quad', 'pot'"),
        ({"p": 0.5}, "p: expected a finite number >= 1; got 0.5"),
        ({"p": np.inf}, "p: expected a finite number >= 1; got inf"),
        ({"p": 1, "convention": "quad"}, "p: expected 2 with convention 'quad'; got 1"),
        ({"q": 2}, "q: expected 1 with convention 'paper'; got 2"),
        ({"q": 0, "convention": "pot"}, "q: expected a finite number > 0; got 0"),
        ({"scaling": (1.0,)}, "scaling: expected 2 factors; got 1"),
        ({"scaling": (1.0, -1.0)}, r"scaling entry: expected a value in \[0, inf\]"),
        ({"scaling": np.ones(3)}, r"scaling: expected shape \(2,\); got shape \(3,\)"),
    ],
)
def test_bad_options_are_named(two_systems, options, message):
    with pytest.raises(ValueError, match=message):
        ground_cost(*two_systems, **({"eta": 0.5} | options))


@pytest.mark.usefixtures("plain_errors")
def test_kernel_atoms_have_no_stable_form():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3, 6, 2)) + 0j
    atoms = KernelAtoms(z[0, 0], z[1], z[2], *rng.normal(size=(2, 6, 3)))
    with pytest.raises(ValueError, match="stable: expected None or False for Ker"):
        ground_cost(atoms, atoms, eta=0.5, kernel=LinearKernel(), stable=True)


@pytest.mark.usefixtures("plain_errors")
def test_exponents_are_static(two_systems):
    with pytest.raises(TypeError, match="p: expected a Python number; got a traced"):
        jax.jit(lambda p: ground_cost(*two_systems, eta=0.5, p=p))(2.0)
