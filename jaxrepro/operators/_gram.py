"""Products of real with complex matrices, norms by Gram matrices, unit entries."""

import jax
import jax.numpy as jnp

from ..core import matmul, safe_sqrt
from ..core._safe import scale_of


def real_matmul(a, z):
    """Product of a real or complex ``a`` with complex ``z``, without a mixed dtype."""
    if jnp.iscomplexobj(a):
        return matmul(a, z)
    return jax.lax.complex(matmul(a, z.real), matmul(a, z.imag))


def gram_norm(gram, coefficients):
    r"""Norms :math:`(c_i^* K c_i)^{1/2}` of the columns of a coefficient matrix."""
    image = real_matmul(gram, coefficients)
    return safe_sqrt(jnp.sum((coefficients.conj() * image).real, axis=0))


def unit_entries(z):
    """A matrix divided by its largest absolute entry, and that: a constant, or 1."""
    scale = scale_of(z)
    if jnp.iscomplexobj(z):  # a complex quotient would square the scale
        return jax.lax.complex(z.real / scale, z.imag / scale), scale[0, 0]
    return z / scale, scale[0, 0]
