"""Data sets in the layout of the UEA and UCR time-series archive."""

import re
from pathlib import Path

import numpy as np

from ._bunch import Bunch, one_array_if_equal
from ._files import Shipped, digest, find_folder
from ._ts import TsFormatError, read_ts

_NAME = re.compile(r"\w[\w.-]{0,99}")


def load_uea(name: str, path: str | Path | None = None) -> Bunch:
    """Load a data set of the UEA and UCR time-series archive that you have.

    Parameters
    ----------
    name : str
        Name of the set in the archive, for instance ``"Epilepsy"``.
    path : str or Path, optional
        Folder with ``<name>_TRAIN.ts`` and ``<name>_TEST.ts``, or with a folder
        ``<name>`` that holds them. By default that of the environment variable
        ``JAXREPRO_DATA``, or else the few sets within the installed package aeon,
        which is read without being imported.

    Returns
    -------
    Bunch
        The published training half first. ``series`` is a tuple if lengths differ,
        and NaN where a value is missing; ``sampling_rate`` is NaN, and channels
        have numbers, since the files tell neither.

    Raises
    ------
    TypeError
        If ``name`` is no text, or ``path`` neither text nor Path.
    ValueError
        If ``name`` is no name of a set: empty, too long, or with a separator of
        folders.
    DataUnavailableError
        If the files are nowhere.
    TsFormatError
        If a file is no labelled ``.ts`` file, or the two do not fit together.

    Examples
    --------
    >>> from jaxrepro.data import load_uea
    >>> pointing = load_uea("GunPoint")
    >>> pointing.series.shape, pointing.label_names
    ((200, 150, 1), ('1', '2'))
    """
    if not isinstance(name, str):
        raise TypeError(
            f"name: expected the name of a set, a str; got {type(name).__name__}"
        )
    if not _NAME.fullmatch(name):
        raise ValueError(
            "name: expected the name of a set, of letters, digits, '_', '-' and '.', "
            f"such as 'Epilepsy'; got {name[:40]!r}"
        )
    halves = read_halves(name, path)
    return halves._replace(
        channel_names=tuple(
            f"channel {k}" for k in range(1, 1 + halves.series[0].shape[1])
        )
    )


def read_halves(name: str, path: str | Path | None, *, channel_names=()) -> Bunch:
    """Both files of a set; with the number of channels that is known of it."""
    files = (f"{name}_TRAIN.ts", f"{name}_TEST.ts")
    shipped = Shipped("aeon", f"datasets/data/{name}")
    folder = find_folder(name, files, path, shipped=shipped)
    train, test = (read_ts(folder / file) for file in files)
    for file, part in zip(files, (train, test)):
        n_channels = part.series[0].shape[1]
        expected = len(channel_names) or train.series[0].shape[1]
        if part.labels is None:
            raise TsFormatError(f"{folder / file}: expected class labels; got none")
        if n_channels != expected:
            raise TsFormatError(
                f"{folder / file}: expected {expected} channels; got {n_channels}"
            )
    if set(train.label_names) != set(test.label_names):
        raise TsFormatError(
            f"{folder / files[1]}: expected the classes of {files[0]}, "
            f"{', '.join(train.label_names)}; got {', '.join(test.label_names)}"
        )
    index = {label: k for k, label in enumerate(train.label_names)}
    labels = [*(train.labels or ()), *(test.labels or ())]
    return Bunch(
        series=one_array_if_equal([*train.series, *test.series]),
        labels=np.array([index[label] for label in labels]),
        label_names=train.label_names,
        channel_names=channel_names,
        sampling_rate=np.nan,
        is_train=np.repeat([True, False], [len(train.series), len(test.series)]),
        description=" ".join(train.comments.split()),
        licence="not stated in the files",
        source=str(folder),
        sha256=digest(folder / file for file in files),
    )
