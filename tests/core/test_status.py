"""Status codes and their messages."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.core import (
    DataUnavailableError,
    MissingExtraError,
    Status,
    status_message,
)


def test_codes_are_fixed():
    """They are stored in files, so they never change."""
    assert {s.name: s.value for s in Status} == {
        "OK": 0,
        "MAX_STEPS": 1,
        "NON_FINITE": 2,
        "SINGULAR": 3,
        "BAD_INPUT": 4,
    }


@pytest.mark.parametrize("status", Status)
def test_every_code_has_a_message(status):
    text = status_message(status)
    assert text.endswith(".")
    assert status_message(jnp.int32(status)) == text
    assert status_message(np.int64(status)) == text


def test_codes_live_in_programs():
    worst = jax.jit(lambda bad: jnp.where(bad, Status.SINGULAR, Status.OK).max())
    assert worst(jnp.array([False, True])) == Status.SINGULAR


def test_an_unknown_code_is_refused():
    with pytest.raises(
        ValueError, match=r"^code: expected one of 0 \(OK\), .*; got 9$"
    ):
        status_message(9)


def test_errors_carry_the_way_out():
    error = MissingExtraError("aeon", "data", "BasicMotions")
    assert str(error) == (
        "BasicMotions needs the package aeon. "
        'Install it with: pip install "jaxrepro[data]"'
    )
    assert isinstance(error, ImportError)
    assert issubclass(DataUnavailableError, RuntimeError)
