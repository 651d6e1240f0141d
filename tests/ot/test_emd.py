"""The public face of exact transport: reference values, derivatives, bad input."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxrepro import ot

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "sgot.json").read_text()
)


def random_problem(seed, n=5, m=4):
    rng = np.random.default_rng(seed)
    return rng.random((n, m)), rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))


@pytest.mark.parametrize("entry", REFERENCE["emd"], ids=range(len(REFERENCE["emd"])))
def test_reference_values_also_when_padded(x64, entry):
    cost, a, b = (np.array(entry[k]) for k in ("cost", "a", "b"))
    assert abs(ot.emd_value(cost, a, b) - entry["value"]) < 1e-12
    n, m = cost.shape
    padded = np.full((8, 8), np.nan)
    padded[:n, :m] = cost
    a, b = np.pad(a, (0, 8 - n)), np.pad(b, (0, 8 - m))
    value, gradients = jax.value_and_grad(ot.emd_value, argnums=(0, 1, 2))(padded, a, b)
    assert abs(value - entry["value"]) < 1e-12
    assert all(np.isfinite(g).all() for g in gradients)
    assert np.all(gradients[0][n:] == 0)
    assert np.all(gradients[0][:, m:] == 0)
    assert np.all(gradients[1][n:] == 0)
    assert np.all(gradients[2][m:] == 0)


@pytest.mark.peer
def test_against_pot(x64):
    pot = pytest.importorskip("ot", reason="POT is not installed")
    for seed in range(20):
        cost, a, b = random_problem(seed, 9, 11)
        result = ot.emd(cost, a, b)
        plan = pot.emd(a, b, cost)
        assert abs(result.value - np.sum(plan * cost)) < 1e-14
        np.testing.assert_allclose(result.plan, plan, atol=1e-15)


@pytest.mark.parametrize("method", ["simplex", "host"])
def test_gradients_are_plan_and_potentials(x64, method):
    cost, a, b = random_problem(1)
    result = ot.emd(cost, a, b, method=method)
    d_cost, d_a, d_b = jax.grad(ot.emd_value, argnums=(0, 1, 2))(
        cost, a, b, method=method
    )
    np.testing.assert_allclose(d_cost, result.plan, atol=1e-15)
    # Potentials are known up to a constant.
    np.testing.assert_allclose(d_a - d_a[0], result.f - result.f[0], atol=1e-14)
    np.testing.assert_allclose(d_b - d_b[0], result.g - result.g[0], atol=1e-14)


def test_derivatives_of_every_field_against_finite_differences(x64):
    cost, a, b = random_problem(2)

    @jax.jit
    def fn(cost, da, db):
        # Directions that keep the mass; potentials relative to the first atom.
        result = ot.emd(cost, a + da - jnp.mean(da), b + db - jnp.mean(db))
        shift = result.f[0]
        return result.value, result.plan, result.f - shift, result.g + shift

    check_grads(fn, (cost, 0 * a, 0 * b), order=2, modes=("fwd", "rev"), eps=1e-5)


def test_gradient_at_a_degenerate_vertex_is_a_subgradient(x64):
    """Equal masses: a plan of rank n is a vertex where many bases meet."""
    cost = np.random.default_rng(0).random((4, 4))
    weights = np.full(4, 0.25)
    d_a = jax.grad(ot.emd_value, argnums=1)(cost, weights, weights)
    value = ot.emd_value(cost, weights, weights)
    rng = np.random.default_rng(1)
    for _ in range(10):
        step = rng.normal(size=4) * 1e-3
        step -= step.mean()
        # The value is convex in the weights.
        moved = ot.emd_value(cost, weights + step, weights)
        assert moved >= value + np.sum(d_a * step) - 1e-15


def test_hessian_is_finite_and_zero_in_the_cost(x64):
    cost, a, b = random_problem(0)
    assert np.all(jax.hessian(ot.emd_value)(cost, a, b) == 0)


def test_hungarian_equals_simplex_with_its_gradient(x64):
    cost = np.random.default_rng(3).random((7, 7))
    hungarian, simplex = ot.emd(cost), ot.emd(cost, method="simplex")
    assert abs(hungarian.value - simplex.value) < 1e-15
    np.testing.assert_allclose(hungarian.plan, simplex.plan, atol=1e-16)
    assert np.isnan(hungarian.f).all()
    gradient = jax.grad(ot.emd_value)(cost)
    np.testing.assert_allclose(gradient, hungarian.plan, atol=1e-16)


def test_auto_is_static_and_never_looks_at_weights(x64):
    cost = np.random.default_rng(3).random((4, 4))
    uniform = np.full(4, 0.25)
    assert np.isnan(ot.emd(cost).f).all()
    assert np.isfinite(ot.emd(cost, uniform, uniform).f).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (6, 1)])
def test_one_atom_on_a_side_is_closed_form(x64, shape):
    cost, a, b = random_problem(4, *shape)
    result = ot.emd(cost, a, b)
    np.testing.assert_allclose(result.plan, a[:, None] * b[None], atol=1e-15)
    assert abs(result.value - np.sum(cost * a[:, None] * b[None])) < 1e-15


def test_one_given_side_gives_the_mass_of_both(x64):
    cost = np.random.default_rng(0).random((3, 4))
    result = ot.emd(cost, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(np.sum(result.plan, axis=0), np.full(4, 1.5))


def test_host_without_pot_uses_scipy(x64, monkeypatch):
    from jaxrepro.ot import _host

    monkeypatch.setattr(_host.importlib.util, "find_spec", lambda name: None)
    jax.clear_caches()
    cost, a, b = random_problem(6)
    host, simplex = ot.emd(cost, a, b, method="host"), ot.emd(cost, a, b)
    assert host.converged
    assert abs(host.value - simplex.value) < 1e-12
    square = np.random.default_rng(1).random((6, 6))
    host, hungarian = ot.emd(square, method="host"), ot.emd(square)
    np.testing.assert_allclose(host.plan, hungarian.plan, atol=1e-15)
    np.testing.assert_allclose(
        jax.grad(ot.emd_value)(square, method="host"), hungarian.plan, atol=1e-15
    )
    jax.clear_caches()


def test_host_under_vmap(x64):
    costs = np.random.default_rng(0).random((3, 4, 5))
    host = jax.vmap(lambda c: ot.emd_value(c, method="host"))(costs)
    np.testing.assert_allclose(host, jax.vmap(ot.emd_value)(costs), atol=1e-12)


class TestWasserstein:
    def test_translation_on_the_line(self, x64):
        x = np.array([0.0, 1.0, 5.0])
        for p in (1.0, 2.0, 3.0):
            cost = np.abs(x[:, None] - (x[None] + 2.0)) ** p
            assert abs(ot.wasserstein(cost, p=p) - 2.0) < 1e-14

    def test_zero_distance_has_zero_gradient(self, x64):
        gradient = jax.grad(lambda c: ot.wasserstein(c, p=2.0))(1 - np.eye(3))
        assert np.all(np.isfinite(gradient))
        assert np.all(gradient == 0)

    def test_order_is_traced(self, x64):
        cost, a, b = random_problem(0)
        values = jax.vmap(lambda p: ot.wasserstein(cost, a, b, p=p))(
            jnp.array([0.5, 1.0, 2.0])
        )
        value = ot.emd_value(cost, a, b)
        assert np.isnan(values[0])
        np.testing.assert_allclose(values[1:], [value, value**0.5])

    def test_concrete_order_below_one_raises(self, x64):
        with pytest.raises(ValueError, match=r"p: expected a value in \[1, inf\)"):
            ot.wasserstein(np.eye(2), p=0.5)


NAN = float("nan")
BAD = {
    "negative weight": (np.eye(2), [1.5, -0.5], [0.5, 0.5]),
    "NaN weight": (np.eye(2), [NAN, 0.5], [0.5, 0.5]),
    "infinite weight": (np.eye(2), [np.inf, 0.5], [0.5, 0.5]),
    "no mass": (np.eye(2), [0.0, 0.0], [0.5, 0.5]),
    "no mass at all": (np.eye(2), [0.0, 0.0], [0.0, 0.0]),
    "masses differ": (np.eye(2), [0.5, 0.5], [0.5, 0.6]),
    "NaN cost": (np.array([[NAN, 1], [1, 0]]), [0.5, 0.5], [0.5, 0.5]),
    "infinite cost": (np.array([[np.inf, 1], [1, 0]]), [0.5, 0.5], [0.5, 0.5]),
}
MESSAGES = {
    "negative weight": "a: expected weights >= 0; got -0.5 at index 1",
    "NaN weight": "a: expected finite weights; got nan at index 0",
    "infinite weight": "a: expected finite weights; got inf at index 0",
    "no mass": "a: expected at least one positive weight; got 2 zeros",
    "no mass at all": "a: expected at least one positive weight; got 2 zeros",
    "masses differ": "a, b: expected equal total masses (to a relative 0.0001); "
    "got 1 and 1.1",
    "NaN cost": "cost: expected finite values between atoms of positive weight; "
    "got nan at index (0, 0)",
    "infinite cost": "cost: expected finite values between atoms of positive weight; "
    "got inf at index (0, 0)",
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("method", ["simplex", "host"])
def test_bad_values_give_nan_and_a_flag_and_spare_the_rest_of_the_batch(
    x64, kind, method
):
    cost, a, b = (np.array(x, float) for x in BAD[kind])
    good = random_problem(0, 2, 2)
    batch = [np.stack(pair) for pair in zip((cost, a, b), good)]
    result = jax.vmap(lambda *p: ot.emd(*p, method=method))(*batch)
    assert np.isnan(result.value[0])
    assert np.isnan(result.plan[0]).all()
    assert not result.converged[0]
    assert result.converged[1]
    assert abs(result.value[1] - ot.emd_value(*good)) < 1e-12


@pytest.mark.parametrize("kind", BAD)
def test_check_problem_says_what_is_wrong(kind):
    cost, a, b = (np.array(x, float) for x in BAD[kind])
    with pytest.raises(ValueError, match=re.escape(MESSAGES[kind])):
        ot.check_problem(cost, a, b)


def test_check_problem_accepts_padding_and_unbalanced_masses():
    cost = np.array([[NAN, NAN], [1.0, NAN]])
    ot.check_problem(cost, np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    ot.check_problem(np.eye(2), np.ones(2), np.full(2, 3.0), balanced=False)


def test_check_problem_refuses_traced_values():
    with pytest.raises(TypeError, match="call it on concrete arrays"):
        jax.jit(lambda c: ot.check_problem(c))(np.eye(2))


def test_tiny_mass_mismatch_is_rescaled(x64):
    cost, a, b = random_problem(7)
    exact = ot.emd_value(cost, a, b)
    assert abs(ot.emd_value(cost, a, b * (1 + 1e-6)) - exact) < 1e-12


def test_rescaling_is_part_of_the_derivative(x64):
    """Also directions that change a mass have the derivative of what is computed."""
    cost, a, b = random_problem(8)
    check_grads(
        lambda a, b: ot.emd_value(cost, a, b), (a, b), order=1, eps=1e-6, atol=1e-7
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((np.ones(3),), "cost: expected shape (n, m); got shape (3,)"),
        ((np.ones((0, 3)),), "cost: expected at least one element; got shape (0, 3)"),
        ((np.ones((2, 3)), np.ones(3)), "a: expected shape (2,); got shape (3,)"),
        (
            (np.ones((2, 3)), None, np.ones((3, 1))),
            "b: expected shape (3,); got shape (3, 1)",
        ),
    ],
)
def test_shape_errors(plain_errors, args, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ot.emd(*args)


def test_option_errors(plain_errors):
    cost = np.ones((2, 3))
    with pytest.raises(ValueError, match="method: expected one of 'auto', 'simplex'"):
        ot.emd(cost, method="lp")
    with pytest.raises(ValueError, match=r"got 'hungarian' with uniform weights"):
        ot.emd(cost, method="hungarian")
    with pytest.raises(ValueError, match=r"got 'hungarian' with given weights"):
        ot.emd(cost[:, :2], np.ones(2), method="hungarian")
    with pytest.raises(ValueError, match="max_pivots: expected an integer >= 1; got 0"):
        ot.emd(cost, max_pivots=0)
    with pytest.raises(TypeError, match="max_pivots: expected an integer >= 1"):
        ot.emd(cost, max_pivots=2.5)


@pytest.mark.peer
@pytest.mark.parametrize("unit", [1e-17, 1.0, 1e12])
@pytest.mark.parametrize("mass", [1.0, 1e6])
def test_host_solver_has_no_scale_of_its_own(x64, unit, mass):
    rng = np.random.default_rng(0)
    cost, a, b = (
        rng.random((6, 5)),
        rng.dirichlet(np.ones(6)),
        rng.dirichlet(np.ones(5)),
    )
    want = ot.emd(cost, a, b)
    got = ot.emd(unit * cost, mass * a, mass * b, method="host")
    np.testing.assert_allclose(got.value, unit * mass * want.value, rtol=1e-12)
    np.testing.assert_allclose(got.plan, mass * want.plan, atol=1e-12 * mass)
    assert got.converged


def test_host_solver_from_a_thread_in_single_precision():
    cost = np.random.default_rng(0).random((4, 4))
    with jax.enable_x64(True):
        solve = jax.jit(lambda c: ot.emd_value(c, method="host")).lower(cost).compile()
        want, given = ot.emd_value(cost), jnp.asarray(cost)
    # A new thread does not inherit the context.
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(lambda: np.asarray(solve(given))).result()
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_negative_values_have_no_root(x64):
    assert np.isnan(ot.wasserstein(-np.ones((2, 2)), p=2))


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"cost": np.ones((2, 2), complex)},
            "cost: expected real numbers; got dtype c",
        ),
        (
            {"cost": np.array([["a", "b"]])},
            "cost: expected real numbers; got dtype <U1",
        ),
        ({"a": np.ones(2) * 1j}, "a: expected real numbers; got dtype complex128"),
        (
            {"cost": np.ma.array(np.ones((2, 2)), mask=[[1, 0], [0, 0]])},
            "cost: expected real numbers; got masked entries",
        ),
    ],
)
def test_what_is_no_real_number(change, message):
    with pytest.raises(TypeError, match=message):
        ot.emd(**({"cost": np.ones((2, 2))} | change))
    with pytest.raises(TypeError, match="eps: expected real numbers; got 'x'"):
        ot.sinkhorn(np.ones((2, 2)), eps="x")
    with pytest.raises(TypeError, match="eps: expected real numbers; got None"):
        ot.sinkhorn(np.ones((2, 2)), eps=None)
