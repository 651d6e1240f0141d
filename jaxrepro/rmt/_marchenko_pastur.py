r"""The Marchenko-Pastur law, in closed form."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, gauss_legendre, paper, safe_divide, safe_sqrt
from ._edges import Edges
from ._spectrum import broadcast, valid

_NODES = 64


def _check(gamma, scale):
    check_interval("gamma", gamma, 0, jnp.inf, closed="neither")
    check_interval("scale", scale, 0, jnp.inf, closed="neither")


def _law(x, gamma, scale):
    """Points, ratio and scale of one shape; NaN where they are out of range."""
    x, gamma, scale = broadcast(("x", x), ("gamma", gamma), ("scale", scale))
    return x, valid(gamma, closed=False), valid(scale, closed=False)


def _ends(gamma, scale):
    root = jnp.sqrt(gamma)
    return scale * (1 - root) ** 2, scale * (1 + root) ** 2


@paper("marchenko1967distribution", "support of the law")
def marchenko_pastur_support(
    gamma: Real[ArrayLike, "..."], *, scale: Real[ArrayLike, "..."] = 1.0
) -> Edges:
    r"""Support of the continuous part, :math:`c\,(1 \mp \sqrt\gamma)^2`.

    Parameters
    ----------
    gamma : array
        Ratio d/n > 0 of dimension and number of samples.
    scale : array, default 1
        Variance c > 0 of the entries. Both broadcast.

    Returns
    -------
    Edges
        ``left`` and ``right``; NaN for traced arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are not positive.

    References
    ----------
    [marchenko1967distribution]

    Examples
    --------
    >>> from jaxrepro.rmt import marchenko_pastur_support
    >>> [float(x) for x in marchenko_pastur_support(0.25)]
    [0.25, 2.25]
    """
    _check(gamma, scale)
    _, gamma, scale = _law(0.0, gamma, scale)
    return Edges(*_ends(gamma, scale))


@paper("marchenko1967distribution", "atom of the law at 0")
def marchenko_pastur_atom(gamma: Real[ArrayLike, "..."]) -> Float[Array, "..."]:
    r"""Mass :math:`\max(0, 1 - 1/\gamma)` of the atom at 0.

    Parameters
    ----------
    gamma : array
        Ratio d/n > 0 of dimension and number of samples.

    Returns
    -------
    array of the shape of ``gamma``
        The mass; the continuous part has the rest, :math:`\min(1, 1/\gamma)`.

    Raises
    ------
    ValueError
        If a concrete ``gamma`` is not positive.

    References
    ----------
    [marchenko1967distribution]

    Examples
    --------
    >>> from jaxrepro.rmt import marchenko_pastur_atom
    >>> float(marchenko_pastur_atom(4.0))
    0.75
    """
    _check(gamma, 1.0)
    _, gamma, _ = _law(0.0, gamma, 1.0)
    return jnp.maximum(1 - 1 / gamma, 0)


@paper("marchenko1967distribution", "density of the law")
def marchenko_pastur_pdf(
    x: Real[ArrayLike, "..."],
    gamma: Real[ArrayLike, "..."],
    *,
    scale: Real[ArrayLike, "..."] = 1.0,
) -> Float[Array, "..."]:
    r"""Density of the continuous part.

    .. math:: \rho(x) = \frac{\sqrt{(x_+ - x)(x - x_-)}}{2 \pi c\, \gamma\, x},
              \qquad x_\pm = c\,(1 \pm \sqrt\gamma)^2

    Parameters
    ----------
    x : array
        Points.
    gamma : array
        Ratio d/n > 0 of dimension and number of samples.
    scale : array, default 1
        Variance c > 0 of the entries. All three broadcast.

    Returns
    -------
    array of the broadcast shape
        The density, 0 outside the support; its integral is
        :math:`\min(1, 1/\gamma)`.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or a concrete ratio or scale is not positive.

    References
    ----------
    [marchenko1967distribution]

    Examples
    --------
    >>> from jaxrepro.rmt import marchenko_pastur_pdf
    >>> round(float(marchenko_pastur_pdf(1.0, 1.0)), 4)
    0.2757
    """
    _check(gamma, scale)
    x, gamma, scale = _law(x, gamma, scale)
    left, right = _ends(gamma, scale)
    height = safe_sqrt(jnp.maximum((right - x) * (x - left), 0))
    return safe_divide(height, 2 * jnp.pi * scale * gamma * x)


@paper("marchenko1967distribution", "distribution function of the law")
def marchenko_pastur_cdf(
    x: Real[ArrayLike, "..."],
    gamma: Real[ArrayLike, "..."],
    *,
    scale: Real[ArrayLike, "..."] = 1.0,
) -> Float[Array, "..."]:
    r"""Distribution function, the atom at 0 included.

    Parameters
    ----------
    x : array
        Points.
    gamma : array
        Ratio d/n > 0 of dimension and number of samples.
    scale : array, default 1
        Variance c > 0 of the entries. All three broadcast.

    Returns
    -------
    array of the broadcast shape
        Probability of a value up to x.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or a concrete ratio or scale is not positive.

    Notes
    -----
    A Gauss-Legendre rule in the angle :math:`\theta` of
    :math:`x = (x_+ + x_-)/2 + (x_+ - x_-)/2 \cos\theta`, in which the integrand is
    smooth, also for :math:`\gamma = 1`.

    References
    ----------
    [marchenko1967distribution]

    Examples
    --------
    >>> from jaxrepro.rmt import marchenko_pastur_cdf
    >>> [round(float(marchenko_pastur_cdf(x, 4.0)), 4) for x in (0.0, 9.0)]
    [0.75, 1.0]
    """
    _check(gamma, scale)
    return _cdf(x, gamma, scale)


@jax.jit
def _cdf(x, gamma, scale):
    x, gamma, scale = _law(x, gamma, scale)
    left, right = _ends(gamma, scale)
    middle, half = (right + left) / 2, (right - left) / 2
    cosine = (x - middle) / half
    # Half of the angle from its sine, exact at both ends of the support.
    turn = 2 * jnp.arcsin(safe_sqrt(jnp.clip((1 - cosine) / 2, 0, 1)))
    nodes, weights = gauss_legendre(_NODES, 0.0, 1.0, dtype=x.dtype)
    span = (jnp.pi - turn)[..., None]
    shape = (1,) * turn.ndim + (-1,)
    angle = turn[..., None] + span * nodes.reshape(shape)
    # sin^2 / (middle + half cos): bounded, since the root of the denominator is at pi.
    sine, below = jnp.sin(angle), jnp.cos(angle / 2) ** 2
    place = left[..., None] + 2 * half[..., None] * below
    height = half[..., None] ** 2 * safe_divide(sine**2, place)
    mass = jnp.sum(span * weights.reshape(shape) * height, axis=-1)
    continuous = mass / (2 * jnp.pi * scale * gamma)
    atom = jnp.where(x >= 0, jnp.maximum(1 - 1 / gamma, 0), 0)
    return atom + jnp.where(x > left, continuous, 0)
