"""Estimated spectra, and sample sizes that are planned from them."""

import numpy as np
import pytest

from jaxrepro import rmt

pytestmark = pytest.mark.usefixtures("x64")

SPECTRA = {
    "1/k": 1 / np.arange(1.0, 201),
    "isotropic": np.ones(100),
    "geometric": 0.95 ** np.arange(150.0),
    "1/k^2": np.arange(1.0, 301) ** -2,
}


def errors(eigs, mult, truth):
    d = len(truth)
    lam, n = np.array([1e-3, 0.1, 1.0])[:, None], d * np.array([0.25, 1.0, 4.0])
    want = rmt.solve_kappa(lam, n, truth)
    return np.abs(rmt.solve_kappa(lam, n, eigs, mult=mult) / want - 1)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("ratio", [2, 10])
def test_predicted_resolutions(name, ratio):
    truth = SPECTRA[name]
    d, rng = len(truth), np.random.default_rng(0)
    x = rng.normal(size=(ratio * d, d)) * np.sqrt(truth) + 3.0
    found = rmt.estimate_spectrum(x)
    error = errors(found.eigs, found.mult, truth)
    assert np.median(error) <= 0.01
    assert error.max() <= 0.03
    np.testing.assert_allclose(found.mult.sum(), d, 1e-2)
    # The eigenvalues of the samples do worse.
    naive = errors(np.sort(np.linalg.eigvalsh(np.cov(x.T))), None, truth)
    assert np.median(naive) > np.median(error)


def test_estimates_from_few_samples_say_what_they_do_not_see():
    truth, rng = SPECTRA["1/k"], np.random.default_rng(0)
    found = rmt.estimate_spectrum(rng.normal(size=(100, 200)) * np.sqrt(truth))
    lam, n = np.array([0.1, 1.0])[:, None], np.array([50.0, 200.0, 800.0])
    want = rmt.solve_kappa(lam, n, truth)
    got = rmt.solve_kappa(lam, n, found.eigs, mult=found.mult)
    assert want.min() > found.kappa_min > 1e-3
    np.testing.assert_allclose(got, want, 0.02)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones(5), r"x: expected shape \(n, d\)"),
        (np.ones((5, 2)), "x: expected samples that differ"),
        (np.full((5, 2), np.nan), "x: expected finite numbers"),
        (np.ones((2, 3)), "x: expected more samples; got 2"),
    ],
)
@pytest.mark.usefixtures("plain_errors")
def test_errors(x, message):
    with pytest.raises(ValueError, match=message):
        rmt.estimate_spectrum(x)


@pytest.mark.parametrize("options", [{}, {"criterion": "worst"}, {"sigma": 0.3}])
def test_planned_size_is_where_the_curve_crosses(options):
    eigs, tolerance = 1 / np.arange(1.0, 25), 0.1
    plan = rmt.plan_samples(eigs, tolerance, **options)

    def curve(n):
        if "sigma" in options:
            gaps = rmt.denoiser_cross_split(None, 0.3, n, n, eigs)
        else:
            gaps = rmt.sampling_cross_split(None, n, n, eigs)
        if "criterion" in options:
            return float(np.max(gaps / (2 * eigs)))
        return float(gaps.sum() / (2 * eigs.sum()))

    assert curve(plan.n) <= tolerance < curve(plan.n - 1)
    np.testing.assert_allclose(plan.disagreement, curve(plan.n), 1e-9)


def test_plan_for_one_seed():
    eigs = 1 / np.arange(1.0, 25)
    seed = np.zeros(24)
    seed[0] = 3.0
    plan = rmt.plan_samples(eigs, 0.01, coords=seed, relative=False)
    gap = lambda n: float(rmt.sampling_cross_split(seed, n, n, eigs, reduce="modes"))
    assert gap(plan.n) <= 0.01 < gap(plan.n - 1)


def test_a_tolerance_out_of_reach():
    eigs = 1 / np.arange(1.0, 25)
    with pytest.raises(
        ValueError, match="tolerance: expected one that 100 samples keep"
    ):
        rmt.plan_samples(eigs, 1e-6, n_max=100)
