"""Results in the formats of other tools."""

import contextlib
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import MissingExtraError
from ..core._files import temporary_path, to_json, write_npz
from ._load import load
from ._tidy import tidy

if TYPE_CHECKING:
    import xarray

FORMATS = {
    ".nc": "netCDF",
    ".zarr": "zarr",
    ".parquet": "a table with a row a trial",
    ".npz": "NumPy arrays",
}
_PACKAGES = {".nc": ("h5netcdf", "h5py"), ".zarr": ("zarr",), ".parquet": ("pyarrow",)}


def export(out: "str | Path | xarray.Dataset", path: str | Path) -> Path:
    """Write results as netCDF, zarr, parquet or NumPy arrays, by the suffix.

    The file is written under another name beside ``path``, and renamed when it is
    whole.

    Parameters
    ----------
    out : str, Path or xarray.Dataset
        Folder given to :func:`sweep`, or what it returned.
    path : str or Path
        File to write; an existing one is replaced. ``.nc`` and ``.zarr`` hold the
        whole data set, as ``xarray.load_dataset`` reads it. ``.npz`` holds an array a
        variable and coordinate, and as JSON texts ``__dims__``, the names of their
        axes, and ``__attrs__``. ``.parquet`` holds a table for pandas, with a row a
        trial and a column a hyper-parameter, static option and output, ``seed`` and
        ``status``; an output with axes of its own is a column of nested lists, a
        complex one ``z`` two columns ``z.real`` and ``z.imag``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FileNotFoundError
        If ``out`` is no sweep's folder.
    MissingExtraError
        If the package that writes the format is absent.
    OSError
        If the file cannot be written; one that was there is intact.
    ValueError
        If the suffix is none of the four, trials are missing in the folder, or two
        columns would have one name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from jaxrepro.sweep import Grid, export, sweep
    >>> result = sweep(lambda key, p: 2 * p["x"], Grid(x=[1.0, 3.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = export(result, pathlib.Path(folder) / "result.npz")
    ...     arrays = dict(np.load(file))
    >>> arrays["value"].ravel().tolist(), arrays["x"].tolist()
    ([2.0, 6.0], [1.0, 3.0])
    """
    path = check_format(path)
    for package in _PACKAGES.get(path.suffix, ()):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "sweep", f"Writing {FORMATS[path.suffix]}")
    dataset = load(out) if isinstance(out, str | os.PathLike) else out
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npz":
        write_npz(path, _arrays(dataset))
        return path
    with _replacing(path) as temporary:
        _write(dataset, temporary)
    return path


def check_format(path: str | Path) -> Path:
    """The path, or an error unless its suffix tells a format that is known."""
    path = Path(path)
    if path.suffix not in FORMATS:
        known = ", ".join(f"{suffix} ({what})" for suffix, what in FORMATS.items())
        raise ValueError(f"path: expected one of {known}; got {path.name!r}")
    return path


def _write(dataset, path):
    match path.suffix:
        case ".nc":
            attrs = {name: _plain(value) for name, value in dataset.attrs.items()}
            dataset.assign_attrs(attrs).to_netcdf(path, engine="h5netcdf")
        case ".zarr":
            # The third version has no agreed form of strings and of joined metadata.
            dataset.to_zarr(path, mode="w-", zarr_format=2, consolidated=True)
        case ".parquet":
            table = tidy(dataset)
            table.attrs = {name: _plain(x) for name, x in dataset.attrs.items()}
            table.to_parquet(path, engine="pyarrow")


def _plain(value):
    """An attribute as netCDF can hold it: a text or a number, other things as JSON."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float) else to_json(value)


def _arrays(dataset) -> dict[str, Any]:
    """Arrays by name, without objects, which only Python would read."""
    variables = dataset.variables.items()
    arrays = {str(name): np.asarray(x.values) for name, x in variables}
    arrays = {k: x.astype(str) if x.dtype == object else x for k, x in arrays.items()}
    dims = {str(name): x.dims for name, x in variables}
    texts = {"__dims__": to_json(dims), "__attrs__": to_json(dataset.attrs)}
    return arrays | {name: np.asarray(text) for name, text in texts.items()}


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write to, which takes its place at the end."""
    temporary = temporary_path(path)
    try:
        yield temporary
        if temporary.is_file():
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        if temporary.is_dir() and path.is_dir():
            # A rename replaces no folder that has files.
            old = temporary_path(path)
            os.replace(path, old)
            os.replace(temporary, path)
            shutil.rmtree(old)
        else:
            os.replace(temporary, path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        else:
            temporary.unlink(missing_ok=True)
