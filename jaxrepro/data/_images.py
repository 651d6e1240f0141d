"""What a loader of images returns."""

from typing import NamedTuple

import numpy as np


class Images(NamedTuple):
    """Images with their provenance.

    Attributes
    ----------
    images : float array of shape (n, height, width, channels)
        Values in [-1, 1].
    description : str
        What is shown, by whom.
    licence : str
        Terms of use.
    source : str
        Where the files were read.
    sha256 : str
        SHA-256 of the bytes of the files, in the order in which they were read.
    labels : int array of shape (n,) or None
        Class of each image, an index into ``label_names``; None if there are none.
    label_names : tuple of str
        Names of the classes.
    """

    images: np.ndarray
    description: str
    licence: str
    source: str
    sha256: str
    labels: np.ndarray | None = None
    label_names: tuple[str, ...] = ()


def pooled(images: np.ndarray, size: int) -> np.ndarray:
    """Means over squares of ``size`` pixels; both sides must be multiples of it."""
    if size == 1:
        return images
    n, height, width, channels = images.shape
    squares = n, height // size, size, width // size, size, channels
    return images.reshape(squares).mean((2, 4), dtype=images.dtype)
