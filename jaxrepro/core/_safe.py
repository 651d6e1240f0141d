"""Elementwise functions whose value *and gradient* stay finite at the edges.

``where(x > 0, sqrt(x), 0)`` has a NaN gradient at 0, since the derivative of
the branch that is not taken is still multiplied by zero. The cure is a second
``where`` that moves the argument away from the edge before the function sees
it. Each function below does that once, so that no other module has to.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Inexact

from ._checks import promote_floating


def safe_sqrt(x: Float[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    r"""Square root with value and derivative 0 wherever ``x <= 0``.

    .. math:: \operatorname{safe\_sqrt}(x) = \sqrt{\max(x, 0)}, \qquad
              \tfrac{d}{dx} = 0 \ \text{at}\ x \le 0 .

    Parameters
    ----------
    x : array of any shape
        Real argument; tiny negative values from rounding count as 0.

    Returns
    -------
    array of the same shape
        The square root. NaN stays NaN.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import safe_sqrt
    >>> float(safe_sqrt(4.0)), float(jax.grad(safe_sqrt)(0.0))
    (2.0, 0.0)
    """
    (x,) = promote_floating(x)
    edge = x <= 0
    return jnp.where(edge, 0, jnp.sqrt(jnp.where(edge, 1, x)))


def safe_log(x: Float[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    r"""Logarithm that is :math:`-\infty` with derivative 0 wherever ``x <= 0``.

    Parameters
    ----------
    x : array of any shape
        Real argument, for instance weights of which some are exactly 0.

    Returns
    -------
    array of the same shape
        ``log(x)``, or ``-inf`` where ``x <= 0``.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import safe_log
    >>> float(safe_log(0.0)), float(jax.grad(safe_log)(0.0))
    (-inf, 0.0)
    """
    (x,) = promote_floating(x)
    edge = x <= 0
    return jnp.where(edge, -jnp.inf, jnp.log(jnp.where(edge, 1, x)))


def safe_divide(
    numerator: Inexact[ArrayLike, "*#shape"],
    denominator: Inexact[ArrayLike, "*#shape"],
) -> Inexact[Array, "*shape"]:
    r"""Quotient with value and derivatives 0 wherever the denominator is 0.

    Parameters
    ----------
    numerator, denominator : arrays of broadcastable shapes
        Real or complex.

    Returns
    -------
    array of the broadcast shape
        ``numerator / denominator``, or 0 where the denominator is 0.

    Examples
    --------
    >>> from jaxrepro.core import safe_divide
    >>> float(safe_divide(1.0, 0.0)), float(safe_divide(1.0, 4.0))
    (0.0, 0.25)
    """
    numerator, denominator = promote_floating(numerator, denominator)
    edge = denominator == 0
    return jnp.where(edge, 0, numerator / jnp.where(edge, 1, denominator))


def safe_norm(
    x: Inexact[ArrayLike, "..."],
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
) -> Inexact[Array, "..."]:
    r"""Euclidean norm with derivative 0 at the zero vector.

    .. math:: \|x\| = \Big(\sum_i |x_i|^2\Big)^{1/2}

    Parameters
    ----------
    x : array of any shape
        Real or complex.
    axis : int, tuple of int or None, default None
        Axes to sum over; None means all of them.
    keepdims : bool, default False
        Whether the summed axes stay with length 1.

    Returns
    -------
    array
        Real norm along ``axis``.

    Notes
    -----
    The vector is divided by its largest absolute entry first, so that neither
    squares of 1e30 overflow in float32 nor squares of 1e-30 vanish. Entries
    below the smallest normal number count as 0.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.core import safe_norm
    >>> float(safe_norm(jnp.array([3.0, 4.0])))
    5.0
    >>> jax.grad(safe_norm)(jnp.zeros(2)).tolist()
    [0.0, 0.0]
    """
    (x,) = promote_floating(x)
    parts = [x.real, x.imag] if jnp.iscomplexobj(x) else [x]
    scale = scale_of(x, axis)
    total = sum(jnp.sum((p / scale) ** 2, axis, keepdims=True) for p in parts)
    norm = scale * safe_sqrt(total)
    return norm if keepdims else jnp.squeeze(norm, axis)


def scale_of(x: jax.Array, axis: int | tuple[int, ...] | None = None) -> jax.Array:
    """Largest absolute entry along kept axes, a constant by which to divide; or 1.

    Squares of what is divided by it neither overflow nor vanish. It has no
    derivative, as it cancels in whatever is homogeneous.
    """
    parts = [x.real, x.imag] if jnp.iscomplexobj(x) else [x]
    largest = jnp.max(
        jnp.stack([jnp.max(jnp.abs(p), axis, keepdims=True, initial=0) for p in parts]),
        axis=0,
    )
    scale = jax.lax.stop_gradient(largest)
    # A compiler may multiply by 1 / scale, which must be a normal number, too.
    tiny = jnp.finfo(scale.dtype).tiny
    return jnp.where(scale > 0, jnp.clip(scale, tiny, 1 / (4 * tiny)), 1)


def logsumexp(
    x: Float[ArrayLike, "..."], axis: int | tuple[int, ...] | None = None
) -> Float[Array, "..."]:
    r"""Logarithm of a sum of exponentials, also over rows that are all ``-inf``.

    .. math:: \operatorname{LSE}(x) = m + \log \sum_i e^{x_i - m},
              \qquad m = \max_i x_i

    Parameters
    ----------
    x : array of any shape
        Entries; ``-inf`` stands for an absent term.
    axis : int, tuple of int or None, default None
        Axes to sum over; None means all of them.

    Returns
    -------
    array
        The reduction. Where every term is absent, or there is none, the value is
        ``-inf`` and all derivatives are 0 (``jax.scipy.special.logsumexp`` gives
        NaN there). Where one term is infinite the value is ``inf``.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.core import logsumexp
    >>> absent = jnp.full(2, -jnp.inf)
    >>> float(logsumexp(absent)), jax.grad(logsumexp)(absent).tolist()
    (-inf, [0.0, 0.0])
    """
    (x,) = promote_floating(x)
    m = jax.lax.stop_gradient(jnp.max(x, axis, keepdims=True, initial=-jnp.inf))
    m = jnp.where(jnp.isfinite(m), m, 0)
    absent = jnp.isneginf(x)
    terms = jnp.where(absent, 0, jnp.exp(jnp.where(absent, 0, x - m)))
    total = jnp.sum(terms, axis, keepdims=True)
    return jnp.squeeze(m + safe_log(total), axis)
