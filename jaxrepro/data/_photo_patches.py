"""Patches of the two photographs that scikit-learn ships."""

import importlib.util
from pathlib import Path

import numpy as np

from ..core import DataUnavailableError, MissingExtraError, check_integer
from ._files import digest
from ._images import Images

_FILES = ("china.jpg", "flower.jpg")


def load_photo_patches(size: int = 8, *, stride: int = 4) -> Images:
    """Square patches of two colour photographs, a temple and a flower.

    Parameters
    ----------
    size : int, default 8
        Height and width of a patch.
    stride : int, default 4
        Pixels from a patch to the next; patches overlap where it is below ``size``.

    Returns
    -------
    Images
        ``images`` of shape (n, size, size, 3): 33390 patches by default, those of the
        temple first, in reading order.

    Raises
    ------
    DataUnavailableError
        If scikit-learn is not installed or ships them no more.
    MissingExtraError
        If Pillow, which reads them, is not installed.
    ValueError
        If ``size`` exceeds the 427 x 640 pixels of a photograph, or an option is not
        positive.

    Notes
    -----
    The files within the installed package are read without importing it.

    Examples
    --------
    >>> from jaxrepro.data import load_photo_patches
    >>> load_photo_patches(8).images.shape
    (33390, 8, 8, 3)
    """
    size = check_integer("size", size, maximum=427)
    stride = check_integer("stride", stride)
    folder = _folder()
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "plots", "load_photo_patches") from error
    files = [folder / name for name in _FILES]
    patches = []
    for file in files:
        pixels = np.asarray(Image.open(file), np.float64) / 127.5 - 1
        rows, columns = (range(0, n - size + 1, stride) for n in pixels.shape[:2])
        patches += [pixels[i : i + size, j : j + size] for i in rows for j in columns]
    return Images(
        np.stack(patches),
        "patches of china.jpg and flower.jpg, two photographs",
        "CC BY 2.0, danielbuechele and vultilion (as distributed with scikit-learn)",
        str(folder),
        digest(files),
    )


def _folder() -> Path:
    spec = importlib.util.find_spec("sklearn")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "datasets" / "images"
        if all((folder / name).is_file() for name in _FILES):
            return folder
    raise DataUnavailableError(
        "photo patches: the package scikit-learn, which ships the photographs, is not "
        'installed. Install it: pip install "jaxrepro[data]"'
    )
