"""Networks in Flax for :func:`jaxrepro.diffusion.edm_denoiser`."""

from ._dit import SmallDiT as SmallDiT
from ._linear import LinearDenoiser as LinearDenoiser
from ._mlp import MLPDenoiser as MLPDenoiser
from ._unet import SmallUNet as SmallUNet

__all__ = ["LinearDenoiser", "MLPDenoiser", "SmallDiT", "SmallUNet"]
