"""Argument checks: what passes, what is refused, and in which words."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.core import (
    check_choice,
    check_function,
    check_integer,
    check_interval,
    check_key,
    check_nonempty,
    check_precision,
    check_shape,
    is_concrete,
    promote_floating,
)


def says(message):
    """Match a whole message."""
    return f"^{re.escape(message)}$"


@pytest.mark.parametrize(
    "x", [None, 1, 1.0, "a", np.ones(2), jnp.ones(2), jax.random.key(0)]
)
def test_is_concrete(x):
    assert is_concrete(x)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad])
def test_traced_is_not_concrete(transform):
    seen = []
    transform(lambda x: (seen.append(is_concrete(x)), x * 1.0)[1])(
        jnp.ones(2) if transform is jax.vmap else 1.0
    )
    assert seen == [False]


F32, F64 = np.float32, np.float64
ONES = np.ones(2)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ((ONES.astype(F32),), "float32"),
        ((ONES.astype(F64),), "float64"),
        ((ONES.astype(F32), ONES.astype(F64)), "float64"),
        ((ONES.astype(F32), np.arange(2), True, None), "float32"),
        ((np.arange(2), 3), "float64"),
        ((ONES.astype(F32), 0.5), "float32"),
        ((ONES.astype(F32), np.float64(0.5)), "float64"),
        ((ONES.astype(F32), 1j), "complex64"),
        ((ONES.astype(F64), 1j), "complex128"),
        ((0.5,), "float64"),
        ((ONES.astype(np.complex64), ONES.astype(F32)), "complex64"),
        ((ONES.astype(np.complex64), ONES.astype(F64)), "complex128"),
        ((ONES.astype(np.float16), ONES.astype(F32)), "float32"),
        ((jnp.ones(2, jnp.bfloat16), jnp.ones(2, jnp.float16)), "float32"),
    ],
)
@pytest.mark.parametrize("rule", ["standard", "strict"])
def test_promote_floating(x64, given, want, rule):
    with jax.numpy_dtype_promotion(rule):
        got = promote_floating(*given)
    assert len(got) == len(given)
    for x, y in zip(given, got):
        if x is None:
            assert y is None
        else:
            assert y.dtype == want
            assert not y.weak_type
            np.testing.assert_array_equal(y, np.asarray(x, want))


def test_promote_floating_without_x64():
    (x,) = promote_floating(np.arange(3))
    assert x.dtype == jnp.float32
    assert promote_floating(None) == (None,)
    assert promote_floating() == ()


@pytest.mark.parametrize(
    ("x", "shape"),
    [
        (np.ones((2, 3)), ("n", "m")),
        (np.ones((2, 3)), (2, None)),
        (1.0, ()),
        ([1, 2], (2,)),
        (np.zeros((0, 3)), ("n", 3)),
    ],
)
def test_check_shape_passes(x, shape):
    check_shape("x", x, shape)
    jax.eval_shape(lambda x: check_shape("x", x, shape), np.asarray(x))


@pytest.mark.parametrize(
    ("x", "shape", "message"),
    [
        (np.ones((2, 3)), ("n", 4), "x: expected shape (n, 4); got shape (2, 3)"),
        (np.ones((2, 3)), (None, 4), "x: expected shape (_, 4); got shape (2, 3)"),
        (np.ones(3), ("n", "m"), "x: expected shape (n, m); got shape (3,)"),
        (np.ones(3), (), "x: expected shape (); got shape (3,)"),
        (1.0, ("n",), "x: expected shape (n,); got shape ()"),
    ],
)
def test_check_shape_refuses(x, shape, message):
    with pytest.raises(ValueError, match=says(message)):
        check_shape("x", x, shape)
    with pytest.raises(ValueError, match=says(message).removesuffix("$")):
        jax.eval_shape(lambda x: check_shape("x", x, shape), x)


def test_a_numpy_integer_fixes_a_size(plain_errors):
    check_shape("x", np.ones(2), (np.int64(2),))
    with pytest.raises(ValueError, match="expected shape"):
        check_shape("x", np.ones(3), (np.int64(2),))


def test_check_nonempty():
    check_nonempty("x", 1.0)
    check_nonempty("x", np.ones((1, 2)))
    message = "x: expected at least one element; got shape (2, 0)"
    with pytest.raises(ValueError, match=says(message)):
        check_nonempty("x", np.ones((2, 0)))


def test_check_function():
    check_function("loss", abs)
    check_function("loss", lambda x: x)
    with pytest.raises(TypeError, match="loss: expected a function; got None"):
        check_function("loss", None)

    class Unhashable:
        __hash__ = None

        def __call__(self):
            pass

    with pytest.raises(TypeError, match="loss: expected a function with a hash"):
        check_function("loss", Unhashable())


def test_check_choice():
    check_choice("kind", "a", ("a", "b"))
    check_choice("order", 2, iter([1, 2]))
    check_choice("kind", np.array(["a", "b"])[1], ("a", "b"))
    check_choice("cost", max, {"max": max}.values())
    message = "kind: expected one of 'a', 'b'; got 'c'"
    with pytest.raises(ValueError, match=says(message)):
        check_choice("kind", "c", ("a", "b"))


def test_check_choice_refuses_an_array():
    with pytest.raises(ValueError, match="^kind: expected one of 'a', 'b'; got array"):
        check_choice("kind", np.ones(2), ("a", "b"))


@pytest.mark.parametrize("value", [3, np.int32(3), jnp.asarray(3)])
def test_check_integer_gives_a_python_int(value):
    got = check_integer("n", value)
    assert got == 3
    assert type(got) is int


@pytest.mark.parametrize("value", [3.0, "3", None, True, np.True_, np.array([3])])
def test_check_integer_refuses_other_types(value):
    message = f"n: expected an integer >= 1; got {value!r}"
    with pytest.raises(TypeError, match=says(message)):
        check_integer("n", value)


def test_check_integer_refuses_traced_values():
    with pytest.raises(TypeError, match="^n: expected an integer >= 1; got a traced"):
        jax.jit(lambda n: check_integer("n", n))(3)


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (0, {}, "n: expected an integer >= 1; got 0"),
        (-1, {"minimum": 0}, "n: expected an integer >= 0; got -1"),
        (9, {"maximum": 4}, "n: expected an integer in [1, 4]; got 9"),
    ],
)
def test_check_integer_refuses_values_out_of_range(value, limits, message):
    with pytest.raises(ValueError, match=says(message)):
        check_integer("n", value, **limits)


@pytest.mark.parametrize(
    ("closed", "inside", "outside"),
    [
        ("both", [0, 0.5, 1], [-0.1, 1.1]),
        ("left", [0, 0.5], [1, -0.1]),
        ("right", [0.5, 1], [0, 1.1]),
        ("neither", [0.5], [0, 1]),
    ],
)
def test_check_interval(closed, inside, outside):
    for value in inside:
        check_interval("eta", value, 0, 1, closed=closed)
    check_interval("eta", inside, 0, 1, closed=closed)
    for value in [*outside, np.nan, np.inf]:
        with pytest.raises(ValueError, match="^eta: expected a value in"):
            check_interval("eta", value, 0, 1, closed=closed)
        with pytest.raises(ValueError, match="^eta: expected every entry in"):
            check_interval("eta", [*inside, value], 0, 1, closed=closed)


def test_check_interval_words():
    message = "eps: expected a value in (0, inf]; got -2.0"
    with pytest.raises(ValueError, match=says(message)):
        check_interval("eps", -2.0, 0.0, closed="right")
    message = "a: expected every entry in [0, 1); got 1.5"
    with pytest.raises(ValueError, match=says(message)):
        check_interval("a", jnp.array([0.5, 1.5, 2.5]), 0, 1, closed="left")
    with pytest.raises(ValueError, match="^closed: expected one of 'both'"):
        check_interval("a", 0.5, 0, 1, closed="open")


def test_check_interval_lets_traced_values_and_nothing_pass():
    jax.jit(lambda x: check_interval("eta", x, 0, 1))(7.0)
    check_interval("a", np.zeros(0), 0, 1)


def test_keys_old_and_new_pass_also_traced():
    old, new = jax.random.PRNGKey(0), jax.random.key(0)
    for key in (old, np.asarray(old), new, jax.random.key(0, impl="rbg")):
        check_key("key", key)
    jax.vmap(lambda key: check_key("key", key))(jax.random.split(new, 3))
    jax.jit(lambda key: check_key("key", key))(old)


@pytest.mark.parametrize(
    ("key", "got"),
    [
        (0, "0"),
        (None, "None"),
        ([1, 2], "[1, 2]"),
        (np.int32(0), "dtype int32 and shape ()"),
        (np.zeros(2, np.float16), "dtype float16 and shape (2,)"),
        (np.zeros(3, np.uint32), "dtype uint32 and shape (3,)"),
    ],
)
def test_what_is_no_key(key, got):
    message = "key: expected a random key, such as jax.random.key(0); got " + got
    with pytest.raises(TypeError, match=says(message)):
        check_key("key", key)


def test_several_keys():
    keys = jax.random.split(jax.random.key(0), 3)
    for several in (keys, jax.random.key_data(keys)):
        with pytest.raises(ValueError, match=r"one random key; got an array of keys of"
                           r" shape \(3,\), for jax.vmap"):  # fmt: skip
            check_key("key", several)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    check_precision("x", [1.0])
    check_precision("x", np.ones(2, np.int8))
    message = f"x: expected float32 or float64; got dtype {dtype}"
    with pytest.raises(TypeError, match=says(message)):
        check_precision("x", jnp.ones(2, dtype))
