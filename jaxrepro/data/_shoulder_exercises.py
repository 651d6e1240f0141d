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
    file = folder / _FILE
    content = read_object_array(file)
    fields = ("X", "X_labels", "subject", "y", "y_labels")
    if not isinstance(content, dict) or not set(fields) <= set(content):
        raise ValueError(
            f"{file}: expected a dictionary with {', '.join(fields)}; got "
            f"{sorted(content) if isinstance(content, dict) else type(content)}"
        )
    series, channels, subjects, labels, names = (content[field] for field in fields)
    channels = _names(file, "X_labels", channels)
    names = _names(file, "y_labels", names)
    series = _recordings(file, series, len(channels))
    labels = _integers(file, "y", labels, len(series))
    if labels.min() < 0 or labels.max() >= len(names):
        raise ValueError(
            f"{file}: y: expected labels from 0 to {len(names) - 1}; got labels from "
            f"{labels.min()} to {labels.max()}"
        )
    return Bunch(
        series=one_array_if_equal(series),
        labels=labels,
        label_names=names,
        channel_names=channels,
        sampling_rate=50.0,
        is_train=None,
        description=_DESCRIPTION,
        licence="BSD-3-Clause (as distributed with seglearn)",
        source=str(folder),
        sha256=digest([file]),
        subjects=_integers(file, "subject", subjects, len(series)),
    )


def _names(file, field, names):
    if not isinstance(names, list) or not all(isinstance(x, str) for x in names):
        raise ValueError(f"{file}: {field}: expected a list of texts; got another")
    return tuple(names)


def _recordings(file, series, n_channels):
    if not isinstance(series, list) or not series:
        raise ValueError(f"{file}: X: expected a list of recordings; got another")
    for position, x in enumerate(series):
        is_real = isinstance(x, np.ndarray) and x.dtype.kind in "fiu"
        if not is_real or x.ndim != 2 or x.shape[1] != n_channels or not len(x):
            got = f"{x.dtype} {x.shape}" if isinstance(x, np.ndarray) else type(x)
            raise ValueError(
                f"{file}: X: expected real arrays of shape (n_steps, {n_channels}), "
                f"one column a name in X_labels; got {got} at position {position}"
            )
    if sum(x.nbytes for x in series) > file.stat().st_size:
        raise ValueError(f"{file}: X: expected recordings; got one many times over")
    return [np.array(x, float) for x in series]


def _integers(file, field, values, size):
    if isinstance(values, list) and all(type(value) is int for value in values):
        values = np.array(values)
    is_array = isinstance(values, np.ndarray)
    if not is_array or values.dtype.kind not in "iu" or values.shape != (size,):
        got = f"{values.dtype} {values.shape}" if is_array else type(values)
        raise ValueError(
            f"{file}: {field}: expected {size} integers, one a recording; got {got}"
        )
    return values.astype(int)
