r"""Arc-cosine functions of the angle between two inputs, in a stable variable.

All are functions of :math:`\delta = 1 - \rho`, where :math:`\rho` is the cosine: near
equal inputs a cosine has lost the digits that a small :math:`\delta` still has.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, paper, promote_floating

# (2n) / (2n+1)! with alternating signs: pi g = theta^3 (c_0 + c_1 theta^2 + ...).
_SERIES = (1 / 3, -1 / 30, 1 / 840, -1 / 45360, 1 / 3991680, -1 / 518918400)
_SMALL = 0.5


@paper("cho2009kernel", "angle of the arc-cosine kernels")
def theta_from_delta(delta: Real[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    r"""Angle between two vectors from one minus its cosine.

    .. math:: \theta = \operatorname{atan2}\big(\sqrt{\delta (2 - \delta)},\,
              1 - \delta\big)

    Parameters
    ----------
    delta : array
        One minus the cosine, in [0, 2].

    Returns
    -------
    array in the shape of ``delta``
        Angles in radians, accurate at both ends. NaN for traced values out of range.

    Raises
    ------
    ValueError
        If a value is out of range.

    Notes
    -----
    The derivative is taken to be 0 at both ends, where it is infinite.

    References
    ----------
    [cho2009kernel]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import theta_from_delta
    >>> print(np.round(np.asarray(theta_from_delta(np.array([0.0, 1.0, 2.0]))), 3))
    [0.    1.571 3.142]
    """
    check_interval("delta", delta, 0.0, 2.0)
    return _theta(*promote_floating(delta))


@paper("cho2009kernel", "arc-cosine kernel of order 0, normalised")
def kappa0(delta: Real[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    r"""Share of half-spaces that hold both of two vectors, twice: the step function.

    .. math:: \kappa_0 = 1 - \frac{\theta}{\pi}, \qquad
              \frac{\mathrm d \kappa_0}{\mathrm d \delta} = -\frac{1}{\pi \sin\theta}

    Parameters
    ----------
    delta : array
        One minus the cosine, in [0, 2].

    Returns
    -------
    array in the shape of ``delta``
        Values in [0, 1]. NaN for traced values out of range.

    Raises
    ------
    ValueError
        If a value is out of range.

    Notes
    -----
    The derivative is taken to be 0 at both ends, where it is infinite.

    References
    ----------
    [cho2009kernel]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import kappa0
    >>> print(np.round(np.asarray(kappa0(np.array([0.0, 1.0, 2.0]))), 3))
    [1.  0.5 0. ]
    """
    check_interval("delta", delta, 0.0, 2.0)
    return step(*promote_floating(delta))


@paper("cho2009kernel", "arc-cosine kernel of order 1, normalised")
def kappa1(delta: Real[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    r"""Mean product of two rectified Gaussians of correlation rho, normalised.

    .. math:: \kappa_1 = \frac{\sin\theta + (\pi - \theta) \cos\theta}{\pi}
              = 2\, \mathbb E\, (u)_+ (v)_+, \qquad
              \frac{\mathrm d \kappa_1}{\mathrm d \delta} = -\kappa_0

    Parameters
    ----------
    delta : array
        One minus the cosine, in [0, 2].

    Returns
    -------
    array in the shape of ``delta``
        Values in [0, 1]. NaN for traced values out of range.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    [cho2009kernel]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import kappa1
    >>> print(np.round(np.asarray(kappa1(np.array([0.0, 1.0, 2.0]))), 3))
    [1.    0.318 0.   ]
    """
    check_interval("delta", delta, 0.0, 2.0)
    return ramp(*promote_floating(delta))


@paper("cho2009kernel", "arc-cosine kernel of order 1 less the linear kernel")
def kappa1_minus_rho(delta: Real[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    r"""What a rectifier adds to the correlation of two inputs.

    .. math:: g = \kappa_1 - \rho = \frac{\sin\theta - \theta \cos\theta}{\pi} \ge 0,
              \qquad \frac{\mathrm d g}{\mathrm d \delta} = \frac{\theta}{\pi}

    Parameters
    ----------
    delta : array
        One minus the cosine, in [0, 2].

    Returns
    -------
    array in the shape of ``delta``
        Values in [0, 1], with all digits at small angles. NaN for traced values out
        of range.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    [cho2009kernel]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import kappa1_minus_rho
    >>> print(np.round(np.asarray(kappa1_minus_rho(np.array([0.0, 1.0, 2.0]))), 3))
    [0.    0.318 1.   ]
    """
    check_interval("delta", delta, 0.0, 2.0)
    return excess(*promote_floating(delta))


def _sine(delta):
    """Sine of the angle; its derivative and that of its inverse are finite."""
    square = delta * (2 - delta)
    inside = square > 0
    root = jnp.sqrt(jnp.where(inside, square, 1))
    outside = jnp.where(
        square < 0, jnp.full_like(delta, jnp.nan), jnp.zeros_like(delta)
    )
    return jnp.where(inside, root, outside)


def _inverse_sine(delta):
    """One over the sine, 0 where that is 0."""
    sine = _sine(delta)
    return jnp.where(sine > 0, 1 / jnp.where(sine > 0, sine, 1), jnp.zeros_like(sine))


@jax.custom_jvp
def _theta(delta):
    return jnp.arctan2(_sine(delta), 1 - delta)


@jax.custom_jvp
def step(delta):
    """Kernel of order 0, without checks."""
    sine = _sine(delta)
    near = 1 - jnp.arctan2(sine, 1 - delta) / jnp.pi
    return jnp.where(delta <= 1, near, jnp.arctan2(sine, delta - 1) / jnp.pi)


@jax.custom_jvp
def excess(delta):
    """Kernel of order 1 less the cosine, without checks."""
    sine, cosine = _sine(delta), 1 - delta
    theta = jnp.arctan2(sine, cosine)
    square = theta**2
    series = jnp.zeros_like(theta)
    for c in reversed(_SERIES):
        series = c + square * series
    return (
        jnp.where(theta < _SMALL, theta * square * series, sine - theta * cosine)
        / jnp.pi
    )


@jax.custom_jvp
def ramp(delta):
    """Kernel of order 1, without checks."""
    # Beyond a right angle the cosine and the excess would cancel.
    far = delta > 1
    value = excess(jnp.where(far, 2 - delta, delta))
    return jnp.where(far, value, 1 - delta + value)


@_theta.defjvp
def _theta_jvp(primals, tangents):
    return _theta(*primals), _inverse_sine(*primals) * tangents[0]


@step.defjvp
def _step_jvp(primals, tangents):
    return step(*primals), -_inverse_sine(*primals) / jnp.pi * tangents[0]


@excess.defjvp
def _excess_jvp(primals, tangents):
    return excess(*primals), _theta(*primals) / jnp.pi * tangents[0]


@ramp.defjvp
def _ramp_jvp(primals, tangents):
    return ramp(*primals), -step(*primals) * tangents[0]


def angle(delta):
    """The angle, without checks."""
    return _theta(delta)
