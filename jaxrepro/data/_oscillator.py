"""Oscillators with known modes."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key, Real, UInt32

from ..core import (
    check_integer,
    check_interval,
    check_key,
    check_nonempty,
    check_shape,
    promote_floating,
)


def make_oscillator(
    key: Key[Array, ""] | UInt32[Array, "2"],
    frequencies: Real[ArrayLike, " r"],
    decays: Real[ArrayLike, " r"],
    amplitudes: Real[ArrayLike, " r"] | None = None,
    phases: Real[ArrayLike, " r"] | None = None,
    *,
    dt: Real[ArrayLike, ""],
    noise: Real[ArrayLike, ""] = 0.0,
    n_steps: int,
) -> Float[Array, " n_steps"]:
    r"""Sample a sum of damped oscillations, with observation noise.

    .. math:: x_t = \sum_{k=1}^{r} a_k\, e^{-\tau_k t\,dt}
              \sin(2\pi f_k\, t\,dt + \varphi_k) + \sigma \varepsilon_t, \qquad
              \varepsilon_t \sim \mathcal{N}(0, 1), \quad t = 0, \dots, n - 1

    The modes are the pairs :math:`\lambda_k = -\tau_k \pm 2\pi i f_k` of the
    generator: a window of at least 2r samples evolves linearly with the
    eigenvalues :math:`e^{\lambda_k dt}`.

    Parameters
    ----------
    key : key
        Random key of the noise, used also where ``noise`` is 0.
    frequencies : array of shape (r,)
        Frequencies :math:`f_k` in Hz, below :math:`1/(2\,dt)`.
    decays : array of shape (r,)
        Decay rates :math:`\tau_k` in 1/s; 0 for an oscillation that stays.
    amplitudes : array of shape (r,), optional
        Amplitudes :math:`a_k`, by default 1.
    phases : array of shape (r,), optional
        Phases :math:`\varphi_k` in radians, by default 0.
    dt : float
        Time between two samples in seconds, positive.
    noise : float, default 0
        Standard deviation :math:`\sigma \ge 0` of the observation noise.
    n_steps : int
        Number of samples n.

    Returns
    -------
    array of shape (n_steps,)
        The samples, in the dtype of the arrays.

    Raises
    ------
    ValueError
        If the arrays have different or zero lengths, ``n_steps < 1``, or, where
        they are concrete, ``dt`` is not positive and finite or ``noise`` not
        finite and at least 0; if there are several keys.
    TypeError
        If ``key`` is no random key, or ``n_steps`` no integer.

    Notes
    -----
    O(n r). In float32 the phase of the last sample is off by about
    :math:`2\pi f n\,dt \cdot 10^{-7}`. Several oscillators: ``jax.vmap``.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.data import make_oscillator
    >>> key, modes = jax.random.key(0), jnp.array([[0.5, 1.0], [0.1, 0.1]])
    >>> x = make_oscillator(key, *modes, dt=0.005, n_steps=200)
    >>> x.shape, round(float(x[100]), 4)
    ((200,), 0.9512)
    """
    check_key("key", key)
    optional = {"amplitudes": amplitudes, "phases": phases}
    given = {k: v for k, v in optional.items() if v is not None}
    check_shape("frequencies", frequencies, ("r",))
    check_nonempty("frequencies", frequencies)
    frequencies, decays, *rest = promote_floating(frequencies, decays, *given.values())
    for name, values in {"decays": decays, **dict(zip(given, rest))}.items():
        check_shape(name, values, frequencies.shape)
    check_shape("dt", dt, ())
    check_interval("dt", dt, 0, closed="neither")
    check_shape("noise", noise, ())
    check_interval("noise", noise, 0, closed="left")
    n_steps = check_integer("n_steps", n_steps)

    dtype = frequencies.dtype
    modes = dict(zip(given, rest))
    amplitudes = modes.get("amplitudes", jnp.ones_like(frequencies))
    phases = modes.get("phases", jnp.zeros_like(frequencies))
    time = jnp.arange(n_steps, dtype=dtype)[:, None] * jnp.asarray(dt, dtype)
    angles = 2 * jnp.pi * frequencies[None, :] * time + phases[None, :]
    envelopes = amplitudes[None, :] * jnp.exp(-decays[None, :] * time)
    clean = jnp.sum(envelopes * jnp.sin(angles), axis=1)
    errors = jax.random.normal(key, (n_steps,), dtype)
    return clean + jnp.asarray(noise, dtype) * errors


def square_wave(
    frequency: Real[ArrayLike, ""], *, n_terms: int
) -> tuple[Float[Array, " n_terms"], Float[Array, " n_terms"]]:
    r"""Frequencies and amplitudes of the first terms of a square wave.

    .. math:: \operatorname{sign} \sin(2\pi f t) \approx \sum_{k=1}^{n}
              \frac{4}{\pi (2k-1)} \sin\big(2\pi (2k-1) f t\big)

    Parameters
    ----------
    frequency : float
        Frequency f of the square wave in Hz, positive.
    n_terms : int
        Number of terms n.

    Returns
    -------
    frequencies : array of shape (n_terms,)
        :math:`f, 3f, \dots, (2n-1)f`.
    amplitudes : array of shape (n_terms,)
        :math:`4/\pi, 4/(3\pi), \dots`; both for :func:`make_oscillator`.

    Raises
    ------
    ValueError
        If ``n_terms < 1``, ``frequency`` is not a scalar, or a concrete one is
        not positive and finite.

    Examples
    --------
    >>> from jaxrepro.data import square_wave
    >>> frequencies, amplitudes = square_wave(0.5, n_terms=3)
    >>> frequencies.tolist()
    [0.5, 1.5, 2.5]
    """
    check_shape("frequency", frequency, ())
    check_interval("frequency", frequency, 0, closed="neither")
    n_terms = check_integer("n_terms", n_terms)
    (frequency,) = promote_floating(frequency)
    odd = 2 * jnp.arange(n_terms, dtype=frequency.dtype) + 1
    return frequency[None] * odd, 4 / (jnp.pi * odd)
