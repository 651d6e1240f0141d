"""Training of several convolutional denoisers at once, against Flax's convolutions."""

import functools

import jax

from benchmarks._harness import Contender, compare
from jaxrepro.diffusion import edm_denoiser
from jaxrepro.diffusion.networks import SmallUNet
from jaxrepro.rmt.empirical import train_splits

SPLITS, STEPS, BATCH = 3, 3, 32


def main() -> bool:
    """Run all comparisons; whether every target was met."""
    shape = 14, 14, 1
    data = jax.random.normal(jax.random.key(1), (SPLITS, 200, *shape)) / 2

    def run(native):
        denoiser = edm_denoiser(SmallUNet, shape, channels=16, native=native)
        train = functools.partial(train_splits, jax.random.key(0), data)
        options = {"n_steps": STEPS, "batch_size": BATCH, "control": False}
        return lambda: train(denoiser=denoiser, **options).history

    return compare(
        f"{STEPS} steps of {SPLITS} networks side by side, 14 x 14, batch {BATCH}",
        Contender("products of matrices", run(native=False)),
        Contender("convolutions of Flax and XLA", run(native=True), target=2.0),
        repeats=3,
    )
