"""BasicMotions: a smart watch on the wrist of people who stand, run, walk, play."""

import hashlib
import importlib.util
import os
from pathlib import Path

import numpy as np

from ..core import DataUnavailableError
from ._bunch import Bunch
from ._ts import read_ts

_FILES = ("BasicMotions_TRAIN.ts", "BasicMotions_TEST.ts")
_CHANNELS = ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")


def load_basic_motions(path: str | Path | None = None) -> Bunch:
    """Load BasicMotions, 80 recordings of a smart watch in four activities.

    Parameters
    ----------
    path : str or Path, optional
        Folder with ``BasicMotions_TRAIN.ts`` and ``BasicMotions_TEST.ts``. By
        default the folder ``BasicMotions`` in that of the environment variable
        ``JAXREPRO_DATA``, if it is there, or else the copy within the installed
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
    folder = _folder(path)
    parts = [read_ts(folder / name) for name in _FILES]
    train, test = parts
    names = train.label_names
    labels = [names.index(label) for part in parts for label in part.labels or ()]
    digest = hashlib.sha256(b"".join((folder / f).read_bytes() for f in _FILES))
    return Bunch(
        series=np.stack([*train.series, *test.series]),
        labels=np.array(labels),
        label_names=names,
        channel_names=_CHANNELS,
        sampling_rate=10.0,
        is_train=np.repeat([True, False], [len(train.series), len(test.series)]),
        description=train.comments.replace("\n", " "),
        licence="BSD-3-Clause (as distributed with aeon)",
        source=str(folder),
        sha256=digest.hexdigest(),
    )


def _folder(path):
    if path is not None:
        folder = Path(path)
        if not all((folder / name).is_file() for name in _FILES):
            raise DataUnavailableError(
                f"path: expected a folder with {' and '.join(_FILES)}; got {folder}"
            )
        return folder
    places = []
    if os.environ.get("JAXREPRO_DATA"):
        places.append(Path(os.environ["JAXREPRO_DATA"], "BasicMotions"))
    spec = importlib.util.find_spec("aeon")  # finds the package, does not import it
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / "datasets" / "data" / "BasicMotions")
    for folder in places:
        if all((folder / name).is_file() for name in _FILES):
            return folder
    raise DataUnavailableError(
        "BasicMotions ships with the package aeon, which is not installed. "
        'Install it with: pip install "jaxrepro[data]". Or give a folder that holds '
        "the files: load_basic_motions(path), or the environment variable "
        "JAXREPRO_DATA with a folder BasicMotions in it."
    )
