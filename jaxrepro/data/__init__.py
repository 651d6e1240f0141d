"""Small real data sets and synthetic generators; nothing is ever downloaded."""

from ._archive import load_uea as load_uea
from ._basic_motions import load_basic_motions as load_basic_motions
from ._bunch import Bunch as Bunch
from ._idx import read_idx as read_idx
from ._images import Images as Images
from ._japanese_vowels import load_japanese_vowels as load_japanese_vowels
from ._linear_system import make_linear_system as make_linear_system
from ._mnist import (
    load_fashion_mnist as load_fashion_mnist,
    load_mnist as load_mnist,
)
from ._oscillator import (
    make_oscillator as make_oscillator,
    square_wave as square_wave,
)
from ._photo_patches import load_photo_patches as load_photo_patches
from ._shoulder_exercises import load_shoulder_exercises as load_shoulder_exercises
from ._spoken_digits import load_spoken_digits as load_spoken_digits
from ._ts import (
    TimeSeriesFile as TimeSeriesFile,
    TsFormatError as TsFormatError,
    read_ts as read_ts,
)

__all__ = [
    "Bunch",
    "Images",
    "TimeSeriesFile",
    "TsFormatError",
    "load_basic_motions",
    "load_fashion_mnist",
    "load_japanese_vowels",
    "load_mnist",
    "load_photo_patches",
    "load_shoulder_exercises",
    "load_spoken_digits",
    "load_uea",
    "make_linear_system",
    "make_oscillator",
    "read_idx",
    "read_ts",
    "square_wave",
]
