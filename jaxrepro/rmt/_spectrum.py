"""Spectra as arguments: eigenvalues with multiplicities, sample numbers, shifts."""

import jax.numpy as jnp

from ..core import (
    check_interval,
    check_nonempty,
    check_precision,
    check_real,
    check_shape,
    promote_floating,
)


def check_spectrum(eigs, mult=None) -> None:
    """Raise unless eigenvalues and multiplicities are finite and not negative."""
    for name, x in (("eigs", eigs), ("mult", mult)):
        if x is None:
            continue
        check_shape(name, x, ("d",) if name == "eigs" else (jnp.shape(eigs)[0],))
        check_precision(name, x)
        check_interval(name, x, 0, jnp.inf, closed="left")
    check_nonempty("eigs", eigs)


def check_samples(n, name: str = "n") -> None:
    """Raise unless the number of samples is positive; it may be infinite."""
    check_interval(name, n, 0, closed="right")


def check_shift(lam, name: str = "lam") -> None:
    """Raise unless a shift is finite and not negative."""
    check_interval(name, lam, 0, jnp.inf, closed="left")


def check_last_axis(name: str, x, d: int) -> None:
    """Raise unless the last axis of an array has the length of the spectrum."""
    if jnp.shape(x)[-1:] != (d,):
        raise ValueError(f"{name}: expected shape (..., {d}); got shape {jnp.shape(x)}")


def broadcast(*named, real: bool = True):
    """Arrays of one dtype and the shape that they have together.

    Parameters
    ----------
    *named : tuple of str and array
        Names, for the message, and arguments.
    real : bool, default True
        Whether complex numbers are refused.
    """
    names, arrays = zip(*named)
    if real:
        for name, x in named:
            check_real(name, x)
    try:
        jnp.broadcast_shapes(*(jnp.shape(x) for x in arrays))
    except ValueError:
        shapes = ", ".join(str(jnp.shape(x)) for x in arrays)
        raise ValueError(
            f"{', '.join(names)}: expected shapes that broadcast; got {shapes}"
        ) from None
    return jnp.broadcast_arrays(*promote_floating(*arrays))


def valid(x, low=0.0, *, closed: bool = True):
    """``x``, and NaN where it is below what is allowed: for traced values."""
    real = jnp.real(x)
    return jnp.where(real >= low if closed else real > low, x, jnp.nan)


def multiplicities(eigs, mult):
    """Multiplicities, by default ones, with NaN where they are negative."""
    return jnp.ones_like(eigs) if mult is None else valid(mult)
