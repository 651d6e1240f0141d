r"""Edges of the limiting spectrum of a sample covariance."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import paper, promote_floating
from ._spectrum import (
    broadcast,
    check_samples,
    check_spectrum,
    multiplicities,
    valid,
)

# Beyond exp(+-_RANGE) of the ends of the spectrum an edge is at its limit.
_RANGE = 70.0


class Edges(NamedTuple):
    """Outer edges of a spectrum, without its zeros.

    Attributes
    ----------
    left, right : arrays
        Smallest and largest point of the support; ``left`` is 0 where the number of
        samples equals the rank.
    """

    left: Float[Array, "..."]
    right: Float[Array, "..."]


@paper("silverstein1995empirical", "support of the limiting spectrum")
def support_edges(
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
) -> Edges:
    r"""Outer edges of the limiting spectrum of the covariance of n samples.

    The support ends where :math:`x = -\kappa\,(1 - \mathrm{df}_1(\kappa)/n)` is
    stationary, that is, at real roots of :math:`\mathrm{df}_2(\kappa) = n`: on
    :math:`\kappa < -\ell_{\max}` for the right edge, and for the left one on
    :math:`\kappa > 0` if n is below the rank, else on
    :math:`-\ell_{\min} < \kappa < 0`.

    Parameters
    ----------
    n : array
        Number of samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance, at least one of
        them positive.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.

    Returns
    -------
    Edges
        ``left`` and ``right``, of the shape of ``n``. NaN for traced arguments out of
        range; 0 where no eigenvalue is positive.

    Raises
    ------
    ValueError
        If concrete arguments are out of range.

    Notes
    -----
    Between the edges there may be gaps, which are not reported. Zeros, of which there
    are ``d - min(n, rank)``, are no part of it. Bisection on a logarithmic scale;
    differentiable, since x is stationary at the root.

    References
    ----------
    [silverstein1995empirical]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import support_edges
    >>> left, right = support_edges(400, jnp.ones(100))  # (1 -+ sqrt(1/4))^2
    >>> round(float(left), 4), round(float(right), 4)
    (0.25, 2.25)
    """
    check_spectrum(eigs, mult)
    check_samples(n)
    return _support_edges(n, eigs, mult)


@jax.jit
def _support_edges(n, eigs, mult):
    (n,) = broadcast(("n", n))
    n, eigs, mult = promote_floating(n, eigs, mult)
    n, eigs, mult = valid(n, closed=False), valid(eigs), multiplicities(eigs, mult)
    mult = jnp.where(eigs > 0, mult, 0 * eigs)  # NaN stays
    flat = jax.lax.map(lambda n: _edges(n, eigs, mult), n.ravel(), batch_size=128)
    return Edges(*(x.reshape(n.shape) for x in flat))


def _edges(n, eigs, mult):
    some = jnp.sum(mult) > 0
    top = jnp.where(some, jnp.max(jnp.where(mult > 0, eigs, 0)), 1)
    bottom = jnp.where(some, jnp.min(jnp.where(mult > 0, eigs, top)), 1)
    rank = jnp.sum(mult)
    fixed = jax.lax.stop_gradient((n, eigs, mult, top, bottom))

    # Each branch, along which df2 falls as s goes from -inf to inf, gives kappa and
    # l + kappa, the latter without the cancellation at the poles.
    def right(s, eigs, top, bottom):
        return -top * (1 + jnp.exp(s)), (eigs - top) - top * jnp.exp(s)

    def below(s, eigs, top, bottom):
        return top * jnp.exp(s), eigs + top * jnp.exp(s)

    def above(s, eigs, top, bottom):
        share = jax.nn.sigmoid(s)
        return -bottom * jax.nn.sigmoid(-s), (eigs - bottom) + bottom * share

    def edge(branch):
        s = _bisect(branch, *fixed)
        _, eigs_at, _, top_at, bottom_at = fixed
        kappa, _ = branch(s, eigs_at, top_at, bottom_at)
        # Stationary in kappa, so that the root has no part in the derivative.
        total = eigs + kappa
        first = jnp.sum(mult * eigs / jnp.where(total == 0, 1, total))
        return -kappa * (1 - first / n)

    left = jnp.where(n < rank, edge(below), edge(above))
    left = jnp.where(n == rank, 0, left)
    nothing = 0 * rank
    # Few samples of a spectrum that decays fast have edges that rounding crosses.
    return (
        jnp.where(some, jnp.maximum(left, 0), nothing),
        jnp.where(some, edge(right), nothing),
    )


def _bisect(branch, n, eigs, mult, top, bottom):
    def excess(s):
        _, total = branch(s, eigs, top, bottom)
        share = jnp.where(eigs > 0, eigs, 0) / jnp.where(eigs > 0, total, 1)
        return jnp.sum(mult * share**2) / n - 1

    def step(_, ends):
        low, high = ends
        middle = (low + high) / 2
        beyond = excess(middle) > 0
        return jnp.where(beyond, middle, low), jnp.where(beyond, high, middle)

    end = jnp.full_like(n, _RANGE)
    low, high = jax.lax.fori_loop(0, 64, step, (-end, end))
    return (low + high) / 2
