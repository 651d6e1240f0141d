"""What a loader returns: arrays, names, and where they come from."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Bunch(NamedTuple):
    """Labelled time series with their provenance.

    Attributes
    ----------
    series : float64 array of shape (n, n_steps, n_channels), or tuple of arrays
        The recordings: one array if all have the same length, or else n arrays of
        shape (n_steps_i, n_channels). Functions that take a list of recordings,
        such as :func:`jaxrepro.operators.distance_matrix`, take both.
    labels : int array of shape (n,)
        Class of each recording, an index into ``label_names``.
    label_names : tuple of str
        Names of the classes.
    channel_names : tuple of str
        Names of the channels.
    sampling_rate : float
        Samples a second (Hz); NaN where the source does not say.
    is_train : bool array of shape (n,) or None
        Whether a recording belongs to the published training set; None if there
        is no published split.
    description : str
        What was recorded, by whom.
    licence : str
        Terms of use.
    source : str
        Where the files were read.
    sha256 : str
        SHA-256 of the bytes of the files, in the order in which they were read.
    subjects : int array of shape (n,) or None
        Who was recorded, where the source says so.
    """

    series: np.ndarray | tuple[np.ndarray, ...]
    labels: np.ndarray
    label_names: tuple[str, ...]
    channel_names: tuple[str, ...]
    sampling_rate: float
    is_train: np.ndarray | None
    description: str
    licence: str
    source: str
    sha256: str
    subjects: np.ndarray | None = None


def one_array_if_equal(series: Sequence[np.ndarray]):
    """Stack recordings of one length; a tuple of them otherwise."""
    equal = len({len(recording) for recording in series}) == 1
    return np.stack(series) if equal else tuple(series)
