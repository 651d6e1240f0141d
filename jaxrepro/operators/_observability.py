r"""Distances of linear state-space models through what they let one observe.

A model :math:`x_{t+1} = A x_t,\; y_t = C x_t` is known by its observability matrix
:math:`O = [C; CA; CA^2; \dots]`. Inner products :math:`O^\top O'` of two models are
the solutions :math:`Q` of the Stein equation :math:`Q = q\, A^\top Q A' + C^\top C'`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_interval,
    check_nonempty,
    check_real,
    check_shape,
    matmul,
    paper,
    promote_floating,
    safe_divide,
    safe_sqrt,
)
from ._measure import check_real_matrix


@paper("martin2000metric", "principal angles between observability subspaces")
def observability_angles(
    transition1: Real[ArrayLike, "d1 d1"],
    output1: Real[ArrayLike, "q d1"],
    transition2: Real[ArrayLike, "d2 d2"],
    output2: Real[ArrayLike, "q d2"],
) -> Float[Array, " r"]:
    r"""Principal angles between the observability subspaces of two models.

    .. math:: \cos\theta_i = \sigma_i\big(L_{11}^{-1} Q_{12} L_{22}^{-\top}\big),
              \qquad Q_{kl} = A_k^\top Q_{kl} A_l + C_k^\top C_l, \quad
              Q_{kk} = L_{kk} L_{kk}^\top

    Parameters
    ----------
    transition1 : array of shape (d1, d1)
        Transition matrix :math:`A_1`, with eigenvalues inside the unit disc.
    output1 : array of shape (q, d1)
        Output matrix :math:`C_1`.
    transition2 : array of shape (d2, d2)
        Transition matrix of the second model.
    output2 : array of shape (q, d2)
        Its output matrix, for the same outputs.

    Returns
    -------
    array of shape (min(d1, d2),)
        Angles in radians, the smallest first. NaN if a Gram matrix :math:`Q_{kk}` is
        not positive definite as computed. That of a model that is not observable is
        singular, but may round to one that is not, with angles that mean nothing:
        look at the rank of the observability matrix where that is in doubt. A model
        that is not stable has no Gram matrix; solutions that are positive definite
        nevertheless are not told apart.

    Raises
    ------
    TypeError
        If a transition matrix is no matrix, entries are no real numbers, or a
        transition matrix has half precision.
    ValueError
        If shapes do not fit or an array is empty.

    Notes
    -----
    Do not depend on the basis of the states or the unit of the outputs. For two
    models of one output and of equal order, :math:`-\log \prod_i \cos^2 \theta_i` is
    the squared :func:`martin_distance` of their poles; it is not where the orders
    differ, unless the shorter model is padded with states of pole 0. The Stein
    equations are solved
    as linear systems of size :math:`d_1 d_2`, at cost :math:`O((d_1 d_2)^3)`: for
    small d. Angles below the square root of the machine epsilon are rounding
    errors. Differentiable where the angles differ from each other and from 0.

    References
    ----------
    [martin2000metric]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import observability_angles
    >>> model = lambda pole: (jnp.array([[pole]]), jnp.array([[1.0]]))
    >>> round(float(observability_angles(*model(0.5), *model(0.0))[0]), 4)
    0.5236
    """
    models = _models(transition1, output1, transition2, output2)
    return _observability_angles(*models)


@jax.jit
def _observability_angles(a1, c1, a2, c2):
    one = jnp.ones((), a1.dtype)
    c1, c2 = _scaled(c1), _scaled(c2)
    gram1, cross, gram2 = _stein_products((a1, c1), (a2, c2), one)
    root1, root2 = _cholesky(gram1, gram2)
    solve = lambda root, b: jax.scipy.linalg.solve_triangular(root, b, lower=True)
    whitened = solve(root2, solve(root1, cross).T).T
    cosines = jnp.linalg.svd(whitened, compute_uv=False)
    sines = safe_sqrt((1 - cosines) * (1 + cosines))
    return jnp.arctan2(sines, cosines)


@paper("vishwanathan2007binet", "trace kernel of two linear models")
def binet_cauchy_trace(
    transition1: Real[ArrayLike, "d1 d1"],
    output1: Real[ArrayLike, "q d1"],
    initial1: Real[ArrayLike, " d1"],
    transition2: Real[ArrayLike, "d2 d2"],
    output2: Real[ArrayLike, "q d2"],
    initial2: Real[ArrayLike, " d2"],
    *,
    discount: Real[ArrayLike, ""] = 0.1,
) -> Float[Array, ""]:
    r"""Binet-Cauchy trace kernel of two models with their initial states.

    .. math:: \kappa = \frac{k(1, 2)}{\sqrt{k(1, 1)\, k(2, 2)}}, \qquad
              k(k, l) = \sum_{t \ge 0} e^{-\nu t}\, y^k_t \cdot y^l_t, \quad
              y^k_t = C_k A_k^t x^k_0

    Parameters
    ----------
    transition1 : array of shape (d1, d1)
        Transition matrix :math:`A_1`.
    output1 : array of shape (q, d1)
        Output matrix :math:`C_1`.
    initial1 : array of shape (d1,)
        Initial state :math:`x^1_0`.
    transition2, output2, initial2 : arrays
        The second model, with the same outputs.
    discount : float, default 0.1
        Rate :math:`\nu > 0` a step. The sums converge if
        :math:`e^{-\nu} |\mu|^2 < 1` for all eigenvalues of both models.

    Returns
    -------
    array of shape ()
        The kernel in [-1, 1]; 1 for equal trajectories. NaN for a traced
        ``discount`` that is not positive, and where an eigenvalue is too large for
        the sums to converge; 0 for a model that shows nothing.

    Raises
    ------
    TypeError
        If a transition matrix is no matrix, entries are no real numbers, or a
        transition matrix has half precision.
    ValueError
        If shapes do not fit, an array is empty, or a concrete ``discount`` is not
        positive.

    Notes
    -----
    ``arccos`` of it, or ``sqrt(2 - 2 * kernel)``, is a distance. The normalisation
    is ours; it makes the units of outputs and states irrelevant. Cost
    :math:`O((d_1 d_2)^3)`.

    References
    ----------
    [vishwanathan2007binet]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import binet_cauchy_trace
    >>> model = lambda pole: (jnp.array([[pole]]), jnp.ones((1, 1)), jnp.ones(1))
    >>> round(float(binet_cauchy_trace(*model(0.9), *model(0.5))), 4)
    0.7668
    """
    a1, c1, a2, c2 = _models(transition1, output1, transition2, output2)
    for name, x, a in (("initial1", initial1, a1), ("initial2", initial2, a2)):
        check_shape(name, x, (len(a),))
        check_real(name, x)
    check_shape("discount", discount, ())
    check_interval("discount", discount, 0.0, closed="neither")
    a1, c1, a2, c2, x1, x2 = promote_floating(a1, c1, a2, c2, initial1, initial2)
    return _binet_cauchy_trace(a1, c1, x1, a2, c2, x2, discount)


@jax.jit
def _binet_cauchy_trace(a1, c1, x1, a2, c2, x2, discount):
    discount = jnp.asarray(discount, a1.dtype)
    q = jnp.exp(-jnp.where(discount > 0, discount, jnp.nan))
    c1, x1, c2, x2 = map(_scaled, (c1, x1, c2, x2))
    products = _stein_products((a1, c1), (a2, c2), q)
    states = (x1, x1), (x1, x2), (x2, x2)
    own1, both, own2 = (
        jnp.sum(x[:, None] * p * y[None, :]) for p, (x, y) in zip(products, states)
    )
    kernel = safe_divide(safe_divide(both, safe_sqrt(own1)), safe_sqrt(own2))
    # Beyond it the Stein equation has a solution that is not the sum.
    growth = 2 * jnp.maximum(_log_radius(a1), _log_radius(a2))
    converges = growth + 8 * jnp.finfo(a1.dtype).eps < discount
    return kernel * jnp.where(converges, 1, jnp.nan)


def _models(transition1, output1, transition2, output2):
    for k, (a, c) in enumerate(
        ((transition1, output1), (transition2, output2)), start=1
    ):
        check_real_matrix(f"transition{k}", a)
        check_shape(f"output{k}", c, ("q", np.shape(a)[0]))
        check_nonempty(f"output{k}", c)
        check_real(f"output{k}", c)
    check_shape("output2", output2, (np.shape(output1)[0], np.shape(output2)[1]))
    return promote_floating(transition1, output1, transition2, output2)


def _scaled(x):
    """An array over its largest entry, for functions that do not see its scale."""
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(x)))
    return x / jnp.where(largest > 0, largest, 1)


def _log_radius(a):
    """Logarithm of the spectral radius, from the size of ``A^(2^30)``."""

    def square(carry, share):
        power, total = carry
        size = jnp.max(jnp.abs(power))
        power = safe_divide(power, size)
        return (matmul(power, power), total + share * jnp.log(size)), None

    shares = 0.5 ** jnp.arange(31, dtype=a.dtype)
    start = jax.lax.stop_gradient(a), jnp.zeros((), a.dtype)
    return jax.lax.scan(square, start, shares)[0][1]


def _stein_products(model1, model2, q):
    """The products of the first model with itself, of both, and of the second.

    All are one batch of linear systems. That costs no more, since transition matrices
    padded with zeros add equations ``Q = 0`` only, and jaxlib 0.10 hangs where two
    batches of systems are solved at once (docs/numerics.md).
    """
    (a1, c1), (a2, c2) = model1, model2
    d1, d2 = len(a1), len(a2)
    a1, c1 = _padded(a1, c1, max(d1, d2))
    a2, c2 = _padded(a2, c2, max(d1, d2))
    first, second = (a1, a1, a2), (a1, a2, a2)
    systems = jax.vmap(_stein_system, (0, 0, None))
    outputs = matmul(jnp.stack([c1, c1, c2]).mT, jnp.stack([c1, c2, c2]))
    right = outputs.reshape(3, -1, 1)
    solutions = jnp.linalg.solve(systems(jnp.stack(first), jnp.stack(second), q), right)
    own1, both, own2 = solutions.reshape(outputs.shape)
    return own1[:d1, :d1], both[:d1, :d2], own2[:d2, :d2]


def _padded(a, c, d):
    extra = d - len(a)
    return jnp.pad(a, (0, extra)), jnp.pad(c, ((0, 0), (0, extra)))


def _stein_system(a1, a2, q):
    """Matrix of the linear map ``Q -> Q - q A1^T Q A2``."""
    return jnp.eye(len(a1) ** 2, dtype=a1.dtype) - q * jnp.kron(a1.T, a2.T)


def _cholesky(gram1, gram2):
    """Cholesky factors; as one batch where the sizes allow it, see above."""
    if gram1.shape == gram2.shape:
        return jnp.linalg.cholesky(jnp.stack([gram1, gram2]))
    return jnp.linalg.cholesky(gram1), jnp.linalg.cholesky(gram2)
