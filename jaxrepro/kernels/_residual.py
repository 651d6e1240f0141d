r"""Kernels of a deep residual network for any inputs, with biases."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_interval,
    check_shape,
    is_concrete,
    matmul,
    paper,
    promote_floating,
    safe_divide,
    safe_norm,
)
from ._arc_cosine import ramp, step
from ._delta import check_inputs, check_nonzero, pairwise_delta
from ._residual_dual import rntk_dual
from ._weights import branches, check_alphas, check_train


class ResidualKernels(NamedTuple):
    """Kernels of a wide residual network on pairs of inputs.

    Attributes
    ----------
    nngp : array of shape (n1, n2)
        Kernel of the Gaussian process: covariance of the outputs of a random network.
    ntk : array of shape (n1, n2)
        Neural tangent kernel.
    """

    nngp: Float[Array, "n1 n2"]
    ntk: Float[Array, "n1 n2"]


@paper("lai2026branch", "kernels of wide residual networks", uses=(rntk_dual,))
def resnet_kernels(
    x1: Real[ArrayLike, "n1 d"],
    x2: Real[ArrayLike, "n2 d"] | None = None,
    *,
    alphas: Real[ArrayLike, " L"],
    sigma_b: Real[ArrayLike, ""] = 0.0,
    c_in: Real[ArrayLike, ""] = 1.0,
    train: Sequence[str] = ("V", "W"),
    residual_norm: bool = True,
    normalize: bool = False,
) -> ResidualKernels:
    r"""Gaussian-process and tangent kernels of a wide residual network.

    The network is, in the limit of infinite width :math:`m`, with standard normal
    weights,

    .. math:: h_0 = \sqrt{c_\mathrm{in}}\, A x, \qquad
              h_l = h_{l-1} + \alpha_l \sqrt{\tfrac2m}\, V_l
              \Big( \tfrac{1}{\sqrt m} W_l h_{l-1} + \sigma_b b_l \Big)_+, \qquad
              f = \tfrac{1}{\sqrt m} v^\top h_L .

    Parameters
    ----------
    x1 : array of shape (n1, d)
        Inputs, one a row.
    x2 : array of shape (n2, d), optional
        Other inputs, by default the same; then the result is exactly symmetric.
    alphas : array of shape (L,)
        Scaling of each branch, not negative; see :func:`branch_schedule`.
    sigma_b : float, default 0
        Size of the biases :math:`\sigma_b \ge 0`; they are trained with "W".
    c_in : float, default 1
        Factor :math:`c_\mathrm{in} > 0` of the inner products of inputs, such as 1/d.
    train : sequence of {"V", "W", "A", "v"}, default ("V", "W")
        Trained weights.
    residual_norm : bool, default True
        Whether each branch's output is divided by :math:`\sqrt{1 + \alpha_l^2}`,
        which keeps kernels of deep networks from overflowing.
    normalize : bool, default False
        Whether to divide by the geometric mean of the diagonals.

    Returns
    -------
    ResidualKernels
        ``nngp`` and ``ntk``, in the dtype of the inputs.

    Raises
    ------
    ValueError
        If shapes do not fit, ``alphas`` is empty or negative, ``train`` names an
        unknown group or none, a number is out of range, or a row is zero where there
        are no biases and ``normalize`` is True.
    TypeError
        If an array is not real or in half precision.

    Notes
    -----
    Without biases the kernels are functions of the angle alone, and
    :func:`rntk_dual` is evaluated, which keeps the digits of small angles; with them
    all pairs go through a scan over the branches, one kernel matrix at a time. Its
    derivatives in reverse mode store :math:`2 \sqrt L` matrices.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import branch_schedule, resnet_kernels
    >>> x = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> kernels = resnet_kernels(x, alphas=branch_schedule(20), normalize=True)
    >>> print(np.round(np.asarray(kernels.ntk), 3))
    [[1.    0.512]
     [0.512 1.   ]]
    """
    check_inputs("x1", x1)
    if x2 is not None:
        check_inputs("x2", x2)
        check_shape("x2", x2, ("n2", jnp.shape(x1)[1]))
    check_alphas(alphas)
    for name, value in (("sigma_b", sigma_b), ("c_in", c_in)):
        check_shape(name, value, ())
    check_interval("sigma_b", sigma_b, 0.0, closed="left")
    check_interval("c_in", c_in, 0.0, closed="neither")
    train = check_train(train)
    check_choice("residual_norm", residual_norm, (True, False))
    check_choice("normalize", normalize, (True, False))
    options = {"train": train, "norm": residual_norm, "normalize": normalize}
    if is_concrete(sigma_b) and not np.any(sigma_b):
        for name, x in (("x1", x1), ("x2", x2)):
            if normalize and x is not None:
                check_nonzero(name, x)
        return _by_angle(x1, x2, alphas, c_in, **options)
    return _by_pairs(x1, x2, branches_of(x1, x2, alphas), sigma_b, c_in, **options)


def branches_of(x1, x2, alphas):
    """Shares of a schedule in the dtype of the inputs."""
    one, _ = promote_floating(x1, x2)
    return branches(alphas, one.dtype)


def _by_angle(x1, x2, alphas, c_in, *, train, norm, normalize):
    one, two = promote_floating(x1, x2)
    # A zero row has no direction; its kernels are 0 whatever the angle.
    delta = _delta(one, two)
    dual = rntk_dual(delta, alphas, train=train, normalize=True)
    if normalize:
        return ResidualKernels(1 - dual.delta, dual.ntk)
    schedule = branches_of(x1, x2, alphas)
    length1 = safe_norm(one, axis=1)
    length2 = length1 if two is None else safe_norm(two, axis=1)
    lengths = length1[:, None] * length2[None, :] * jnp.asarray(c_in, one.dtype)
    inner = len({"V", "W"} & set(train)) * schedule.depth
    size = inner + len({"A", "v"} & set(train))
    grown = 1 if norm else jnp.exp(schedule.log_scale)
    scale = lengths * grown
    return ResidualKernels(scale * (1 - dual.delta), scale * size * dual.ntk)


@jax.jit
def _delta(one, two):
    return pairwise_delta(one, two)


@functools.partial(jax.jit, static_argnames=("train", "norm", "normalize"))
def _by_pairs(x1, x2, schedule, sigma_b, c_in, *, train, norm, normalize):
    same = x2 is None
    x1, x2 = promote_floating(x1, x1 if same else x2)
    dtype = x1.dtype
    bias = jnp.asarray(sigma_b, dtype) ** 2
    factor = jnp.asarray(c_in, dtype)
    q1, q2 = (factor * jnp.sum(x**2, axis=1) for x in (x1, x2))
    kernel = factor * matmul(x1, x2.T)
    equal = jnp.eye(len(x1), dtype=bool)
    first = "A" in train

    def pin(matrix, diagonal):
        """The known diagonal of a kernel of equal inputs."""
        return jnp.where(equal, diagonal[:, None], matrix) if same else matrix

    kernel = pin(kernel, q1)
    tangent = kernel if first else jnp.zeros_like(kernel)
    t1, t2 = (q if first else jnp.zeros_like(q) for q in (q1, q2))

    def layer(carry, branch):
        kernel, tangent, q1, q2, t1, t2, grown = carry
        a, growth = branch
        # The plain network, divided by its growth: its biases shrink instead.
        own = bias if norm else bias * jnp.exp(-grown)
        p1, p2 = q1 + own, q2 + own
        size = jnp.sqrt(p1)[:, None] * jnp.sqrt(p2)[None, :]
        mixed = kernel + own
        delta = jnp.clip(1 - safe_divide(mixed, size), 0, 2)
        delta = jnp.where(equal, 0, delta) if same else delta
        slope = step(delta)
        response = pin(size * ramp(delta), p1)
        source = jnp.zeros_like(kernel)
        count = 0
        if "V" in train:
            source, count = source + response, count + 1
        if "W" in train:
            source, count = source + pin(mixed, p1) * slope, count + 1
        tangent = tangent * (1 - a * (1 - slope)) + a * source
        kernel = kernel + a * (response - kernel)
        t1, t2 = t1 + a * count * p1, t2 + a * count * p2
        q1, q2 = q1 + a * (p1 - q1), q2 + a * (p2 - q2)
        return (pin(kernel, q1), tangent, q1, q2, t1, t2, grown + growth), None

    growth = -jnp.log1p(-schedule.share)
    start = kernel, tangent, q1, q2, t1, t2, jnp.zeros((), dtype)
    end = _checkpointed(layer, start, (schedule.share, growth))
    kernel, tangent, q1, q2, t1, t2, grown = end
    if "v" in train:
        tangent, t1, t2 = tangent + kernel, t1 + q1, t2 + q2
    if normalize:
        size = jnp.sqrt(q1)[:, None] * jnp.sqrt(q2)[None, :]
        width = jnp.sqrt(t1)[:, None] * jnp.sqrt(t2)[None, :]
        return ResidualKernels(safe_divide(kernel, size), safe_divide(tangent, width))
    scale = 1 if norm else jnp.exp(grown)
    return ResidualKernels(scale * kernel, scale * tangent)


def _checkpointed(layer, start, branch):
    """A scan whose reverse mode stores about the root of its length, twice."""
    depth = len(branch[0])
    length = max(1, round(depth**0.5))
    pieces = -(-depth // length)
    # Branches of no share do nothing.
    padded = [jnp.pad(x, (0, pieces * length - depth)) for x in branch]
    split = [x.reshape(pieces, length) for x in padded]

    @jax.checkpoint
    def piece(carry, part):
        return jax.lax.scan(layer, carry, tuple(part))

    return jax.lax.scan(piece, start, tuple(split))[0]


@paper("lai2026branch", "neural tangent kernel of wide residual networks")
def resnet_ntk(
    x1: Real[ArrayLike, "n1 d"],
    x2: Real[ArrayLike, "n2 d"] | None = None,
    **options,
) -> Float[Array, "n1 n2"]:
    r"""Neural tangent kernel of a wide residual network.

    Parameters
    ----------
    x1 : array of shape (n1, d)
        Inputs, one a row.
    x2 : array of shape (n2, d), optional
        Other inputs, by default the same.
    **options
        As for :func:`resnet_kernels`, ``alphas`` among them.

    Returns
    -------
    array of shape (n1, n2)
        The kernel.

    Raises
    ------
    ValueError, TypeError
        As for :func:`resnet_kernels`.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import branch_schedule, resnet_ntk
    >>> x = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> print(np.round(np.asarray(resnet_ntk(x, alphas=branch_schedule(20))), 3))
    [[1.905 0.974]
     [0.974 1.905]]
    """
    return resnet_kernels(x1, x2, **options).ntk


@paper("lai2026branch", "Gaussian-process kernel of wide residual networks")
def resnet_nngp(
    x1: Real[ArrayLike, "n1 d"],
    x2: Real[ArrayLike, "n2 d"] | None = None,
    **options,
) -> Float[Array, "n1 n2"]:
    r"""Gaussian-process kernel of a wide residual network.

    Parameters
    ----------
    x1 : array of shape (n1, d)
        Inputs, one a row.
    x2 : array of shape (n2, d), optional
        Other inputs, by default the same.
    **options
        As for :func:`resnet_kernels`, ``alphas`` among them.

    Returns
    -------
    array of shape (n1, n2)
        The kernel.

    Raises
    ------
    ValueError, TypeError
        As for :func:`resnet_kernels`.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import branch_schedule, resnet_nngp
    >>> x = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> print(np.round(np.asarray(resnet_nngp(x, alphas=branch_schedule(20))), 3))
    [[1.    0.665]
     [0.665 1.   ]]
    """
    return resnet_kernels(x1, x2, **options).nngp
