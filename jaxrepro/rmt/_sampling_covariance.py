r"""How the coordinates of generated data vary together over training sets."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_shape, matmul, paper, promote_floating
from ._sampling import check_sampling, mean_gain, problem
from ._sampling_variance import fluctuations, form, of_mean


@paper("wang2026random", "variance of generated data over training sets")
def sampling_covariance(
    coords: Real[ArrayLike, " d"],
    n: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    other: Real[ArrayLike, " d"] | None = None,
    sigma_0: Real[ArrayLike, ""] = 0.0,
    sigma_T: Real[ArrayLike, ""] = float("inf"),
    num_nodes: int = 24,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "d d"]:
    r"""Covariance over training sets of what is generated from a noise, or from two.

    .. math:: \mathrm{Cov}[x_{0k}, x'_{0m}] \simeq \delta_{km} \Big( M_k
              + \sum_{ij} C_{ij} h_k^{ij} \sum_r h_r^{ij} q_r q'_r \Big)
              + q'_k\, q_m \sum_{ij} C_{ij} h_k^{ij} h_m^{ij}

    with C, h and M of :func:`sampling_variance`, which is the diagonal for
    :math:`q = q'`.

    Parameters
    ----------
    coords : array of shape (d,)
        Coordinates q of the noise, as in :func:`sampling_variance`.
    n : float
        Number of training samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    other : array of shape (d,), optional
        Coordinates q' of a second noise that the same models start from, by default
        the first.
    sigma_0, sigma_T, num_nodes, centered, ddof
        As for :func:`sampling_variance`.

    Returns
    -------
    array of shape (d, d)
        The covariance in the eigenbasis of the population; NaN for traced arguments
        out of range.

    Raises
    ------
    ValueError
        As for :func:`sampling_variance`.

    Notes
    -----
    :math:`O(N^2 d^2)` operations for N nodes, :math:`O(d^2)` memory. Map over noises
    with :func:`jax.vmap`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import sampling_covariance
    >>> z, eigs = jnp.array([1.0, -1.0, 0.5]), jnp.array([4.0, 1.0, 0.25])
    >>> print(np.round(np.asarray(sampling_covariance(z, 200, eigs)), 4))
    [[ 0.0324 -0.0022  0.0004]
     [-0.0022  0.0099 -0.0003]
     [ 0.0004 -0.0003  0.0028]]
    """
    check_sampling(sigma_0, sigma_T, n, eigs, None, num_nodes, centered, ddof)
    for name, x in (("n", n), ("sigma_0", sigma_0), ("sigma_T", sigma_T)):
        check_shape(name, x, ())
    check_shape("coords", coords, jnp.shape(eigs))
    if other is not None:
        check_shape("other", other, jnp.shape(eigs))
    return _covariance(
        coords, other, n, sigma_0, sigma_T, eigs,
        num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip


@functools.partial(jax.jit, static_argnames=("num_nodes", "centered", "ddof"))
def _covariance(coords, other, n, sigma_0, sigma_T, eigs, *, num_nodes, centered, ddof):
    other = coords if other is None else other
    coords, other = promote_floating(coords, other)
    n, sigma_0, sigma_T, eigs, mult = problem(n, sigma_0, sigma_T, eigs, None)
    coords, other, eigs, n = promote_floating(coords, other, eigs, n)
    nodes, resolvent, kernel, cross = fluctuations(
        n, sigma_0, sigma_T, eigs, mult,
        num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip
    along = matmul(resolvent.T, (eigs * coords * other)[:, None] * resolvent)
    diagonal = eigs * form(kernel * along, resolvent)
    if centered:
        gain = mean_gain(nodes, eigs, mult, 0)
        diagonal += of_mean(gain, resolvent, kernel * cross, eigs, n, sigma_T)
    own = pair_sum(kernel, resolvent, resolvent)
    left, right = eigs * other, eigs * coords
    return jnp.diag(diagonal) + left[:, None] * right[None, :] * own


def pair_sum(kernel, left, right):
    r"""The matrix :math:`\sum_{ij} C_{ij} L_{ki} L_{mi} R_{kj} R_{mj}`."""

    def add(total, node):
        weights, column = node
        inner = matmul(right * weights[None, :], right.T)
        return total + column[:, None] * column[None, :] * inner, None

    zero = jnp.zeros((len(left),) * 2, jnp.result_type(kernel, left, right))
    return jax.lax.scan(add, zero, (kernel, left.T))[0]
