"""Gauss quadrature rules, made on the host in float64 and cast once."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float

from ._checks import check_integer


class Quadrature(NamedTuple):
    r"""Nodes and weights of :math:`\int f \approx \sum_k w_k f(x_k)`.

    Attributes
    ----------
    nodes : array of shape (n,)
        Points :math:`x_k`, ascending.
    weights : array of shape (n,)
        Weights :math:`w_k > 0` (0 where that is below the range of the dtype).
    """

    nodes: Float[Array, " n"]
    weights: Float[Array, " n"]


def _cast(nodes, weights, dtype):
    dtype = jnp.result_type(float) if dtype is None else jnp.dtype(dtype)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise TypeError(f"dtype: expected a real floating dtype; got {dtype.name}")
    return Quadrature(jnp.asarray(nodes, dtype), jnp.asarray(weights, dtype))


def gauss_legendre(
    n: int, low: float = -1.0, high: float = 1.0, *, dtype=None
) -> Quadrature:
    r"""Gauss-Legendre rule, exact for polynomials up to degree :math:`2n-1`.

    .. math:: \int_{low}^{high} f(x)\,dx \approx \sum_{k=1}^{n} w_k f(x_k)

    Parameters
    ----------
    n : int
        Number of nodes, at least 1.
    low, high : float, default -1 and 1
        Finite ends of the interval, Python numbers.
    dtype : dtype, optional
        Dtype of the result, by default the default float.

    Returns
    -------
    Quadrature
        ``nodes`` and ``weights`` of shape (n,), computed in float64 before the
        cast whatever the precision of JAX.

    Raises
    ------
    TypeError
        If ``n`` is no integer or ``dtype`` no real floating dtype.
    ValueError
        If ``n`` is not positive or an end of the interval is not finite.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.core import gauss_legendre
    >>> x, w = gauss_legendre(5, 0.0, 1.0)
    >>> round(float(jnp.sum(w * x**4)), 6)
    0.2
    """
    n = check_integer("n", n)
    for name, end in (("low", low), ("high", high)):
        if not math.isfinite(end):
            raise ValueError(f"{name}: expected a finite number; got {end}")
    nodes, weights = np.polynomial.legendre.leggauss(n)
    half = (high - low) / 2
    return _cast(low + half * (nodes + 1), half * weights, dtype)


def gauss_hermite(n: int, *, dtype=None) -> Quadrature:
    r"""Gauss-Hermite rule for expectations under the standard normal law.

    .. math:: \mathbb{E}[f(Z)] \approx \sum_{k=1}^{n} w_k f(x_k), \qquad
              Z \sim \mathcal{N}(0, 1), \qquad \sum_k w_k = 1

    Parameters
    ----------
    n : int
        Number of nodes, at least 1.
    dtype : dtype, optional
        Dtype of the result, by default the default float.

    Returns
    -------
    Quadrature
        ``nodes`` and ``weights`` of shape (n,); exact for polynomials up to
        degree :math:`2n-1`.

    Raises
    ------
    TypeError
        If ``n`` is no integer or ``dtype`` no real floating dtype.
    ValueError
        If ``n`` is not positive.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.core import gauss_hermite
    >>> x, w = gauss_hermite(8)
    >>> round(float(jnp.sum(w * x**4)), 4)
    3.0
    """
    n = check_integer("n", n)
    nodes, weights = scipy.special.roots_hermitenorm(n)
    return _cast(nodes, weights / weights.sum(), dtype)
