r"""Mean and variance of functions of a sample covariance, by a contour."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Complex, Float, Real

from ..core import check_integer, check_interval, check_shape, paper, promote_floating
from ._edges import support_edges
from ._kappa_complex import solve_kappa_complex
from ._population import check_estimate, estimate_of
from ._quadrature import contour_quadrature, contour_rule
from ._sampling_covariance import pair_sum
from ._spectrum import check_last_axis, check_spectrum, multiplicities, valid

_BEYOND = 1.3


@paper(
    "wang2026random",
    "self-consistent equation; general functions are ours",
    uses=(contour_quadrature,),
)
def spectral_function_mean(
    fn: Callable,
    n: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    a: Real[ArrayLike, ""],
    mult: Real[ArrayLike, " d"] | None = None,
    num_nodes: int = 32,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, " d"]:
    r"""Mean of a function of a sample covariance, mode by mode.

    .. math:: \mathbb{E}[f(\hat S)]_{kk} \simeq \Im \sum_j \omega_j f(z_j - a)
              \Big[ -1 - \frac{z_j \kappa_j}{t_j (\ell_k + \kappa_j)} \Big], \qquad
              t_j = a - z_j, \quad \kappa_j = \kappa(t_j)

    over the nodes of :func:`contour_quadrature`.

    Parameters
    ----------
    fn : callable
        f, of complex arrays: analytic off :math:`(-\infty, -a]`, real on the rest of
        the real axis and not of exponential growth, such as a sampler's
        :func:`discrete_sampler_factor`.
    n : float
        Number of samples.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    a : float
        Distance a > 0 of the singularities of f from 0.
    mult : array of shape (d,), optional
        Multiplicities, by default ones.
    num_nodes : int, default 32
        Nodes of the quadrature.
    centered : bool, default True
        Whether the mean is estimated.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.

    Returns
    -------
    array of shape (d,)
        The mean.

    Raises
    ------
    ValueError
        If ``n`` or ``a`` is no scalar, or concrete arguments are out of range.

    Notes
    -----
    Derived here. Call it under ``jit`` with a function that is made once.

    References
    ----------
    [wang2026random], [hale2008computing]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import sampling_gain, spectral_function_mean
    >>> eigs = jnp.array([4.0, 1.0, 0.25])
    >>> root = lambda s: jnp.sqrt(s + 0.1)
    >>> print(np.round(np.asarray(spectral_function_mean(root, 20, eigs, a=0.1)), 2))
    [1.96 1.01 0.57]
    >>> print(np.round(np.asarray(sampling_gain(20, eigs, sigma_0=0.1**0.5)), 2))
    [1.96 1.01 0.57]
    """
    _check(n, eigs, mult, a, num_nodes, centered, ddof)
    return _mean(
        n, eigs, mult, a, fn=fn, num_nodes=num_nodes, centered=centered, ddof=ddof
    )


def _check(n, eigs, mult, a, num_nodes, centered, ddof):
    check_spectrum(eigs, mult)
    for name, x in (("n", n), ("a", a)):
        check_shape(name, x, ())
    check_interval("a", a, 0, jnp.inf, closed="neither")
    check_estimate(n, centered, ddof)
    check_integer("num_nodes", num_nodes)


def _resolvents(fn, n, eigs, mult, a, num_nodes, centered, ddof):
    """Constant, weights of resolvents and renormalised shifts with the estimate."""
    estimate = estimate_of(n, centered, ddof)
    edge = jax.lax.stop_gradient(
        estimate.scale * support_edges(estimate.n, eigs, mult=mult).right
    )
    high = jnp.where(edge > 0, _BEYOND * edge, 1)
    z, weight = contour_rule(a, high, num_nodes, jnp)
    strength = weight * fn(z - a.astype(z.dtype))
    t = a.astype(z.dtype) - z
    shift = t / estimate.scale.astype(z.dtype)
    kappa = solve_kappa_complex(shift, estimate.n, eigs, mult=mult).kappa
    # A resolvent of the estimate is kappa/t times one of the population.
    return estimate, -jnp.sum(strength).imag, -strength * z / t, kappa


@functools.partial(jax.jit, static_argnames=("fn", "num_nodes", "centered", "ddof"))
def _mean(n, eigs, mult, a, *, fn, num_nodes, centered, ddof):
    n, eigs, mult, a = promote_floating(n, eigs, mult, a)
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    _, constant, strength, kappa = _resolvents(
        fn, n, eigs, mult, a, num_nodes, centered, ddof
    )
    total = eigs.astype(kappa.dtype)[:, None] + kappa[None, :]
    return constant + jnp.sum((strength * kappa)[None, :] / total, axis=-1).imag


@paper(
    "wang2026random",
    "two-point law; general functions are ours",
    uses=(contour_quadrature,),
)
def spectral_function_variance(
    fn: Callable,
    coords: Real[ArrayLike, "... d"],
    n: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    a: Real[ArrayLike, ""],
    num_nodes: int = 32,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "... d"]:
    r"""Variance over samples of a function of the covariance, applied to a vector.

    .. math:: \mathrm{Var}\big[(f(\hat S) q)_k\big]
              \simeq \tfrac12 \Re \sum_{ij} \Big\{ C(\bar t_i, t_j)
              \Big[ h_k \sum_r h_r q_r^2 + (h_k q_k)^2 \Big]
              - C(t_i, t_j) [\,\cdots] \Big\}

    with the kernel of :func:`resolvent_kernel` at complex shifts.

    Parameters
    ----------
    fn : callable
        f, as for :func:`spectral_function_mean`.
    coords : array of shape (..., d)
        Coordinates q in the eigenbasis of the population.
    n, eigs, a, num_nodes, centered, ddof
        As for :func:`spectral_function_mean`.

    Returns
    -------
    array of shape (..., d)
        The variance, of a known mean: that of the covariance alone.

    Raises
    ------
    ValueError
        As for :func:`spectral_function_mean`, or if ``coords`` has another dimension.

    Notes
    -----
    Derived here, both Wick terms included.

    References
    ----------
    [wang2026random], [hale2008computing]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import spectral_function_variance
    >>> eigs, z = jnp.array([4.0, 1.0, 0.25]), jnp.array([1.0, -1.0, 0.5])
    >>> root = lambda s: jnp.sqrt(s + 0.1)
    >>> result = spectral_function_variance(root, z, 200, eigs, a=0.1)
    >>> print(np.round(np.asarray(result), 4))
    [0.0121 0.0045 0.0013]
    """
    _check(n, eigs, None, a, num_nodes, centered, ddof)
    check_last_axis("coords", coords, jnp.shape(eigs)[0])
    return _variance(
        coords, n, eigs, a, fn=fn, num_nodes=num_nodes, centered=centered, ddof=ddof
    )


@paper(
    "wang2026random",
    "two-point law; general functions are ours",
    uses=(contour_quadrature,),
)
def spectral_function_covariance(
    fn: Callable,
    coords: Real[ArrayLike, " d"],
    n: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    a: Real[ArrayLike, ""],
    other: Real[ArrayLike, " d"] | None = None,
    num_nodes: int = 32,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "d d"]:
    r"""Covariance over samples of a function of the covariance, applied to vectors.

    .. math:: \mathrm{Cov}\big[(f(\hat S) q)_k, (f(\hat S) q')_m\big]
              \simeq \tfrac12 \Re \sum_{ij} \Big\{ C(\bar t_i, t_j)
              \Big[ \delta_{km} h_k \sum_r h_r q_r q'_r + h_k q'_k\, h_m q_m \Big]
              - C(t_i, t_j) [\,\cdots] \Big\}

    Parameters
    ----------
    fn : callable
        f, as for :func:`spectral_function_mean`.
    coords : array of shape (d,)
        Coordinates q in the eigenbasis of the population.
    n, eigs, a : array
        As for :func:`spectral_function_mean`.
    other : array of shape (d,), optional
        Coordinates q' of a second vector, by default the first.
    num_nodes, centered, ddof
        As for :func:`spectral_function_mean`.

    Returns
    -------
    array of shape (d, d)
        The covariance, of a known mean; its diagonal for q = q' is
        :func:`spectral_function_variance`.

    Raises
    ------
    ValueError
        As for :func:`spectral_function_mean`, or if ``coords`` or ``other`` has
        another shape.

    Notes
    -----
    Derived here, both Wick terms included.

    References
    ----------
    [wang2026random], [hale2008computing]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import spectral_function_covariance
    >>> eigs, z = jnp.array([4.0, 1.0]), jnp.array([1.0, -1.0])
    >>> root = lambda s: jnp.sqrt(s + 0.1)
    >>> result = spectral_function_covariance(root, z, 200, eigs, a=0.1)
    >>> print(np.round(np.asarray(result), 4))
    [[ 0.0119 -0.0021]
     [-0.0021  0.0044]]
    """
    _check(n, eigs, None, a, num_nodes, centered, ddof)
    check_shape("coords", coords, jnp.shape(eigs))
    if other is not None:
        check_shape("other", other, jnp.shape(eigs))
    return _covariance(
        coords, other, n, eigs, a,
        fn=fn, num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip


class _Nodes(NamedTuple):
    """What two-point laws need of the nodes: strengths, resolvents, eigenvalues, n."""

    one: Complex[Array, " N"]
    right: Complex[Array, "d N"]
    modes: Complex[Array, " d"]
    number: Complex[Array, ""]

    def kernel(self, strength, left):
        """The kernel of a set of nodes with these."""
        cross = left.T @ ((self.modes**2)[:, None] * self.right)
        return strength[:, None] * self.one[None, :] / (self.number - cross)

    def pairs(self):
        """Both sets of nodes that count, with the sign of each."""
        yield 0.5, self.one.conj(), self.right.conj()
        yield -0.5, self.one, self.right


def _nodes(fn, n, eigs, a, num_nodes, centered, ddof):
    estimate, _, strength, kappa = _resolvents(
        fn, n, eigs, jnp.ones_like(eigs), a, num_nodes, centered, ddof
    )
    modes, number = (x.astype(kappa.dtype) for x in (eigs, estimate.n))
    right = 1 / (modes[:, None] + kappa[None, :])
    return _Nodes(strength * kappa, right, modes, number)


def _along(kernel, left, nodes, squares):
    """The first term at every mode: the kernel against products of coordinates."""
    along = left.T @ ((nodes.modes * squares)[:, None] * nodes.right)
    return nodes.modes * jnp.sum((left @ (kernel * along)) * nodes.right, axis=-1)


@functools.partial(jax.jit, static_argnames=("fn", "num_nodes", "centered", "ddof"))
def _variance(coords, n, eigs, a, *, fn, num_nodes, centered, ddof):
    coords, n, eigs, a = promote_floating(coords, n, eigs, a)
    nodes = _nodes(fn, n, valid(eigs), a, num_nodes, centered, ddof)

    def variance(q):
        squares = q.astype(nodes.modes.dtype) ** 2
        total = jnp.zeros_like(q)
        for sign, strength, left in nodes.pairs():
            kernel = nodes.kernel(strength, left)
            own = jnp.sum((left**2 @ kernel) * nodes.right**2, axis=-1)
            own = nodes.modes**2 * squares * own
            total += sign * (_along(kernel, left, nodes, squares) + own).real
        return total

    flat = coords.reshape(-1, coords.shape[-1])
    return jax.lax.map(variance, flat, batch_size=8).reshape(coords.shape)


@functools.partial(jax.jit, static_argnames=("fn", "num_nodes", "centered", "ddof"))
def _covariance(coords, other, n, eigs, a, *, fn, num_nodes, centered, ddof):
    other = coords if other is None else other
    coords, other, n, eigs, a = promote_floating(coords, other, n, eigs, a)
    eigs = valid(eigs)
    nodes = _nodes(fn, n, eigs, a, num_nodes, centered, ddof)
    products = (coords * other).astype(nodes.modes.dtype)
    pairs = (eigs * other)[:, None] * (eigs * coords)[None, :]
    total = jnp.zeros_like(pairs)
    for sign, strength, left in nodes.pairs():
        kernel = nodes.kernel(strength, left)
        total += sign * jnp.diag(_along(kernel, left, nodes, products).real)
        total += sign * pairs * pair_sum(kernel, left, nodes.right).real
    return total
