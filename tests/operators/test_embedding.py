import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import delay_embed, snapshot_pairs


@pytest.mark.parametrize("n_delays", [1, 2, 5])
@pytest.mark.parametrize("stride", [1, 3])
def test_windows_equal_a_loop(n_delays, stride):
    x = np.random.default_rng(0).normal(size=(17, 2)).astype(np.float32)
    rows = 17 - (n_delays - 1) * stride
    want = [np.concatenate([x[t + j * stride] for j in range(n_delays)])
            for t in range(rows)]  # fmt: skip
    np.testing.assert_array_equal(delay_embed(x, n_delays, stride), want)


def test_one_window_left():
    x = np.arange(6.0).reshape(3, 2)
    assert delay_embed(x, 3).tolist() == [[0, 1, 2, 3, 4, 5]]


def test_integers_become_floats():
    assert delay_embed(np.arange(4)[:, None], 2).dtype == jnp.result_type(float)


def test_pairs():
    z = np.arange(10.0).reshape(5, 2)
    x, y = snapshot_pairs(z, lag=2)
    np.testing.assert_array_equal(x, z[:3])
    np.testing.assert_array_equal(y, z[2:])


@pytest.mark.usefixtures("x64")
def test_derivative_counts_the_windows_of_each_step():
    x = np.arange(5.0)[:, None]
    counts = jax.grad(lambda x: delay_embed(x, 3).sum())(x)
    assert counts[:, 0].tolist() == [1, 2, 3, 2, 1]


def test_vmap():
    x = np.random.default_rng(0).normal(size=(3, 9, 2))
    batch = jax.vmap(lambda x: delay_embed(x, 4, 2))(x)
    np.testing.assert_array_equal(batch[1], delay_embed(x[1], 4, 2))


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: delay_embed(np.zeros((9, 1)), 4, stride=3),
            "x: expected at least 10 time steps, enough for one window of n_delays = 4 "
            "with stride = 3; got 9",
        ),
        (
            lambda: delay_embed(np.zeros(9), 2),
            r"x: expected shape \(T, d\); got shape \(9,\); for one channel pass "
            r"x\[:, None\]",
        ),
        (lambda: delay_embed(np.zeros((9, 0)), 2), "x: expected at least one element"),
        (
            lambda: delay_embed(np.zeros((9, 1)), 0),
            "n_delays: expected an integer >= 1",
        ),
        (lambda: delay_embed(np.zeros((9, 1)), 2, 0), "stride: expected an integer"),
        (lambda: snapshot_pairs(np.zeros((2, 1)), 2), "z: expected more than lag = 2"),
        (lambda: snapshot_pairs(np.zeros(5)), r"z: expected shape \(T, d\)"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.usefixtures("plain_errors")
def test_number_of_delays_must_be_an_integer():
    with pytest.raises(TypeError, match="n_delays: expected an integer >= 1; got 2.0"):
        delay_embed(np.zeros((9, 1)), 2.0)
