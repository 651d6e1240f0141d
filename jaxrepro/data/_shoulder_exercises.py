"""Shoulder exercises: what somebody does, from the watch on the wrist."""

from pathlib import Path

import numpy as np

from ._array_pickle import read_object_array
from ._bunch import Bunch, one_array_if_equal
from ._files import Shipped, digest, find_folder

_FILE = "watch_dataset.npy"
_SHIPPED = Shipped("seglearn", "data")
_DESCRIPTION = (
    "Seven physiotherapy exercises of the shoulder, some 20 repetitions a recording, "
    "by 10 healthy subjects with either arm, from the inertial sensor of a watch. "
    "Names are abbreviated as in the file. D. M. Burns et al., Shoulder physiotherapy "
    "exercise recognition, Physiological Measurement 39, 2018."
)


def load_shoulder_exercises(path: str | Path | None = None) -> Bunch:
    """Load 140 recordings of a smart watch in seven exercises of the shoulder.

    Parameters
    ----------
    path : str or Path, optional
        Folder with ``watch_dataset.npy``. By default the folder of the environment
        variable ``JAXREPRO_DATA``, if it holds the file, or else the copy within
        the installed package seglearn, which is read without being imported.

    Returns
    -------
    Bunch
        ``series``, a tuple of 140 arrays of shape (T_k, 6) with T_k from 947 to
        2618, at 50 Hz: a 3-axis accelerometer and a 3-axis gyroscope; ``labels`` of
        shape (140,), 20 a class; ``subjects`` from 1 to 10. There is no published
        split; one that holds out subjects is harder than one that does not.

    Raises
    ------
    DataUnavailableError
        If the file is nowhere; the message holds the ``pip install`` line.
    ValueError
        If the file holds something else.

    Notes
    -----
    The file is a pickle. It is read by an unpickler that knows NumPy arrays and
    nothing else, so that no code in a file can run.

    Examples
    --------
    >>> from jaxrepro.data import load_shoulder_exercises
    >>> exercises = load_shoulder_exercises()
    >>> len(exercises.series), exercises.series[0].shape, exercises.label_names[0]
    (140, (1333, 6), 'PEN')
    """
    folder = find_folder("ShoulderExercises", (_FILE,), path, shipped=_SHIPPED)
    content = read_object_array(folder / _FILE)
    fields = ("X", "X_labels", "subject", "y", "y_labels")
    if not isinstance(content, dict) or not set(fields) <= set(content):
        raise ValueError(
            f"{folder / _FILE}: expected a dictionary with {', '.join(fields)}; "
            f"got {content if not isinstance(content, dict) else sorted(content)}"
        )
    series, channels, subjects, labels, names = (content[field] for field in fields)
    return Bunch(
        series=one_array_if_equal([np.asarray(x, float) for x in series]),
        labels=np.asarray(labels),
        label_names=tuple(names),
        channel_names=tuple(channels),
        sampling_rate=50.0,
        is_train=None,
        description=_DESCRIPTION,
        licence="BSD-3-Clause (as distributed with seglearn)",
        source=str(folder),
        sha256=digest([folder / _FILE]),
        subjects=np.asarray(subjects),
    )
