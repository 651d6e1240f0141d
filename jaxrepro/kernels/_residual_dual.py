r"""The kernels of a deep residual network as functions of one angle."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_interval,
    check_precision,
    check_real,
    paper,
    promote_floating,
)
from ._arc_cosine import angle, excess
from ._weights import branches, check_alphas, check_train


class ResidualDual(NamedTuple):
    """Kernels of a residual network, as functions of the angle of two inputs.

    Attributes
    ----------
    delta : array
        One minus the correlation of the two outputs of the last branch, which is one
        minus the normalised kernel of the Gaussian process.
    ntk : array
        The neural tangent kernel.
    """

    delta: Float[Array, "*shape"]
    ntk: Float[Array, "*shape"]


@paper("lai2026branch", "residual neural tangent kernel")
def rntk_dual(
    delta: Real[ArrayLike, "*shape"],
    alphas: Real[ArrayLike, " L"],
    *,
    train: Sequence[str] = ("V", "W"),
    normalize: bool = True,
) -> ResidualDual:
    r"""Neural tangent kernel of a wide residual network, at inputs of one angle.

    .. math:: \delta_l &= \delta_{l-1} - a_l\, g(\delta_{l-1}), \qquad
              a_l = \frac{\alpha_l^2}{1 + \alpha_l^2} \\
              T_l &= T_{l-1} \big(1 - a_l (1 - \kappa_0)\big)
              + a_l (\kappa_1 + \rho\, \kappa_0), \qquad
              r = \frac{T_L}{2 \sum_l a_l}

    Parameters
    ----------
    delta : array
        One minus the cosine of the angle between two inputs, in [0, 2]; see
        :func:`pairwise_delta`.
    alphas : array of shape (L,)
        Scaling of each branch, not negative; see :func:`branch_schedule`.
    train : sequence of {"V", "W", "A", "v"}, default ("V", "W")
        Trained weights, also as a string such as "VW": outer and inner ones of the
        branches, of the input, of the output. Only the first two keep the kernel of a
        deep network nonlinear. "V" alone is a network of branches with one layer.
    normalize : bool, default True
        Whether to divide by the value at equal inputs.

    Returns
    -------
    ResidualDual
        ``delta`` and ``ntk`` in the shape of ``delta``. Without normalisation ``ntk``
        is that of inputs of length 1, and may overflow: it grows like
        :math:`\prod_l (1 + \alpha_l^2)`.

    Raises
    ------
    ValueError
        If ``delta`` is out of range, ``alphas`` is empty or negative, or ``train``
        names an unknown group or none.
    TypeError
        If an array is not real or in half precision.

    Notes
    -----
    One scan over the branches that carries the running mean of the normalised kernel
    instead of T: it is exactly 1 at equal inputs and does not drift. Memory does not
    grow with depth, not even for derivatives in ``delta``, whose rule carries the
    slope along. Derivatives in ``alphas`` in reverse mode do store every layer. The
    kernel has a cusp at equal inputs, where its derivative is taken to be finite.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import rntk_dual
    >>> right_angle = np.array(1.0)
    >>> for depth in (10, 1000):
    ...     deep = rntk_dual(right_angle, np.ones(depth)).ntk
    ...     scaled = rntk_dual(right_angle, np.full(depth, 1 / depth)).ntk
    ...     print(depth, round(float(deep), 3), round(float(scaled), 3))
    10 0.267 0.163
    1000 0.254 0.159
    """
    check_real("delta", delta)
    check_precision("delta", delta)
    check_interval("delta", delta, 0.0, 2.0)
    check_alphas(alphas)
    train = check_train(train)
    check_choice("normalize", normalize, (True, False))
    (delta,) = promote_floating(delta)
    schedule = branches(alphas, delta.dtype)
    return _dual(delta, schedule, train=train, normalize=normalize)


@functools.partial(jax.jit, static_argnames=("train", "normalize"))
def _dual(delta, schedule, *, train, normalize):
    last, mean, product = _recursion(delta, schedule.share, schedule.weight, train)
    inner = len({"V", "W"} & set(train)) * schedule.depth
    total, size = inner * mean, inner
    if "A" in train:
        total, size = total + (1 - delta) * product, size + 1
    if "v" in train:
        total, size = total + (1 - last), size + 1
    # No branch does anything: its limit for small scalings is that of one branch.
    alive = size > 0
    ratio = jnp.where(alive, total / jnp.where(alive, size, 1), mean)
    scale = 1 if normalize else size * jnp.exp(schedule.log_scale)
    return ResidualDual(last, ratio * scale)


def _layers(delta, share, weight, train):
    """Last angle, mean of the sources seen on the way, and product of the slopes."""
    inner = {"V", "W"} & set(train)

    def layer(carry, branch):
        delta, mean, product = carry
        a, w = branch
        turned = angle(delta) / jnp.pi
        gain, cosine = excess(delta), 1 - delta
        if inner == {"V"}:
            source = cosine + gain
        elif inner == {"W"}:
            source = cosine * (1 - turned)
        else:
            source = cosine + (gain - cosine * turned) / 2
        mean = mean + w * (source - mean) - a * turned * (1 - w) * mean
        product = product * (1 - a * turned)
        return (delta - a * gain, mean, product), None

    start = delta, jnp.zeros_like(delta), jnp.ones_like(delta)
    return jax.lax.scan(layer, start, (share, weight))[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(3,))
def _recursion(delta, share, weight, train):
    return _layers(delta, share, weight, train)


@functools.partial(_recursion.defjvp, symbolic_zeros=True)
def _recursion_jvp(train, primals, tangents):
    delta, *branch = primals
    moves, *branch_moves = tangents
    zero = jax.custom_derivatives.SymbolicZero
    share, weight = branch
    result = _recursion(delta, share, weight, train)
    change = [jnp.zeros_like(delta)] * 3
    if not isinstance(moves, zero):
        # The slope at every angle, carried along; what is left is linear in the move.
        seed = (jnp.ones_like(delta),)
        _, slopes = jax.jvp(lambda d: _layers(d, share, weight, train), (delta,), seed)
        change = [slope * moves for slope in slopes]
    if not all(isinstance(move, zero) for move in branch_moves):
        filled = tuple(
            jnp.zeros_like(x) if isinstance(move, zero) else move
            for x, move in zip(branch, branch_moves)
        )
        run = lambda share, weight: _layers(delta, share, weight, train)
        _, more = jax.jvp(run, (share, weight), filled)
        change = [a + b for a, b in zip(change, more)]
    return result, tuple(change)
