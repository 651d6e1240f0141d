"""Contract cases of ``jaxrepro.data``."""

import jax

from jaxrepro import data
from jaxrepro.testing import Case


def modes(key, dtype):
    k_frequency, k_decay, k_noise = jax.random.split(key, 3)
    frequencies = jax.random.uniform(k_frequency, (2,), dtype, 0.5, 2.0)
    return k_noise, frequencies, jax.random.uniform(k_decay, (2,), dtype)


def all_of_a_mode(key, dtype):
    k_modes, k_amplitudes, k_phases = jax.random.split(key, 3)
    amplitudes = jax.random.normal(k_amplitudes, (2,), dtype)
    return *modes(k_modes, dtype), amplitudes, jax.random.normal(k_phases, (2,), dtype)


def matrix(key, dtype):
    k_matrix, k_noise = jax.random.split(key)
    return k_noise, 0.3 * jax.random.normal(k_matrix, (3, 3), dtype)


def matrix_and_start(key, dtype):
    k_start, k_rest = jax.random.split(key)
    return *matrix(k_rest, dtype), jax.random.normal(k_start, (3,), dtype)


def frequency(key, dtype):
    return (jax.random.uniform(key, (), dtype, 0.5, 2.0),)


CASES = [
    Case(
        data.make_oscillator,
        modes,
        static={"n_steps": 7},
        traced={"dt": 0.1, "noise": 0.5},
        key_argument=0,
    ),
    Case(
        data.make_oscillator,
        all_of_a_mode,
        name="make_oscillator[amplitudes and phases]",
        static={"n_steps": 7},
        traced={"dt": 0.1, "noise": 0.5},
        key_argument=0,
    ),
    Case(
        data.make_linear_system,
        matrix,
        static={"n_steps": 4, "n_burn": 2},
        traced={"noise": 0.5},
        key_argument=0,
    ),
    Case(
        data.make_linear_system,
        matrix_and_start,
        name="make_linear_system[initial]",
        static={"n_steps": 5},
        traced={"noise": 0.5},
        key_argument=0,
    ),
    Case(data.square_wave, frequency, static={"n_terms": 3}),
]
SLOW = {"make_linear_system[initial]", "make_oscillator[amplitudes and phases]"}

EXEMPT = {
    "load_basic_motions": "reads files on the host and returns NumPy arrays",
    "load_fashion_mnist": "reads files on the host and returns NumPy arrays",
    "load_japanese_vowels": "reads files on the host and returns NumPy arrays",
    "load_mnist": "reads files on the host and returns NumPy arrays",
    "load_photo_patches": "reads files on the host and returns NumPy arrays",
    "load_shoulder_exercises": "reads a file on the host and returns NumPy arrays",
    "load_spoken_digits": "reads a file on the host and returns NumPy arrays",
    "load_uea": "reads files on the host and returns NumPy arrays",
    "read_idx": "reads a file on the host and returns a NumPy array",
    "read_ts": "reads a file on the host and returns NumPy arrays",
}
