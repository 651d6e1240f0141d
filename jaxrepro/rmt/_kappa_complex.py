r"""Renormalised noise level at complex shifts, by rotation from the real axis."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Complex, Float, Inexact, Real

from ..core import check_integer, paper, promote_floating
from ._implicit import attach
from ._kappa import resolve
from ._spectrum import (
    broadcast,
    check_samples,
    check_spectrum,
    multiplicities,
    valid,
)

_ROTATIONS, _NEWTON_STEPS, _FINAL_STEPS = 24, 3, 8


class ComplexKappa(NamedTuple):
    r"""Renormalised noise level at complex shifts.

    Attributes
    ----------
    kappa : complex array
        The root; NaN where the residual is large.
    residual : array
        :math:`|\mathrm{df}_1/n + t/\kappa - 1|`, for diagnosis; carries no derivative.
    """

    kappa: Complex[Array, "..."]
    residual: Float[Array, "..."]


@paper("wang2026random", "renormalised noise level; complex shifts are ours")
def solve_kappa_complex(
    t: Inexact[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    *,
    mult: Real[ArrayLike, " d"] | None = None,
    batch_size: int = 128,
) -> ComplexKappa:
    r"""Renormalised noise level at complex shifts.

    .. math:: \kappa \Big(1 - \frac1n \sum_k \frac{\ell_k}{\ell_k + \kappa}\Big) = t,
              \qquad 0 < \arg\kappa < \arg t

    for :math:`0 < \arg t < \pi`, and the conjugate of that for conjugate shifts.

    Parameters
    ----------
    t : array
        Shifts off the negative real axis, in the units of the eigenvalues; real ones
        are those of :func:`solve_kappa`.
    n : array, broadcasts with ``t``
        Number of samples; infinity is the population.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the population covariance.
    mult : array of shape (d,), optional
        Their multiplicities, by default ones.
    batch_size : int, default 128
        Pairs that are solved at a time; bounds the memory.

    Returns
    -------
    ComplexKappa
        ``kappa`` and ``residual``. Values are NaN where the residual exceeds the root
        of the rounding unit (1.5e-8 in float64), on the negative axis, and for traced
        arguments out of range.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or concrete arguments are out of range.

    Notes
    -----
    The root at :math:`|t|` is followed while the argument turns to that of t, in steps
    that shrink towards the negative axis: a tangent, then Newton steps within the
    sector. Iterations from one start fail for n near d. Differentiable as
    :func:`solve_kappa`.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.rmt import solve_kappa_complex
    >>> eigs = jnp.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.01])
    >>> kappa = solve_kappa_complex(0.3 + 0.2j, 16, eigs).kappa
    >>> round(float(kappa.real), 4), round(float(kappa.imag), 4)
    (0.3981, 0.2366)
    """
    check_spectrum(eigs, mult)
    check_samples(n)
    check_integer("batch_size", batch_size)
    return _solve(t, n, eigs, mult, batch_size=batch_size)


@functools.partial(jax.jit, static_argnames="batch_size")
def _solve(t, n, eigs, mult, *, batch_size):
    t, n = broadcast(("t", t), ("n", n), real=False)
    real, imag, n, eigs, mult = promote_floating(
        jnp.real(t), jnp.imag(t), jnp.real(n), eigs, mult
    )
    shape = t.shape
    n, eigs = valid(n, closed=False).ravel(), valid(eigs)
    mult = multiplicities(eigs, mult)
    t = jax.lax.complex(real, imag).ravel()
    dtype = t.dtype
    fixed = jax.lax.stop_gradient((t, n, eigs, mult))
    radius = jnp.abs(fixed[0])
    start = resolve(radius, *fixed[1:], batch_size=batch_size).root

    def solve(entry):
        start, t, n, fixed_t, fixed_n = entry
        spectrum = tuple(x.astype(dtype) for x in fixed[2:])
        root, residual = _rotate(start, fixed_t, fixed_n, *spectrum)
        return _attached(root, t, n), residual

    # The sums over the spectrum are made again in reverse mode.
    @jax.checkpoint
    def _attached(root, t, n):
        return attach(_equation, root, (t, n, eigs, mult))

    entries = start, t, n, *fixed[:2]
    kappa, residual = jax.lax.map(solve, entries, batch_size=batch_size)
    residual = residual.reshape(shape)
    right = residual <= jnp.sqrt(jnp.finfo(real.dtype).eps)
    return ComplexKappa(jnp.where(right, kappa.reshape(shape), jnp.nan), residual)


def _equation(kappa, params):
    t, n, eigs, mult = params
    eigs, mult, n = (x.astype(kappa.dtype) for x in (eigs, mult, n))
    return kappa * (1 - jnp.sum(mult * eigs / (eigs + kappa)) / n) - t


def _rotate(start, t, n, eigs, mult):
    """Follow the root from the real axis; its residual says whether that worked."""
    dtype = eigs.dtype
    radius, target = jnp.abs(t).astype(dtype), jnp.abs(jnp.angle(t))
    zero = jnp.zeros_like(target)
    # On the cut itself there is no root, and rounding may hide that.
    gap = jnp.where(target < jnp.pi, jnp.pi - target, jnp.nan)
    n = n.astype(dtype)

    def terms(y, phi):
        shift = radius * jnp.exp(jax.lax.complex(zero, phi) - y)
        kept = eigs / (eigs + jnp.exp(y))
        first = jnp.sum(mult * kept) / n
        second = jnp.sum(mult * kept**2) / n
        return first + shift, first - second + shift, second, shift

    def clip(y, phi):
        return jax.lax.complex(y.real, jnp.clip(y.imag, 0, phi))

    def newton(y, phi):
        total, slope, _, _ = terms(y, phi)
        return clip(y + jnp.log(total) * total / slope, phi)

    def turn(j, state):
        y, phi = state
        angle = jnp.pi - jnp.pi * (gap / jnp.pi) ** ((j + 1) / _ROTATIONS)
        _, _, second, shift = terms(y, phi)
        tangent = y + jax.lax.complex(zero, angle - phi) * shift / (1 - second)
        inside = (tangent.imag >= 0) & (tangent.imag <= angle)
        y = jnp.where(inside, tangent, y)
        y = jax.lax.fori_loop(0, _NEWTON_STEPS, lambda _, y: newton(y, angle), y)
        return y, angle

    y = jnp.log(start).astype(dtype)
    y, _ = jax.lax.fori_loop(0, _ROTATIONS, turn, (y, zero))
    y = jax.lax.fori_loop(0, _FINAL_STEPS, lambda _, y: newton(y, target), y)
    total, *_ = terms(y, target)
    kappa = jnp.exp(y)
    return jnp.where(t.imag < 0, kappa.conj(), kappa), jnp.abs(total - 1)
