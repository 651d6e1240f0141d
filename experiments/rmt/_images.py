"""Small grey pictures by name, with their noise-free statistics."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxrepro.data import load_fashion_mnist, load_mnist, load_photo_patches
from jaxrepro.rmt import GaussianFit, fit_gaussian

SIDE = 14
FASHION, MNIST, PHOTOS = "Fashion-MNIST", "MNIST", "photographs"


class Pictures(NamedTuple):
    """A finite population of pictures.

    Attributes
    ----------
    x : float32 array of shape (n, 14, 14, 1)
        The pictures, in [-1, 1].
    fit : GaussianFit
        Their mean and covariance.
    deviation : float
        Root mean square distance of a pixel from its mean.
    """

    x: np.ndarray
    fit: GaussianFit
    deviation: float


def eigen_coordinates(population: Pictures):
    """All pictures, centred, in the eigenbasis of their covariance."""
    fit = population.fit
    flat = population.x.reshape(len(population.x), -1)
    return jnp.asarray((flat - np.asarray(fit.mean)) @ np.asarray(fit.vectors))


def load_pictures(name: str) -> Pictures:
    """Fashion-MNIST or MNIST as means of 2 x 2 pixels, or patches of photographs."""
    if name == FASHION:
        x = load_fashion_mnist(pool=2).images
    elif name == MNIST:
        x = load_mnist(pool=2).images
    elif name == PHOTOS:
        colours = load_photo_patches(SIDE, stride=4).images
        x = colours.mean(-1, keepdims=True).astype(np.float32)
    else:
        raise ValueError(
            f"images: expected {FASHION!r}, {MNIST!r} or {PHOTOS!r}; got {name!r}"
        )
    fit = fit_gaussian(x.reshape(len(x), -1))
    return Pictures(x, fit, float(np.sqrt(np.mean(fit.eigs))))
