"""Small real data sets and synthetic generators; nothing is ever downloaded."""

from ._basic_motions import load_basic_motions as load_basic_motions
from ._bunch import Bunch as Bunch
from ._linear_system import make_linear_system as make_linear_system
from ._oscillator import (
    make_oscillator as make_oscillator,
    square_wave as square_wave,
)
from ._ts import (
    TimeSeriesFile as TimeSeriesFile,
    TsFormatError as TsFormatError,
    read_ts as read_ts,
)

__all__ = [
    "Bunch",
    "TimeSeriesFile",
    "TsFormatError",
    "load_basic_motions",
    "make_linear_system",
    "make_oscillator",
    "read_ts",
    "square_wave",
]
