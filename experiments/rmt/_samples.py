"""Training sets in the eigenbasis of their population, and what linear models keep."""

import jax
import jax.numpy as jnp

from jaxrepro.core import safe_eigh


def power_law(d, exponent=1.0):
    """Eigenvalues k to the power -exponent."""
    return jnp.arange(1.0, d + 1) ** -exponent


def gaussian_rows(key, n, eigs):
    """Gaussian data of given variances."""
    return jnp.sqrt(eigs) * jax.random.normal(key, (n, len(eigs)))


def some_rows(key, n, z):
    """Independent rows of a finite population."""
    return z[jax.random.randint(key, (n,), 0, len(z))]


def covariance(x):
    """Mean and covariance of a sample, divided by its number."""
    mean = jnp.mean(x, axis=0)
    x = x - mean
    return mean, x.T @ x / len(x)


def shrinkage(cov, sigma):
    """Matrix of the linear denoiser."""
    return jnp.linalg.solve(cov + sigma**2 * jnp.eye(len(cov)), cov)


def function_of(cov, fn):
    """A function of a covariance, by its eigenvalues."""
    values, vectors = safe_eigh(cov)
    return (vectors * fn(jnp.maximum(values, 0.0))) @ vectors.T
