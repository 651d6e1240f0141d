import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from jax.test_util import check_grads

from jaxrepro.operators import (
    binet_cauchy_trace,
    martin_distance,
    observability_angles,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")


def model(seed, d=3, q=2):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(d, d))
    return 0.9 * a / np.abs(np.linalg.eigvals(a)).max(), rng.normal(size=(q, d))


def observability(a, c, n=500):
    blocks = [c]
    for _ in range(n):
        blocks.append(blocks[-1] @ a)
    return np.concatenate(blocks)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4)])
def test_angles_are_those_between_long_observability_matrices(sizes):
    one, two = (model(k, d) for k, d in enumerate(sizes))
    want = scipy.linalg.subspace_angles(observability(*one), observability(*two))
    got = observability_angles(*one, *two)
    np.testing.assert_allclose(got, np.sort(want), atol=1e-10)


def test_angles_do_not_depend_on_the_basis():
    one, two = model(0), model(1)
    p = np.random.default_rng(2).normal(size=(3, 3))
    turned = np.linalg.solve(p, two[0] @ p), two[1] @ p
    np.testing.assert_allclose(
        observability_angles(*one, *turned), observability_angles(*one, *two), atol=1e-9
    )
    np.testing.assert_allclose(observability_angles(*two, *turned), 0, atol=1e-6)


def test_angles_give_the_reference_distance(reference):
    entry = reference["baselines"]["martin"]

    def companion(poles):
        coefficients = np.real(np.poly(poles))
        a = np.eye(len(poles), k=1)
        a[-1] = -coefficients[:0:-1]
        return a, np.eye(len(poles))[:1]

    poles = np.asarray(entry["poles1"]), np.asarray(entry["poles2"])
    angles = observability_angles(*companion(poles[0]), *companion(poles[1]))
    distance = np.sqrt(-np.sum(np.log(np.cos(angles) ** 2)))
    np.testing.assert_allclose(distance, entry["value"], rtol=1e-9)
    np.testing.assert_allclose(distance, martin_distance(*poles).value, rtol=1e-9)


def test_unobservable_and_unstable_models_give_nan():
    a, c = model(0)
    hidden = scipy.linalg.block_diag(a, 0.5), np.pad(c, ((0, 0), (0, 1)))
    assert np.isnan(observability_angles(*hidden, a, c)).all()
    assert np.isnan(observability_angles(3 * a, c, a, c)).all()


def outputs(model, start, discount, n=3000):
    (a, c), x, rows = model, start, []
    for t in range(n):
        rows.append(np.exp(-discount * t / 2) * c @ x)
        x = a @ x
    return np.concatenate(rows)


def test_trace_kernel_is_a_sum_over_time():
    one, two = model(0), model(1)
    x, y = np.random.default_rng(3).normal(size=(2, 3))
    for discount in (0.02, 0.5):
        u, v = outputs(one, x, discount), outputs(two, y, discount)
        got = binet_cauchy_trace(*one, x, *two, y, discount=discount)
        want = u @ v / np.sqrt((u @ u) * (v @ v))
        np.testing.assert_allclose(got, want, rtol=1e-9)
        np.testing.assert_allclose(
            binet_cauchy_trace(*two, y, *one, x, discount=discount), got, rtol=1e-12
        )
        same = binet_cauchy_trace(*one, x, *one, 2 * x, discount=discount)
        np.testing.assert_allclose(same, 1, rtol=1e-12)
    assert binet_cauchy_trace(*one, x, *two, np.zeros(3)) == 0


def test_derivatives():
    one, two = model(0), model(1)
    x, y = np.random.default_rng(3).normal(size=(2, 3))
    check_grads(jax.jit(observability_angles), (*one, *two), 1, atol=1e-6, rtol=1e-6)
    kernel = jax.jit(lambda *p: binet_cauchy_trace(*p, discount=0.1))
    check_grads(kernel, (*one, x, *two, y), 1, atol=1e-6, rtol=1e-6)
    zero = jax.grad(lambda y: binet_cauchy_trace(*one, x, *two, y))(np.zeros(3))
    assert np.all(np.isfinite(zero))


@pytest.mark.parametrize(
    ("poles", "fits"),
    [
        ((1.04, 1.04), True),
        ((1.0512, 0.9), True),
        ((1.0513, 0.9), False),
        ((0.9, 1.2), False),
        ((2.0, 2.0), False),
        ((2.0, 3.0), False),
    ],
)
def test_trace_kernel_of_scalar_models(poles, fits):
    # Geometric sums: k = 1 / (1 - q a b), for q a^2 < 1 and q b^2 < 1 only.
    models = [(np.array([[a]]), np.ones((1, 1)), np.ones(1)) for a in poles]
    got = binet_cauchy_trace(*models[0], *models[1], discount=0.1)
    a, b = poles
    size = lambda x, y: 1 / (1 - np.exp(-0.1) * x * y)
    want = size(a, b) / np.sqrt(size(a, a) * size(b, b)) if fits else np.nan
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_sums_of_models_that_grow_for_a_while_converge():
    a, c = np.array([[0.5, 1e6], [0.0, 0.5]]), np.ones((1, 2))
    still = np.array([[0.0, 1.0], [0.0, 0.0]])
    x = np.ones(2)
    np.testing.assert_allclose(binet_cauchy_trace(a, c, x, a, c, x), 1, rtol=1e-9)
    # Outputs 2, 1 and outputs 2, 1, 0, ...
    assert np.isfinite(binet_cauchy_trace(still, c, x, a, c, x))
    assert np.isnan(binet_cauchy_trace(1.1 * np.eye(2) + still, c, x, a, c, x))


def test_units_of_outputs_and_states_do_not_matter():
    single = lambda *arrays: [np.asarray(z, np.float32) for z in arrays]
    x = np.ones(3)
    one, two = single(*model(0), x), single(*model(1), x)
    kernel, angles = (
        binet_cauchy_trace(*one, *two),
        observability_angles(*one[:2], *two[:2]),
    )
    assert 0.01 < abs(kernel) < 0.99
    for scale in np.float32([1e-30, 1e-22, 1e-12, 1e15, 1e25, 1e30]):
        for k in (1, 2):
            big, other = list(one), list(two)
            big[k], other[k] = big[k] * scale, other[k] * scale
            for pair in ((big, two), (big, other)):
                got = binet_cauchy_trace(*pair[0], *pair[1])
                np.testing.assert_allclose(got, kernel, rtol=1e-4)
        got = observability_angles(one[0], one[1] * scale, *two[:2])
        np.testing.assert_allclose(got, angles, rtol=1e-4)


def test_traced_discount_gives_nan():
    one = *model(0), np.ones(3)
    fn = jax.jit(lambda nu: binet_cauchy_trace(*one, *one, discount=nu))
    assert np.isnan(fn(-1.0))


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transition1": np.ones((2, 3))}, "transition1: expected shape (2, 2)"),
        ({"transition2": np.ones(3)}, "transition2: expected shape (d, d)"),
        ({"output1": np.ones((2, 4))}, "output1: expected shape (q, 3)"),
        ({"output2": np.ones((1, 3))}, "output2: expected shape (2, 3)"),
    ],
)
def test_errors(change, message):
    (a1, c1), (a2, c2) = model(0), model(1)
    arguments = {"transition1": a1, "output1": c1, "transition2": a2, "output2": c2}
    with pytest.raises(ValueError, match=re.escape(message)):
        observability_angles(**(arguments | change))


@pytest.mark.usefixtures("plain_errors")
def test_errors_of_the_trace_kernel():
    a, c = model(0)
    with pytest.raises(ValueError, match=r"initial2: expected shape \(3,\)"):
        binet_cauchy_trace(a, c, jnp.ones(3), a, c, jnp.ones(2))
    with pytest.raises(ValueError, match=r"discount: expected a value in \(0, inf\)"):
        binet_cauchy_trace(a, c, jnp.ones(3), a, c, jnp.ones(3), discount=0.0)


@pytest.mark.usefixtures("plain_errors")
def test_entries_that_are_not_real_numbers():
    a, c = model(0)
    x = np.ones(3)
    with pytest.raises(TypeError, match="transition1: expected real numbers; got"):
        observability_angles(a + 1j, c, a, c)
    with pytest.raises(TypeError, match="output2: expected real numbers; got"):
        observability_angles(a, c, a, c.astype(str))
    with pytest.raises(TypeError, match="initial1: expected real numbers; got"):
        binet_cauchy_trace(a, c, 1j * x, a, c, x)
    with pytest.raises(TypeError, match="transition2: expected float32 or float64"):
        binet_cauchy_trace(a, c, x, a.astype(np.float16), c, x)
    atoms = spectral_atoms(a, 1.0)
    with pytest.raises(TypeError, match="transition1: expected a square matrix"):
        observability_angles(atoms, c, a, c)
