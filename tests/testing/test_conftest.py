"""The shared settings and fixtures do what the tests rely on."""

import os

import hypothesis
import jax
import jax.numpy as jnp
import jaxtyping
import pytest

from jaxrepro import core


def test_the_run_is_on_the_cpu_and_keeps_its_programs():
    assert jax.default_backend() == "cpu"
    assert jax.config.jax_compilation_cache_dir
    assert (
        jax.config.jax_compilation_cache_dir == os.environ["JAX_COMPILATION_CACHE_DIR"]
    )
    assert jax.config.jax_persistent_cache_min_compile_time_secs == 0
    assert not jax.config.jax_enable_x64


def test_hypothesis_profile():
    assert hypothesis.settings().deadline is None
    assert hypothesis.settings().max_examples in (25, 200)


def test_getkey_never_repeats(getkey):
    draws = [float(jax.random.normal(getkey())) for _ in range(3)]
    assert len(set(draws)) == 3


def test_x64(x64):
    assert jnp.ones(2).dtype == jnp.float64


def test_annotations_are_checked():
    with pytest.raises(jaxtyping.TypeCheckError):
        core.safe_eigh("not an array")


def test_plain_errors_shows_our_message(plain_errors):
    with pytest.raises(ValueError, match=r"^matrix: expected shape \(n, n\); got"):
        core.safe_eigh(jnp.ones(3))
