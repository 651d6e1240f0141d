"""MNIST and Fashion-MNIST: 28 x 28 grey images in ten classes."""

from pathlib import Path

import numpy as np

from ..core import DataUnavailableError, check_choice, check_integer
from ._arrays import read_arrays
from ._files import check_path, digest, find_folder
from ._idx import read_idx
from ._images import Images, pooled

_PARTS = {"train": "train", "test": "t10k"}
_GARMENTS = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
    "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
# Where Debian's package dataset-fashion-mnist puts its files.
_DEBIAN = Path("/usr/share/datasets/fashion-mnist")


def load_fashion_mnist(
    path: str | Path | None = None, *, split: str = "train", pool: int = 1
) -> Images:
    """Load Fashion-MNIST: grey images of garments in ten classes.

    Parameters
    ----------
    path : str or Path, optional
        Folder with the IDX files ``train-images-idx3-ubyte`` and so on, with or
        without ``.gz``, or an ``.npz`` file with arrays ``images`` and ``labels``. By
        default the folder of the environment variable ``JAXREPRO_DATA``, in which
        they, or ``FashionMNIST.npz``, may lie in a folder ``FashionMNIST``, or else
        that of Debian's package ``dataset-fashion-mnist``.
    split : {"train", "test"}, default "train"
        The 60,000 images for training, or the 10,000 for tests.
    pool : {1, 2, 4, 7, 14, 28}, default 1
        Side of the squares of pixels that are replaced by their mean.

    Returns
    -------
    Images
        ``images`` in float32 of shape (n, 28/pool, 28/pool, 1), ``labels`` and the
        ten ``label_names``.

    Raises
    ------
    DataUnavailableError
        If the files are nowhere.
    ValueError
        If a file is damaged or holds something else, or an option is unknown.

    Examples
    --------
    >>> from jaxrepro.core import DataUnavailableError
    >>> from jaxrepro.data import load_fashion_mnist
    >>> try:
    ...     shape = load_fashion_mnist(pool=2).images.shape
    ... except DataUnavailableError:  # the package is not installed
    ...     shape = 60000, 14, 14, 1
    >>> shape
    (60000, 14, 14, 1)
    """
    return _load(
        "FashionMNIST", path, split, pool, _GARMENTS,
        description="Fashion-MNIST: garments from the articles of Zalando",
        licence="MIT",
        debian="dataset-fashion-mnist",
    )  # fmt: skip


def load_mnist(
    path: str | Path | None = None, *, split: str = "train", pool: int = 1
) -> Images:
    """Load MNIST: grey images of handwritten digits.

    Parameters
    ----------
    path : str or Path, optional
        Folder with the IDX files ``train-images-idx3-ubyte`` and so on, with or
        without ``.gz``, or an ``.npz`` file with arrays ``images`` and ``labels``. By
        default the folder of the environment variable ``JAXREPRO_DATA``, in which
        they, or ``MNIST.npz``, may lie in a folder ``MNIST``.
    split : {"train", "test"}, default "train"
        The 60,000 images for training, or the 10,000 for tests. An ``.npz`` file has
        one set only, which is that for training.
    pool : {1, 2, 4, 7, 14, 28}, default 1
        Side of the squares of pixels that are replaced by their mean.

    Returns
    -------
    Images
        ``images`` in float32 of shape (n, 28/pool, 28/pool, 1), ``labels`` and the
        ten ``label_names``.

    Raises
    ------
    DataUnavailableError
        If the files are nowhere.
    ValueError
        If a file is damaged or holds something else, or an option is unknown.

    Examples
    --------
    >>> from jaxrepro.core import DataUnavailableError
    >>> from jaxrepro.data import load_mnist
    >>> try:
    ...     shape = load_mnist(split="test").images.shape
    ... except DataUnavailableError:  # no folder of yours holds the files
    ...     shape = 10000, 28, 28, 1
    >>> shape
    (10000, 28, 28, 1)
    """
    return _load(
        "MNIST", path, split, pool, tuple("0123456789"),
        description="MNIST: handwritten digits, by Y. LeCun, C. Cortes, C. Burges",
        licence="CC BY-SA 3.0",
    )  # fmt: skip


def _load(
    name, path, split, pool, label_names, *, description, licence, debian=None
) -> Images:
    check_choice("split", split, tuple(_PARTS))
    pool = check_integer("pool", pool)
    if 28 % pool:
        raise ValueError(f"pool: expected a divisor of 28; got {pool}")
    given = None if path is None else check_path("path", path)
    if given is not None and given.suffix == ".npz":
        if not given.is_file():
            raise DataUnavailableError(f"path: expected an .npz file; got {path}")
        if split != "train":
            raise ValueError("split: an .npz file has 'train' only; got 'test'")
        files = [given]
    else:
        files = _find(name, given, _PARTS[split], debian)
    if files[0].suffix == ".npz":
        images, labels = read_arrays(files[0], ("images", "labels"))
    else:
        images, labels = (read_idx(file) for file in files)
    images = _checked(files[0], images)
    if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{files[-1]}: labels: expected {len(images)} integers, one an image; got "
            f"{labels.dtype} {labels.shape}"
        )
    if labels.size and not 0 <= labels.min() <= labels.max() < len(label_names):
        raise ValueError(f"{files[-1]}: labels: expected classes 0 to 9")
    scaled = images.astype(np.float32)[..., None] / np.float32(127.5) - 1
    return Images(
        pooled(scaled, pool),
        description,
        licence,
        str(files[0].parent),
        digest(files),
        labels.astype(np.int64),
        label_names,
    )


def _find(name, path, part, debian):
    """Files of the images and of their labels."""
    stems = f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"
    packed = tuple(f"{stem}.gz" for stem in stems)
    places = [(path, packed), (path, stems)]
    if part == "train":
        places.append((path, (f"{name}.npz",)))
    if debian and path is None:
        places.append((_DEBIAN, packed))
    for folder, files in places:
        try:
            found = find_folder(name, files, folder)
        except DataUnavailableError:
            continue
        return [found / file for file in files]
    where = f"got {path}" if path is not None else "no such folder was found"
    hint = f" Debian has them as package {debian}." if debian else ""
    raise DataUnavailableError(
        f"{name}: expected a folder with {stems[0]} and {stems[1]}, with or without "
        f".gz, given as argument path or by the environment variable JAXREPRO_DATA, "
        f"with or without a folder {name} in it; {where}.{hint}"
    )


def _checked(file, images):
    """Images of shape (n, 28, 28); rows of 784 pixels are images too."""
    if images.ndim == 2 and images.shape[1] == 784:
        images = images.reshape(-1, 28, 28)
    if images.shape[1:] != (28, 28) or images.dtype != np.uint8:
        raise ValueError(
            f"{file}: images: expected bytes of shape (n, 28, 28) or (n, 784); got "
            f"{images.dtype} {images.shape}"
        )
    return images
