"""Trajectories of a linear system driven by noise."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key, Real, UInt32

from ..core import (
    check_integer,
    check_interval,
    check_key,
    check_nonempty,
    check_shape,
    promote_floating,
)


def make_linear_system(
    key: Key[Array, ""] | UInt32[Array, "2"],
    matrix: Real[ArrayLike, "d d"],
    initial: Real[ArrayLike, " d"] | None = None,
    *,
    noise: Real[ArrayLike, ""] = 1.0,
    n_steps: int,
    n_burn: int = 0,
) -> Float[Array, "n_steps d"]:
    r"""Simulate a linear system with Gaussian noise.

    .. math:: x_{t+1} = A x_t + \sigma \varepsilon_t, \qquad
              \varepsilon_t \sim \mathcal{N}(0, I_d)

    Parameters
    ----------
    key : key
        Random key of the noise.
    matrix : array of shape (d, d)
        The matrix :math:`A`, acting on column vectors.
    initial : array of shape (d,), optional
        First state :math:`x_0`, by default 0.
    noise : float, default 1
        Standard deviation :math:`\sigma \ge 0` of each coordinate of the noise.
    n_steps : int
        Number of states to return.
    n_burn : int, default 0
        Number of states to leave out at the beginning: enough of them make the
        rest stationary if the spectral radius of ``matrix`` is below 1.

    Returns
    -------
    array of shape (n_steps, d)
        :math:`x_b, \dots, x_{b+n-1}` with :math:`b` = ``n_burn``; row 0 is
        ``initial`` if ``n_burn`` is 0.

    Raises
    ------
    ValueError
        If ``matrix`` is not square, ``initial`` does not fit, ``n_steps < 1``,
        ``n_burn < 0``, a concrete ``noise`` is negative, infinite or NaN, or there are
        several keys.
    TypeError
        If ``key`` is no random key, or ``n_steps`` or ``n_burn`` no integer.

    Notes
    -----
    O((n + b) d^2), one ``scan``. The stationary covariance solves
    :math:`\Sigma = A \Sigma A^\top + \sigma^2 I`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.data import make_linear_system
    >>> turn = 0.5 * jnp.array([[0.0, -1.0], [1.0, 0.0]])
    >>> start = jnp.array([1.0, 0.0])
    >>> x = make_linear_system(jax.random.key(0), turn, start, noise=0.0, n_steps=3)
    >>> x.tolist()
    [[1.0, 0.0], [0.0, 0.5], [-0.25, 0.0]]
    """
    check_key("key", key)
    check_shape("matrix", matrix, ("d", "d"))
    check_shape("matrix", matrix, (jnp.shape(matrix)[0],) * 2)
    check_nonempty("matrix", matrix)
    check_shape("noise", noise, ())
    check_interval("noise", noise, 0, closed="left")
    n_steps = check_integer("n_steps", n_steps)
    n_burn = check_integer("n_burn", n_burn, minimum=0)
    matrix, initial = promote_floating(matrix, initial)
    if initial is None:
        initial = jnp.zeros_like(matrix, shape=matrix.shape[:1])
    check_shape("initial", initial, matrix.shape[:1])
    noise = jnp.asarray(noise, matrix.dtype)
    return _simulate(key, matrix, initial, noise, n_steps, n_burn)


@functools.partial(jax.jit, static_argnames=("n_steps", "n_burn"))
def _simulate(key, matrix, initial, noise, n_steps, n_burn):
    total = n_burn + n_steps
    errors = noise * jax.random.normal(key, (total, len(initial)), matrix.dtype)

    def step(x, error):
        return jnp.matmul(matrix, x, precision="highest") + error, x

    _, states = jax.lax.scan(step, initial, errors)
    return states[n_burn:]
