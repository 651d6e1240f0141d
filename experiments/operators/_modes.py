"""Closed-form operators of signals that are sums of damped oscillations."""

from math import pi

import jax
import jax.numpy as jnp

from jaxrepro import operators


def mode_atoms(
    frequencies: jax.Array,
    decays: jax.Array,
    live: jax.Array,
    *,
    n_delays: int,
    spacing: float,
) -> operators.SpectralAtoms:
    r"""Spectral atoms of the operator on delay windows of a signal with given modes.

    A mode :math:`\lambda = -\tau \pm 2 \pi i f` moves along the window
    :math:`(1, e^{\lambda h}, \dots, e^{(m-1) \lambda h})`; these are the columns
    of :math:`R`, and :math:`L = R (R^* R)^{-1}`.

    Parameters
    ----------
    frequencies, decays : arrays of shape (k,)
        Modes, in Hz and in 1/s.
    live : bool array of shape (k,)
        Which of them exist; the others are padding.
    n_delays : int
        Number :math:`m` of samples in a window.
    spacing : float
        Time :math:`h` between them.

    Returns
    -------
    SpectralAtoms
        2 k atoms.
    """
    turn = 2 * pi * frequencies
    lam = jax.lax.complex(
        jnp.concatenate([-decays, -decays]), jnp.concatenate([turn, -turn])
    )
    live = jnp.concatenate([live, live])
    time = spacing * jnp.arange(n_delays, dtype=frequencies.dtype)
    right = jnp.where(live[None, :], jnp.exp(lam[None, :] * time[:, None]), 0)
    left = jnp.linalg.pinv(right).conj().T
    weight = live / jnp.sum(live, dtype=frequencies.dtype)
    return operators.SpectralAtoms(lam, right, left, weight)
