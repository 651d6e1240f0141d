"""Files of the IDX format: one array of numbers, in big-endian order."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from ._files import check_path

# The third byte of a file tells the type of its numbers.
_DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: str | Path) -> np.ndarray:
    """Read a file of the IDX format, which MNIST and its relatives come in.

    Parameters
    ----------
    path : str or Path
        The file; compressed by gzip if it starts as such files do.

    Returns
    -------
    array
        The numbers, in the order of bytes of this machine.

    Raises
    ------
    ValueError
        If the file is damaged, cut short or of another format.
    FileNotFoundError
        If there is none.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from jaxrepro.data import read_idx
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "two-by-three.idx")
    >>> _ = file.write_bytes(bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(6)]))
    >>> read_idx(file)
    array([[0, 1, 2],
           [3, 4, 5]], dtype=uint8)
    >>> folder.cleanup()
    """
    file = check_path("path", path)
    content = file.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{file}: damaged gzip file: {error}") from None
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _DTYPES:
        raise ValueError(
            f"{file}: expected an IDX file, which starts with two zero bytes and a "
            f"type of number; got {content[:4].hex(' ') or 'no bytes'}"
        )
    dtype, n_axes = np.dtype(_DTYPES[content[2]]), content[3]
    start = 4 + 4 * n_axes
    sizes = content[4:start].ljust(4 * n_axes, b"\0")
    shape = tuple(int(n) for n in np.frombuffer(sizes, ">u4"))
    size = start + math.prod(shape) * dtype.itemsize
    if len(content) != size:
        raise ValueError(
            f"{file}: expected {size} bytes for numbers of shape {shape}; got "
            f"{len(content)}: the file is cut short or damaged"
        )
    numbers = np.frombuffer(content, dtype, offset=start).reshape(shape)
    return numbers.astype(dtype.newbyteorder("="))
