r"""Losses whose minimisers span the leading singular functions of an operator."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_integer,
    check_interval,
    check_nonempty,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
)
from ._psd import regularised_inverse


@paper("wu2020variational", "VAMP-2 score of features")
def vamp2_loss(
    fx: Real[ArrayLike, "n m"],
    fy: Real[ArrayLike, "n m"],
    *,
    gamma: Real[ArrayLike, ""] = 0.0,
) -> Float[Array, ""]:
    r"""VAMP-2 loss of features: how much of the next step they explain, negated.

    .. math:: -\big\| (C_x + \gamma I)^{-1/2}\, C_{xy}\, (C_y + \gamma I)^{-1/2}
              \big\|_F^2, \qquad
              C_{xy} = \tfrac1n \sum_i (\phi(x_i) - \bar\phi_x)
                                       (\phi(y_i) - \bar\phi_y)^\top,

    with :math:`C_x`, :math:`C_y` alike. With ``gamma=0`` it lies in
    :math:`[-m, 0]`; for as many samples as one likes, no :math:`m` features get
    below minus the sum of the :math:`m` largest squared singular values of the
    transfer operator (that of the constant function left out), and those that reach
    it span the singular functions.

    Parameters
    ----------
    fx : array of shape (n, m)
        Features :math:`\phi(x_i)` of the states, one a row.
    fy : array of shape (n, m)
        Features :math:`\phi(y_i)` of their successors.
    gamma : float, default 0.0
        Regularisation :math:`\gamma \ge 0`, in squared units of the features; 0
        means pseudo-inverses. Take it positive for training on few samples.

    Returns
    -------
    array of shape ()
        The loss. NaN for a traced ``gamma`` that is negative or infinite.

    Raises
    ------
    ValueError
        If the shapes differ, an array is empty, or a concrete ``gamma`` is negative
        or infinite.
    TypeError
        If the features are no real numbers.

    Notes
    -----
    As :math:`-\operatorname{tr}\,(C_x + \gamma I)^{-1} C_{xy} (C_y + \gamma I)^{-1}
    C_{xy}^\top`, without roots; features that are constant, or combinations of the
    others, change neither value nor derivative. With ``gamma=0`` the loss does not
    change under invertible affine maps of the features: each is divided by the power
    of two next to its largest centred entry first, so that their units may differ by
    any factor. With a positive :math:`\gamma` all are divided by one such number, and
    :math:`\gamma` by its square, which changes nothing but the range of numbers. Cost
    :math:`O(n m^2 + m^3)`. The score is the paper's; the derivative of the
    pseudo-inverse is ours.

    References
    ----------
    [wu2020variational]

    Examples
    --------
    The square of a correlation, negated:

    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import vamp2_loss
    >>> fx = jnp.array([[0.0], [1.0], [2.0]])
    >>> fy = jnp.array([[0.0], [2.0], [1.0]])
    >>> round(float(vamp2_loss(fx, fy)), 4)
    -0.25
    """
    fx, fy = _checked(fx, fy)
    check_shape("gamma", gamma, ())
    check_interval("gamma", gamma, 0.0, closed="left")
    return _vamp2(fx, fy, gamma)


@jax.jit
def _vamp2(fx, fy, gamma):
    gamma = jnp.asarray(gamma, dtype=fx.dtype)
    gamma = jnp.where((gamma >= 0) & (gamma < jnp.inf), gamma, jnp.nan)
    (fx, gamma_x), (fy, gamma_y) = (_in_units_of_size(f, gamma) for f in (fx, fy))
    c_x, c_y, c_xy = (
        matmul(a.T, b) / len(fx) for a, b in ((fx, fx), (fy, fy), (fx, fy))
    )
    forward = matmul(regularised_inverse(c_x, gamma_x), c_xy)
    backward = matmul(c_xy, regularised_inverse(c_y, gamma_y))
    return -jnp.sum(forward * backward)


def _in_units_of_size(f, gamma):
    """Centred features and their regularisation, so that no square leaves the range.

    The loss does not depend on the unit, so its derivative is left out. Without a
    regularisation each feature has its own unit, and a constant one is left out.
    """
    raw = jnp.max(jnp.abs(f), axis=0)
    f = f - jnp.mean(f, axis=0, keepdims=True)
    own = jax.lax.stop_gradient(jnp.max(jnp.abs(f), axis=0))
    moves = ~(own <= len(f) * jnp.finfo(f.dtype).eps * jax.lax.stop_gradient(raw))
    own = jnp.where(moves, own, jnp.inf)
    largest = jnp.max(jnp.where(moves, own, 0))
    common = jnp.exp2(-jnp.floor(jnp.log2(jnp.where(largest > 0, largest, 1))))
    # A power of two, so that nothing is rounded. As a factor: the compiler would turn
    # two quotients into one by a square.
    scale = jnp.where(gamma == 0, jnp.exp2(-jnp.floor(jnp.log2(own))), common)
    return f * scale[None, :], gamma * common * common


@paper("haochen2021provable", "spectral contrastive loss")
@paper("turri2025self", "spectral contrastive loss of an evolution operator")
def spectral_contrastive_loss(
    fx: Real[ArrayLike, "n m"],
    fy: Real[ArrayLike, "n m"],
    matrix: Real[ArrayLike, "m m"],
) -> Float[Array, ""]:
    r"""Spectral contrastive loss of features with a symmetric matrix between them.

    .. math:: -\frac2n \sum_i s_{ii} + \frac{1}{n(n-1)} \sum_{i \ne j} s_{ij}^2,
              \qquad s_{ij} = \phi(x_i)^\top B\, \phi(y_j) .

    Its mean over independent pairs is :math:`\|s - k\|^2 - \|k\|^2` in
    :math:`L^2(p_x \otimes p_y)`, where :math:`k(x, y) = p(x, y) / (p(x)\, p(y))` is
    the kernel of the transfer operator: the best :math:`s` of rank :math:`m` is its
    truncated singular value decomposition, if that is symmetric.

    Parameters
    ----------
    fx : array of shape (n, m)
        Features :math:`\phi(x_i)` of the states, one a row, at least two.
    fy : array of shape (n, m)
        Features :math:`\phi(y_i)` of their successors.
    matrix : array of shape (m, m)
        The matrix :math:`B`, usually learned; only its symmetric part counts.

    Returns
    -------
    array of shape ()
        The loss, unbiased for independent pairs.

    Raises
    ------
    ValueError
        If shapes do not match, an array is empty, or there is a single pair.
    TypeError
        If the features or the matrix are no real numbers.

    Notes
    -----
    The double sum is :math:`\operatorname{tr}(B F_x^\top F_x B F_y^\top F_y)` less its
    diagonal, in :math:`O(n m^2)` operations and no array of size :math:`n^2`.
    Features are not centred: the constant function is the first one learned. With
    one feature map and a symmetric :math:`B`, :math:`s` is symmetric: enough for a
    system that is reversible in time; of another stationary system the symmetric
    part of its operator is learned, which has the same eigenfunctions where the
    operator is normal. The loss is from the papers; the form of the sum is ours.

    References
    ----------
    [haochen2021provable], [turri2025self]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import spectral_contrastive_loss
    >>> f = jnp.array([[1.0], [-1.0]])
    >>> float(spectral_contrastive_loss(f, f, jnp.eye(1)))
    -1.0
    """
    fx, fy = _checked(fx, fy)
    check_integer("number of rows of fx", len(fx), minimum=2)
    check_shape("matrix", matrix, 2 * fx.shape[1:])
    check_real("matrix", matrix)
    return _contrastive(*promote_floating(fx, fy, matrix))


@jax.jit
def _contrastive(fx, fy, matrix):
    n = len(fx)
    mapped = matmul(fx, (matrix + matrix.T) / 2)
    paired = jnp.sum(mapped * fy, axis=1)
    # The sum of squares of all products of a row of each, from m x m matrices.
    squares = jnp.sum(matmul(mapped.T, mapped) * matmul(fy.T, fy))
    apart = squares - jnp.sum(paired**2)
    return -2 * jnp.mean(paired) + apart / (n * (n - 1))


def _checked(fx, fy):
    check_shape("fx", fx, ("n", "m"))
    check_nonempty("fx", fx)
    check_shape("fy", fy, np.shape(fx))
    check_real("fx", fx)
    check_real("fy", fy)
    return promote_floating(fx, fy)
