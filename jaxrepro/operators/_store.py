"""Atoms on disk, as one NumPy archive."""

import errno
import os
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core import check_shape
from ..core._files import write_npz
from ._measure import KernelAtoms, SpectralAtoms, check_atoms

_TYPES = {"SpectralAtoms": SpectralAtoms, "KernelAtoms": KernelAtoms}
_FORMAT = 1


def save_atoms(path: str | os.PathLike, atoms: SpectralAtoms | KernelAtoms) -> None:
    """Write atoms, of one system or of a batch, to a NumPy archive.

    Parameters
    ----------
    path : str or path-like
        File to write, with the suffix ``.npz``. An existing file, or the one that
        a symbolic link points to, is replaced in one step: a reader sees the old
        file or the new one.
    atoms : SpectralAtoms or KernelAtoms
        What to write; fields that are None stay None, and bfloat16 is stored as
        float32.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
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
    fields |= {k: _storable(v) for k, v in atoms._asdict().items() if v is not None}
    path = pathlib.Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.parent))
    write_npz(path, {name: np.asarray(value) for name, value in fields.items()})


def _storable(value):
    """An array of a dtype that NumPy itself knows, unlike bfloat16."""
    value = np.asarray(value)
    return value.astype(np.float32) if value.dtype.isbuiltin == 2 else value


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
        If the file is no archive of atoms, damaged, of a later format, or its
        fields do not fit together.

    Examples
    --------
    >>> from jaxrepro.operators import load_atoms
    >>> load_atoms("no_such_file.npz")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'no_such_file.npz'
    """
    wrong = f"path: expected a file that save_atoms wrote; got {str(path)!r}"
    fields = _read(path, wrong)
    kind, version = fields.pop("type", None), fields.pop("format", None)
    if kind is None or version is None or str(kind) not in _TYPES:
        raise ValueError(wrong)
    if version.ndim or version.dtype.kind not in "iu" or version < 1:
        raise ValueError(f"{wrong} with format {version.tolist()!r}")
    if int(version) > _FORMAT:
        raise ValueError(
            f"path: expected format {_FORMAT} or earlier; got format {int(version)}, "
            "which a later version of jaxrepro wrote"
        )
    container = _TYPES[str(kind)]
    required = set(container._fields) - set(container._field_defaults)
    if not required <= set(fields) <= set(container._fields):
        raise ValueError(f"{wrong} with fields {sorted(fields)}")
    _check_fields(container, fields, wrong)
    return container(
        **{
            name: jnp.asarray(value, jax.dtypes.canonicalize_dtype(value.dtype))
            for name, value in fields.items()
        }
    )


def _read(path, wrong):
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                return dict(archive)
        except Exception as error:  # zipfile, zlib and NumPy raise a dozen types
            raise ValueError(f"{wrong} ({error})") from None


def _check_fields(container, fields, wrong):
    """Raise unless all fields are numbers and, after the batch axes, fit together."""
    for name, value in fields.items():
        if value.dtype.kind not in "biufc":
            raise ValueError(f"{wrong} with {name} of dtype {value.dtype}")
    lead = fields["lam"].shape[:-1]
    if any(value.shape[: len(lead)] != lead for value in fields.values()):
        shapes = {name: value.shape for name, value in fields.items()}
        raise ValueError(f"{wrong} with shapes {shapes}")
    one = {
        name: jax.ShapeDtypeStruct(value.shape[len(lead) :], value.dtype)
        for name, value in fields.items()
    }
    try:
        check_atoms("atoms", container(**one), jax.tree_util.Partial(jnp.vdot))
        check_shape("atoms.condition", one.get("condition", 1.0), ())
    except ValueError as error:
        raise ValueError(f"{wrong} ({error})") from None
