"""Operation counts against counts by hand."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from jaxrepro.testing import FlopCount, count_flops

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "engineering.json").read_text()
)["contraction_flops"]


def square(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def repeated(n_steps, x, w):
    return jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, length=n_steps)[0]


def total(n_steps, x, w):
    return jnp.sum(repeated(n_steps, x, w))


def train(x, w_true, params):
    """40 steps of gradient descent on a 5-32-1 network, 64 points."""
    y = x @ w_true

    def loss(params):
        hidden = jnp.tanh(x @ params["w1"])
        return jnp.mean((hidden @ params["w2"] - y) ** 2)

    def step(params, _):
        gradient = jax.grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), None

    return jax.lax.scan(step, params, length=40)[0]


def convolve(x, kernel):
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=numbers
    )


A = square(64, 64)
CASES = {
    "matmul64": (jnp.matmul, A, A),
    "vmap8": (jax.vmap(jnp.matmul), square(8, 64, 64), square(8, 64, 64)),
    "scan10": (functools.partial(repeated, 10), A, A),
    "scan100": (functools.partial(repeated, 100), A, A),
    "grad_scan10": (jax.grad(functools.partial(total, 10), (0, 1)), A, A),
    "mlp_train_40_steps_n64_d5_width32": (
        train,
        square(64, 5),
        square(5, 1),
        {"w1": square(5, 32), "w2": square(32, 1)},
    ),
    "conv_nhwc_2x8x8x3_k3x3x3x5_same": (
        convolve,
        square(2, 8, 8, 3),
        square(3, 3, 3, 5),
    ),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_contractions_equal_the_reference(name):
    fn, *args = CASES[name]
    assert count_flops(fn, *args).contractions == REFERENCE[name]
    assert count_flops(jax.jit(fn), *args).contractions == REFERENCE[name]


def test_training_by_hand():
    forward = 2 * 64 * 5 * 32 + 2 * 64 * 32
    backward = 2 * 64 * 32 + 2 * 64 * 32 + 2 * 64 * 5 * 32
    labels = 2 * 64 * 5
    fn, *args = CASES["mlp_train_40_steps_n64_d5_width32"]
    assert count_flops(fn, *args).contractions == 40 * (forward + backward) + labels


def test_elementwise_counts_arithmetic_and_not_moves():
    x = square(3, 4)
    assert count_flops(lambda x: x + x, x) == FlopCount(0, 12, 0)
    assert count_flops(jnp.sum, x) == FlopCount(0, 12, 0)
    assert count_flops(lambda x: x.T.reshape(12)[::-1][:5], x) == FlopCount(0, 0, 0)
    assert count_flops(lambda x: x.at[0].add(x[1]), x).elementwise >= 4


def test_grouped_convolution_counts_the_channels_of_one_group():
    def fn(x, kernel):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "VALID", dimension_numbers=numbers, feature_group_count=2
        )

    count = count_flops(fn, square(1, 4, 4, 6), square(2, 2, 3, 8)).contractions
    assert count == 2 * (3 * 3 * 8) * (2 * 2 * 3)


def test_cond_takes_the_most_expensive_branch():
    def fn(flag, x):
        return jax.lax.cond(flag, lambda x: x @ x @ x, lambda x: x @ x, x)

    flag = jax.ShapeDtypeStruct((), jnp.bool_)
    assert count_flops(fn, flag, square(8, 8)).contractions == 2 * 2 * 8**3


def test_while_counts_one_step_and_says_so():
    def fn(x):
        return jax.lax.while_loop(lambda x: x[0, 0] < 1, lambda x: x @ x, x)

    count = count_flops(fn, square(8, 8))
    assert count.contractions == 2 * 8**3
    assert count.unbounded_loops == 1
    # A loop inside a scan is one loop of the program, whatever the length.
    twice = count_flops(
        lambda x: jax.lax.scan(lambda c, _: (fn(c), None), x, length=2), square(8, 8)
    )
    assert twice == FlopCount(2 * count.contractions, 2 * count.elementwise, 1)


def test_a_loop_of_known_length_is_bounded():
    count = count_flops(
        lambda x: jax.lax.fori_loop(0, 7, lambda i, x: x @ x, x), square(8, 8)
    )
    assert count.contractions == 7 * 2 * 8**3
    assert count.unbounded_loops == 0


@jax.custom_jvp
def with_jvp(a, b):
    return a @ b


with_jvp.defjvp(lambda primals, tangents: (with_jvp(*primals), tangents[0]))


@jax.custom_vjp
def with_vjp(a, b):
    return a @ b


with_vjp.defvjp(lambda a, b: (a @ b, (a, b)), lambda saved, g: saved)


@pytest.mark.parametrize(
    "fn", [jax.checkpoint(jnp.dot), jax.jit(jnp.dot), with_jvp, with_vjp]
)
def test_calls_count_what_they_call(fn):
    assert count_flops(fn, A, A).contractions == 2 * 64**3


def test_a_linear_solve_counts_its_solver_only():
    def fn(a, b):
        return jax.lax.custom_linear_solve(
            lambda x: a @ x,
            b,
            solve=lambda matvec, b: a @ (a @ b),
            transpose_solve=lambda vecmat, b: a.T @ b,
        )

    count = count_flops(fn, square(8, 8), square(8))
    assert count.contractions == 2 * 2 * 64


def test_nothing_is_run():
    big = square(10**6, 10**6)
    assert count_flops(jnp.matmul, big, big).contractions == 2 * 10**18
