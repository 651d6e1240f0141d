r"""Linear maps, one for each range of noise levels."""

import math
from collections.abc import Sequence

import jax.numpy as jnp
from flax import nnx

from ...core import check_integer, check_interval


class LinearDenoiser(nnx.Module):
    r"""One affine map for each range of noise levels.

    .. math:: F(x; \sigma) = W_{k} x + b_{k}, \qquad
              k = \operatorname{argmin}_k |\log \sigma - \log \sigma_k|

    Parameters
    ----------
    shape : sequence of int
        Shape of an item, which is taken as a vector.
    n_bins : int, default 16
        Number of maps.
    sigma_min, sigma_max : float, defaults 0.002 and 80
        First and last centre :math:`\sigma_k`; the others lie between them at equal
        ratios.
    rngs : nnx.Rngs
        Source of the first weights.

    Notes
    -----
    At a centre the best map makes the denoiser that of
    :func:`jaxrepro.rmt.linear_denoiser` with the moments of the training data:
    theory and experiment meet here.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.diffusion import edm_denoiser
    >>> from jaxrepro.diffusion.networks import LinearDenoiser
    >>> denoiser = edm_denoiser(LinearDenoiser, (6,), n_bins=4)
    >>> params = denoiser.init(jax.random.key(0))
    >>> denoiser.apply(params, jnp.ones((3, 6)), 0.5).shape
    (3, 6)
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        n_bins: int = 16,
        sigma_min: float = 0.002,
        sigma_max: float = 80.0,
        rngs: nnx.Rngs,
    ):
        check_interval("sigma_min", sigma_min, 0.0, closed="neither")
        check_interval("sigma_max", sigma_max, sigma_min, closed="neither")
        self.n_bins = check_integer("n_bins", n_bins)
        self.ends = math.log(sigma_min), math.log(sigma_max)
        d = math.prod(shape)
        draw = nnx.initializers.lecun_normal(batch_axis=0)
        self.kernel = nnx.Param(draw(rngs.params(), (self.n_bins, d, d), jnp.float32))
        self.bias = nnx.Param(jnp.zeros((self.n_bins, d), jnp.float32))

    def __call__(self, x, noise):
        low, high = self.ends
        place = (4 * noise - low) / (high - low) * (self.n_bins - 1)
        bins = jnp.clip(jnp.round(place), 0, self.n_bins - 1).astype(jnp.int32)
        flat = x.reshape(len(x), -1)
        # Every map of every item, as one product: quicker than gathering matrices.
        every = jnp.einsum("ni,kij->nkj", flat, self.kernel[...])
        every = every + self.bias[...][None]
        mine = jnp.take_along_axis(every, bins[:, None, None], axis=1)
        return mine.reshape(x.shape)
