r"""Preconditioning of a denoiser: inputs, outputs and losses of unit size."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, paper, promote_floating


class EDMScalings(NamedTuple):
    r"""Factors that make a denoiser of a network.

    Attributes
    ----------
    skip : array
        Share :math:`c_\mathrm{skip}` of the noisy data in the result.
    out : array
        Size :math:`c_\mathrm{out}` of what the network adds.
    inp : array
        Factor :math:`c_\mathrm{in}` of the noisy data before the network.
    noise : array
        What the network is told of the noise level, :math:`c_\mathrm{noise}`.
    """

    skip: Float[Array, "*shape"]
    out: Float[Array, "*shape"]
    inp: Float[Array, "*shape"]
    noise: Float[Array, "*shape"]


@paper("karras2022elucidating", "preconditioning, table 1 of the paper")
def edm_scalings(
    sigma: Real[ArrayLike, "*shape"], *, sigma_data: Real[ArrayLike, ""] = 0.5
) -> EDMScalings:
    r"""Factors of the denoiser :math:`D` that is made of a network :math:`F`.

    .. math::
        D(x; \sigma) &= c_\mathrm{skip}\, x
            + c_\mathrm{out}\, F(c_\mathrm{in}\, x;\, c_\mathrm{noise}) \\
        c_\mathrm{skip} &= \frac{\sigma_d^2}{\sigma^2 + \sigma_d^2}, \quad
        c_\mathrm{out} = \frac{\sigma \sigma_d}{\sqrt{\sigma^2 + \sigma_d^2}}, \quad
        c_\mathrm{in} = \frac{1}{\sqrt{\sigma^2 + \sigma_d^2}}, \quad
        c_\mathrm{noise} = \tfrac14 \log \sigma

    Parameters
    ----------
    sigma : array
        Noise levels :math:`\sigma > 0`, in the units of the data.
    sigma_data : float, default 0.5
        Standard deviation :math:`\sigma_d > 0` of the data.

    Returns
    -------
    EDMScalings
        ``skip``, ``out``, ``inp``, ``noise``, each in the shape of ``sigma``.

    Raises
    ------
    ValueError
        If a level or ``sigma_data`` is not positive and finite.

    Notes
    -----
    Data of that deviation and independent noise give the network inputs of unit
    variance, and ask it for outputs of unit variance, at every level.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.diffusion import edm_scalings
    >>> skip = edm_scalings(np.array([0.05, 0.5, 5.0])).skip
    >>> print(np.round(np.asarray(skip), 2))
    [0.99 0.5  0.01]
    """
    check_interval("sigma", sigma, 0.0, closed="neither")
    check_interval("sigma_data", sigma_data, 0.0, closed="neither")
    return _scalings(sigma, sigma_data)


@paper("karras2022elucidating", "weight of the loss, table 1 of the paper")
def edm_loss_weight(
    sigma: Real[ArrayLike, "*shape"], *, sigma_data: Real[ArrayLike, ""] = 0.5
) -> Float[Array, "*shape"]:
    r"""Weight that makes a new network's loss equal at every noise level.

    .. math:: \lambda(\sigma) = \frac{1}{c_\mathrm{out}^2}
              = \frac{\sigma^2 + \sigma_d^2}{(\sigma \sigma_d)^2}

    Parameters
    ----------
    sigma : array
        Noise levels :math:`\sigma > 0`, in the units of the data.
    sigma_data : float, default 0.5
        Standard deviation :math:`\sigma_d > 0` of the data.

    Returns
    -------
    array in the shape of ``sigma``
        Weights of squared errors of the denoiser.

    Raises
    ------
    ValueError
        If a level or ``sigma_data`` is not positive and finite.

    References
    ----------
    [karras2022elucidating]

    Examples
    --------
    >>> from jaxrepro.diffusion import edm_loss_weight
    >>> print(round(float(edm_loss_weight(0.5)), 3))
    8.0
    """
    check_interval("sigma", sigma, 0.0, closed="neither")
    check_interval("sigma_data", sigma_data, 0.0, closed="neither")
    return 1 / _scalings(sigma, sigma_data).out ** 2


@jax.jit
def _scalings(sigma, sigma_data):
    (sigma,) = promote_floating(sigma)
    deviation = jnp.asarray(sigma_data, sigma.dtype)
    bad = ~((sigma > 0) & (deviation > 0) & (deviation < jnp.inf))
    sigma = jnp.where(bad, jnp.full_like(sigma, jnp.nan), sigma)
    total = jnp.hypot(sigma, deviation)
    return EDMScalings(
        skip=(deviation / total) ** 2,
        # Quotients first: the product of two small deviations may vanish.
        out=sigma * (deviation / total),
        inp=1 / total,
        noise=jnp.log(sigma) / 4,
    )
