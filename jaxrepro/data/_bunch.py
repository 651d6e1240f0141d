"""What a loader returns: arrays, names, and where they come from."""

from typing import NamedTuple

import numpy as np


class Bunch(NamedTuple):
    """Labelled time series of one length, with their provenance.

    Attributes
    ----------
    series : float64 array of shape (n, n_steps, n_channels)
        The recordings.
    labels : int array of shape (n,)
        Class of each recording, an index into ``label_names``.
    label_names : tuple of str
        Names of the classes.
    channel_names : tuple of str
        Names of the channels.
    sampling_rate : float
        Samples a second (Hz).
    is_train : bool array of shape (n,)
        Whether a recording belongs to the published training set.
    description : str
        What was recorded, by whom.
    licence : str
        Terms of use.
    source : str
        Where the files were read.
    sha256 : str
        SHA-256 of the bytes of the files, in the order in which they were read.
    """

    series: np.ndarray
    labels: np.ndarray
    label_names: tuple[str, ...]
    channel_names: tuple[str, ...]
    sampling_rate: float
    is_train: np.ndarray
    description: str
    licence: str
    source: str
    sha256: str
