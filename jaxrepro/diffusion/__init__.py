"""Diffusion models: preconditioning, noise levels, training, sampling."""

from ._denoiser import Denoiser as Denoiser, edm_denoiser as edm_denoiser
from ._edm import (
    EDMScalings as EDMScalings,
    edm_loss_weight as edm_loss_weight,
    edm_scalings as edm_scalings,
)
from ._levels import (
    karras_levels as karras_levels,
    lognormal_levels as lognormal_levels,
)
from ._loss import denoising_loss as denoising_loss
from ._sampler import probability_flow as probability_flow
from ._training import Training as Training, train_denoiser as train_denoiser

__all__ = [
    "Denoiser",
    "EDMScalings",
    "Training",
    "denoising_loss",
    "edm_denoiser",
    "edm_loss_weight",
    "edm_scalings",
    "karras_levels",
    "lognormal_levels",
    "probability_flow",
    "train_denoiser",
]
