r"""Explicit features of a kernel from a few centres."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key, Real, UInt32

from ..core import (
    check_integer,
    check_key,
    check_nonempty,
    check_precision,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
)
from ._measure import check_kernel
from ._psd import regularised_inverse_root


class NystromFeatures(eqx.Module):
    r"""Features of a kernel from centres, made by :func:`nystrom_features`.

    .. math:: \varphi(x) = K^{-1/2}\, [k(c_i, x)]_i, \qquad K = [k(c_i, c_j)]

    Attributes
    ----------
    centres : array of shape (m, d)
        Centres :math:`c_i`, one a row.
    inverse_root : array of shape (m, m)
        :math:`K^{-1/2}`.
    kernel : equinox.Module
        The kernel.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import LinearKernel, nystrom_features
    >>> features = nystrom_features(jnp.array([[2.0]]), kernel=LinearKernel())
    >>> print(jnp.array_str(features(jnp.array([[1.0], [3.0]])), precision=3))
    [[1.]
     [3.]]
    """

    centres: Float[Array, "m d"]
    inverse_root: Float[Array, "m m"]
    kernel: Callable

    def __call__(self, x: Real[ArrayLike, "n d"]) -> Float[Array, "n m"]:
        """Features of shape (n, m) of the rows of ``x``."""
        check_shape("x", x, ("n", self.centres.shape[1]))
        check_real("x", x)
        cross = self.kernel(x, self.centres)
        return matmul(*promote_floating(cross, self.inverse_root))


@paper("meanti2023estimating", "estimators of Koopman operators from a few centres")
@paper("williams2001using", "approximation of a Gram matrix from some of its columns")
def nystrom_features(
    centres: Real[ArrayLike, "m d"], *, kernel: Callable
) -> NystromFeatures:
    r"""Explicit features of a kernel, exact on the span of a few centres.

    .. math:: \varphi(x) = K^{-1/2}\, [k(c_i, x)]_{i=1}^m, \qquad
              K = [k(c_i, c_j)], \qquad
              \varphi(x)^\top \varphi(x') = k(x, c)\, K^{+}\, k(c, x') .

    With m features instead of n samples, a regression costs :math:`O(n m^2)`
    instead of :math:`O(n^3)`, and its atoms are ``SpectralAtoms``.

    Parameters
    ----------
    centres : array of shape (m, d)
        States, for instance windows, that represent all systems to be compared
        (:func:`sample_centres`). Features from other centres do not compare.
    kernel : equinox.Module
        Kernel ``k(x, y) -> (n, m)`` such as :class:`GaussianKernel`.

    Returns
    -------
    NystromFeatures
        The features; call them on states of shape (n, d) to get an array of
        shape (n, m). A pytree that may cross ``jit``.

    Raises
    ------
    ValueError
        If ``centres`` is not a matrix or is empty, or there is no kernel.
    TypeError
        If ``kernel`` is a bare function or no kernel, or ``centres`` are no real
        numbers or in half precision.

    Notes
    -----
    :math:`\varphi` are the coordinates of the projection of :math:`k(x, \cdot)` onto
    the span of the :math:`k(c_i, \cdot)`, so :math:`\varphi(x)^\top \varphi(x')`
    errs by the inner product of the residuals, and
    is exact if one of the two states is a centre. With every
    sample among the centres, all estimates and distances are those of the kernel.
    The same centres serve states and successors here;
    [meanti2023estimating] chooses them apart, and bounds the error.

    Directions in which :math:`K` vanishes, to m machine epsilons of its largest
    eigenvalue, count as null: repeated or nearly equal centres do no harm. What is
    left out changes the kernel by about the square root of the machine epsilon at
    most. Differentiable in centres, states and kernel, for a constant
    rank of :math:`K`. Cost :math:`O(m^3)` once, then :math:`O(n m (d + m))`.

    References
    ----------
    [williams2001using], [meanti2023estimating]

    Examples
    --------
    Two recordings, with 20 windows of both as centres:

    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> t = 0.1 * jnp.arange(200)[:, None]
    >>> recordings = jnp.stack([jnp.sin(t), jnp.sin(2 * t)])
    >>> windows = jax.vmap(lambda x: operators.delay_embed(x, 10))(recordings)
    >>> centres = operators.sample_centres(
    ...     jax.random.key(0), windows.reshape(-1, 10), m=20
    ... )
    >>> features = operators.nystrom_features(
    ...     centres, kernel=operators.GaussianKernel(3.0)
    ... )
    >>> def atoms_of(z):
    ...     x, y = operators.snapshot_pairs(features(z))
    ...     fit = operators.reduced_rank_regression(x, y, gamma=1e-3, rank=4)
    ...     return operators.spectral_atoms(fit, dt=0.1)
    >>> systems = jax.vmap(atoms_of)(windows)
    >>> print(systems.lam.imag.max(axis=1).round(1))  # rad/s
    [1. 2.]
    """
    check_kernel(kernel)
    check_shape("centres", centres, ("m", "d"))
    check_nonempty("centres", centres)
    check_real("centres", centres)
    check_precision("centres", centres)
    (centres,) = promote_floating(centres)
    return NystromFeatures(centres, _inverse_root(centres, kernel), kernel)


@jax.jit
def _inverse_root(centres, kernel):
    gram = kernel(centres, centres)
    return regularised_inverse_root(gram, jnp.zeros((), gram.dtype))


def sample_centres(
    key: Key[Array, ""] | UInt32[Array, "2"], x: Real[ArrayLike, "n d"], *, m: int
) -> Float[Array, "m d"]:
    r"""Draw centres for :func:`nystrom_features` from the samples, without replacement.

    Parameters
    ----------
    key : key
        Random key of the draw.
    x : array of shape (n, d)
        Samples, for instance windows pooled over all recordings.
    m : int
        Number of centres, at most n. Try a few hundred: the error falls as fast as
        the eigenvalues of the kernel matrix.

    Returns
    -------
    array of shape (m, d)
        Rows of ``x``, each subset of m equally likely.

    Raises
    ------
    ValueError
        If there are several keys, ``x`` is not a matrix or is empty, or ``m`` is less
        than 1 or above n.
    TypeError
        If ``key`` is no random key, ``m`` is not an integer, or ``x`` holds no real
        numbers.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.operators import sample_centres
    >>> centres = sample_centres(jax.random.key(0), jnp.eye(3), m=3)
    >>> centres.sum(axis=0).tolist()
    [1.0, 1.0, 1.0]
    """
    check_key("key", key)
    check_shape("x", x, ("n", "d"))
    check_nonempty("x", x)
    check_real("x", x)
    (x,) = promote_floating(x)
    return _sample(key, x, m=check_integer("m", m, maximum=len(x)))


@functools.partial(jax.jit, static_argnames=("m",))
def _sample(key, x, *, m):
    return x[jax.random.choice(key, len(x), (m,), replace=False)]
