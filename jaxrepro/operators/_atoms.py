r"""Spectral atoms of an operator: eigenvalues and bi-orthonormal eigenvectors."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Inexact, Real

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_nonempty,
    check_precision,
    check_shape,
    eig_biorthogonal,
    matmul,
    paper,
    promote_floating,
    safe_norm,
)
from ._fit import KernelOperatorFit, LinearOperatorFit, check_fit
from ._gram import gram_norm, real_matmul
from ._measure import (
    KernelAtoms as KernelAtoms,
    SpectralAtoms as SpectralAtoms,
    check_atoms,
    check_kernel,
    clear_padding,
    live_atoms,
)


@paper(
    "kostic2022learning",
    "eigenvalues of a low-rank estimator from the small matrix of its factors",
)
@jax.jit
def _small_matrix(operator, kernel):
    """A factored operator in one dtype, and the r x r matrix with its eigenvalues."""
    if isinstance(operator, LinearOperatorFit):
        return operator, matmul(operator.W.T, operator.V)
    operator = _clear_samples(operator)
    gram = kernel(operator.y, operator.x)
    n = jnp.sum(operator.mask, dtype=gram.dtype)
    return operator, matmul(operator.V.T, matmul(gram, operator.U)) / n


@paper(
    "germain2026spectral",
    "definition of the spectral measure of an operator",
    uses=(_small_matrix,),
)
def spectral_atoms(
    operator: Inexact[ArrayLike, "d d"] | LinearOperatorFit | KernelOperatorFit,
    dt: Real[ArrayLike, ""],
    *,
    mag_floor: Real[ArrayLike, ""] = 1e-3,
    gap_tol: Real[ArrayLike, ""] = 0.0,
    kernel: Callable | None = None,
    rank: int | None = None,
    select: str = "slowest",
) -> SpectralAtoms | KernelAtoms:
    r"""Spectral atoms of a transfer operator: generator eigenvalues and eigenvectors.

    .. math:: G r_i = \mu_i r_i, \qquad l_i^* G = \mu_i l_i^*, \qquad
              l_i^* r_j = \delta_{ij}, \qquad \lambda_i = \log(\mu_i) / dt .

    Parameters
    ----------
    operator : array of shape (d, d), LinearOperatorFit or KernelOperatorFit
        The operator :math:`G` on weight vectors of linear observables
        (:math:`(Gw)^T x` predicts :math:`w^T y`; for a system :math:`y = A x`
        that is :math:`A^T`), or the result of a regression.
    dt : float
        Time step between the two samples of a pair, positive. Frequencies are
        unambiguous below :math:`\pi/dt` in absolute value.
    mag_floor : float, default 1e-3
        Eigenvalues with :math:`|\mu|` below this count as noise: they get
        weight 0, and their logarithm is that of the floor.
    gap_tol : float, default 0.0
        Eigenvalues :math:`\mu` closer than this do not couple in derivatives, as in
        :func:`jaxrepro.core.eig_biorthogonal`; values do not depend on it.
    kernel : equinox.Module, optional
        The kernel of the regression; needed for a ``KernelOperatorFit`` only.
    rank : int, optional
        How many atoms to keep, by default all.
    select : {"slowest"}
        Which atoms to keep: ``"slowest"`` takes the largest :math:`|\mu|`, the
        modes that decay last.

    Returns
    -------
    SpectralAtoms or KernelAtoms
        ``rank`` atoms, slowest first, with equal ``weight`` on the live ones.
        complex64 for float32 input.

    Raises
    ------
    ValueError
        If ``operator`` is not square, ``rank`` exceeds its dimension or rank,
        ``dt``, ``mag_floor`` or ``gap_tol`` is a concrete number out of range,
        ``select`` is unknown, or a ``KernelOperatorFit`` comes without its kernel.
    TypeError
        If ``rank`` is not an integer, or ``operator`` is in half precision.

    Notes
    -----
    The measure on pairs (eigenvalue, spectral projector) is the paper's; what
    follows is ours. The logarithm is the principal branch. A :math:`\mu` whose
    imaginary part is rounding (at most 64 machine epsilons of :math:`|\mu|`)
    counts as real, and a negative real one gives :math:`+\pi/dt`, so that the
    distance of a system to itself does not hang on the sign of a rounding error.
    A conjugate pair of a real operator is never split: if ``rank`` cuts one, its
    remaining half gets weight 0. All weights 0 (no eigenvalue above the floor)
    is an empty measure, whose distances are NaN; so are those for a traced
    ``dt``, ``mag_floor`` or ``gap_tol`` out of range.

    The factored form :math:`G = V W^T` needs the eigenvalues of the
    :math:`r \times r` matrix :math:`W^T V` only; with
    :math:`W^T V = P \operatorname{diag}(\mu) Q^*` the vectors are
    :math:`r_i = V p_i` and :math:`l_i = W q_i / \bar\mu_i`. In a
    reproducing-kernel space the matrix is :math:`V^T M U` with
    :math:`M = [k(y_i, x_j)]/n`, and :math:`\beta = U P`,
    :math:`\alpha = V Q \operatorname{diag}(1/\bar\mu)`.

    Derivatives flow through :func:`jaxrepro.core.eig_biorthogonal`; use them in
    functions that do not see the phase of an eigenvector, as the distances here.
    Weights can be dropped (``atoms._replace(weight=None)``) where all atoms are
    live; distances then solve assignment problems. On a TPU call it outside ``jit``.

    References
    ----------
    [germain2026spectral], [kostic2022learning]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> angle = 2 * jnp.pi * 0.5 * 0.1  # 0.5 Hz, seen every 0.1 s
    >>> turn = jnp.array([[jnp.cos(angle), jnp.sin(angle)],
    ...                   [-jnp.sin(angle), jnp.cos(angle)]])
    >>> atoms = operators.spectral_atoms(0.99 * turn, dt=0.1)
    >>> (atoms.lam.imag / (2 * jnp.pi)).round(4).tolist()
    [0.5, -0.5]
    """
    check_choice("select", select, ("slowest",))
    check_shape("dt", dt, ())
    check_interval("dt", dt, 0.0, closed="neither")
    check_shape("mag_floor", mag_floor, ())
    check_interval("mag_floor", mag_floor, 0.0)
    check_shape("gap_tol", gap_tol, ())
    check_interval("gap_tol", gap_tol, 0.0)
    fit = None
    if isinstance(operator, LinearOperatorFit | KernelOperatorFit):
        check_fit("operator", operator)
        if isinstance(operator, KernelOperatorFit):
            check_kernel(kernel)
        fit, matrix = _small_matrix(operator, kernel)
    else:
        (matrix,) = promote_floating(operator)
        check_shape("operator", matrix, ("d", "d"))
        check_shape("operator", matrix, (len(matrix), len(matrix)))
    check_nonempty("operator", matrix)
    check_precision("operator", matrix)
    rank = len(matrix) if rank is None else rank
    rank = check_integer("rank", rank, maximum=len(matrix))

    # This step stays outside jit when its input is concrete (TPUs have no kernel).
    eig = eig_biorthogonal(matrix, gap_tol=gap_tol)
    numbers = (jnp.asarray(s, eig.values.real.dtype) for s in (dt, mag_floor, gap_tol))
    is_real = not jnp.iscomplexobj(matrix)
    return _atoms(fit, eig, *numbers, kernel, rank=rank, is_real=is_real)


@functools.partial(jax.jit, static_argnames=("rank", "is_real"))
def _atoms(fit, eig, dt, mag_floor, gap_tol, gram, *, rank, is_real):
    """Atoms of a matrix (``fit`` None) or of a fit, from its eigenvectors."""
    dt = jnp.where((mag_floor >= 0) & (gap_tol >= 0), dt, jnp.nan)
    lam, p, q, weight, inverse = _select(eig, dt, mag_floor, rank, is_real)
    if isinstance(fit, KernelOperatorFit):
        x, y, mask = fit.x, fit.y, fit.mask
        beta, alpha = real_matmul(fit.U, p), real_matmul(fit.V, q * inverse)
        norms = gram_norm(gram(x, x), beta) * gram_norm(gram(y, y), alpha)
        condition = _largest(norms / jnp.sum(mask, dtype=norms.dtype), weight != 0)
        return KernelAtoms(lam, beta, alpha, x, y, weight, mask, condition)
    if isinstance(fit, LinearOperatorFit):
        p, q = real_matmul(fit.V, p), real_matmul(fit.W, q * inverse)
    condition = _largest(safe_norm(p, 0) * safe_norm(q, 0), weight != 0)
    return SpectralAtoms(lam, p, q, weight, condition)


def biorthonormalize(
    atoms: SpectralAtoms | KernelAtoms, *, kernel: Callable | None = None
) -> SpectralAtoms | KernelAtoms:
    r"""Rescale matched eigenvectors to :math:`|r_i| = 1` and :math:`l_i^* r_i = 1`.

    Eigen-solvers that return left and right vectors scale each as they like.
    The distances of this area need :math:`l_i^* r_i = 1`, which fixes the phase
    of :math:`r_i l_i^*`.

    Parameters
    ----------
    atoms : SpectralAtoms or KernelAtoms
        Right and left eigenvectors, matched one to one, of any scale.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``.

    Returns
    -------
    SpectralAtoms or KernelAtoms
        The same atoms, rescaled, with ``condition`` filled in. Vectors of
        padded atoms become 0; a live pair with :math:`l_i^* r_i = 0` (no
        eigenvectors of one simple eigenvalue are) gives vectors that are not
        finite.

    Raises
    ------
    ValueError
        If the shapes of the fields disagree or the kernel is missing.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import SpectralAtoms, biorthonormalize
    >>> right = jnp.eye(2) + 0j
    >>> atoms = SpectralAtoms(jnp.zeros(2) + 0j, 3j * right, 2 * right)
    >>> unit = biorthonormalize(atoms)
    >>> (unit.left.conj().T @ unit.right).real.tolist(), float(unit.condition)
    ([[1.0, 0.0], [0.0, 1.0]], 1.0)
    """
    return _biorthonormalize(atoms, check_atoms("atoms", atoms, kernel))


@jax.jit
def _biorthonormalize(atoms, gram):
    unit: Any = clear_padding(atoms)
    live = live_atoms(unit)
    if isinstance(atoms, KernelAtoms):
        n = jnp.sum(unit.mask, dtype=unit.x.dtype)
        right, left = unit.beta, unit.alpha
        norm = gram_norm(gram(unit.x, unit.x), right) / jnp.sqrt(n)
        paired = real_matmul(gram(unit.y, unit.x) / n, right)
    else:
        right, left = unit.right, unit.left
        norm, paired = safe_norm(right, 0), right
    norm = jnp.where(live, norm, 1).astype(right.dtype)
    product = jnp.sum(left.conj() * paired, axis=0) / norm
    right = right / norm[None]
    left = left / jnp.where(live, product, 1).conj()[None]
    if isinstance(atoms, KernelAtoms):
        # |r_i| = 1 by now, so the condition is the largest |l_i|.
        norms = gram_norm(gram(unit.y, unit.y), left) / jnp.sqrt(n)
        unit = unit._replace(beta=right, alpha=left)
    else:
        norms = safe_norm(left, 0)
        unit = unit._replace(right=right, left=left)
    return unit._replace(condition=_largest(norms, live))


def _clear_samples(fit):
    """The fit in one dtype, with 0 in the rows of masked samples."""
    rows = promote_floating(fit.U, fit.V, fit.x, fit.y)
    u, v, x, y = (jnp.where(fit.mask[:, None], z, 0) for z in rows)
    return fit._replace(U=u, V=v, x=x, y=y)


def _select(eig, dt, mag_floor, rank, is_real):
    """Order, cut, floor and take the logarithm of a spectrum."""
    eps = jnp.finfo(dt.dtype).eps
    re, im = eig.values.real, eig.values.imag
    # A conjugate pair shares |mu| to the last bit, so both members stay adjacent.
    size = jnp.abs(jax.lax.complex(re, jnp.abs(im)))
    im = jnp.where(jnp.abs(im) <= 64 * eps * size, 0, im)
    keep = jnp.lexsort((-im, jnp.abs(im), re, -size))[:rank]
    re, im, size = re[keep], im[keep], size[keep]
    floored = (size < mag_floor) | (size == 0)
    live = ~floored
    if is_real:
        split = jnp.sum(im > 0) != jnp.sum(im < 0)
        last = jnp.arange(rank) == rank - 1
        live = live & ~(split & last)
    weight = live.astype(dt.dtype)
    weight = weight / jnp.maximum(jnp.sum(weight), 1)

    # The phase of a floored eigenvalue is noise, so its logarithm is taken as real.
    lowest = jnp.where(mag_floor > 0, mag_floor, 1)
    growth = jnp.log(jnp.where(floored, lowest, size))
    angle = jnp.arctan2(jnp.where(floored, 0, im), jnp.where(floored, 1, re))
    step = jnp.where(dt > 0, dt, jnp.nan)
    lam = jax.lax.complex(growth / step, angle / step)
    mu = jnp.where(floored, 1, jax.lax.complex(re, im))
    inverse = jnp.where(floored, 0, 1 / mu.conj())[None]
    right = jnp.where(floored[None], 0, eig.right[:, keep])
    left = jnp.where(floored[None], 0, eig.left[:, keep])
    return lam, right, left, weight, inverse


def _largest(norms, live):
    """Condition number over live atoms; :math:`|r||l|` is at least 1."""
    return jnp.max(jnp.where(live, norms, 1), initial=1)
