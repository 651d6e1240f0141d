r"""The difference of two operators as a product of thin factors."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Inexact

from ..core import (
    check_interval,
    check_shape,
    matmul,
    promote_floating,
    safe_divide,
)
from ._fit import KernelOperatorFit, LinearOperatorFit, check_fit
from ._gram import real_matmul, unit_entries
from ._measure import (
    KernelAtoms,
    SpectralAtoms,
    check_atoms,
    check_kernel,
    clear_padding,
    live_atoms,
)

FACTORED = (SpectralAtoms, KernelAtoms, LinearOperatorFit, KernelOperatorFit)
Operator = (
    Inexact[ArrayLike, "... _ _"]
    | LinearOperatorFit
    | KernelOperatorFit
    | SpectralAtoms
    | KernelAtoms
)


class Factors(NamedTuple):
    r"""An operator :math:`T = s A B^*`, and all that depends on it alone.

    Attributes
    ----------
    right, left : arrays of shape (d, r) or (n, r)
        :math:`A` and :math:`B`; with samples, coefficients on them. Entries are
        at most 1, so that no square over- or underflows.
    x, y : arrays of shape (n, d) or None
        Samples on which ``right`` and ``left`` are coefficients.
    right_gram, left_gram : arrays of shape (r, r)
        :math:`A^* A` and :math:`B^* B`.
    scale : array of shape ()
        :math:`s`, a constant for derivatives.
    """

    right: Inexact[Array, "_ r"]
    left: Inexact[Array, "_ r"]
    x: Inexact[Array, "n d"] | None
    y: Inexact[Array, "n d"] | None
    right_gram: Inexact[Array, "r r"]
    left_gram: Inexact[Array, "r r"]
    scale: Float[Array, ""]


def transfer_eigenvalues(name: str, atoms: Any, dt) -> jax.Array:
    r"""Eigenvalues :math:`\mu = e^{\lambda\,dt}` of live atoms, 0 for padded ones."""
    _check_step(name, dt)
    (lam,) = promote_floating(atoms.lam)
    live = live_atoms(atoms)
    lam = jnp.where(live, lam, 0)
    dt = jnp.asarray(dt, lam.real.dtype)
    dt = jnp.where(dt > 0, dt, jnp.nan)
    mu = jnp.exp(jax.lax.complex(lam.real * dt, lam.imag * dt))
    return jnp.where(live, mu, 0)


def check_operators(
    names, operator1, operator2, dt, dt2, kernel, *, batched: bool = False
) -> tuple[Any, Any]:
    """Return two operators, or two batches of them, that can be compared, or raise."""
    operators = operator1, operator2
    if kernel is not None:
        check_kernel(kernel)
    lead = ("N",) if batched else ()
    if not any(isinstance(operator, FACTORED) for operator in operators):
        first, second = promote_floating(*operators)
        check_shape(names[0], first, (*lead, "d", "d"))
        d = first.shape[-2]
        check_shape(names[0], first, (*lead, d, d))
        check_shape(names[1], second, (*lead, d, d))
        return first, second
    if type(operator1) is not type(operator2):
        raise TypeError(
            f"{names[1]}: expected {type(operator1).__name__}, as {names[0]} is; "
            f"got {type(operator2).__name__}"
        )
    steps = (("dt", dt), ("dt2", dt2))
    for name, operator, (dt_name, step) in zip(names, operators, steps):
        if isinstance(operator, LinearOperatorFit | KernelOperatorFit):
            check_fit(name, operator, batched=batched)
        else:
            check_atoms(name, operator, kernel, batched=batched)
            _check_step(dt_name, step, len(operator.lam) if batched else None)
    if isinstance(operator1, KernelOperatorFit | KernelAtoms):
        check_kernel(kernel)
        d = jnp.shape(operator1.x)[-1]
        check_shape(f"{names[1]}.x", operator2.x, (*lead, "n", d))
    else:
        field = "V" if isinstance(operator1, LinearOperatorFit) else "right"
        first, second = (getattr(operator, field) for operator in operators)
        check_shape(names[1], second, (*lead, jnp.shape(first)[-2], "r"))
    return operators


def prepare(operator, dt, kernel) -> Any:
    """All that distances need of one checked operator; a matrix is taken as it is."""
    if not isinstance(operator, FACTORED):
        return operator
    right, left, x, y = _factors(operator, dt, kernel)
    (right, scale_right), (left, scale_left) = unit_entries(right), unit_entries(left)
    grams = _inner(right, right, x, x, kernel), _inner(left, left, y, y, kernel)
    return Factors(right, left, x, y, *grams, scale_right * scale_left)


def prepare_pair(operator1, operator2, dt, dt2, kernel):
    """Check two operators, and prepare both."""
    dt2 = dt if dt2 is None else dt2
    names = ("operator1", "operator2")
    one, two = check_operators(names, operator1, operator2, dt, dt2, kernel)
    return prepare(one, dt, kernel), prepare(two, dt2, kernel)


def difference_grams(one: Factors, two: Factors, kernel):
    r"""Gram matrices :math:`R^*R` and :math:`L^*L` of :math:`T - T' = s R L^*`, and s.

    With :math:`T = s_1 A B^*` and :math:`T' = s_2 A' B'^*` the factors are
    :math:`R = [A s_1, -A' s_2] / s` and :math:`L = [B, B']`, where
    :math:`s = \max(s_1, s_2)`.
    """
    right = -_inner(one.right, two.right, one.x, two.x, kernel)
    left = _inner(one.left, two.left, one.y, two.y, kernel)
    scale = jnp.maximum(one.scale, two.scale)
    c1, c2 = (
        safe_divide(factors.scale, scale).astype(right.dtype) for factors in (one, two)
    )
    right = c1 * c2 * right
    return (
        jnp.block([[c1**2 * one.right_gram, right],
                   [right.conj().T, c2**2 * two.right_gram]]),
        jnp.block([[one.left_gram, left], [left.conj().T, two.left_gram]]),
        scale,
    )  # fmt: skip


def _check_step(name, dt, n=None):
    """Raise unless ``dt`` is a positive time step, or one for each of n systems."""
    if dt is None:
        raise ValueError(f"{name}: expected a time step, as atoms do not keep one")
    check_shape(name, dt, () if n is None or not jnp.ndim(dt) else (n,))
    check_interval(name, dt, 0.0, closed="neither")


def _factors(operator, dt, kernel):
    """Factors ``A, B`` of ``T = A B^*``; with a kernel they are coefficients."""
    if isinstance(operator, LinearOperatorFit):
        v, w = promote_floating(operator.V, operator.W)
        return v, w, None, None
    if isinstance(operator, KernelOperatorFit):
        u, v, x, y = promote_floating(operator.U, operator.V, operator.x, operator.y)
        return _scaled_samples(u, v, x, y, operator.mask)
    mu = transfer_eigenvalues("dt", operator, dt)[None, :]
    atoms = clear_padding(operator)
    if isinstance(atoms, SpectralAtoms):
        return atoms.right * mu, atoms.left, None, None
    return _scaled_samples(atoms.beta * mu, atoms.alpha, atoms.x, atoms.y, atoms.mask)


def _scaled_samples(u, v, x, y, mask):
    """Coefficients with the factor ``n^(-1/2)``, and 0 for masked samples."""
    root = jnp.sqrt(jnp.sum(mask, dtype=x.dtype))
    u, v, x, y = (jnp.where(mask[:, None], z, 0) for z in (u, v, x, y))
    root = root.astype(u.dtype)
    return u / root, v / root, x, y


def _inner(a, b, x1, x2, kernel):
    """Inner products of the columns of two factors."""
    if x1 is None:
        return matmul(a.conj().T, b)
    gram = kernel(x1, x2)
    image = real_matmul(gram, b) if jnp.iscomplexobj(b) else matmul(gram, b)
    return matmul(a.conj().T, image)
