import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose

from jaxrepro.data import make_oscillator, square_wave

KEY = jax.random.key(0)
F, TAU = np.array([0.5, 1.3]), np.array([0.1, 0.4])


def test_equals_the_real_part_of_the_modes(x64):
    """Oracle: powers of the discrete eigenvalues exp(lambda dt), one after another."""
    a, phi, dt = np.array([1.0, -0.7]), np.array([0.0, 0.3]), 0.02
    x = make_oscillator(KEY, F, TAU, a, phi, dt=dt, n_steps=300)
    step = np.exp((-TAU + 2j * np.pi * F) * dt)
    state = a * np.exp(1j * phi)
    expected = []
    for _ in range(300):
        expected.append(state.imag.sum())
        state = state * step
    # 300 multiplications, each with a rounding error of 2^-53 or so.
    assert_allclose(x, expected, atol=300 * 4 * 2**-53)


def test_windows_evolve_with_the_eigenvalues(x64):
    """The Hankel matrix of r modes has rank 2r and shifts with exp(lambda dt)."""
    dt = 0.05
    x = np.asarray(make_oscillator(KEY, F, TAU, dt=dt, n_steps=400))
    hankel = np.lib.stride_tricks.sliding_window_view(x, 40)
    values = np.linalg.svd(hankel, compute_uv=False)
    assert values[3] > 1e-3 * values[0]
    assert values[4] < 1e-12 * values[0]
    u = np.linalg.svd(hankel.T, full_matrices=False)[0][:, :4]
    shift = np.linalg.lstsq(hankel[:-1] @ u, hankel[1:] @ u, rcond=None)[0]
    got = np.sort_complex(np.linalg.eigvals(shift))
    modes = np.exp((-TAU + 2j * np.pi * F) * dt)
    assert_allclose(got, np.sort_complex([*modes, *modes.conj()]), atol=1e-9)


def test_noise_has_the_given_spread():
    n, sigma = 20_000, 0.3
    clean = make_oscillator(KEY, F, TAU, dt=0.01, n_steps=n)
    noisy = make_oscillator(KEY, F, TAU, dt=0.01, noise=sigma, n_steps=n)
    errors = np.asarray(noisy - clean, float)
    # Five standard errors of a standard deviation and of a mean.
    assert_allclose(errors.std(), sigma, atol=5 * sigma / np.sqrt(2 * n))
    assert_allclose(errors.mean(), 0, atol=5 * sigma / np.sqrt(n))
    lag = np.mean(errors[1:] * errors[:-1]) / sigma**2
    assert_allclose(lag, 0, atol=5 / np.sqrt(n))


def test_float32_is_as_good_as_promised():
    dt, n = 0.005, 2000
    single = make_oscillator(KEY, *map(jnp.float32, (F, TAU)), dt=dt, n_steps=n)
    with jax.enable_x64(True):
        double = make_oscillator(KEY, F, TAU, dt=dt, n_steps=n)
    bound = 2 * 2 * np.pi * F.max() * n * dt * 1e-7 + 1e-6
    assert_allclose(single, np.asarray(double), atol=bound)


def test_integers_are_promoted():
    x = make_oscillator(KEY, np.array([1]), np.array([0]), dt=0.25, n_steps=5)
    assert_allclose(x, [0, 1, 0, -1, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((F, TAU[:1]), {}, r"decays: expected shape \(2,\); got shape \(1,\)"),
        ((F, TAU, F[:1]), {}, r"amplitudes: expected shape \(2,\)"),
        ((F, TAU, None, F[:1]), {}, r"phases: expected shape \(2,\)"),
        ((1.0, 0.1), {}, r"frequencies: expected shape \(r,\); got shape \(\)"),
        ((F[:0], F[:0]), {}, "frequencies: expected at least one element"),
        ((F, TAU), {"n_steps": 0}, "n_steps: expected an integer >= 1; got 0"),
        ((F, TAU), {"dt": F}, r"dt: expected shape \(\); got shape \(2,\)"),
        ((F, TAU), {"noise": F}, r"noise: expected shape \(\); got shape \(2,\)"),
        ((F, TAU), {"dt": 0}, r"dt: expected a value in \(0, inf\); got 0"),
        ((F, TAU), {"noise": -1}, r"noise: expected a value in \[0, inf\); got -1"),
    ],
)
def test_errors(arguments, options, message, plain_errors):
    with pytest.raises(ValueError, match=message):
        make_oscillator(KEY, *arguments, **{"dt": 0.1, "n_steps": 3, **options})


def test_a_seed_is_no_key(plain_errors):
    with pytest.raises(TypeError, match="key: expected a random key, .*; got 0"):
        make_oscillator(0, F, TAU, dt=0.1, n_steps=3)


def test_square_wave_has_the_fourier_coefficients(x64):
    """Oracle: the coefficient integral over the half period where the wave is 1."""
    f = 0.5
    frequencies, amplitudes = square_wave(f, n_terms=4)
    for k, (frequency, amplitude) in enumerate(zip(frequencies, amplitudes)):
        odd = 2 * k + 1
        wave = lambda t, odd=odd: np.sin(2 * np.pi * odd * f * t)
        integral = scipy.integrate.quad(wave, 0, 1 / (2 * f))[0]
        assert_allclose(frequency, odd * f, rtol=1e-15)
        assert_allclose(amplitude, 4 * f * integral, rtol=1e-12)


@pytest.mark.parametrize("n_terms", [1, 4, 200])
def test_square_wave_converges(x64, n_terms):
    frequencies, amplitudes = square_wave(0.5, n_terms=n_terms)
    options = {"dt": 0.5, "n_steps": 2}
    x = make_oscillator(KEY, frequencies, 0 * frequencies, amplitudes, **options)
    # At a quarter period the series alternates: its error is below the next term.
    assert abs(x[1] - 1) <= 4 / (np.pi * (2 * n_terms + 1))


def test_square_wave_errors(plain_errors):
    with pytest.raises(ValueError, match="n_terms: expected an integer >= 1"):
        square_wave(1.0, n_terms=0)
    with pytest.raises(ValueError, match=r"frequency: expected shape \(\)"):
        square_wave(F, n_terms=1)
    with pytest.raises(ValueError, match="frequency: expected a value in .* got -1"):
        square_wave(-1, n_terms=1)
