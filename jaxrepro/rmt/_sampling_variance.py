r"""How generated data vary from training set to training set."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_choice, check_shape, matmul, paper, promote_floating
from ._denoiser_variance import WICK
from ._sampling import check_sampling, make_nodes, mean_gain, problem
from ._spectrum import check_last_axis, valid


def _scalars(n, sigma_0, sigma_T):
    for name, x in (("n", n), ("sigma_0", sigma_0), ("sigma_T", sigma_T)):
        check_shape(name, x, ())


@paper("wang2026random", "variance of generated data over training sets")
def sampling_variance(
    coords: Real[ArrayLike, "... d"],
    n: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    sigma_0: Real[ArrayLike, ""] = 0.0,
    sigma_T: Real[ArrayLike, ""] = float("inf"),
    wick: str = "full",
    reduce: str | None = None,
    num_nodes: int = 24,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, "..."]:
    r"""Variance over training sets of what is generated from a given noise.

    .. math:: \mathrm{Var}[x_0]_k \simeq \sum_{ij} C_{ij} \Big[ h_k^{ij}
              \sum_r h_r^{ij} q_r^2 + (h_k^{ij} q_k)^2 \Big] + M_k, \qquad
              h_k^{ij} = \frac{\ell_k}{(\ell_k + \kappa_i)(\ell_k + \kappa_j)},

    .. math:: C_{ij} = \frac{e_i e_j}{n' - \mathrm{df}_2(\kappa_i, \kappa_j)}, \qquad
              e_j = w_j\, \frac{t_j - a}{t_j}\, \kappa_j,

    over the nodes of :func:`sampling_quadrature`. :math:`M_k` is the part of an
    estimated mean: :math:`\ell_k/n` for infinite :math:`\sigma_T`, else
    :math:`\frac1n \big[\ell_k (1 - \bar f_k)^2
    + \sum_{ij} C_{ij} h_k^{ij} \mathrm{df}_2(\kappa_i, \kappa_j)\big]`.

    Parameters
    ----------
    coords : array of shape (..., d)
        Coordinates q of the noise in the eigenbasis of the population:
        :math:`U^\top (x_T - \mu)`, or :math:`U^\top z` of white noise of variance 1 for
        infinite ``sigma_T``.
    n : float
        Number of training samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    sigma_0, sigma_T : float, default 0 and infinity
        Final and initial noise level, in the units of the data.
    wick : {"full", "paper"}, default "full"
        "paper" leaves out the second term in the brackets.
    reduce : {None, "modes"}, default None
        Whether to sum over the modes.
    num_nodes : int, default 24
        Nodes of the quadrature.
    centered : bool, default True
        Whether the mean is estimated.
    ddof : {0, 1}, default 0
        What the sum of squares is divided by: n - ddof.

    Returns
    -------
    array of shape (..., d), or (...) if reduced
        The variance; NaN for traced arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not fit, an option is unknown, or concrete arguments are out of
        range.

    Notes
    -----
    Two models of independent samples differ by twice this on average, squared. All
    terms are positive, so float32 will do. Memory is that of N d and N^2 numbers a
    noise. The first term in the brackets is the paper's (for infinite b); the others
    are derived here.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import sampling_variance
    >>> z, eigs = jnp.array([1.0, -1.0, 0.5]), jnp.array([4.0, 1.0, 0.25])
    >>> [round(float(sampling_variance(z, n, eigs, reduce="modes")), 3)
    ...  for n in (20, 200)]
    [0.452, 0.045]
    """
    check_sampling(sigma_0, sigma_T, n, eigs, None, num_nodes, centered, ddof)
    _scalars(n, sigma_0, sigma_T)
    check_choice("wick", wick, WICK)
    check_choice("reduce", reduce, (None, "modes"))
    check_last_axis("coords", coords, jnp.shape(eigs)[0])
    variance = _variance(
        coords, n, sigma_0, sigma_T, eigs,
        wick=wick, num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip
    return variance if reduce is None else jnp.sum(variance, axis=-1)


def fluctuations(n, sigma_0, sigma_T, eigs, mult, *, num_nodes, centered, ddof):
    """Nodes, resolvents of shape (d, N), kernel C and df2, both of shape (N, N)."""
    nodes = make_nodes(
        n, sigma_0, sigma_T, eigs, mult,
        num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip
    kappa = nodes.info.kappa
    total = eigs[:, None] + kappa[None, :]
    resolvent = 1 / jnp.where(total == 0, 1, total)
    strength = nodes.weight * nodes.share * kappa
    cross = matmul(resolvent.T, (mult * eigs**2)[:, None] * resolvent)
    freedom = nodes.estimate.n - cross
    inverse = 1 / jnp.where(freedom > 0, freedom, 1)
    kernel = strength[:, None] * strength[None, :] * jnp.where(freedom > 0, inverse, 0)
    return nodes, resolvent, kernel, cross


def form(matrix, resolvent):
    """The quadratic form of a matrix over the nodes, at every mode."""
    return jnp.sum(matmul(resolvent, matrix) * resolvent, axis=-1)


def of_mean(gain, resolvent, matrix, eigs, n, sigma_T):
    """Variance of each mode that is due to an estimated mean."""
    finite = eigs * ((1 - gain) ** 2 + form(matrix, resolvent))
    return jnp.where(jnp.isinf(sigma_T), eigs, finite) / n


@functools.partial(jax.jit, static_argnames=("wick", "num_nodes", "centered", "ddof"))
def _variance(coords, n, sigma_0, sigma_T, eigs, *, wick, num_nodes, centered, ddof):
    (coords,) = promote_floating(coords)
    n, sigma_0, sigma_T, eigs, mult = problem(n, sigma_0, sigma_T, eigs, None)
    coords, eigs, n = promote_floating(coords, eigs, n)
    nodes, resolvent, kernel, cross = fluctuations(
        n, sigma_0, sigma_T, eigs, mult,
        num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip

    def one(q):
        along = matmul(resolvent.T, (eigs * q**2)[:, None] * resolvent)
        return eigs * form(kernel * along, resolvent)

    shape = coords.shape
    flat = coords.reshape(-1, shape[-1])
    variance = jax.lax.map(one, flat, batch_size=8).reshape(shape)
    leading = tuple(range(coords.ndim - 1))
    if wick == "full":
        own = eigs**2 * form(kernel, resolvent**2)
        variance = variance + jnp.expand_dims(own, leading) * coords**2
    if not centered:
        return variance
    gain = mean_gain(nodes, eigs, mult, 0)
    own = of_mean(gain, resolvent, kernel * cross, eigs, n, sigma_T)
    return variance + jnp.expand_dims(own, leading)


@paper("wang2026random", "variance of generated data, averaged over noises")
def sampling_variance_seed_average(
    n: Real[ArrayLike, ""],
    eigs: Real[ArrayLike, " d"],
    *,
    sigma_0: Real[ArrayLike, ""] = 0.0,
    sigma_T: Real[ArrayLike, ""] = float("inf"),
    mult: Real[ArrayLike, " d"] | None = None,
    wick: str = "full",
    num_nodes: int = 24,
    centered: bool = True,
    ddof: int = 0,
) -> Float[Array, " d"]:
    r"""Mean of :func:`sampling_variance` over the noises that models start from.

    With :math:`q \sim \mathcal{N}(0, b)`, or variance 1 for infinite b, the first term
    of the variance becomes :math:`b \sum_{ij} C_{ij} h_k^{ij} \sum_r h_r^{ij}`, which
    is :math:`b\, (\mathbb{E}[f^2]_{kk} - \bar f_k^2)`.

    Parameters
    ----------
    n, eigs, sigma_0, sigma_T
        As for :func:`sampling_variance`.
    mult : array of shape (d,), optional
        Multiplicities of the eigenvalues, by default ones.
    wick, num_nodes, centered, ddof
        As for :func:`sampling_variance`.

    Returns
    -------
    array of shape (d,)
        The mean variance of each mode.

    Raises
    ------
    ValueError
        As for :func:`sampling_variance`.

    Notes
    -----
    The sum is used rather than the difference, which loses its digits where the
    variance is small.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import sampling_variance_seed_average
    >>> eigs = jnp.array([4.0, 1.0, 0.25])
    >>> print(np.round(np.asarray(sampling_variance_seed_average(20, eigs)), 3))
    [0.331 0.103 0.032]
    """
    check_sampling(sigma_0, sigma_T, n, eigs, mult, num_nodes, centered, ddof)
    _scalars(n, sigma_0, sigma_T)
    check_choice("wick", wick, WICK)
    return _seed_average(
        n, sigma_0, sigma_T, eigs, mult,
        wick=wick, num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip


@functools.partial(jax.jit, static_argnames=("wick", "num_nodes", "centered", "ddof"))
def _seed_average(n, sigma_0, sigma_T, eigs, mult, *, wick, num_nodes, centered, ddof):
    n, sigma_0, sigma_T, eigs, mult = problem(n, sigma_0, sigma_T, eigs, mult)
    nodes, resolvent, kernel, cross = fluctuations(
        n, sigma_0, sigma_T, eigs, mult,
        num_nodes=num_nodes, centered=centered, ddof=ddof,
    )  # fmt: skip
    endless = jnp.isinf(sigma_T)
    level = jnp.where(endless, 1, valid(sigma_T)) ** 2
    along = matmul(resolvent.T, (mult * eigs)[:, None] * resolvent)
    variance = eigs * form(kernel * along, resolvent)
    if wick == "full":
        variance = variance + eigs**2 * form(kernel, resolvent**2)
    variance = level * variance
    if not centered:
        return variance
    gain = mean_gain(nodes, eigs, mult, 0)
    return variance + of_mean(gain, resolvent, kernel * cross, eigs, n, sigma_T)
