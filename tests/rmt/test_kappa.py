"""Renormalised noise level: references, closed forms, edges, errors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.optimize import brentq

from jaxrepro import rmt

SMALL = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.01])


def rows(reference):
    """Every spectrum with its reference rows as arrays."""
    for name, entries in reference["kappa"].items():
        columns = {key: np.array([row[key] for row in entries]) for key in entries[0]}
        yield np.array(reference["spectra"][name]), columns


@pytest.mark.reference
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["newton", "table"])
def test_reference(reference, dtype, method, x64):
    for eigs, want in rows(reference):
        kept = (want["lam"] > 0) if method == "table" else np.ones(len(want["n"]), bool)
        lam, n = (want[key][kept].astype(dtype) for key in ("lam", "n"))
        info = rmt.kappa_info(lam, n, eigs.astype(dtype), method=method)
        assert info.kappa.dtype == dtype
        kappa, slope = want["kappa"][kept], want["kappa_prime"][kept]
        zero = kappa == 0
        assert np.all(np.asarray(info.kappa)[zero] == 0)
        error = np.abs(np.asarray(info.kappa)[~zero] / kappa[~zero] - 1)
        if dtype == np.float64:
            assert error.max() <= 1e-11
            assert np.abs(info.residual).max() <= 1e-14
            assert info.n_iter.max() <= 25
            finite = slope < 1e6
            for name in ("df1", "df2", "kappa_prime"):
                got = np.asarray(getattr(info, name))
                np.testing.assert_allclose(got[finite], want[name][kept][finite], 1e-9)
        else:
            assert error[slope[~zero] < 10].max() <= 1e-5
            assert error.max() <= 5e-4


@pytest.mark.reference
def test_reference_of_complex_shifts_and_products(reference, x64):
    extras = reference["extras_l8"]
    for row in extras["complex_kappa"]:
        found = rmt.solve_kappa_complex(complex(*row["t"]), extras["n"], SMALL)
        assert abs(complex(found.kappa) / complex(*row["kappa"]) - 1) <= 1e-12
    for row in extras["kappa_product"]:
        ns = np.array([row["n1"], row["n2"]], float)
        found = rmt.solve_kappa_product(row["lam"], ns, SMALL)
        assert abs(found / row["kappa"] - 1) <= 1e-10


def test_agrees_with_a_bracketing_solver(x64):
    eigs = 0.97 ** np.arange(80.0)
    lam, n = np.geomspace(1e-6, 10, 7)[:, None], np.geomspace(2, 1e3, 6)

    def root(lam, n):
        level = lambda y: np.log(
            np.sum(eigs / (eigs + np.exp(y))) / n + lam / np.exp(y)
        )
        end: Any = brentq(level, np.log(lam), np.log(lam + eigs.sum() / n))
        return np.exp(end)

    want = np.vectorize(root)(lam, n)
    for method in ("newton", "table"):
        got = rmt.solve_kappa(lam, n, eigs, method=method)
        np.testing.assert_allclose(got, want, 1e-10)
    rough = rmt.solve_kappa(lam, n, eigs, method="table", polish=False)
    np.testing.assert_allclose(rough, want, 1e-9)


def test_isotropic_closed_form(x64):
    lam = np.array([0.0, 1e-12, 1e-3, 0.5, 100.0])[:, None]
    n = np.array([20.0, 99.0, 101.0, 400.0, np.inf])
    got = rmt.solve_kappa(lam, n, 2 * np.ones(100))
    np.testing.assert_allclose(got, rmt.kappa_isotropic(lam, n, 100, scale=2.0), 1e-11)
    np.testing.assert_allclose(got[:, -1], lam[:, 0])


def test_invariances(x64):
    lam, n = np.array([0.0, 0.1, 3.0]), np.array([3.0, 7.0, 20.0])
    kappa = rmt.solve_kappa(lam, n, SMALL)
    np.testing.assert_allclose(rmt.solve_kappa(7 * lam, n, 7 * SMALL), 7 * kappa, 1e-13)
    np.testing.assert_allclose(rmt.solve_kappa(lam, n, SMALL[::-1]), kappa, 1e-13)
    twice = rmt.solve_kappa(lam, n, np.repeat(SMALL, 2))
    mult = rmt.solve_kappa(lam, n, SMALL, mult=np.full(8, 2))
    np.testing.assert_allclose(mult, twice, 1e-13)
    padded = rmt.solve_kappa(lam, n, np.append(SMALL, [0.0, 0.0]))
    np.testing.assert_allclose(padded, kappa, 1e-13)
    np.testing.assert_allclose(rmt.solve_kappa(lam, 1e12, SMALL), lam, atol=1e-9)
    shift = rmt.lam_from_kappa(kappa, n, SMALL)
    np.testing.assert_allclose(shift, lam, atol=1e-13)


def test_results_do_not_depend_on_the_batch(x64):
    lam = np.geomspace(1e-3, 1, 13)
    one = rmt.solve_kappa(lam, 5.0, SMALL)
    for size in (1, 4, 13):
        np.testing.assert_array_equal(
            rmt.solve_kappa(lam, 5.0, SMALL, batch_size=size), one
        )


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_single_precision_far_from_one(scale):
    eigs = (SMALL * scale).astype(np.float32)
    lam = np.float32(0.1 * scale)
    kappa = rmt.solve_kappa(lam, 5, eigs) / scale
    np.testing.assert_allclose(kappa, rmt.solve_kappa(0.1, 5, SMALL), 1e-5)


def test_derivatives(x64):
    log_kappa = lambda lam, n, eigs: jnp.log(rmt.solve_kappa(lam, n, eigs))
    check_grads(log_kappa, (0.1, 6.0, jnp.asarray(SMALL)), 2, rtol=1e-4)
    ridgeless = lambda n, eigs: rmt.solve_kappa(0.0, n, eigs)
    check_grads(ridgeless, (5.0, jnp.asarray(SMALL)), 2, ["rev"], rtol=1e-4)
    complex_ = lambda t, n, eigs: jnp.abs(rmt.solve_kappa_complex(t + 0.2j, n, eigs)[0])
    check_grads(complex_, (-0.3, 16.0, jnp.asarray(SMALL)), 1, rtol=1e-6)
    product = lambda lam, ns: rmt.solve_kappa_product(lam, ns, SMALL)
    check_grads(product, (0.1, jnp.array([16.0, 5.0])), 1, rtol=1e-6)


def test_batched_derivatives_equal_a_loop(x64):
    lam = jnp.array([0.0, 0.01, 1.0])
    slope = jax.grad(lambda lam, eigs: rmt.solve_kappa(lam, 5.0, eigs), argnums=1)
    eigs = jnp.asarray(SMALL)
    batched = jax.vmap(slope, (0, None))(lam, eigs)
    for row, x in zip(batched, lam):
        np.testing.assert_allclose(row, slope(x, eigs), 1e-12)


@pytest.mark.parametrize("n", [1.0, 2.0, 3.0, np.inf])
def test_no_shift_with_zero_eigenvalues(n, x64):
    eigs = jnp.array([2.0, 1.0, 0.0, 0.0])
    value, slopes = jax.value_and_grad(
        lambda lam, n, eigs: rmt.solve_kappa(lam, n, eigs), argnums=(0, 1, 2)
    )(0.0, n, eigs)
    assert (value > 0) == (n < 2)
    assert all(np.isfinite(slope).all() for slope in slopes)
    ratio = {1.0: np.inf, 2.0: np.inf, 3.0: 3.0, np.inf: 1.0}[n]
    np.testing.assert_allclose(rmt.kappa_info(0.0, n, eigs).ratio, ratio, 1e-12)


def test_complex_shifts_up_to_the_cut(x64):
    angle = np.append(np.linspace(0.1, 3.0, 6), np.pi - np.geomspace(1e-8, 1e-2, 4))
    t = np.geomspace(1e-6, 1e3, 8)[:, None] * np.exp(1j * angle)
    for eigs in (1 / np.arange(1.0, 61), np.ones(60)):
        for n in (6, 60, 600):
            found = rmt.solve_kappa_complex(t, n, eigs)
            assert found.residual.max() <= 1e-14
            assert np.all((np.angle(found.kappa) > 0) & (np.angle(found.kappa) < angle))
            below = rmt.solve_kappa_complex(t.conj(), n, eigs).kappa
            np.testing.assert_allclose(below, np.conj(found.kappa), 1e-12)
    assert np.isnan(rmt.solve_kappa_complex(-1.0 + 0j, 16, SMALL).kappa)
    real = rmt.solve_kappa_complex(0.5, 16, SMALL).kappa
    np.testing.assert_allclose(real, rmt.solve_kappa(0.5, 16, SMALL), 1e-14)


def test_products_reduce_to_one_factor(x64):
    lam = np.array([0.0, 1e-9, 0.1, 5.0])
    one = rmt.solve_kappa(lam, 5.0, SMALL)
    np.testing.assert_allclose(
        rmt.solve_kappa_product(lam, np.array([5.0]), SMALL), one, 1e-12
    )
    with_identity = rmt.solve_kappa_product(lam, np.array([5.0, np.inf]), SMALL)
    np.testing.assert_allclose(with_identity, one, 1e-12)
    assert rmt.solve_kappa_product(0.0, np.array([20.0, 9.0]), SMALL) == 0


def test_memory_of_many_pairs():
    lam, n = jnp.ones(10**4), jnp.full(10**4, 100.0)
    eigs = 1 / jnp.arange(1.0, 3073)
    solve = jax.jit(lambda lam, n, eigs: rmt.solve_kappa(lam, n, eigs))
    slope = jax.jit(jax.grad(lambda eigs: rmt.solve_kappa(lam, n, eigs).sum()))
    for program in (solve.lower(lam, n, eigs), slope.lower(eigs)):
        memory: Any = program.compile().memory_analysis()
        assert memory.temp_size_in_bytes < 64 * 2**20


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("ddof", [0, 1])
def test_effective_population(centered, ddof, x64):
    eigs, n = rmt.effective_population(
        SMALL, np.array([5, np.inf]), centered=centered, ddof=ddof
    )
    assert n.tolist() == [5 - centered, np.inf]
    factor = 4 / (5 - ddof) if centered else 1
    np.testing.assert_allclose(eigs, SMALL * np.array([factor, 1])[:, None])


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": -1.0}, r"lam: expected a value in \[0, inf\); got -1.0"),
        ({"lam": np.nan}, "lam: "),
        ({"n": 0}, r"n: expected a value in \(0, inf\]; got 0"),
        ({"n": [5.0, -1.0]}, "n: expected every entry"),
        ({"eigs": [1.0, -1.0]}, "eigs: expected every entry"),
        ({"eigs": np.ones((2, 2))}, r"eigs: expected shape \(d,\)"),
        ({"eigs": np.ones(0)}, "eigs: expected at least one element"),
        ({"mult": [1.0]}, r"mult: expected shape \(8,\)"),
        ({"mult": -np.ones(8)}, "mult: expected every entry"),
        (
            {"lam": np.ones(2), "n": np.ones(3)},
            "lam, n: expected shapes that broadcast",
        ),
        ({"method": "hybr"}, "method: expected one of 'newton', 'table'"),
        ({"lam": 0.0, "method": "table"}, r"lam: expected a value in \(0, inf\)"),
        ({"table_size": 1}, "table_size: expected an integer >= 2"),
        ({"batch_size": 0}, "batch_size: expected an integer >= 1"),
    ],
)
def test_errors(change, message):
    arguments = {"lam": 0.1, "n": 5, "eigs": SMALL} | change
    with pytest.raises(ValueError, match=message):
        rmt.solve_kappa(**arguments)


def test_traced_values_out_of_range_give_nan():
    solve = jax.jit(lambda lam, n, eigs: rmt.solve_kappa(lam, n, eigs))
    good = 0.1, 5.0, jnp.asarray(SMALL)
    assert np.isfinite(solve(*good))
    assert np.isnan(solve(-0.1, *good[1:]))
    assert np.isnan(solve(0.1, 0.0, good[2]))
    assert np.isnan(solve(0.1, 5.0, good[2].at[0].set(-1)))
    table = jax.jit(lambda lam: rmt.solve_kappa(lam, 5.0, SMALL, method="table"))
    got = table(jnp.array([0.0, 0.1]))
    assert np.isnan(got[0])
    np.testing.assert_allclose(got[1], solve(*good), 1e-5)


@pytest.mark.parametrize(
    ("ddof", "n", "message"),
    [(2, 5, "ddof: expected one of 0, 1; got 2"), (0, 1, r"n: .* in \(1, inf\]")],
)
def test_errors_of_the_estimate(ddof, n, message):
    with pytest.raises(ValueError, match=message):
        rmt.effective_population(SMALL, n, ddof=ddof)
