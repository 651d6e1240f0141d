r"""The difference of two operators as a product of thin factors."""

from typing import Any

import jax
import jax.numpy as jnp

from ..core import check_interval, check_shape, matmul, promote_floating
from ._fit import KernelOperatorFit, LinearOperatorFit, check_fit
from ._gram import real_matmul
from ._measure import (
    KernelAtoms,
    SpectralAtoms,
    check_atoms,
    check_kernel,
    clear_padding,
    live_atoms,
)

FACTORED = (SpectralAtoms, KernelAtoms, LinearOperatorFit, KernelOperatorFit)


def transfer_eigenvalues(name: str, atoms: Any, dt) -> jax.Array:
    r"""Eigenvalues :math:`\mu = e^{\lambda\,dt}` of live atoms, 0 for padded ones."""
    if dt is None:
        raise ValueError(f"{name}: expected a time step, as atoms do not keep one")
    check_shape(name, dt, ())
    check_interval(name, dt, 0.0, closed="neither")
    (lam,) = promote_floating(atoms.lam)
    live = live_atoms(atoms)
    lam = jnp.where(live, lam, 0)
    dt = jnp.asarray(dt, lam.real.dtype)
    dt = jnp.where(dt > 0, dt, jnp.nan)
    mu = jnp.exp(jax.lax.complex(lam.real * dt, lam.imag * dt))
    return jnp.where(live, mu, 0)


def dense_difference(operator1, operator2) -> jax.Array | None:
    """``T - T'`` if both are matrices, else None."""
    if any(isinstance(operator, FACTORED) for operator in (operator1, operator2)):
        return None
    first, second = promote_floating(operator1, operator2)
    check_shape("operator1", first, ("d", "d"))
    check_shape("operator1", first, (len(first), len(first)))
    check_shape("operator2", second, first.shape)
    return first - second


def difference_grams(operator1, operator2, dt, dt2, kernel):
    r"""Gram matrices :math:`R^*R` and :math:`L^*L` of :math:`T - T' = R L^*`.

    With :math:`T = A B^*` and :math:`T' = A' B'^*` the factors are
    :math:`R = [A, -A']` and :math:`L = [B, B']`.
    """
    if type(operator1) is not type(operator2):
        raise TypeError(
            f"operator2: expected {type(operator1).__name__}, as operator1 is; "
            f"got {type(operator2).__name__}"
        )
    right1, left1, x1, y1 = _factors("operator1", operator1, "dt", dt, kernel)
    right2, left2, x2, y2 = _factors(
        "operator2", operator2, "dt2", dt if dt2 is None else dt2, kernel
    )
    if x1 is None:
        check_shape("operator2", right2, (len(right1), "r"))
    else:
        check_shape("operator2.x", x2, ("n", x1.shape[1]))
    right = _gram_blocks((right1, -right2), (x1, x2), kernel)
    return right, _gram_blocks((left1, left2), (y1, y2), kernel)


def _factors(name, operator, dt_name, dt, kernel):
    """Factors ``A, B`` of ``T = A B^*``; with a kernel they are coefficients."""
    if isinstance(operator, LinearOperatorFit | KernelOperatorFit):
        check_fit(name, operator)
    if isinstance(operator, LinearOperatorFit):
        v, w = promote_floating(operator.V, operator.W)
        return v, w, None, None
    if isinstance(operator, KernelOperatorFit):
        check_kernel(kernel)
        u, v, x, y = promote_floating(operator.U, operator.V, operator.x, operator.y)
        return _scaled_samples(u, v, x, y, operator.mask)
    kernel = check_atoms(name, operator, kernel)
    mu = transfer_eigenvalues(dt_name, operator, dt)[None, :]
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


def _gram_blocks(factors, samples, kernel):
    """Gram matrix of the columns of two factors side by side."""

    def product(i, j):
        a, b = factors[i], factors[j]
        if samples[0] is None:
            return matmul(a.conj().T, b)
        gram = kernel(samples[i], samples[j])
        image = real_matmul(gram, b) if jnp.iscomplexobj(b) else matmul(gram, b)
        return matmul(a.conj().T, image)

    cross = product(0, 1)
    return jnp.block([[product(0, 0), cross], [cross.conj().T, product(1, 1)]])
