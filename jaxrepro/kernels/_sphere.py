r"""Spectra of kernels of the angle, on the unit sphere."""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_function,
    check_integer,
    check_interval,
    check_real,
    gauss_legendre,
    paper,
    promote_floating,
)


def gegenbauer(
    k_max: int, d: int, t: Real[ArrayLike, "*shape"]
) -> Float[Array, "k ..."]:
    r"""Gegenbauer polynomials of a sphere, 1 at 1, of all degrees up to one.

    .. math:: P_0 = 1, \quad P_1 = t, \quad
              P_{k+1} = \frac{(2k + d - 2)\, t\, P_k - k P_{k-1}}{k + d - 2}

    Parameters
    ----------
    k_max : int
        Highest degree, at least 0.
    d : int
        Dimension of the space whose unit sphere is meant, at least 2: for 2 they are
        Chebyshev's polynomials, for 3 Legendre's.
    t : array
        Points in [-1, 1].

    Returns
    -------
    array of shape (k_max + 1, \*shape)
        The polynomials.

    Raises
    ------
    ValueError
        If ``k_max`` is negative, ``d`` below 2, or a point out of range.
    TypeError
        If ``k_max`` or ``d`` is no integer, or ``t`` not real.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import gegenbauer
    >>> print(np.asarray(gegenbauer(3, 3, np.array(0.5))))
    [ 1.      0.5    -0.125  -0.4375]
    """
    k_max = check_integer("k_max", k_max, minimum=0)
    d = check_integer("d", d, minimum=2)
    check_real("t", t)
    check_interval("t", t, -1.0, 1.0)
    (t,) = promote_floating(t)
    return _gegenbauer(k_max, d, t)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _gegenbauer(k_max, d, t):
    def up(pair, k):
        before, now = pair
        after = ((2 * k + d - 2) * t * now - k * before) / (k + d - 2)
        return (now, after), now

    first = jnp.ones_like(t)
    degrees = jnp.arange(1, k_max + 1, dtype=t.dtype)
    _, rest = jax.lax.scan(up, (first, t), degrees)
    return jnp.concatenate([first[None], rest])


def multiplicity(d: int, k: int) -> int:
    r"""Number of spherical harmonics of a degree.

    .. math:: N(d, k) = \binom{d + k - 1}{k} - \binom{d + k - 3}{k - 2}

    Parameters
    ----------
    d : int
        Dimension of the space, at least 2.
    k : int
        Degree, at least 0.

    Returns
    -------
    int
        Their number.

    Raises
    ------
    ValueError
        If ``d`` is below 2 or ``k`` negative.
    TypeError
        If an argument is no integer.

    Examples
    --------
    >>> from jaxrepro.kernels import multiplicity
    >>> [multiplicity(3, k) for k in range(4)]
    [1, 3, 5, 7]
    """
    d = check_integer("d", d, minimum=2)
    k = check_integer("k", k, minimum=0)
    lower = math.comb(d + k - 3, k - 2) if k >= 2 else 0
    return math.comb(d + k - 1, k) - lower


@paper("lai2026branch", "spectrum of the residual tangent kernel on the sphere")
def sphere_eigenvalues(
    dual: Callable, d: int, k_max: int, *, n_quad: int | None = None, dtype=None
) -> Float[Array, " k"]:
    r"""Eigenvalues of a kernel of the angle on the unit sphere.

    .. math:: \lambda_k = \frac{\Gamma(d/2)}{\sqrt\pi\, \Gamma((d-1)/2)}
              \int_0^\pi r(\theta)\, P_k(\cos\theta) \sin^{d-2}\theta \,
              \mathrm d\theta

    Parameters
    ----------
    dual : callable
        ``dual(delta)``: the kernel as a function of one minus the cosine, such as
        ``lambda delta: rntk_dual(delta, alphas).ntk``.
    d : int
        Dimension of the space, at least 2; the measure on its sphere is uniform.
    k_max : int
        Highest degree.
    n_quad : int, optional
        Nodes of the quadrature, by default 200 or 4 ``k_max``. Take 8 times the
        effective depth :math:`\sum_l a_l` if that is more: deep kernels have a spike.
    dtype : dtype, optional
        Of the nodes, by default the default float.

    Returns
    -------
    array of shape (k_max + 1,)
        Eigenvalue of every degree, which has :func:`multiplicity` eigenfunctions; with
        these multiplicities all of them add up to ``dual(0)``.

    Raises
    ------
    ValueError
        If ``d`` is below 2, ``k_max`` negative or ``n_quad`` not positive.
    TypeError
        If ``dual`` is no function, or a number no integer.

    Notes
    -----
    Gauss-Legendre nodes in the angle, in which the kernel is analytic: errors near
    rounding.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import limit_dual, sphere_eigenvalues
    >>> shallow = lambda delta: limit_dual("one_hidden", delta)
    >>> print(np.round(np.abs(sphere_eigenvalues(shallow, 3, 4)), 4))
    [0.25   0.1667 0.0391 0.     0.0026]
    """
    check_function("dual", dual)
    d = check_integer("d", d, minimum=2)
    k_max = check_integer("k_max", k_max, minimum=0)
    n_quad = max(200, 4 * k_max) if n_quad is None else check_integer("n_quad", n_quad)
    rule = gauss_legendre(n_quad, 0.0, np.pi, dtype=dtype)
    half = rule.nodes / 2
    values = dual(2 * jnp.sin(half) ** 2)
    log_constant = math.lgamma(d / 2) - math.lgamma((d - 1) / 2)
    constant = math.exp(log_constant) / math.sqrt(math.pi)
    measure = constant * rule.weights * jnp.sin(rule.nodes) ** (d - 2)
    harmonics = _gegenbauer(k_max, d, jnp.cos(rule.nodes))
    return jnp.sum(harmonics * (measure * values)[None], axis=1)
