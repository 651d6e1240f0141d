r"""What a linear diffusion model of a sample generates, on average."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    is_concrete,
    paper,
    promote_floating,
)
from ._degrees import gain, loss
from ._edges import support_edges
from ._equivalents import correction
from ._kappa import KappaInfo, describe
from ._population import Estimate, check_estimate, estimate_of
from ._quadrature import sampling_rule
from ._spectrum import broadcast, check_spectrum, multiplicities, valid

# How far the interval of the quadrature goes beyond the limiting spectrum.
_BEYOND, _BELOW, _FLOOR = 1.3, 0.4, 1e-12


class Nodes(NamedTuple):
    r"""A sampling map as a sum of resolvents, for each of a batch of problems.

    Attributes
    ----------
    weight : array of shape (..., N)
        Weights :math:`w_j`.
    share : array of shape (..., N)
        :math:`(t_j - a)/t_j` of the shifts :math:`t_j`.
    info : KappaInfo
        Renormalised shifts, of arrays of shape (..., N).
    estimate : Estimate
        The sample covariance, of arrays of shape (...).
    """

    weight: Float[Array, "... N"]
    share: Float[Array, "... N"]
    info: KappaInfo
    estimate: Estimate


def check_sampling(sigma_0, sigma_T, n, eigs, mult, num_nodes, centered, ddof) -> None:
    """Raise unless the arguments that all functions of the map share are right."""
    check_spectrum(eigs, mult)
    check_interval("sigma_0", sigma_0, 0, jnp.inf, closed="left")
    check_interval("sigma_T", sigma_T, 0, closed="right")
    if is_concrete(sigma_0) and is_concrete(sigma_T):
        if not np.all(np.asarray(sigma_T) > np.asarray(sigma_0)):
            raise ValueError(
                f"sigma_T: expected values above sigma_0 = {sigma_0}; got {sigma_T}"
            )
    check_estimate(n, centered, ddof)
    check_integer("num_nodes", num_nodes)


def make_nodes(n, sigma_0, sigma_T, eigs, mult, *, num_nodes, centered, ddof) -> Nodes:
    """Nodes for arrays n, sigma_0 and sigma_T of one shape."""
    estimate = estimate_of(n, centered, ddof)
    a = valid(sigma_0) ** 2
    b = jnp.where(sigma_T > sigma_0, sigma_T, jnp.nan) ** 2
    edges = jax.lax.stop_gradient(support_edges(estimate.n, eigs, mult=mult))
    scale = jax.lax.stop_gradient(estimate.scale)
    high = _BEYOND * scale * edges.right
    high = jnp.where(high > 0, high, 1)  # of a spectrum that is all zero
    low = jnp.maximum(_BELOW * scale * edges.left, _FLOOR * high)
    low = jnp.where(a > 0, 0, low)

    def rule(a, b, low, high):
        return sampling_rule(a, b, low, high, num_nodes, jnp)

    flat = (x.ravel() for x in (a, b, low, high))
    t, weight = (x.reshape(*n.shape, num_nodes) for x in jax.vmap(rule)(*flat))
    info = describe(t / estimate.scale[..., None], estimate.n[..., None], eigs, mult)
    return Nodes(weight, 1 - a[..., None] / t, info, estimate)


@paper("wang2026random", "mean of the sampling map over training sets")
def sampling_gain(
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    sigma_0: Real[ArrayLike, "..."] = 0.0,
    sigma_T: Real[ArrayLike, "..."] = float("inf"),
    mult: Real[ArrayLike, " d"] | None = None,
    order: int = 0,
    num_nodes: int = 32,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "... d"]:
    r"""Gain of each mode from noise to sample, averaged over training sets.

    .. math:: \mathbb{E}[f(\hat S)]_{kk} \simeq \sum_j w_j \Big[ 1
              - \frac{t_j - a}{t_j}\, \frac{\kappa_j}{\ell_k + \kappa_j} \Big], \qquad
              f(s) = \sqrt{\frac{s + a}{s + b}}, \quad \kappa_j = \kappa(t_j),

    with :math:`a = \sigma_0^2` and :math:`b = \sigma_T^2`; for infinite
    :math:`\sigma_T`, where the input is white noise z of variance 1, the map is
    :math:`f(s) = \sqrt{s + a}`.

    Parameters
    ----------
    n : array
        Number of training samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    sigma_0, sigma_T : arrays, default 0 and infinity
        Final and initial noise level, in the units of the data. Both broadcast with
        ``n``.
    mult : array of shape (d,), optional
        Multiplicities, by default ones.
    order : {0, 1}, default 0
        Whether to correct for finite samples, see :func:`resolvent_mean`.
    num_nodes : int, default 32
        Nodes of the quadrature: 1e-9 with 40 for a = 0, n = rank/2.
    centered : bool, default True
        Whether the mean is estimated, which costs a degree of freedom.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.

    Returns
    -------
    array of shape (..., d)
        Gains; NaN for traced arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    Notes
    -----
    The integral for infinite b is the paper's; the form for finite b, the quadrature
    and the correction are derived here. Differentiable in all arrays; the interval of
    the quadrature, that of the limiting spectrum, counts as constant.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import sampling_gain
    >>> eigs = jnp.array([4.0, 1.0, 0.25])
    >>> for n in (4, jnp.inf):  # small modes are shrunk most
    ...     print(np.round(np.asarray(sampling_gain(n, eigs)), 2))
    [1.6  0.73 0.31]
    [2.  1.  0.5]
    """
    check_sampling(sigma_0, sigma_T, n, eigs, mult, num_nodes, centered, ddof)
    check_choice("order", order, (0, 1))
    return _sampling_gain(
        n, sigma_0, sigma_T, eigs, mult,
        order=order, num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip


def problem(n, sigma_0, sigma_T, eigs, mult):
    """Arguments of one dtype, the first three of one shape."""
    n, sigma_0, sigma_T = broadcast(
        ("n", n), ("sigma_0", sigma_0), ("sigma_T", sigma_T)
    )
    n, sigma_0, sigma_T, eigs, mult = promote_floating(n, sigma_0, sigma_T, eigs, mult)
    eigs = valid(eigs)
    return n, sigma_0, sigma_T, eigs, multiplicities(eigs, mult)


@functools.partial(jax.jit, static_argnames=("order", "num_nodes", "centered", "ddof"))
def _sampling_gain(
    n, sigma_0, sigma_T, eigs, mult, *, order, num_nodes, centered, ddof
):
    n, sigma_0, sigma_T, eigs, mult = problem(n, sigma_0, sigma_T, eigs, mult)
    nodes = make_nodes(
        n, sigma_0, sigma_T, eigs, mult,
        num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip
    return mean_gain(nodes, eigs, mult, order)


def mean_gain(nodes: Nodes, eigs, mult, order) -> Float[Array, "... d"]:
    """The gain of each mode, problem by problem, so that memory does not add up."""
    shape = nodes.estimate.n.shape
    flat = jax.tree.map(
        lambda x: x.reshape(-1, *x.shape[len(shape) :]),
        (nodes.weight, nodes.share, nodes.info, nodes.estimate.n),
    )

    # Its sums over nodes and modes are made again for reverse mode.
    @jax.checkpoint
    def one(entry):
        weight, share, info, n = entry
        lost = loss(eigs, info.kappa)
        if order == 1:
            lost = lost * (1 + correction(info, n, eigs, mult))
        return jnp.sum(weight[:, None] * (1 - share[:, None] * lost), axis=0)

    return jax.lax.map(one, flat).reshape(*shape, eigs.shape[0])


@paper("wang2026random", "second moment of the sampling map; derived here")
def sampling_second_moment(
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    sigma_0: Real[ArrayLike, "..."] = 0.0,
    sigma_T: Real[ArrayLike, "..."] = float("inf"),
    mult: Real[ArrayLike, " d"] | None = None,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "... d"]:
    r"""Mean square of the sampling map, mode by mode.

    .. math:: \mathbb{E}[f(\hat S)^2]_{kk} \simeq 1 - \frac{b - a}{b}\,
              \frac{\kappa(b)}{\ell_k + \kappa(b)}, \qquad
              \text{or } \mathbb{E}[\hat S]_{kk} + a \text{ for infinite } b

    Times :math:`\sigma_T^2`, it is the mean variance of generated data along the mode.

    Parameters
    ----------
    n, eigs, sigma_0, sigma_T, mult, centered, ddof
        As for :func:`sampling_gain`.

    Returns
    -------
    array of shape (..., d)
        The mean square.

    Raises
    ------
    ValueError
        As for :func:`sampling_gain`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import sampling_second_moment
    >>> result = sampling_second_moment(4, jnp.array([4.0, 1.0]), ddof=1)
    >>> print(np.round(np.asarray(result), 3))
    [4. 1.]
    """
    check_sampling(sigma_0, sigma_T, n, eigs, mult, 1, centered, ddof)
    return _second_moment(n, sigma_0, sigma_T, eigs, mult, centered=centered, ddof=ddof)


@functools.partial(jax.jit, static_argnames=("centered", "ddof"))
def _second_moment(n, sigma_0, sigma_T, eigs, mult, *, centered, ddof):
    n, sigma_0, sigma_T, eigs, mult = problem(n, sigma_0, sigma_T, eigs, mult)
    estimate = estimate_of(n, centered, ddof)
    a, b = valid(sigma_0) ** 2, jnp.where(sigma_T > sigma_0, sigma_T, jnp.nan) ** 2
    endless = jnp.isinf(b)
    b = jnp.where(endless, 1, b)
    info = describe(b / estimate.scale, estimate.n, eigs, mult)
    # 1 - (b - a)/b (1 - g), without the cancellation.
    kept = gain(eigs, info.kappa)
    finite = kept + (a / b)[..., None] * loss(eigs, info.kappa)
    modes = jnp.expand_dims(eigs, tuple(range(n.ndim)))
    infinite = estimate.scale[..., None] * modes + a[..., None]
    return jnp.where(endless[..., None], infinite, finite)


@paper("wang2026random", "consistency of models of two splits; derived here")
def consistency_coefficient(
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    sigma_0: Real[ArrayLike, "..."] = 0.0,
    sigma_T: Real[ArrayLike, "..."] = float("inf"),
    mult: Real[ArrayLike, " d"] | None = None,
    num_nodes: int = 32,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "... d"]:
    r"""Correlation of what two models of independent samples make of one noise.

    .. math:: C_k = \frac{\mathbb{E}[f(\hat S)]_{kk}^2}{\mathbb{E}[f(\hat S)^2]_{kk}}

    Parameters
    ----------
    n, eigs, sigma_0, sigma_T, mult, num_nodes, centered, ddof
        As for :func:`sampling_gain`.

    Returns
    -------
    array of shape (..., d)
        Correlations in [0, 1] along each mode; 0 for eigenvalues of 0 without noise.

    Raises
    ------
    ValueError
        As for :func:`sampling_gain`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import consistency_coefficient
    >>> result = consistency_coefficient(20, jnp.array([4.0, 1.0, 0.1]))
    >>> print(np.round(np.asarray(result), 2))
    [0.98 0.96 0.92]
    """
    options = {"mult": mult, "centered": centered, "ddof": ddof}
    options |= {"sigma_0": sigma_0, "sigma_T": sigma_T}
    mean = sampling_gain(n, eigs, num_nodes=num_nodes, **options)
    square = sampling_second_moment(n, eigs, **options)
    return _ratio(mean, square)


@jax.jit
def _ratio(mean, square):
    zero = square == 0
    return jnp.where(zero, 0, mean**2 / jnp.where(zero, 1, square))
