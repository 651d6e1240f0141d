"""Recordings of real data sets, prepared alike, and their delay windows."""

import numpy as np

from jaxrepro.data import (
    load_basic_motions,
    load_japanese_vowels,
    load_shoulder_exercises,
    load_spoken_digits,
    load_uea,
)

LOADERS = {
    "BasicMotions": load_basic_motions,
    "ShoulderExercises": load_shoulder_exercises,
    "JapaneseVowels": load_japanese_vowels,
    "SpokenDigits": load_spoken_digits,
}


def load_set(name, seed, *, per_class, max_steps):
    """Recordings, standardised by channel over the set, with labels.

    At most so many of a class are drawn at random, and of each recording so many
    frames are kept, the first.
    """
    bunch = LOADERS[name]() if name in LOADERS else load_uea(name)
    generator = np.random.default_rng(seed)
    chosen = [
        k
        for label in range(len(bunch.label_names))
        for k in np.sort(
            generator.permutation(np.flatnonzero(bunch.labels == label))[:per_class]
        )
    ]
    series = [bunch.series[k] for k in chosen]
    if name == "ShoulderExercises":  # from 50 to 10 frames a second, by means
        series = [
            x[: len(x) // 5 * 5].reshape(-1, 5, x.shape[1]).mean(1) for x in series
        ]
    series = [x[:max_steps] for x in series]
    rows = np.concatenate(series)
    series = [(x - rows.mean(0)) / rows.std(0) for x in series]
    return series, bunch.labels[chosen]


def windows_of(recording, n_delays):
    """Delay windows of a recording, as rows."""
    views = np.lib.stride_tricks.sliding_window_view(recording, n_delays, axis=0)
    return np.swapaxes(views, 1, 2).reshape(len(views), -1)
