"""Atoms on disk, as one NumPy archive."""

import os
import pathlib
import tempfile
import zipfile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._measure import KernelAtoms, SpectralAtoms

_TYPES = {"SpectralAtoms": SpectralAtoms, "KernelAtoms": KernelAtoms}
_FORMAT = 1


def save_atoms(path: str | os.PathLike, atoms: SpectralAtoms | KernelAtoms) -> None:
    """Write atoms, of one system or of a batch, to a NumPy archive.

    Parameters
    ----------
    path : str or path-like
        File to write, with the suffix ``.npz``. An existing file is replaced, in
        one step: a reader sees the old file or the new one.
    atoms : SpectralAtoms or KernelAtoms
        What to write; fields that are None stay None.

    Raises
    ------
    TypeError
        If ``atoms`` is neither of the two types.
    ValueError
        If the suffix is not ``.npz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> atoms = operators.spectral_atoms(jnp.diag(jnp.array([0.9, 0.5])), dt=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "system.npz"
    ...     operators.save_atoms(file, atoms)
    ...     again = operators.load_atoms(file)
    >>> print(jnp.array_str(again.lam.real, precision=2))
    [-1.05 -6.93]
    """
    kind = type(atoms).__name__
    if not isinstance(atoms, SpectralAtoms | KernelAtoms):
        raise TypeError(f"atoms: expected SpectralAtoms or KernelAtoms; got {kind}")
    path = pathlib.Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"path: expected a name that ends in .npz; got {path.name!r}")
    fields: dict[str, Any] = {"type": kind, "format": _FORMAT}
    fields |= {k: np.asarray(v) for k, v in atoms._asdict().items() if v is not None}
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **fields)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def load_atoms(path: str | os.PathLike) -> SpectralAtoms | KernelAtoms:
    """Read atoms that :func:`save_atoms` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    SpectralAtoms or KernelAtoms
        The atoms as JAX arrays; double precision becomes single unless x64 is
        enabled.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no archive of atoms, or of a later format.

    Examples
    --------
    >>> from jaxrepro.operators import load_atoms
    >>> load_atoms("no_such_file.npz")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'no_such_file.npz'
    """
    wrong = f"path: expected a file that save_atoms wrote; got {str(path)!r}"
    try:
        with np.load(path, allow_pickle=False) as archive:
            fields = dict(archive)
    except (ValueError, EOFError, zipfile.BadZipFile, TypeError) as error:
        raise ValueError(f"{wrong} ({error})") from None
    kind, version = fields.pop("type", None), fields.pop("format", None)
    if kind is None or version is None or str(kind) not in _TYPES:
        raise ValueError(wrong)
    if int(version) > _FORMAT:
        raise ValueError(
            f"path: expected format {_FORMAT} or earlier; got format {int(version)}, "
            "which a later version of jaxrepro wrote"
        )
    container = _TYPES[str(kind)]
    required = set(container._fields) - set(container._field_defaults)
    if not required <= set(fields) <= set(container._fields):
        raise ValueError(f"{wrong} with fields {sorted(fields)}")
    return container(
        **{
            name: jnp.asarray(value, jax.dtypes.canonicalize_dtype(value.dtype))
            for name, value in fields.items()
        }
    )
