r"""Overlap of spectral projectors, in a form that stays accurate near equality."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex

from ..core import matmul, paper, promote_floating, safe_divide, safe_norm
from ._gram import gram_norm, real_matmul
from ._measure import (
    AtomClusters,
    KernelAtoms,
    SpectralAtoms,
    check_pair,
    clear_padding,
    live_atoms,
)


@paper(
    "germain2026spectral",
    "inner product of the normalised spectral projectors of two operators",
)
def overlap(
    atoms1: SpectralAtoms | KernelAtoms,
    atoms2: SpectralAtoms | KernelAtoms,
    *,
    kernel: Callable | None = None,
) -> Complex[Array, "r1 r2"]:
    r"""Inner products between the normalised spectral projectors of two operators.

    .. math:: s_{ij} = \frac{\langle r_i, r'_j\rangle\,
                             \overline{\langle l_i, l'_j\rangle}}
                            {|r_i||r'_j||l_i||l'_j|}
                     = \langle A_i, A'_j\rangle_{HS}, \qquad
              A_i = \frac{r_i l_i^*}{|r_i||l_i|} .

    Parameters
    ----------
    atoms1, atoms2 : SpectralAtoms or KernelAtoms
        Bi-orthonormal atoms of the two operators (:func:`biorthonormalize`),
        both of one type, on features or samples of one dimension.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``; the same for both systems.

    Returns
    -------
    complex array of shape (r1, r2)
        :math:`s_{ij}`, of modulus at most 1; 0 in the cells of padded atoms.

    Raises
    ------
    ValueError
        If shapes disagree or the kernel is missing.
    TypeError
        If the atoms are of two types.

    Notes
    -----
    The condition :math:`l_i^* r_i = 1` fixes the phase of :math:`A_i`, so the
    real part of :math:`s` means something. For ``KernelAtoms`` the inner
    products come from the cross-kernel matrices of the two sets of samples,
    :math:`\langle r_i, r'_j\rangle = \beta_i^* k(x, x') \beta'_j / \sqrt{n n'}`.
    Cost :math:`O(d\, r_1 r_2)`, with kernels :math:`O(n n' (d + r_2))`.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> atoms = operators.spectral_atoms(jnp.array([[0.9, 0.2], [0.0, 0.5]]), 1.0)
    >>> print(jnp.array_str(operators.overlap(atoms, atoms).real, precision=2))
    [[ 1.  -0.2]
     [-0.2  1. ]]
    """
    check_pair(("atoms1", "atoms2"), atoms1, atoms2, kernel)
    return _overlap(atoms1, atoms2, kernel)


@jax.jit
def _overlap(atoms1, atoms2, kernel):
    unit1, unit2 = unit_atoms(atoms1, kernel), unit_atoms(atoms2, kernel)
    return projector_overlap(unit1, unit2, kernel)[0]


def unit_atoms(atoms, kernel: Any = None) -> Any:
    """Atoms with every right and left vector of norm 1, and 0 in padded slots."""
    if isinstance(atoms, AtomClusters):
        return _unit_clusters(atoms)
    atoms = clear_padding(atoms)
    if isinstance(atoms, KernelAtoms):
        beta_norm = gram_norm(kernel(atoms.x, atoms.x), atoms.beta)
        alpha_norm = gram_norm(kernel(atoms.y, atoms.y), atoms.alpha)
        return atoms._replace(
            beta=_scale(atoms.beta, beta_norm), alpha=_scale(atoms.alpha, alpha_norm)
        )
    return atoms._replace(
        right=_scale(atoms.right, safe_norm(atoms.right, 0)),
        left=_scale(atoms.left, safe_norm(atoms.left, 0)),
    )


def _unit_clusters(clusters):
    """Clusters, orthonormal already, with sums over samples instead of means."""
    basis: Any = clear_padding(clusters.basis)
    if isinstance(clusters.basis, KernelAtoms):
        root = jnp.sqrt(jnp.sum(basis.mask, dtype=basis.x.dtype))
        root = root.astype(basis.beta.dtype)
        basis = basis._replace(beta=basis.beta / root, alpha=basis.alpha / root)
    lam, _ = promote_floating(clusters.lam, basis.lam)
    return clusters._replace(lam=jnp.where(live_atoms(clusters), lam, 0), basis=basis)


def projector_overlap(unit1, unit2, kernel: Any = None, *, stable: bool = True):
    r"""Overlap :math:`s` and ``line`` :math:`= 1 - |s|^2` of unit atoms.

    With :math:`x = \langle r, r'\rangle` and
    :math:`y = \overline{\langle l, l'\rangle}` the stable form is
    :math:`1 - |xy|^2 = (1 - |x|^2) + |x|^2 (1 - |y|^2)`, where
    :math:`1 - |x|^2 = |r' - r x|^2`: a sum of small squares, not a difference of
    numbers close to 1. ``KernelAtoms`` have the difference only.
    """
    x, y = inner_products(unit1, unit2, kernel)
    s = x * y.conj()
    if not stable or isinstance(unit1, KernelAtoms):
        return s, jnp.maximum(1 - square(s), 0)
    defect_right = _defect(unit1.right, unit2.right, x)
    defect_left = _defect(unit1.left, unit2.left, y)
    return s, defect_right + square(x) * defect_left


def inner_products(unit1, unit2, kernel: Any = None):
    """Inner products of the right, and of the left vectors of two sets of atoms."""
    if isinstance(unit1, KernelAtoms):
        x = _cross(unit1.beta, kernel(unit1.x, unit2.x), unit2.beta)
        return x, _cross(unit1.alpha, kernel(unit1.y, unit2.y), unit2.alpha)
    x = matmul(unit1.right.conj().T, unit2.right)
    return x, matmul(unit1.left.conj().T, unit2.left)


def square(z):
    """Squared modulus of a complex array, smooth at 0."""
    return z.real**2 + z.imag**2


def _scale(vectors, norm):
    inverse = safe_divide(jnp.ones_like(norm), norm)[None, :]
    return vectors * jax.lax.complex(inverse, jnp.zeros_like(inverse))


def _cross(coefficients1, gram, coefficients2):
    return matmul(coefficients1.conj().T, real_matmul(gram, coefficients2))


def _defect(u, v, x):
    """``1 - |x_ij|^2`` for ``x = u^* v`` of unit columns, as a squared distance.

    Feature by feature, so that no array of three indices is kept.
    """

    def add(total, features):
        u_row, v_row = features
        return total + square(v_row[None, :] - u_row[:, None] * x), None

    return jax.lax.scan(add, jnp.zeros_like(x.real), (u, v), unroll=4)[0]
