"""The rate of estimation: the limit by Monte Carlo, a tiny run, the claims."""

import numpy as np
import pytest
import scipy.linalg

from experiments.operators import estimation_rate as module
from experiments.operators._distances import HERTZ
from jaxrepro.data import make_linear_system
from jaxrepro.experiment import experiment_names, run_experiment
from jaxrepro.operators import reduced_rank_regression, sgot, spectral_atoms
from jaxrepro.sweep import load

CLAIMS = {claim.name: claim for claim in module.CLAIMS}


def test_system_has_its_modes(x64, getkey):
    matrix = module.system(getkey(), 0.3)
    lam = np.log(np.linalg.eigvals(matrix).astype(complex)) / module.DT
    frequency = np.array(module.HERTZ)
    expected = -np.array(module.DECAYS) + 2j * np.pi * frequency
    upper = lam[lam.imag > 0]
    np.testing.assert_allclose(upper[np.argsort(upper.imag)], expected, rtol=1e-10)


def test_gaussian_limit_has_the_covariance_of_least_squares(x64, getkey):
    matrix = np.asarray(module.system(getkey(), 0.3))
    n = 20_000
    draws = np.asarray(module.gaussian_limit(getkey(), matrix, n))
    stationary = scipy.linalg.solve_discrete_lyapunov(matrix, np.eye(4))
    inverse = np.linalg.inv(stationary)
    rows = draws.reshape(-1, 4)
    # A product of two normal numbers has a variance of s_ii s_jj + s_ij^2.
    spread = np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)) + inverse**2)
    deviation = rows.T @ rows / len(rows) - inverse
    assert np.all(np.abs(deviation) < 5 * spread / np.sqrt(len(rows)))
    across = np.mean(draws[:, 0, :] * draws[:, 1, :], axis=0)
    assert np.all(np.abs(across) < 5 * np.diag(inverse) / np.sqrt(n))


def test_run(tmp_path):
    config = module.Config(sizes=(50, 200), repeats=4, n_limit=20)
    result = run_experiment(module.run, config, results=tmp_path, quick=True)
    assert (result.status, result.error, result.plot_error) == ("complete", "", "")
    assert all(claim.verdict != "error" for claim in result.claims), result.claims
    assert (result.folder / "figures" / "rate.png").stat().st_size > 5000
    limits = np.load(result.folder / "arrays" / "limits.npz")
    stored = load(result.folder / "sweep")
    for name in (module.SGOT, *module.OTHERS):
        errors = stored[name].values
        assert errors.shape == (2, 4)
        # Draws differ, and a limit is reached up to the noise of a few draws.
        assert len(np.unique(errors)) == 8
        ratio = errors.mean(1) * np.sqrt([50, 200]) / limits[name]
        assert np.all((ratio > 0.4) & (ratio < 2.5)), name


def test_claims():
    n = np.array([100, 400, 1600, 6400, 25600])
    half = 1.28 / np.sqrt(n)
    names = (module.SGOT, *module.OTHERS)
    mean = np.concatenate([half, *[half * n**0.25] * len(module.OTHERS)])
    table = {
        "distance": np.repeat(names, 5), "n": np.tile(n, len(names)), "mean": mean,
        "limit": np.tile(half / 2, len(names)),
    }  # fmt: skip
    tables = {"errors": table}
    expected = {
        "slope": -0.5, "constant": 2.0, "others": [-0.25] * 5,
        "earlier": [0.128, 0.064, 0.032, 0.016, 0.008],
    }  # fmt: skip
    assert expected.keys() == CLAIMS.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(CLAIMS[name].measure(tables), value, rtol=1e-9)
    held = {name for name, value in expected.items() if CLAIMS[name].holds(value)}
    assert held == {"slope"}


def test_is_registered():
    assert module.run.name in experiment_names("experiments")
    assert module.run.x64


@pytest.mark.slow
def test_sizes_are_prefixes_of_masked_recordings(x64, getkey):
    # What is masked must not matter: the same recordings, all longer.
    key, matrix = getkey(), np.asarray(module.system(getkey(), 0.3))
    trial = module.estimation(matrix, module.Config(sizes=(40, 60)))
    for n in (40, 60):
        x = make_linear_system(key, matrix, n_steps=n + 1, n_burn=200)
        fit = reduced_rank_regression(x[:-1], x[1:], gamma=0.0, rank=4)
        expected = sgot(
            spectral_atoms(fit, module.DT), spectral_atoms(matrix.T, module.DT),
            eta=0.5, scaling=HERTZ,
        )  # fmt: skip
        error = trial(key, {"n": n})[module.SGOT]
        np.testing.assert_allclose(error, expected, rtol=1e-7)
