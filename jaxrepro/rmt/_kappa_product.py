r"""Renormalised noise level of products of independent sample covariances."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_integer, check_nonempty, check_shape, paper, promote_floating
from ._implicit import attach
from ._kappa_newton import is_zero, lower_bound
from ._newton import bracketed_newton
from ._spectrum import (
    check_samples,
    check_shift,
    check_spectrum,
    multiplicities,
    valid,
)


@paper("wang2026random", "renormalised noise level; products are ours")
def solve_kappa_product(
    lam: Real[ArrayLike, "..."],
    ns: Real[ArrayLike, " k"],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    batch_size: int = 128,
) -> Float[Array, "..."]:
    r"""Renormalised noise level of a product of independent Wishart matrices.

    The largest root of

    .. math:: \kappa \prod_i \Big(1 - \frac{1}{n_i}
              \sum_k \frac{\ell_k}{\ell_k + \kappa}\Big) = \lambda

    is that of :math:`\Sigma^{1/2} W_1 W_2 \cdots \Sigma^{1/2}` with white
    :math:`W_i` of :math:`n_i` samples each.

    Parameters
    ----------
    lam : array
        Shift :math:`\lambda \ge 0`, in the units of the eigenvalues.
    ns : array of shape (k,)
        Numbers of samples :math:`n_i > 0`; infinity is the identity.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0`.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.
    batch_size : int, default 128
        Shifts that are solved at a time; bounds the memory.

    Returns
    -------
    array of the shape of ``lam``
        The root. 0 at no shift if every :math:`n_i` is at least the rank; NaN for
        traced arguments out of range.

    Raises
    ------
    ValueError
        If shapes are wrong, or concrete arguments are out of range.

    Notes
    -----
    With one factor it is :func:`solve_kappa`. Differentiable in all arrays, to any
    order, by the implicit rule; at no shift the derivative is not defined and NaN.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import solve_kappa_product
    >>> eigs = jnp.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.01])
    >>> round(float(solve_kappa_product(0.1, jnp.array([16.0, 32.0]), eigs)), 5)
    0.16702
    """
    check_spectrum(eigs, mult)
    check_shift(lam)
    check_shape("ns", ns, ("k",))
    check_nonempty("ns", ns)
    check_samples(ns, "ns")
    check_integer("batch_size", batch_size)
    return _solve(lam, ns, eigs, mult, batch_size=batch_size)


@functools.partial(jax.jit, static_argnames="batch_size")
def _solve(lam, ns, eigs, mult, *, batch_size):
    lam, ns, eigs, mult = promote_floating(lam, ns, eigs, mult)
    shape = lam.shape
    lam, ns = valid(lam).ravel(), valid(ns, closed=False)
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    params = ns, eigs, mult
    fixed = jax.lax.stop_gradient(params)

    def solve(lam):
        root = _root(jax.lax.stop_gradient(lam), *fixed)
        return _attached(root, lam)

    # The sums over the spectrum are made again in reverse mode.
    @jax.checkpoint
    def _attached(root, lam):
        return attach(_equation, root, (lam, *params))

    return jax.lax.map(solve, lam, batch_size=batch_size).reshape(shape)


def _equation(kappa, params):
    lam, ns, eigs, mult = params
    first = jnp.sum(mult * eigs / (eigs + kappa))
    return kappa * jnp.prod(1 - first / ns) - lam


def _root(lam, ns, eigs, mult):
    fewest = jnp.min(ns)
    free, zero = lam == 0, is_zero(lam, fewest, eigs, mult)
    log_lam = jnp.log(jnp.where(free, 1, lam))

    def balance(y):
        """Decreasing in y; infinite where a factor is not positive."""
        kappa = jnp.exp(y)
        kept = eigs / (eigs + kappa)
        first = jnp.sum(mult * kept)
        spread = jnp.sum(mult * kept * (1 - kept))
        # Without a shift the factor of the fewest samples is 0.
        at_zero, at_zero_slope = jnp.log(first / fewest), -spread / first
        factors = 1 - first / ns
        above = jnp.all(factors > 0)
        factors = jnp.where(above, factors, 1)
        value = log_lam - y - jnp.sum(jnp.log(factors))
        slope = -1 - jnp.sum(spread / ns / factors)
        value = jnp.where(above | jnp.isnan(first), value, jnp.inf)
        return jnp.where(free, at_zero, value), jnp.where(free, at_zero_slope, slope)

    low = jnp.log(jnp.maximum(jnp.where(zero, 1, lam), lower_bound(eigs, mult)(fewest)))
    high = jnp.log(lam + jnp.sum(mult * eigs) * jnp.sum(1 / ns))
    found = bracketed_newton(balance, jnp.minimum(low, high), high)
    return jnp.where(zero, 0, jnp.exp(found.root))
