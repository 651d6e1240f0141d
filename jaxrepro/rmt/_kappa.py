r"""Renormalised noise level: the root of the self-consistent equation."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int32, Real

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    paper,
    promote_floating,
    safe_divide,
)
from ._degrees import gain, loss, sum_modes
from ._kappa_newton import newton, polish as polished
from ._kappa_table import table
from ._newton import Bracketed
from ._spectrum import (
    broadcast,
    check_samples,
    check_shift,
    check_spectrum,
    multiplicities,
    valid,
)

_METHODS = ("newton", "table")


class KappaInfo(NamedTuple):
    r"""Renormalised noise level and what the deterministic equivalents need of it.

    Attributes
    ----------
    kappa : array
        The root :math:`\kappa`.
    df1, df2 : arrays
        Degrees of freedom at the root.
    kappa_prime : array
        Derivative :math:`d\kappa/d\lambda = n/(n - \mathrm{df}_2)`.
    ratio : array
        :math:`\kappa/\lambda`; at no shift its limit, infinite up to the rank.
    residual : array
        :math:`\mathrm{df}_1/n + \lambda/\kappa - 1`, for diagnosis; carries no
        derivative. 0 where the root is 0.
    n_iter : int32 array
        Iterations of the solver.
    """

    kappa: Float[Array, "..."]
    df1: Float[Array, "..."]
    df2: Float[Array, "..."]
    kappa_prime: Float[Array, "..."]
    ratio: Float[Array, "..."]
    residual: Float[Array, "..."]
    n_iter: Int32[Array, "..."]


@paper("wang2026random", "renormalised noise level")
def solve_kappa(
    lam: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    method: str = "newton",
    polish: bool = True,
    table_size: int = 128,
    batch_size: int = 128,
) -> Float[Array, "..."]:
    r"""Renormalised noise level of a sample covariance.

    The root :math:`\kappa \ge \lambda` of

    .. math:: \kappa = \lambda + \frac{\kappa}{n}
              \sum_k \frac{\ell_k}{\ell_k + \kappa},

    with which the resolvent of the covariance of n samples acts on average as that
    of the population: :math:`\lambda (\hat S + \lambda)^{-1} \simeq
    \kappa (\Sigma + \kappa)^{-1}`.

    Parameters
    ----------
    lam : array
        Shift :math:`\lambda \ge 0`; for a denoiser the noise variance
        :math:`\sigma^2`. In the units of the eigenvalues.
    n : array, broadcasts with ``lam``
        Number of samples, not necessarily whole; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.
    method : {"newton", "table"}, default "newton"
        ``"newton"`` sums over the spectrum in every iteration; ``"table"``, for many
        pairs with positive shifts, tabulates the sum once.
    polish : bool, default True
        Whether ``"table"`` ends with an exact Newton step, which makes its roots as
        accurate as those of ``"newton"``.
    table_size : int, default 128
        Terms of the table's series; 96 give 1e-12 over 24 units of log kappa.
    batch_size : int, default 128
        Pairs that are solved at a time; bounds the memory.

    Returns
    -------
    array of the broadcast shape
        The root. 0 at no shift if n is at least the rank; NaN for traced arguments
        out of range, and for no shift with ``"table"``.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    Notes
    -----
    Newton's method in :math:`\log\kappa` on a bracket that is proven to hold the root;
    unbracketed iterations from :math:`\kappa = \lambda` meet wrong roots.
    Differentiable in ``lam``, ``n``, ``eigs`` and ``mult`` to any order by

    .. math:: d\kappa = \frac{n}{n - \mathrm{df}_2} \Big[ d\lambda
              - \frac{\kappa\,\mathrm{df}_1}{n^2} dn
              + \frac{\kappa^2}{n} \sum_k \frac{d\ell_k}{(\ell_k + \kappa)^2} \Big],

    with derivative 0 where it is infinite, at no shift and n equal to the rank. There
    the root is badly conditioned: in float32 it has errors up to 5e-4 at small shifts.

    For data whose mean is estimated see :func:`effective_population`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import solve_kappa
    >>> round(float(solve_kappa(0.25, 250, 1 / jnp.arange(1, 101))), 5)
    0.26274
    """
    return _solve(
        lam,
        n,
        eigs,
        mult,
        method=method,
        polish=polish,
        table_size=table_size,
        batch_size=batch_size,
    ).root


@paper("wang2026random", "renormalised noise level and its degrees of freedom")
def kappa_info(
    lam: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    method: str = "newton",
    polish: bool = True,
    table_size: int = 128,
    batch_size: int = 128,
) -> KappaInfo:
    r"""Renormalised noise level with its degrees of freedom and diagnostics.

    Parameters
    ----------
    lam, n, eigs, mult, method, polish, table_size, batch_size
        As for :func:`solve_kappa`.

    Returns
    -------
    KappaInfo
        ``kappa``, ``df1``, ``df2``, ``kappa_prime``, ``ratio``, ``residual``,
        ``n_iter``, each of the shape of ``lam`` and ``n`` together.

    Raises
    ------
    ValueError
        As for :func:`solve_kappa`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import kappa_info
    >>> info = kappa_info(0.0, 25, jnp.ones(100))  # fewer samples than dimensions
    >>> round(float(info.kappa), 6), round(float(info.df1), 4), float(info.ratio)
    (3.0, 25.0, inf)
    """
    found = _solve(
        lam,
        n,
        eigs,
        mult,
        method=method,
        polish=polish,
        table_size=table_size,
        batch_size=batch_size,
    )
    return _describe(found, lam, n, eigs, mult)


def describe(lam, n, eigs, mult=None) -> KappaInfo:
    """:func:`kappa_info` of arguments that have been checked."""
    return _describe(resolve(lam, n, eigs, mult), lam, n, eigs, mult)


def _solve(lam, n, eigs, mult, **options) -> Bracketed:
    """Check the arguments and solve."""
    check_spectrum(eigs, mult)
    check_shift(lam)
    check_samples(n)
    check_choice("method", options["method"], _METHODS)
    check_choice("polish", options["polish"], (True, False))
    check_integer("table_size", options["table_size"], minimum=2)
    check_integer("batch_size", options["batch_size"])
    if options["method"] == "table":
        check_interval("lam", lam, 0, jnp.inf, closed="neither")
    return resolve(lam, n, eigs, mult, **options)


@functools.partial(
    jax.jit, static_argnames=("method", "polish", "table_size", "batch_size")
)
def resolve(
    lam,
    n,
    eigs,
    mult=None,
    *,
    method="newton",
    polish=True,
    table_size=128,
    batch_size=128,
) -> Bracketed:
    """Roots with their derivatives, of arguments that have been checked."""
    lam, n = broadcast(("lam", lam), ("n", n))
    lam, n, eigs, mult = promote_floating(lam, n, eigs, mult)
    shape = lam.shape
    lam, n = valid(lam).ravel(), valid(n, closed=False).ravel()
    eigs, mult = valid(eigs), multiplicities(eigs, mult)
    problem = jax.lax.stop_gradient((lam, n, eigs, mult))
    if method == "newton":
        found = newton(*problem, batch_size=batch_size)
    else:
        found = table(*problem, table_size=table_size)
        if polish:
            found = found._replace(
                root=polished(found.root, *problem, batch_size=batch_size)
            )
    kappa = _attach(batch_size, found.root, lam, n, eigs, mult)
    return Bracketed(kappa.reshape(shape), found.n_iter.reshape(shape))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _attach(batch_size, root, lam, n, eigs, mult):
    """A root that is known, with the derivatives of the equation that it solves."""
    return root


@_attach.defjvp
def _attach_jvp(batch_size, primals, tangents):
    _, lam, n, eigs, mult = primals
    _, *tangents = tangents
    kappa = _attach(batch_size, *primals)

    # The sums over the spectrum are made again for reverse mode, since all of them
    # together would take the memory of pairs times eigenvalues.
    @jax.checkpoint
    def tangent(entry):
        kappa, lam_dot, n, n_dot = entry
        kept, lost = gain(eigs, kappa), loss(eigs, kappa)
        inverse = 1 - jnp.sum(mult * kept**2) / n
        change = lam_dot - kappa / n * (jnp.sum(mult * kept) / n) * n_dot
        change += jnp.sum(mult * lost**2 * eigs_dot) / n
        change += kappa / n * jnp.sum(kept * mult_dot)
        return safe_divide(change, inverse)

    lam_dot, n_dot, eigs_dot, mult_dot = tangents
    entries = kappa, lam_dot, n, n_dot
    return kappa, jax.lax.map(tangent, entries, batch_size=batch_size)


@jax.jit
def _describe(found, lam, n, eigs, mult):
    lam, n = broadcast(("lam", lam), ("n", n))
    kappa, lam, n, eigs, mult = promote_floating(found.root, lam, n, eigs, mult)
    mult = multiplicities(eigs, mult)
    kept = gain(eigs, kappa)
    first, second = sum_modes(kept, mult), sum_modes(kept**2, mult)
    # kappa/lam = 1/(1 - df1/n), of which the first is exact and the second is defined
    # at no shift.
    ratio = jnp.where(
        lam > 0, kappa / jnp.where(lam > 0, lam, 1), _inverse(1 - first / n)
    )
    residual = first / n + safe_divide(lam, kappa) - 1
    residual = jax.lax.stop_gradient(jnp.where(kappa == 0, 0, residual))
    return KappaInfo(
        kappa, first, second, _inverse(1 - second / n), ratio, residual, found.n_iter
    )


def inverse_freedom(n, info: KappaInfo):
    r"""The factor :math:`1/(n - \mathrm{df}_2)` of all fluctuations.

    Where no freedom is left, at no shift and n equal to the rank, it is 0: what it
    multiplies vanishes faster.
    """
    return safe_divide(1.0, jnp.maximum(n - info.df2, 0))


def _inverse(x):
    """Inverse of a positive number; infinite, with derivative 0, from 0 down."""
    return jnp.where(x > 0, 1 / jnp.where(x > 0, x, 1), jnp.inf)
