"""JapaneseVowels: nine men say the same two vowels, and the question is who."""

from pathlib import Path

from ._archive import read_halves
from ._bunch import Bunch

_CHANNELS = tuple(f"cepstrum_{k}" for k in range(1, 13))


def load_japanese_vowels(path: str | Path | None = None) -> Bunch:
    """Load JapaneseVowels, 640 short utterances of nine speakers.

    Parameters
    ----------
    path : str or Path, optional
        Folder with ``JapaneseVowels_TRAIN.ts`` and ``JapaneseVowels_TEST.ts``. By
        default the folder of the environment variable ``JAXREPRO_DATA``, if it
        holds them, or else the copy within the installed package aeon, which is
        read without being imported.

    Returns
    -------
    Bunch
        ``series``, a tuple of 640 arrays of shape (T_k, 12) with T_k from 7 to 29:
        cepstrum coefficients of a linear prediction, one row each 6.4 ms;
        ``labels`` of shape (640,), the speaker; the 270 recordings of the
        published training set first, 30 a speaker.

    Raises
    ------
    DataUnavailableError
        If the files are nowhere; the message holds the ``pip install`` line.
    TsFormatError
        If they hold something else.

    Notes
    -----
    Recorded by M. Kudo, J. Toyama, M. Shimbo for "Multidimensional curve
    classification using passing-through regions", Pattern Recognition Letters
    20, 1999. The step of 6.4 ms is that of the description in the UCI repository,
    of which the archive holds a copy.

    Examples
    --------
    >>> from jaxrepro.data import load_japanese_vowels
    >>> vowels = load_japanese_vowels()
    >>> [len(recording) for recording in vowels.series[:3]], vowels.series[0].shape
    ([20, 26, 22], (20, 12))
    """
    vowels = read_halves("JapaneseVowels", path, channel_names=_CHANNELS)
    return vowels._replace(
        sampling_rate=156.25, licence="BSD-3-Clause (as distributed with aeon)"
    )
