r"""Learning curves of ridge regression."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import check_interval, check_shape, paper, promote_floating
from ._degrees import along_modes, loss
from ._kappa import describe
from ._spectrum import (
    broadcast,
    check_samples,
    check_shift,
    check_spectrum,
    valid,
)


class RidgeCurves(NamedTuple):
    r"""Expected squared errors of ridge regression.

    Attributes
    ----------
    test : array
        Error at new inputs, the noise of their labels included.
    train : array
        Error at the training inputs.
    bias : array
        Part of ``test`` that is due to the regularisation.
    variance : array
        Part of ``test`` that is due to the noise of the training labels.
    kappa : array
        Renormalised ridge.
    """

    test: Float[Array, "..."]
    train: Float[Array, "..."]
    bias: Float[Array, "..."]
    variance: Float[Array, "..."]
    kappa: Float[Array, "..."]


@paper("hastie2022surprises", "risk of ridge regression in high dimensions")
def ridge_curves(
    lam: Real[ArrayLike, "..."],
    n: Real[ArrayLike, "..."],
    eigs: Real[ArrayLike, " d"],
    w: Real[ArrayLike, " d"],
    *,
    noise_var: Real[ArrayLike, "..."] = 0.0,
) -> RidgeCurves:
    r"""Test and train error of ridge regression with Gaussian inputs.

    Labels are :math:`y = x^\top w + \varepsilon` with noise variance :math:`s^2`, the
    loss :math:`\frac1n \|X w - y\|^2 + \lambda \|w\|^2`. With
    :math:`\kappa = \kappa(\lambda)`,

    .. math:: \text{test} \simeq
              \frac{\sum_k \kappa^2 w_k^2 \ell_k / (\ell_k + \kappa)^2 + s^2}
              {1 - \mathrm{df}_2/n}, \qquad
              \text{train} \simeq (1 - \mathrm{df}_1/n)^2\, \text{test} .

    Parameters
    ----------
    lam : array
        Ridge :math:`\lambda \ge 0`, in the units of the eigenvalues.
    n : array
        Number of samples.
    eigs : array of shape (d,)
        Eigenvalues :math:`\ell_k \ge 0` of the covariance of the inputs, which have
        mean 0 and are not centred.
    w : array of shape (d,)
        Weights in the eigenbasis.
    noise_var : array, default 0
        Variance :math:`s^2 \ge 0` of the noise. ``lam``, ``n`` and ``noise_var``
        broadcast.

    Returns
    -------
    RidgeCurves
        ``test``, ``train``, ``bias``, ``variance`` and ``kappa``;
        ``test = bias + variance + noise_var``. Infinite at no ridge and n equal to
        the rank, unless there is no noise.

    Raises
    ------
    ValueError
        If shapes do not fit, or concrete arguments are out of range.

    References
    ----------
    [hastie2022surprises]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from jaxrepro.rmt import ridge_curves
    >>> w, eigs = jnp.ones(100) / 10, jnp.ones(100)
    >>> result = ridge_curves(0.0, jnp.array([50, 200]), eigs, w, noise_var=0.25).test
    >>> print(np.round(np.asarray(result), 3))
    [1.  0.5]
    """
    check_spectrum(eigs)
    check_shift(lam)
    check_samples(n)
    check_shape("w", w, (jnp.shape(eigs)[0],))
    check_interval("noise_var", noise_var, 0, jnp.inf, closed="left")
    return _ridge_curves(lam, n, noise_var, eigs, w)


@jax.jit
def _ridge_curves(lam, n, noise_var, eigs, w):
    lam, n, noise = broadcast(("lam", lam), ("n", n), ("noise_var", noise_var))
    lam, n, noise, eigs, w = promote_floating(lam, n, noise, eigs, w)
    noise, eigs = valid(noise), valid(eigs)
    info = describe(lam, n, eigs)
    _, signal = along_modes(lam, w**2 * eigs)
    missed = jnp.sum(signal * loss(eigs, info.kappa) ** 2, axis=-1)
    # 1/(1 - df2/n) is the derivative of kappa; where it is infinite, an error of 0
    # stays so.
    bias = jnp.where(missed > 0, missed, 0) * jnp.where(missed > 0, info.kappa_prime, 1)
    variance = jnp.where(noise > 0, noise, 0) * jnp.where(
        noise > 0, info.df2 / n * info.kappa_prime, 1
    )
    test = bias + variance + noise
    train = (1 - info.df1 / n) ** 2 * test
    return RidgeCurves(test, train, bias, variance, info.kappa)
