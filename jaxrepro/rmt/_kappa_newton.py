"""Renormalised noise level, pair by pair, from the whole spectrum."""

import jax
import jax.numpy as jnp
import numpy as np

from ._degrees import along_modes
from ._newton import Bracketed, bracketed_newton


def newton(lam, n, eigs, mult, *, batch_size) -> Bracketed:
    """Roots for vectors of shifts and sample numbers, a batch at a time.

    The batch bounds the memory, and lets pairs that are easy stop early.
    """
    lower = lower_bound(eigs, mult)
    trace = jnp.sum(mult * eigs)

    def solve(pair):
        lam, n = pair
        zero = is_zero(lam, n, eigs, mult)
        lam = jnp.where(zero, 1, lam)

        def equation(y):
            return _equation(y, lam, n, eigs, mult)

        low = jnp.log(jnp.maximum(lam, lower(n)))
        high = jnp.log(lam + trace / n)
        found = bracketed_newton(equation, jnp.minimum(low, high), high)
        root = jnp.where(zero, 0, jnp.exp(found.root))
        return Bracketed(root, jnp.where(zero, 0, found.n_iter))

    return jax.lax.map(solve, (lam, n), batch_size=batch_size)


def is_zero(lam, n, eigs, mult):
    """Whether the root is 0: no shift, and samples in every direction."""
    return (lam == 0) & (n >= jnp.sum(jnp.where(eigs > 0, mult, 0)))


def polish(kappa, lam, n, eigs, mult, *, batch_size):
    """One Newton step on the whole spectrum, from roots that are nearly right."""

    def step(entry):
        kappa, lam, n = entry
        value, slope = _equation(jnp.log(kappa), lam, n, eigs, mult)
        return kappa * jnp.exp(-value / slope)

    return jax.lax.map(step, (kappa, lam, n), batch_size=batch_size)


def _equation(y, lam, n, eigs, mult):
    r"""Value and slope of :math:`\log(\mathrm{df}_1(e^y)/n + \lambda e^{-y})`."""
    kappa = jnp.exp(y)
    kept = eigs / (eigs + kappa)
    terms = mult * kept
    first, spread = jnp.sum(terms) / n, jnp.sum(terms * (1 - kept)) / n
    shift = lam / kappa
    total = first + shift
    return jnp.log(total), -(spread + shift) / total


def lower_bound(eigs, mult, n_terms: int | None = None):
    r"""The function of n that bounds the root at no shift from below.

    .. math:: \kappa_0 \ge \max_{m > n} \ell_{(m)} \frac{m - n}{n}

    where :math:`\ell_{(m)}` is the m-th largest eigenvalue, since at least m terms of
    the sum are as large as that of :math:`\ell_{(m)}`. Any few of the m will do.
    """
    order = jnp.argsort(-eigs)
    eigs, count = eigs[order], jnp.cumsum(mult[order])
    if n_terms is not None and n_terms < eigs.shape[0]:
        some = (
            np.unique(np.geomspace(1, eigs.shape[0], n_terms).round()).astype(int) - 1
        )
        eigs, count = eigs[some], count[some]

    def bound(n):
        share, heights = along_modes(1 / n, eigs)
        _, counts = along_modes(n, count)
        return jnp.max(heights * jnp.maximum(counts * share - 1, 0), axis=-1)

    return bound
