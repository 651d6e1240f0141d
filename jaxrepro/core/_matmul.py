"""Matrix products whose accuracy does not depend on the accelerator."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Inexact


def matmul(
    a: Inexact[ArrayLike, "..."],
    b: Inexact[ArrayLike, "..."],
    *,
    precision: str = "highest",
) -> Inexact[Array, "..."]:
    """Matrix product in full precision.

    GPUs and TPUs may multiply float32 matrices in TF32 or bfloat16 unless told
    otherwise, which leaves three correct digits. Metrics and closed forms use
    this function; neural-network layers use ``@``.

    Parameters
    ----------
    a : array of shape (..., n, k) or (k,)
        Left factor.
    b : array of shape (..., k, m) or (k,)
        Right factor.
    precision : str, default "highest"
        Passed to :func:`jax.numpy.matmul`.

    Returns
    -------
    array of shape (..., n, m)
        The product ``a @ b``.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.core import matmul
    >>> matmul(jnp.eye(2), jnp.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return jnp.matmul(a, b, precision=precision)
