"""Paths between systems: both pairs against closed forms, a tiny run, the claims."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

from experiments.operators import _pairs, interpolation as module
from jaxrepro.experiment import experiment_names, run_experiment

CLAIMS = {claim.name: claim for claim in module.CLAIMS}


def positive(lam):
    lam = np.asarray(lam)[np.imag(lam) > 1e-6]
    return lam[np.argsort(np.imag(lam))]


@pytest.fixture(scope="module")
def both_masses():
    with jax.enable_x64(True):
        yield _pairs.masses(0.2, n_features=6)


def test_masses_have_their_modes(both_masses):
    for atoms, system in zip(both_masses.atoms, _pairs.MASSES):
        expected = -np.array(system["decays"]) + 2j * np.pi * np.array(system["hertz"])
        np.testing.assert_allclose(positive(atoms.lam), expected, rtol=1e-9)
        np.testing.assert_array_equal(atoms.weight > 0, [True] * 4 + [False])


def test_masses_obey_newton(both_masses, x64):
    system = _pairs.MASSES[0]
    angle = np.radians(system["degrees"])
    shapes = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    rate, turn = np.array(system["decays"]), 2 * np.pi * np.array(system["hertz"])

    def force(_, state):
        # Along each shape q'' + 2 rate q' + (turn^2 + rate^2) q = 0.
        q, v = shapes.T @ state[:2], shapes.T @ state[2:]
        pull = shapes @ (2 * rate * v + (turn**2 + rate**2) * q)
        return [*state[2:], *-pull]

    n = 16
    times = module.DT / module.FINE * np.arange(n)
    exact = scipy.integrate.solve_ivp(
        force, (0, times[-1]), [1, 0, 0, 0], t_eval=times, rtol=1e-10, atol=1e-12
    )
    got = module.trajectory(both_masses.atoms[0], both_masses, n)
    np.testing.assert_allclose(got, exact.y[:2].T, atol=1e-8)


def test_limit_cycle_keeps_its_radius_and_turns(x64, getkey):
    x = _pairs._record(getkey(), 0.2, 0.0, 60, hertz=0.5, radius=1.3)
    np.testing.assert_allclose(np.hypot(*x.T), 1.3, rtol=1e-12)
    angle = np.unwrap(np.arctan2(x[:, 1], x[:, 0]))
    np.testing.assert_allclose(np.diff(angle), 2 * np.pi * 0.5 * 0.2, rtol=1e-10)
    noisy = _pairs._record(getkey(), 0.2, 0.1, 60, hertz=0.5, radius=1.3)
    assert 0.01 < np.std(np.hypot(*noisy.T)) < 0.2


def test_slowest_modes():
    lam = jnp.array([-0.1, -2 + 1j, -0.3 + 4j, -0.3 - 4j, -0.2 + 5j, -0.01 - 9j])
    np.testing.assert_allclose(
        module.slowest_modes(lam), np.array([-0.3 + 4j, -0.2 + 5j]), rtol=1e-6
    )


def test_mean_of_matrices_of_equal_shapes_damps_by_a_cosine(x64, monkeypatch):
    # The mean of turns by a and by b turns by (a + b) / 2 and shrinks by the cosine
    # of (a - b) / 2.
    def turn(hertz):
        a = 2 * np.pi * hertz * 0.1
        return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])

    both = [scipy.linalg.block_diag(*map(turn, f)) for f in ((0.5, 1.2), (1.0, 2.0))]
    pair = _pairs.masses(0.1)._replace(operators=jnp.array(both))
    monkeypatch.setattr(module, "masses", lambda dt: pair)
    lam = module.halfway(0.1)
    np.testing.assert_allclose(np.imag(lam) / (2 * np.pi), [0.75, 1.6], rtol=1e-10)
    gaps = 2 * np.pi * np.array([0.5, 0.8]) * 0.1
    np.testing.assert_allclose(np.real(lam), np.log(np.cos(gaps / 2)) / 0.1, rtol=1e-10)


@pytest.mark.slow
def test_run(tmp_path, optimised):
    config = module.Config(
        per_quarter=1, n_iter=200, n_steps=600, n_centres=30, duration=4.0
    )
    result = run_experiment(module.run, config, results=tmp_path, quick=False)
    assert (result.status, result.error, result.plot_error) == ("complete", "", "")
    assert all(claim.verdict != "error" for claim in result.claims), result.claims
    for name in ("path", "trajectories", "cycles", "history"):
        assert (result.folder / "figures" / f"{name}.png").stat().st_size > 5000
    verdicts = {claim.name: str(claim.verdict) for claim in result.claims}
    for name in ("straight", "bound", "overdamped", "middle"):
        assert verdicts[name] == "held", name
    for name in ("objective", "distance"):
        assert np.load(result.folder / "arrays" / "copies.npz")[name] < 1e-3


def table(names, *rows):
    return {name: np.array(column) for name, column in zip(names, zip(*rows))}


def test_claims():
    names = ("example", "mean", "t", "mode", "frequency", "decay")
    path = [
        (example, mean, t, mode, mode + 0.1 * (mean == "HS"), decay)
        for example in module.EXAMPLES
        for mean in module.LINES
        for t, decays in ((0.0, (0.1, 0.4)), (0.5, (0.25, 0.6)), (1.0, (0.2, 0.3)))
        for mode, decay in zip((1, 2), decays)
    ]
    columns = ("example", "t", "objective", "bound", "to_first", "to_second")
    objective = [
        (example, t, *values)
        for example in module.EXAMPLES
        for t, values in (
            (0.0, (0.0, 0.0, 0.0, 2.0)),
            (0.5, (1.05, 1.0, 1.1, 1.0)),
            (1.0, (0.0, 0.0, 2.0, 0.0)),
        )
    ]
    objective = table(columns, *objective)
    objective["deviation"] = np.array([1.0, 1e-12, 1.0, 1.0, 2e-12, 1.0])
    trajectories = [
        ("cycles", mean, 0.5, time, 0.6 * size, 0.8 * size)
        for mean, sizes in (("SGOT", (1.1, 1.2, 9.0)), ("HS", (9.0, 9.0, 0.1)))
        for time, size in zip((0.0, 1.9, 8.0), sizes)
    ]
    tables = {
        "path": table(names, *path),
        "objective": objective,
        "trajectories": table(
            ("example", "mean", "t", "time", "first", "second"), *trajectories
        ),
        "steps": table(
            ("dt", "mode", "decay"), (0.05, 1, 0.15), (0.05, 2, 0.3), (0.1, 1, 9.0)
        ),
        "copies": {"objective": np.array([1e-9]), "distance": np.array([2e-6])},
    }
    expected = {
        "straight": [1e-12, 2e-12],
        "bound": [0.05, 0.05],
        "near_bound": [0.05, 0.05],
        "copies": [1e-9, 2e-6],
        "overdamped": [0.05, 0.2, 0.05, 0.2],
        "overdamped_any_step": [-0.05, 0.1],
        "frequencies_of_hs": [0.1, 0.1],
        "middle": [0.1, 0.1],
        "geodesic": [1.05, 1.05],
        "cycle_lives": 1.15,
        "cycle_dies": 0.1,
    }
    assert expected.keys() == CLAIMS.keys()
    for name, value in expected.items():
        got = CLAIMS[name].measure(tables)
        np.testing.assert_allclose(got, value, rtol=1e-9, err_msg=name)
    held = {name for name, value in expected.items() if CLAIMS[name].holds(value)}
    assert held == {"straight", "bound", "overdamped", "cycle_lives", "cycle_dies"}
    assert CLAIMS["copies"].holds([1e-9, 1e-7])


def test_is_registered():
    assert module.run.name in experiment_names("experiments")
    assert module.run.x64
