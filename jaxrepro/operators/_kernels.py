r"""Kernels :math:`k(x, x')` between rows of two matrices, and their scale."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key, Real, UInt32

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_key,
    check_nonempty,
    check_real,
    check_shape,
    matmul,
    promote_floating,
    safe_sqrt,
)


class LinearKernel(eqx.Module):
    r"""Inner product, :math:`k(x, x') = x^\top x'`.

    The same estimates as explicit features, by way of the samples: worth it
    when there are fewer samples than features.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import LinearKernel
    >>> LinearKernel()(jnp.ones((1, 2)), jnp.eye(2)).tolist()
    [[1.0, 1.0]]
    """

    def __call__(
        self, x: Real[ArrayLike, "n d"], y: Real[ArrayLike, "m d"]
    ) -> Float[Array, "n m"]:
        """Kernel matrix of shape (n, m) between rows of ``x`` and of ``y``."""
        x, y = _points(x, y)
        return matmul(x, y.T)


class PolynomialKernel(eqx.Module):
    r"""Polynomial kernel, :math:`k(x, x') = (s\, x^\top x' + c)^p`.

    Attributes
    ----------
    degree : int, default 2
        Degree :math:`p \ge 1`; static.
    scale : float, default 1.0
        Factor :math:`s > 0`.
    offset : float, default 1.0
        Constant :math:`c \ge 0`; 0 gives the homogeneous kernel.

    Raises
    ------
    ValueError
        If ``degree`` is less than 1, or a concrete ``scale`` or ``offset`` is
        out of range.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import PolynomialKernel
    >>> PolynomialKernel(degree=3)(jnp.ones((1, 2)), jnp.ones((1, 2))).tolist()
    [[27.0]]
    """

    degree: int = eqx.field(static=True, default=2)
    scale: Real[ArrayLike, ""] = 1.0
    offset: Real[ArrayLike, ""] = 1.0

    def __check_init__(self):
        check_integer("degree", self.degree)
        check_interval("scale", self.scale, 0.0, closed="neither")
        check_interval("offset", self.offset, 0.0, closed="left")

    def __call__(
        self, x: Real[ArrayLike, "n d"], y: Real[ArrayLike, "m d"]
    ) -> Float[Array, "n m"]:
        """Kernel matrix of shape (n, m) between rows of ``x`` and of ``y``."""
        x, y = _points(x, y)
        check_shape("scale", self.scale, ())
        check_shape("offset", self.offset, ())
        scale = jnp.asarray(self.scale, dtype=x.dtype)
        offset = jnp.asarray(self.offset, dtype=x.dtype)
        return jax.lax.integer_pow(scale * matmul(x, y.T) + offset, self.degree)


class GaussianKernel(eqx.Module):
    r"""Gaussian kernel, :math:`k(x, x') = \exp(-|x - x'|^2 / (2 \ell^2))`.

    Attributes
    ----------
    lengthscale : float
        :math:`\ell > 0`, in the unit of the states; :func:`median_lengthscale`
        offers a value. A traced value that is not positive gives NaN.

    Raises
    ------
    ValueError
        If a concrete ``lengthscale`` is not positive.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import GaussianKernel
    >>> k = GaussianKernel(lengthscale=1.0)(jnp.zeros((1, 1)), jnp.ones((1, 1)))
    >>> round(float(k[0, 0]), 4)
    0.6065
    """

    lengthscale: Real[ArrayLike, ""]

    def __check_init__(self):
        check_interval("lengthscale", self.lengthscale, 0.0, closed="neither")

    def __call__(
        self, x: Real[ArrayLike, "n d"], y: Real[ArrayLike, "m d"]
    ) -> Float[Array, "n m"]:
        """Kernel matrix of shape (n, m) between rows of ``x`` and of ``y``."""
        x, y = _points(x, y)
        inverse = _inverse_lengthscale(self.lengthscale, x.dtype)
        return jnp.exp(-squared_distances(x, y) * inverse**2 / 2)


class MaternKernel(eqx.Module):
    r"""Matern kernel of smoothness 1/2, 3/2 or 5/2.

    With :math:`\rho = \sqrt{2 \nu}\, |x - x'| / \ell`,

    .. math:: k_{1/2} = e^{-\rho}, \qquad
              k_{3/2} = (1 + \rho)\, e^{-\rho}, \qquad
              k_{5/2} = \bigl(1 + \rho + \rho^2 / 3\bigr)\, e^{-\rho} .

    Attributes
    ----------
    lengthscale : float
        :math:`\ell > 0`, in the unit of the states. A traced value that is not
        positive gives NaN.
    nu : {0.5, 1.5, 2.5}, default 2.5
        Smoothness :math:`\nu`; static.

    Raises
    ------
    ValueError
        If ``nu`` is another number, or a concrete ``lengthscale`` is not
        positive.

    Notes
    -----
    At equal points the kernel with :math:`\nu = 1/2` has a kink; its derivative
    there is set to 0.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import MaternKernel
    >>> k = MaternKernel(1.0, nu=0.5)(jnp.zeros((1, 1)), jnp.ones((1, 1)))
    >>> round(float(k[0, 0]), 4)
    0.3679
    """

    lengthscale: Real[ArrayLike, ""]
    nu: float = eqx.field(static=True, default=2.5)

    def __check_init__(self):
        check_choice("nu", self.nu, (0.5, 1.5, 2.5))
        check_interval("lengthscale", self.lengthscale, 0.0, closed="neither")

    def __call__(
        self, x: Real[ArrayLike, "n d"], y: Real[ArrayLike, "m d"]
    ) -> Float[Array, "n m"]:
        """Kernel matrix of shape (n, m) between rows of ``x`` and of ``y``."""
        x, y = _points(x, y)
        inverse = _inverse_lengthscale(self.lengthscale, x.dtype)
        square = 2 * self.nu * inverse**2 * squared_distances(x, y)
        rho = safe_sqrt(square)
        polynomial = {0.5: 1.0, 1.5: 1 + rho, 2.5: 1 + rho + square / 3}
        return polynomial[self.nu] * jnp.exp(-rho)


@functools.partial(jax.jit, static_argnames=("m",))
def median_lengthscale(
    key: Key[Array, ""] | UInt32[Array, "2"],
    x: Real[ArrayLike, "n d"],
    *,
    m: int = 400,
) -> Float[Array, ""]:
    r"""Median distance between samples, a usual lengthscale of a kernel.

    .. math:: \ell = \operatorname{median}\{\, |x_i - x_j| : i < j \,\}

    over at most ``m`` rows drawn without replacement.

    Parameters
    ----------
    key : key
        Random key of the draw. With ``n <= m`` all rows are used and the key
        has no influence.
    x : array of shape (n, d)
        Samples, for instance delay windows pooled over recordings.
    m : int, default 400
        Largest number of rows to use; the cost is :math:`O(m^2 d)`.

    Returns
    -------
    array of shape ()
        The lengthscale, in the unit of ``x``. It is 0, which no kernel accepts,
        if more than half of the pairs are equal, and NaN if a row that is used
        holds NaN.

    Raises
    ------
    ValueError
        If ``x`` is not a matrix with at least two rows, ``m < 2``, or there are
        several keys.
    TypeError
        If ``key`` is no random key.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import median_lengthscale
    >>> x = jnp.array([[0.0], [1.0], [3.0]])
    >>> float(median_lengthscale(jax.random.key(0), x))
    2.0
    """
    check_key("key", key)
    check_shape("x", x, ("n", "d"))
    check_nonempty("x", x)
    m = check_integer("m", m, minimum=2)
    (x,) = promote_floating(x)
    n = len(x)
    if n < 2:
        raise ValueError(f"x: expected at least 2 rows; got {n}")
    if n > m:
        x = x[jax.random.choice(key, n, (m,), replace=False)]
    pairs = np.triu_indices(len(x), 1)
    # jnp.median would pass through float64.
    ordered = jnp.sort(safe_sqrt(squared_distances(x, x)[pairs]))
    last = len(ordered) - 1
    median = (ordered[last // 2] + ordered[(last + 1) // 2]) / 2
    return jnp.where(jnp.isnan(ordered[-1]), jnp.nan, median)


@jax.custom_jvp
@jax.jit
def squared_distances(x, y):
    """Squared distances between rows, by explicit differences.

    They are exact at equal points and keep full relative accuracy at close
    ones, where ``|x|^2 + |y|^2 - 2 x.y`` cancels. One feature at a time, so that
    the (n, m, d) array of differences is never stored.
    """

    def add(total, columns):
        x, y = columns
        return total + (x[:, None] - y[None, :]) ** 2, None

    start = jnp.zeros((len(x), len(y)), dtype=x.dtype)
    return jax.lax.scan(add, start, (x.T, y.T))[0]


@squared_distances.defjvp
def _squared_distances_jvp(primals, tangents):
    # Products of matrices here: the transpose of the scan would store all
    # differences. Centred, the products do not cancel badly.
    x, y = primals
    dx, dy = tangents
    centre = jax.lax.stop_gradient(jnp.mean(y, axis=0, keepdims=True))
    x_c, y_c = x - centre, y - centre
    half = (
        jnp.sum(x_c * dx, axis=1)[:, None]
        + jnp.sum(y_c * dy, axis=1)[None, :]
        - matmul(x_c, dy.T)
        - matmul(dx, y_c.T)
    )
    return squared_distances(x, y), 2 * half


def _points(x, y):
    """Both arguments of a kernel, checked and in one float dtype."""
    check_shape("x", x, ("n", "d"))
    check_shape("y", y, ("m", jnp.shape(x)[1]))
    check_real("x", x)
    check_real("y", y)
    return promote_floating(x, y)


def _inverse_lengthscale(lengthscale, dtype):
    check_shape("lengthscale", lengthscale, ())
    lengthscale = jnp.asarray(lengthscale, dtype=dtype)
    positive = lengthscale > 0
    return jnp.where(positive, 1 / jnp.where(positive, lengthscale, 1), jnp.nan)
