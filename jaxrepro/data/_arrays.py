"""Arrays of an ``.npz`` file, by name."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def read_arrays(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """The arrays of those names; objects are never unpickled."""
    try:
        with np.load(path) as file:
            if isinstance(file, np.ndarray):
                raise ValueError("a single array")
            if not set(names) <= set(file):
                raise ValueError(str(sorted(file)))
            return [file[name] for name in names]
    except Exception as error:  # whatever a damaged file brings about
        got = str(error) if type(error) is ValueError else repr(error)
        raise ValueError(
            f"{path}: expected arrays {', '.join(names)}; got {got[:200]}"
        ) from None
