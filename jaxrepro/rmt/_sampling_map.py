r"""The linear sampling map, exact and as discrete samplers run it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Inexact, Real

from ..core import (
    check_choice,
    check_interval,
    check_shape,
    is_concrete,
    matmul,
    paper,
    promote_floating,
    safe_sqrt,
)
from ._spectrum import check_last_axis, check_spectrum, valid

_KINDS = ("euler", "heun")


@paper("karras2022elucidating", "deterministic samplers; their factors are ours")
def discrete_sampler_factor(
    s: Inexact[ArrayLike, "..."],
    sigmas: Real[ArrayLike, " K"],
    *,
    kind: str = "heun",
) -> Inexact[Array, "..."]:
    r"""What a discrete sampler makes of a mode of the data, exactly.

    With the denoiser of Gaussian data the sampler is linear in every mode: from noise
    level :math:`\sigma` to :math:`\sigma'` it multiplies by

    .. math:: E = \frac{s + \sigma \sigma'}{s + \sigma^2} \quad\text{(Euler)}, \qquad
              1 + \frac{\sigma' - \sigma}{2} \Big[ \frac{\sigma}{s + \sigma^2}
              + \frac{\sigma'}{s + \sigma'^2} E \Big] \quad\text{(Heun)} .

    Parameters
    ----------
    s : array
        Variances :math:`s \ge 0` of the modes; or complex, for
        :func:`spectral_function_mean`.
    sigmas : array of shape (K,)
        Noise levels, descending, two or more; the last may be 0, and the step to it
        is an Euler step.
    kind : {"euler", "heun"}, default "heun"
        The sampler.

    Returns
    -------
    array of the shape of ``s``
        Product of the factors of all steps.

    Raises
    ------
    ValueError
        If ``kind`` is unknown, or concrete arguments are negative or not in order.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> import jax.numpy as jnp

    >>> from jaxrepro.rmt import discrete_sampler_factor
    >>> sigmas = jnp.linspace(10.0, 0.0, 65)
    >>> exact = (1.0 / (1.0 + 10.0**2)) ** 0.5
    >>> [round(float(discrete_sampler_factor(1.0, sigmas, kind=k)) / exact, 2)
    ...  for k in ("euler", "heun")]
    [0.94, 0.99]
    """
    check_choice("kind", kind, _KINDS)
    if not jnp.iscomplexobj(s):
        check_interval("s", s, 0, jnp.inf, closed="left")
    check_levels(sigmas)
    return _factor(s, sigmas, kind=kind)


def check_levels(sigmas) -> None:
    """Raise unless noise levels are finite, not negative and descending."""
    check_shape("sigmas", sigmas, ("K",))
    check_interval("sigmas", sigmas, 0, jnp.inf, closed="left")
    if jnp.shape(sigmas)[0] < 2:
        raise ValueError(f"sigmas: expected two levels or more; got {sigmas}")
    if is_concrete(sigmas) and not np.all(np.diff(np.asarray(sigmas)) < 0):
        raise ValueError("sigmas: expected descending levels")


@functools.partial(jax.jit, static_argnames="kind")
def _factor(s, sigmas, *, kind):
    s, sigmas = promote_floating(s, sigmas)
    if not jnp.iscomplexobj(s):
        s = valid(s)

    def share(sigma):
        """Sigma / (s + sigma^2), and 0 without noise."""
        total = s + sigma**2
        return jnp.where(total == 0, 0, sigma / jnp.where(total == 0, 1, total))

    def step(product, levels):
        sigma, after = levels
        slope = share(sigma)
        euler = 1 + (after - sigma) * slope
        heun = 1 + (after - sigma) / 2 * (slope + share(after) * euler)
        last = jnp.real(after) == 0
        factor = euler if kind == "euler" else jnp.where(last, euler, heun)
        return product * factor, None

    product, _ = jax.lax.scan(step, jnp.ones_like(s), (sigmas[:-1], sigmas[1:]))
    return product


@paper("wang2026random", "sampling map of the linear denoiser")
def linear_sampling_map(
    x: Real[ArrayLike, "... d"],
    mean: Real[ArrayLike, " d"],
    eigs: Real[ArrayLike, " r"],
    vectors: Real[ArrayLike, "d r"],
    *,
    sigma_0: Real[ArrayLike, ""] = 0.0,
    sigma_T: Real[ArrayLike, ""] = float("inf"),
    alpha_0: Real[ArrayLike, ""] = 1.0,
    alpha_T: Real[ArrayLike, ""] = 1.0,
    sigmas: Real[ArrayLike, " K"] | None = None,
    sampler: str = "exact",
) -> Float[Array, "... d"]:
    r"""What a diffusion model with the linear denoiser generates from a noise.

    .. math:: x_0 = \alpha_0 \mu + f(S) (x_T - \alpha_T \mu), \qquad
              f(s) = \sqrt{\frac{\alpha_0^2 s + \sigma_0^2}
                                {\alpha_T^2 s + \sigma_T^2}}

    the exact solution of the probability-flow equation of
    :math:`x_t = \alpha_t x + \sigma_t \varepsilon`. For infinite :math:`\sigma_T`, x is
    white noise z of variance 1 and :math:`x_0 = \mu + (S + \sigma_0^2)^{1/2} z`.

    Parameters
    ----------
    x : array of shape (..., d)
        Noise :math:`x_T` to start from, or z for infinite ``sigma_T``.
    mean, eigs, vectors
        A :class:`GaussianFit`, of a sample or of the population.
    sigma_0, sigma_T : float, default 0 and infinity
        Final and initial noise level, in the units of the data.
    alpha_0, alpha_T : float, default 1
        Final and initial scale of the data; 1 for variance-exploding models. Not used
        for infinite ``sigma_T`` or by discrete samplers.
    sigmas : array of shape (K,), optional
        Noise levels of a discrete sampler, descending; x is at the first.
    sampler : {"exact", "euler", "heun"}, default "exact"
        "euler" and "heun" run over ``sigmas``.

    Returns
    -------
    array of shape (..., d)
        The sample.

    Raises
    ------
    ValueError
        If shapes do not fit, ``sampler`` is unknown or lacks its ``sigmas``, or
        concrete arguments are out of range.

    References
    ----------
    [wang2026random]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np

    >>> from jaxrepro.rmt import fit_gaussian, linear_sampling_map
    >>> fit = fit_gaussian(jnp.array([[1.0, 0.0], [3.0, 0.0]]))
    >>> print(np.round(np.asarray(linear_sampling_map(jnp.array([2.0, 2.0]), *fit)), 3))
    [4. 0.]
    """
    check_choice("sampler", sampler, ("exact", *_KINDS))
    check_spectrum(eigs)
    check_shape("mean", mean, ("d",))
    check_shape("vectors", vectors, (jnp.shape(mean)[0], jnp.shape(eigs)[0]))
    check_last_axis("x", x, jnp.shape(mean)[0])
    if sampler != "exact":
        if sigmas is None:
            raise ValueError(f"sigmas: expected noise levels for {sampler!r}; got None")
        check_levels(sigmas)
        factors = functools.partial(_factor, sigmas=sigmas, kind=sampler)
        rest = factors(jnp.zeros_like(jnp.asarray(sigmas)[0]))
        return _apply(x, mean, mean, vectors, factors(eigs), rest)
    for name, value in (
        ("sigma_0", sigma_0), ("alpha_0", alpha_0), ("alpha_T", alpha_T)
    ):  # fmt: skip
        check_interval(name, value, 0, jnp.inf, closed="left")
    check_interval("sigma_T", sigma_T, 0, closed="right")
    return _exact(x, mean, eigs, vectors, sigma_0, sigma_T, alpha_0, alpha_T)


@jax.jit
def _exact(x, mean, eigs, vectors, sigma_0, sigma_T, alpha_0, alpha_T):
    x, mean, eigs, vectors, *levels = promote_floating(
        x, mean, eigs, vectors, sigma_0, sigma_T, alpha_0, alpha_T
    )
    sigma_0, sigma_T, alpha_0, alpha_T = levels
    endless = jnp.isinf(sigma_T)
    b = jnp.where(endless, 1, sigma_T) ** 2
    alpha_0 = jnp.where(endless, 1, alpha_0)
    alpha_T = jnp.where(endless, 0, alpha_T)

    def factor(s):
        return safe_sqrt((alpha_0**2 * s + sigma_0**2) / (alpha_T**2 * s + b))

    rest = factor(jnp.zeros_like(b))
    return _apply(x, alpha_T * mean, alpha_0 * mean, vectors, factor(valid(eigs)), rest)


@jax.jit
def _apply(x, before, after, vectors, factors, rest):
    """Factors along the eigenvectors, and another for all that they do not span."""
    x, before, after, vectors, factors, rest = promote_floating(
        x, before, after, vectors, factors, rest
    )
    gap = x - jnp.broadcast_to(before, x.shape)
    excess = jnp.expand_dims(factors - rest, tuple(range(gap.ndim - 1)))
    along = matmul(excess * matmul(gap, vectors), vectors.T)
    return jnp.broadcast_to(after, x.shape) + rest * gap + along
