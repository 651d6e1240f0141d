import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    GaussianKernel,
    KernelAtoms,
    delay_embed,
    distance_matrix,
    median_lengthscale,
    reduced_rank_regression,
    sgot,
    sgot_from_trajectories,
    sgot_from_trajectory,
    snapshot_pairs,
    spectral_atoms,
)
from jaxrepro.operators._trajectory import _batch_of_atoms

HERTZ = (1.0, 1 / (2 * np.pi))
OPTIONS = {"n_delays": 20, "rank": 4, "gamma": 1e-4}


def recording(hertz, n=150, dt=0.02, phase=0.3, tau=0.1, noise=0.0):
    """A sum of damped oscillations, one a frequency."""
    t = dt * np.arange(n)[:, None]
    waves = [np.cos(2 * np.pi * f * t + phase * (k + 1)) for k, f in enumerate(hertz)]
    noise = noise * np.random.default_rng(n).normal(size=(n, 1))
    return np.exp(-tau * t) * sum(waves) + noise


def some_recordings():
    return [
        recording((1.0, 2.0), 150, noise=0.01),
        recording((1.0, 2.5), 131, noise=0.01),
        recording((0.7, 2.0), 160, phase=1.0, noise=0.01),
    ]


@pytest.mark.usefixtures("x64")
def test_eigenvalues_of_one_oscillator():
    x = recording((1.5, 4.0), tau=0.2)
    atoms = sgot_from_trajectory(x, 0.02, n_delays=10, rank=4, gamma=1e-12)
    want = -0.2 + 2j * np.pi * np.array([1.5, -1.5, 4.0, -4.0])
    got = np.asarray(atoms.lam)
    np.testing.assert_allclose(
        sorted(got, key=lambda z: (abs(z.imag), -z.imag)), want, atol=1e-6
    )
    np.testing.assert_allclose(atoms.weight, 0.25)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("kernel", [None, GaussianKernel(3.0)])
def test_atoms_equal_the_steps_one_by_one(kernel):
    x = recording((1.0, 2.0))
    pairs = snapshot_pairs(delay_embed(x, 7, 2))
    fit = reduced_rank_regression(
        *pairs, gamma=1e-3, rank=4, kernel=kernel, gamma_rel=True
    )
    want = spectral_atoms(fit, 0.02, kernel=kernel)
    got = sgot_from_trajectory(
        x, 0.02, n_delays=7, rank=4, gamma=1e-3, kernel=kernel, stride=2
    )
    assert isinstance(got, KernelAtoms) == (kernel is not None)
    np.testing.assert_allclose(got.lam, want.lam, atol=1e-12)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [None, GaussianKernel(3.0)])
def test_several_recordings_of_a_system(kernel, stride):
    one, *several = some_recordings()
    options = OPTIONS | {"kernel": kernel, "n_delays": 7}
    got = sgot_from_trajectories([one, several], 0.02, stride=stride, **options)
    pairs = [snapshot_pairs(delay_embed(x, 7, stride)) for x in several]
    z, y = (np.concatenate(side) for side in zip(*pairs))
    fit = reduced_rank_regression(
        z, y, gamma=1e-4, rank=4, kernel=kernel, gamma_rel=True
    )
    want = spectral_atoms(fit, 0.02, kernel=kernel)
    alone = sgot_from_trajectory(one, 0.02, stride=stride, **options)
    first, second = sorted_by_frequency(got.lam)
    np.testing.assert_allclose(first, sorted_by_frequency(alone.lam), atol=1e-9)
    np.testing.assert_allclose(second, sorted_by_frequency(want.lam), atol=1e-9)
    distance = distance_matrix(
        [one, several, several[::-1]], 0.02, eta=0.5, stride=stride, **options
    )
    assert abs(distance[1, 2]) < 1e-6 < distance[0, 1]


def sorted_by_frequency(values):
    values = np.asarray(values)
    return np.take_along_axis(values, np.argsort(values.imag, axis=-1), axis=-1)


@pytest.mark.usefixtures("x64")
def test_a_recording_cut_in_two_is_one_system():
    x = recording((1.0, 2.0), n=150)
    options = OPTIONS | {"gamma": 1e-12}
    atoms = sgot_from_trajectories([x, (x[:80], x[80:])], 0.02, **options)
    whole, parts = sorted_by_frequency(atoms.lam)
    np.testing.assert_allclose(parts, whole, atol=1e-5)
    # Windows across the joint of different systems would have other modes.
    other = recording((1.0, 2.0), n=150, phase=2.0)
    joint = sgot_from_trajectories([[x, other]], 0.02, **options)
    np.testing.assert_allclose(sorted_by_frequency(joint.lam)[0], whole, atol=1e-5)


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("system", "message"),
    [
        (
            [np.ones((50, 1)), np.ones((50, 2))],
            r"trajectories\[1\]\[1\]: expected 1 ch",
        ),
        (
            [np.ones((50, 1)), np.ones((10, 1))],
            r"trajectories\[1\]\[1\]: .* least 11 t",
        ),
        (
            [np.ones((11, 1))] * 2,
            r"trajectories\[1\]: expected .* with 3 pairs .*; got 2",
        ),
        ([np.ones((50, 1)), np.ones(50)], r"trajectories\[1\]\[1\]: expected shape"),
        ([np.ones((50, 1)), np.full((50, 1), np.nan)], r"\[1\]\[1\]: expected finite"),
        ([], r"trajectories\[1\]: "),
    ],
)
def test_errors_of_several_recordings(system, message):
    options = {"n_delays": 10, "rank": 3, "gamma": 1e-3}
    with pytest.raises(ValueError, match=message):
        sgot_from_trajectories([np.ones((50, 1)), system], 0.02, **options)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "kernel", [None, pytest.param(GaussianKernel(3.0), marks=pytest.mark.slow)]
)
def test_matrix_equals_a_loop_over_pairs(kernel):
    # Unequal lengths: the matrix pads, the loop does not.
    recordings, dts = some_recordings(), [0.02, 0.021, 0.019]
    options = OPTIONS | {"kernel": kernel, "gamma": 1e-3}
    with pytest.warns(UserWarning, match="windows span different times"):
        got = distance_matrix(recordings, dts, eta=0.3, **options)
    with pytest.warns(UserWarning, match="windows span different times"):
        batch = sgot_from_trajectories(recordings, dts, **options)
    atoms = [sgot_from_trajectory(x, dt, **options) for x, dt in zip(recordings, dts)]
    np.testing.assert_allclose(
        np.sort_complex(batch.lam),
        np.sort_complex(np.stack([a.lam for a in atoms])),
        atol=1e-9,
    )
    above = np.triu_indices(3, 1)
    want = [
        sgot(atoms[k], atoms[l], eta=0.3, scaling=HERTZ, kernel=kernel)
        for k, l in zip(*above)
    ]
    # Kernel atoms resolve distances above the square root of the precision only.
    atol = 1e-9 if kernel is None else 1e-7
    np.testing.assert_allclose(got[above], want, atol=atol)
    np.testing.assert_array_equal(jnp.diag(got), 0)
    np.testing.assert_array_equal(got, got.T)
    assert np.all(got[above] > 0.1)


@pytest.mark.usefixtures("x64")
def test_reference_curve_of_frequencies(reference):
    # The closed form of the two-mode oscillator, met from clean recordings.
    curve = reference["oscillator_curves"]
    grid = curve["freq_grid"][::5]
    recordings = [recording((0.5, f), 200) for f in (1.0, *grid)]
    got = distance_matrix(
        recordings, 0.02, n_delays=50, rank=4, gamma=0.0, eta=curve["eta"]
    )
    np.testing.assert_allclose(got[0, 1:], curve["sgot_freq"][::5], atol=2e-8)


@pytest.mark.usefixtures("x64")
def test_sampling_rate_does_not_matter():
    slow = recording((1.0, 2.0), 150, dt=0.02)
    fast = recording((1.0, 2.0), 420, dt=0.01, phase=0.9)
    other = recording((1.0, 2.2), 150, dt=0.02)
    got = distance_matrix(
        [slow, fast, other], [0.02, 0.01, 0.02], stride=[1, 2, 1],
        n_delays=20, rank=4, gamma=0.0, eta=0.5,
    )  # fmt: skip
    # Square roots of rounding errors leave a floor of about 1e-8.
    assert got[0, 1] < 1e-7
    np.testing.assert_allclose(got[0, 2], got[1, 2], atol=1e-7)
    assert got[0, 2] > 0.1


@pytest.mark.usefixtures("x64")
def test_amplitude_start_and_company_do_not_matter():
    a, b, c = some_recordings()
    alone = distance_matrix([a, b], 0.02, eta=0.2, **OPTIONS)
    long = np.concatenate([c, c, c])
    company = distance_matrix([long, 1e3 * a, 1e-3 * b], 0.02, eta=0.2, **OPTIONS)
    np.testing.assert_allclose(company[1, 2], alone[0, 1], rtol=1e-9)


@pytest.mark.usefixtures("x64")
def test_options_reach_the_metric():
    a, b, _ = some_recordings()
    atoms = [sgot_from_trajectory(x, 0.02, **OPTIONS) for x in (a, b)]
    for cost in ({"p": 2}, {"kind": "subspace"}, {"scaling": (0.5, 2.0)}):
        got = distance_matrix([a, b], 0.02, eta=0.3, **OPTIONS, **cost)
        want = sgot(*atoms, **({"eta": 0.3, "scaling": HERTZ} | cost))
        np.testing.assert_allclose(got[0, 1], want, rtol=1e-9)
    got = distance_matrix([a, b], 0.02, eta=0.3, **OPTIONS, mag_floor=0.999)
    live = [spectral_atoms(reduced_rank_regression(
        *snapshot_pairs(delay_embed(x, 20)), gamma=1e-4, rank=4, gamma_rel=True
    ), 0.02, mag_floor=0.999) for x in (a, b)]  # fmt: skip
    assert np.any(live[0].weight == 0)
    np.testing.assert_allclose(
        got[0, 1], sgot(*live, eta=0.3, scaling=HERTZ), rtol=1e-9
    )


@pytest.mark.usefixtures("x64")
@pytest.mark.slow
def test_under_jit_and_in_blocks(monkeypatch):
    recordings = some_recordings()
    kernel = GaussianKernel(3.0)

    def compute(recordings, dt, eta):
        return distance_matrix(recordings, dt, eta=eta, kernel=kernel, **OPTIONS)

    want = compute(recordings, 0.02, 0.3)
    np.testing.assert_allclose(jax.jit(compute)(recordings, 0.02, 0.3), want, atol=1e-7)
    monkeypatch.setattr("jaxrepro.operators._trajectory._MOST_NUMBERS", 1)
    jax.clear_caches()
    np.testing.assert_allclose(compute(recordings, 0.02, 0.3), want, atol=1e-7)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_derivative_from_the_recording_to_the_distance():
    a, b, _ = some_recordings()
    step = 0.1 * np.random.default_rng(0).normal(size=a.shape)

    @jax.jit
    def distance(x, gamma, eta):
        options = {"n_delays": 8, "rank": 4, "gamma": gamma}
        return distance_matrix([x, b], 0.02, eta=eta, **options)[0, 1]

    h = 1e-4
    d1, d2 = (
        (distance(a + k * step, 1e-3, 0.3) - distance(a - k * step, 1e-3, 0.3))
        / (2 * k)
        for k in (h, 2 * h)
    )
    gradient = jax.jit(jax.grad(distance, (0, 1, 2)))(a, 1e-3, 0.3)
    np.testing.assert_allclose(np.vdot(gradient[0], step), (4 * d1 - d2) / 3, rtol=1e-6)
    assert all(np.all(np.isfinite(g)) for g in gradient)


def test_compiles_once_for_recordings_of_similar_length():
    def compute(lengths):
        distance_matrix([recording((1.0, 2.0), n) for n in lengths], 0.02, eta=0.3,
                        **OPTIONS)  # fmt: skip
        return _batch_of_atoms._cache_size()

    before = _batch_of_atoms._cache_size()
    counts = [compute(lengths) for lengths in ((150, 131), (146, 160), (145, 100))]
    assert counts == [before + 1] * 3


def test_default_precision_follows_the_input(x64):
    recordings = [x.astype(np.float32) for x in some_recordings()]
    close = distance_matrix(recordings, 0.02, eta=0.3, **OPTIONS)
    assert close.dtype == np.float32
    exact = distance_matrix(some_recordings(), 0.02, eta=0.3, **OPTIONS)
    # Relative errors of eps / gamma in the covariances.
    np.testing.assert_allclose(close, exact, atol=np.finfo(np.float32).eps / 1e-4)


@pytest.mark.usefixtures("x64")
def test_accepted_forms_of_recordings():
    recordings = [np.round(100 * x[:130]).astype(np.int16) for x in some_recordings()]
    want = distance_matrix(recordings, 0.02, eta=0.3, **OPTIONS)
    for form in (
        [x.astype(float) for x in recordings],
        [jnp.asarray(x) for x in recordings],
        [x.tolist() for x in recordings],
        tuple(recordings),
        np.stack(recordings),
    ):
        got = distance_matrix(form, np.full(3, 0.02), eta=0.3, **OPTIONS)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_one_recording_alone():
    x = recording((1.0, 2.0))
    assert distance_matrix([x], 0.02, eta=0.3, **OPTIONS).tolist() == [[0]]


@pytest.mark.usefixtures("x64")
def test_a_dead_recording_gives_nan_in_its_row_only():
    a, b, _ = some_recordings()
    got = distance_matrix([a, 0 * a, b], 0.02, eta=0.3, **OPTIONS)
    assert np.isnan(got[0, 1])
    assert np.isnan(got[1, 2])
    assert np.isfinite(got[0, 2])


@pytest.mark.usefixtures("x64")
@pytest.mark.slow
def test_nonlinear_oscillators_with_a_kernel(getkey):
    # Van der Pol oscillators: the strength of the nonlinearity is what differs.
    def van_der_pol(mu, start, n=200, dt=0.075):
        state, path = np.array(start), []
        for _ in range(n * 10):
            path.append(state)
            x, v = state
            state = state + dt / 10 * np.array([v, mu * (1 - x**2) * v - x])
        return np.array(path[::10])

    starts = ([2.0, 0.0], [-1.0, 1.0])
    recordings = [van_der_pol(mu, s) for mu in (0.5, 2.0) for s in starts]
    windows = np.concatenate([delay_embed(x, 5) for x in recordings])
    kernel = GaussianKernel(median_lengthscale(getkey(), windows))
    d = np.asarray(distance_matrix(
        recordings, 0.075, n_delays=5, rank=6, gamma=1e-3, eta=0.2, kernel=kernel
    ))  # fmt: skip
    same, different = (d[0, 1], d[2, 3]), d[:2, 2:]
    assert max(same) < 0.5 * different.min()


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"trajectories": []}, ValueError, "trajectories: expected at least one rec"),
        (
            {"trajectories": np.zeros((50, 2))},
            ValueError,
            r"trajectories: expected a list .*; got one array of shape \(50, 2\)",
        ),
        (
            {"trajectories": [np.ones((50, 1)), np.ones(50)]},
            ValueError,
            r"trajectories\[1\]: expected shape \(T, d\); got shape \(50,\); for one "
            r"channel pass trajectories\[1\]\[:, None\]",
        ),
        (
            {"trajectories": [np.ones((50, 2))] * 2 + [np.ones((50, 3))]},
            ValueError,
            r"trajectories\[2\]: expected 2 channels, as in trajectories\[0\]; got 3",
        ),
        (
            {"trajectories": [np.ones((50, 1)), np.ones((10, 1))]},
            ValueError,
            r"trajectories\[1\]: expected at least 12 time steps, enough for 3 windows "
            r"of n_delays = 10 with stride = 1; got 10",
        ),
        (
            {"trajectories": [np.ones((50, 1)), np.full((50, 1), np.nan)]},
            ValueError,
            r"trajectories\[1\]: expected finite values; got 50 NaN or infinite of 50",
        ),
        (
            {"trajectories": [np.ones((50, 1), complex)]},
            TypeError,
            r"trajectories\[0\]: expected real numbers; got dtype complex128",
        ),
        (
            {"trajectories": [np.array([["a"]])]},
            TypeError,
            r"trajectories\[0\]: expected real numbers; got dtype <U1",
        ),
        (
            {"trajectories": [np.ma.array(np.ones((50, 1)), mask=np.eye(50, 1))]},
            TypeError,
            r"trajectories\[0\]: expected real numbers; got masked entries",
        ),
        (
            {"trajectories": [np.ones((50, 1), np.float16)]},
            TypeError,
            r"trajectories\[0\]: expected float32 or float64; got dtype float16",
        ),
        ({"dt": "x"}, TypeError, "dt: expected real numbers; got 'x'"),
        ({"dt": 0.0}, ValueError, r"dt: expected a value in \(0, inf\); got 0"),
        ({"dt": [0.1, -0.1]}, ValueError, r"dt: expected every entry in \(0, inf\)"),
        ({"dt": [0.1] * 3}, ValueError, "dt: expected one, or one for each of 2 rec"),
        ({"stride": [1] * 3}, ValueError, "stride: expected one, or one for each of 2"),
        ({"stride": [1, 0]}, ValueError, r"stride\[1\]: expected an integer >= 1"),
        ({"n_delays": 0}, ValueError, "n_delays: expected an integer >= 1; got 0"),
        ({"rank": 11}, ValueError, r"rank: expected an integer in \[1, 10\]; got 11"),
        ({"gamma": -1.0}, ValueError, r"gamma: expected a value in \[0, inf\)"),
        ({"eta": 1.5}, ValueError, r"eta: expected a value in \[0, 1\]; got 1.5"),
        ({"p": 0.5}, ValueError, "p: "),
        ({"kind": "line"}, ValueError, "kind: expected one of"),
        ({"kernel": np.dot}, TypeError, "kernel: expected an equinox.Module"),
    ],
)
def test_errors(change, error, message):
    x = recording((1.0, 2.0), 50)
    arguments = {"trajectories": [x, x], "dt": 0.1, "n_delays": 10, "rank": 2,
                 "gamma": 1e-3, "eta": 0.3}  # fmt: skip
    with pytest.raises(error, match=message):
        distance_matrix(**(arguments | change))


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": np.ones(50)}, ValueError, r"x: expected shape \(T, d\).*x\[:, None\]"),
        ({"x": np.ones((11, 1))}, ValueError, "x: expected at least 12 time steps"),
        ({"x": np.full((50, 1), np.inf)}, ValueError, "x: expected finite values"),
        ({"dt": -1.0}, ValueError, "dt: expected a value"),
        ({"rank": 11}, ValueError, r"rank: expected an integer in \[1, 10\]"),
        ({"stride": 0}, ValueError, "stride: expected an integer >= 1"),
        ({"n_delays": 2.5}, TypeError, "n_delays: expected an integer"),
        ({"gamma": -1.0}, ValueError, "gamma: expected a value"),
    ],
)
def test_errors_of_one_recording(change, error, message):
    arguments = {"x": recording((1.0, 2.0), 50), "dt": 0.1, "n_delays": 10, "rank": 2,
                 "gamma": 1e-3}  # fmt: skip
    with pytest.raises(error, match=message):
        sgot_from_trajectory(**(arguments | change))


@pytest.mark.usefixtures("x64")
def test_traced_nan_stays_in_its_own_row():
    a, b, c = some_recordings()
    d = jax.jit(lambda a, b, c: distance_matrix([a, b, c], 0.02, eta=0.3, **OPTIONS))
    got = d(a, b * np.nan, c)
    assert np.all(np.isnan(got[1, [0, 2]]))
    assert np.isfinite(got[0, 2])
