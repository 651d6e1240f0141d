"""Products of real matrices with complex coefficients, and norms by Gram matrices."""

import jax
import jax.numpy as jnp

from ..core import matmul, safe_sqrt


def real_matmul(a, z):
    """Product of a real or complex ``a`` with complex ``z``, without a mixed dtype."""
    if jnp.iscomplexobj(a):
        return matmul(a, z)
    return jax.lax.complex(matmul(a, z.real), matmul(a, z.imag))


def gram_norm(gram, coefficients):
    r"""Norms :math:`(c_i^* K c_i)^{1/2}` of the columns of a coefficient matrix."""
    image = real_matmul(gram, coefficients)
    return safe_sqrt(jnp.sum((coefficients.conj() * image).real, axis=0))
