r"""The spectral measure of an operator: containers of atoms, and their padding."""

import inspect
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from ..core import (
    check_nonempty,
    check_precision,
    check_real,
    check_shape,
    promote_floating,
)


class SpectralAtoms(NamedTuple):
    r"""Atoms :math:`(\lambda_i, r_i l_i^*)` of an operator on explicit features.

    Attributes
    ----------
    lam : complex array of shape (r,)
        Generator eigenvalues :math:`\lambda_i = \log(\mu_i)/dt`: the real part
        is the growth rate, the imaginary part the angular frequency.
    right : complex array of shape (d, r)
        Right eigenvectors :math:`r_i` as columns.
    left : complex array of shape (d, r)
        Left eigenvectors with :math:`l_i^* r_j = \delta_{ij}`.
    weight : array of shape (r,) or None
        Mass of each atom; an atom of weight exactly 0 is padding, whatever its
        other fields hold. None means that all have the same mass.
    condition : array of shape () or None
        :math:`\max_i |r_i||l_i|` over live atoms, 1 for a normal operator; very
        large where the operator is nearly defective and its atoms mean little.
    """

    lam: Complex[Array, " r"]
    right: Complex[Array, "d r"]
    left: Complex[Array, "d r"]
    weight: Float[Array, " r"] | None = None
    condition: Float[Array, ""] | None = None


class KernelAtoms(NamedTuple):
    r"""Atoms of an operator on a reproducing-kernel space, by coefficients.

    The eigenfunctions are :math:`r_i = n^{-1/2} \sum_j k(x_j, \cdot) \beta_{ji}`
    and :math:`l_i = n^{-1/2} \sum_j k(y_j, \cdot) \alpha_{ji}`, sums over the
    :math:`n` live samples.

    Attributes
    ----------
    lam : complex array of shape (r,)
        Generator eigenvalues, as in :class:`SpectralAtoms`.
    beta : complex array of shape (n, r)
        Coefficients of the right eigenfunctions on ``x``.
    alpha : complex array of shape (n, r)
        Coefficients of the left eigenfunctions on ``y``.
    x, y : arrays of shape (n, d)
        Samples: the states, and the states one step later.
    weight : array of shape (r,) or None
        Mass of each atom, 0 for padding; None means equal masses.
    mask : bool array of shape (n,) or None
        Which samples are live; None means all.
    condition : array of shape () or None
        :math:`\max_i \|r_i\|\|l_i\|` over live atoms.
    """

    lam: Complex[Array, " r"]
    beta: Complex[Array, "n r"]
    alpha: Complex[Array, "n r"]
    x: Float[Array, "n d"]
    y: Float[Array, "n d"]
    weight: Float[Array, " r"] | None = None
    mask: Bool[Array, " n"] | None = None
    condition: Float[Array, ""] | None = None


class AtomClusters(NamedTuple):
    r"""Atoms joined to clusters: one eigenvalue and two subspaces for each cluster.

    A cluster is kept in the slot of its first member, and slots of other members
    are empty, so that the shapes are those of the atoms.

    Attributes
    ----------
    lam : complex array of shape (r,)
        Mean of the eigenvalues of each cluster; 0 in empty slots.
    label : int array of shape (r,)
        Slot of the cluster that each atom belongs to.
    weight : array of shape (r,)
        Mass of each cluster, the sum over its members: :math:`m / m_{tot}` for
        :math:`m` of :math:`m_{tot}` equal atoms; 0 in empty slots.
    basis : SpectralAtoms or KernelAtoms
        The atoms, their vectors orthonormal within each cluster: those of its
        members are bases of the right and of the left space.
    """

    lam: Complex[Array, " r"]
    label: Int[Array, " r"]
    weight: Float[Array, " r"]
    basis: SpectralAtoms | KernelAtoms


def basis_of(atoms) -> Any:
    """The atoms that hold the vectors: those of a cluster, or ``atoms`` themselves."""
    return atoms.basis if isinstance(atoms, AtomClusters) else atoms


def check_matrix(name: str, matrix) -> None:
    """Raise unless an operator is a square matrix, and say how to get it from atoms."""
    if isinstance(matrix, SpectralAtoms | KernelAtoms):
        raise TypeError(
            f"{name}: expected a square matrix, for atoms on explicit features that of "
            f"operator_from_atoms; got {type(matrix).__name__}"
        )
    check_shape(name, matrix, ("d", "d"))
    check_shape(name, matrix, (np.shape(matrix)[0],) * 2)
    check_nonempty(name, matrix)


def check_real_matrix(name: str, matrix) -> None:
    """Raise unless an operator is a square matrix that real solvers take."""
    check_matrix(name, matrix)
    check_real(name, matrix)
    check_precision(name, matrix)


def check_kernel(kernel) -> Any:
    """Return a kernel that can cross a ``jit`` boundary, or raise."""
    if kernel is None:
        raise ValueError(
            "kernel: expected the kernel of the regression, for atoms or fits in a "
            "reproducing-kernel space; got None"
        )
    wanted = (
        "kernel: expected an equinox.Module such as operators.GaussianKernel, or a "
        "jax.tree_util.Partial"
    )
    if _is_pair_of_functions(kernel) or _takes_states_alone(kernel):
        raise TypeError(
            f"{wanted}, of two arguments, kernel(x, y); got {type(kernel).__name__}, "
            "which is features: apply them to the states, and leave out kernel"
        )
    if not isinstance(kernel, eqx.Module | jax.tree_util.Partial):
        raise TypeError(f"{wanted}; got {type(kernel).__name__}")
    return kernel


def _is_pair_of_functions(kernel) -> bool:
    """Whether a kernel is a feature map instead."""
    return isinstance(kernel, tuple) and len(kernel) == 2 and all(map(callable, kernel))


def _takes_states_alone(kernel) -> bool:
    """Whether a kernel is features instead, called as ``features(x)``."""
    if not isinstance(kernel, eqx.Module) or not callable(kernel):
        return False
    signature = inspect.signature(kernel)
    try:
        signature.bind(None, None)
    except TypeError:
        return True
    return False


def check_atoms(
    name: str, atoms, kernel=None, *, batched: bool = False, clusters: bool = False
) -> Any:
    """Raise unless the fields of atoms fit together; return the kernel they need."""
    if kernel is not None:
        check_kernel(kernel)
    if clusters and isinstance(atoms, AtomClusters):
        check_atoms(f"{name}.basis", atoms.basis, kernel, batched=batched)
        for field in ("lam", "label", "weight"):
            value = getattr(atoms, field)
            check_shape(f"{name}.{field}", value, atoms.basis.lam.shape)
        return kernel
    if not isinstance(atoms, SpectralAtoms | KernelAtoms):
        raise TypeError(
            f"{name}: expected SpectralAtoms or KernelAtoms; got {type(atoms).__name__}"
        )
    for field, value in atoms._asdict().items():
        if isinstance(value, list | tuple) and field not in ("weight", "mask"):
            got = type(value).__name__
            raise TypeError(f"{name}.{field}: expected an array; got {got}")
    lead = ("N",) if batched else ()
    check_shape(f"{name}.lam", atoms.lam, (*lead, "r"))
    check_nonempty(f"{name}.lam", atoms.lam)
    lead, r = atoms.lam.shape[:-1], atoms.lam.shape[-1]
    if isinstance(atoms, KernelAtoms):
        check_kernel(kernel)
        check_shape(f"{name}.x", atoms.x, (*lead, "n", "d"))
        check_nonempty(f"{name}.x", atoms.x)
        n = atoms.x.shape[-2]
        check_shape(f"{name}.y", atoms.y, atoms.x.shape)
        check_shape(f"{name}.beta", atoms.beta, (*lead, n, r))
        check_shape(f"{name}.alpha", atoms.alpha, (*lead, n, r))
        if atoms.mask is not None:
            check_shape(f"{name}.mask", atoms.mask, (*lead, n))
    else:
        check_shape(f"{name}.right", atoms.right, (*lead, "d", r))
        check_nonempty(f"{name}.right", atoms.right)
        check_shape(f"{name}.left", atoms.left, atoms.right.shape)
    if atoms.weight is not None:
        check_shape(f"{name}.weight", atoms.weight, (*lead, r))
    return kernel


def check_pair(
    names, atoms1, atoms2, kernel=None, *, batched: bool = False, clusters: bool = False
) -> None:
    """Raise unless two systems, or two batches of them, can be compared."""
    for name, atoms in zip(names, (atoms1, atoms2)):
        check_atoms(name, atoms, kernel, batched=batched, clusters=clusters)
    if type(atoms1) is not type(atoms2):
        raise TypeError(
            f"{names[1]}: expected {type(atoms1).__name__}, as {names[0]} is; "
            f"got {type(atoms2).__name__}"
        )
    if isinstance(atoms1, AtomClusters):
        names = [f"{name}.basis" for name in names]
        return check_pair(names, atoms1.basis, atoms2.basis, kernel, batched=batched)
    if isinstance(atoms1, KernelAtoms):
        what, d, other = "samples", atoms1.x.shape[-1], atoms2.x.shape[-1]
    else:
        what, d, other = "features", atoms1.right.shape[-2], atoms2.right.shape[-2]
    if d != other:
        raise ValueError(
            f"{names[1]}: expected {what} of dimension {d}, as in {names[0]}; "
            f"got dimension {other}"
        )


def live_atoms(atoms) -> jax.Array:
    """Which atoms are no padding; negative and NaN weights are left to the solver."""
    if atoms.weight is None:
        return jnp.ones(np.shape(atoms.lam), bool)
    return jnp.asarray(atoms.weight) != 0


def clear_padding(atoms: Any) -> Any:
    """Cast the fields to one precision and put 0 in every padded slot.

    After this no value stored in padding, NaN included, can reach a result or a
    gradient. ``mask`` is filled in; ``condition`` is dropped.
    """
    live = live_atoms(atoms)
    fields = {
        k: v for k, v in atoms._asdict().items() if k not in ("mask", "condition")
    }
    fields: dict[str, Any] = dict(zip(fields, promote_floating(*fields.values())))
    for name, value in fields.items():
        if name in ("x", "y", "weight"):
            fields[name] = None if value is None else value.real
        elif not jnp.iscomplexobj(value):
            fields[name] = jax.lax.complex(value, jnp.zeros_like(value))
    if isinstance(atoms, KernelAtoms):
        mask = atoms.mask
        if mask is None:
            mask = jnp.ones(atoms.x.shape[:1], bool)
        for name in ("x", "y", "beta", "alpha"):
            fields[name] = jnp.where(mask[:, None], fields[name], 0)
        fields["mask"] = mask
    for name in ("right", "left", "beta", "alpha"):
        if name in fields:
            fields[name] = jnp.where(live[None, :], fields[name], 0)
    fields["lam"] = jnp.where(live, fields["lam"], 0)
    return type(atoms)(**fields)
