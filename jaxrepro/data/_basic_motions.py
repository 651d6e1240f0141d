"""BasicMotions: a smart watch on the wrist of people who stand, run, walk, play."""

from pathlib import Path

from ._archive import read_halves
from ._bunch import Bunch

_CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")


def load_basic_motions(path: str | Path | None = None) -> Bunch:
    """Load BasicMotions, 80 recordings of a smart watch in four activities.

    Parameters
    ----------
    path : str or Path, optional
        Folder with ``BasicMotions_TRAIN.ts`` and ``BasicMotions_TEST.ts``, whatever
        else is in it. By default the folder of the environment variable
        ``JAXREPRO_DATA``, if it holds them, or else the copy within the installed
        package aeon, which is read without being imported.

    Returns
    -------
    Bunch
        ``series`` of shape (80, 100, 6): 10 s at 10 Hz of a 3-axis accelerometer
        and a 3-axis gyroscope; ``labels`` of shape (80,), 20 a class, the
        published training half first.

    Raises
    ------
    DataUnavailableError
        If the files are nowhere; the message holds the ``pip install`` line.
    TsFormatError
        If they hold something else.

    Notes
    -----
    The values are those of the archive, not standardised. The archive does not
    name the channels; the order accelerometer, gyroscope is that of its text.

    Examples
    --------
    >>> from jaxrepro.data import load_basic_motions
    >>> motions = load_basic_motions()
    >>> motions.series.shape, motions.label_names[motions.labels[0]]
    ((80, 100, 6), 'Standing')
    """
    motions = read_halves("BasicMotions", path, channel_names=_CHANNELS)
    return motions._replace(
        sampling_rate=10.0, licence="BSD-3-Clause (as distributed with aeon)"
    )
