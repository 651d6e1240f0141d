r"""The operator that has given atoms."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Complex, Float, Real

from ..core import check_interval, check_shape, matmul
from ._measure import KernelAtoms, SpectralAtoms, check_atoms, clear_padding


def operator_from_atoms(
    atoms: SpectralAtoms, dt: Real[ArrayLike, ""], *, real: bool = True
) -> Float[Array, "d d"] | Complex[Array, "d d"]:
    r"""Transfer operator with given atoms.

    .. math:: T = \sum_i e^{\lambda_i\,dt}\, r_i l_i^*

    Parameters
    ----------
    atoms : SpectralAtoms
        Bi-orthonormal atoms in explicit features; padded ones are left out.
    dt : float
        Time step of the operator.
    real : bool, default True
        Whether to return the real part, which is the operator itself if its atoms
        come in conjugate pairs. False gives the complex matrix.

    Returns
    -------
    array of shape (d, d)
        The operator :math:`T`, acting on columns.

    Raises
    ------
    ValueError
        If the fields of atoms do not fit, or a concrete ``dt`` is not positive.
    TypeError
        If ``atoms`` are ``KernelAtoms``, which act on functions, or a field is a list
        and no array.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import operator_from_atoms, spectral_atoms
    >>> turn = jnp.array([[0.3, -0.5], [0.5, 0.3]])
    >>> print(operator_from_atoms(spectral_atoms(turn, 0.1), 0.1).round(3))
    [[ 0.3 -0.5]
     [ 0.5  0.3]]
    """
    if isinstance(atoms, KernelAtoms):
        raise TypeError(
            "atoms: expected SpectralAtoms; got KernelAtoms, whose operator acts on "
            "functions and has no matrix"
        )
    check_atoms("atoms", atoms)
    check_shape("dt", dt, ())
    check_interval("dt", dt, 0.0, closed="neither")
    atoms = clear_padding(atoms)
    dt = jnp.asarray(dt, atoms.lam.real.dtype)
    dt = jnp.where(dt > 0, dt, jnp.nan)
    mu = jnp.exp(jax.lax.complex(atoms.lam.real * dt, atoms.lam.imag * dt))
    operator = matmul(atoms.right * mu[None, :], atoms.left.conj().T)
    return operator.real if real else operator
