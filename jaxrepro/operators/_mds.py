"""Pictures and summaries of distance matrices."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_integer,
    check_nonempty,
    check_real,
    check_shape,
    paper,
    promote_floating,
    safe_divide,
    safe_eigh,
    safe_sqrt,
)


def classical_mds(
    distances: Real[ArrayLike, "n n"], *, k: int = 2
) -> Float[Array, "n k"]:
    r"""Points whose Euclidean distances resemble a distance matrix.

    .. math:: B = -\tfrac12 J D^{\circ 2} J = V \Lambda V^\top, \qquad
              J = I - \tfrac1n \mathbf{1}\mathbf{1}^\top, \qquad
              X = V_k \Lambda_k^{1/2}

    Parameters
    ----------
    distances : array of shape (n, n)
        Symmetric distances :math:`D`.
    k : int, default 2
        Dimension of the picture, at most n.

    Returns
    -------
    array of shape (n, k)
        Centred coordinates :math:`X`, the axis of largest variance first. An
        axis whose eigenvalue is not positive (distances that are not Euclidean)
        is 0; one that is 0 up to rounding holds its square root. The entry of
        largest modulus of each axis is positive, so that the picture does not flip
        between machines.

    Raises
    ------
    TypeError
        If ``k`` is not an integer.
    ValueError
        If ``distances`` is not square, is empty, or ``k`` exceeds n.

    Notes
    -----
    Distances of points in at most k dimensions are reproduced exactly.
    Cost :math:`O(n^3)`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import classical_mds
    >>> x = jnp.array([0.0, 1.0, 5.0])
    >>> points = classical_mds(jnp.abs(x[:, None] - x[None, :]), k=1)
    >>> print(jnp.array_str(points[:, 0], precision=3))
    [-2. -1.  3.]
    """
    (distances,) = _square(distances=distances)
    k = check_integer("k", k, maximum=len(distances))
    values, vectors = safe_eigh(-_centred(distances**2) / 2)
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    peak = jnp.argmax(jnp.abs(vectors), axis=0)
    sign = jnp.sign(jnp.take_along_axis(vectors, peak[None, :], axis=0))
    return vectors * sign * safe_sqrt(values)[None, :]


@paper("szekely2007measuring", "definition of the sample distance correlation")
def distance_correlation(
    distances1: Real[ArrayLike, "n n"], distances2: Real[ArrayLike, "n n"]
) -> Float[Array, ""]:
    r"""Distance correlation between two distance matrices of the same items.

    .. math:: \operatorname{dCor}^2 = \frac{\langle A, B\rangle}
                                           {\|A\|\,\|B\|}, \qquad
              A = J D J, \quad B = J D' J, \quad
              J = I - \tfrac1n \mathbf{1}\mathbf{1}^\top

    Parameters
    ----------
    distances1, distances2 : arrays of shape (n, n)
        Symmetric distances :math:`D` and :math:`D'` between the same n items,
        for instance of dynamics and of their parameters.

    Returns
    -------
    array of shape ()
        Between 0 and 1 for distances of negative type, such as Euclidean ones;
        1 for proportional matrices. 0 if all distances of one are equal to 0.

    Raises
    ------
    ValueError
        If the matrices are not square, differ in size, or are empty.

    Notes
    -----
    The biased (V-statistic) estimate.

    References
    ----------
    [szekely2007measuring]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.operators import distance_correlation
    >>> x = jnp.array([0.0, 1.0, 5.0])
    >>> distances = jnp.abs(x[:, None] - x[None, :])
    >>> round(float(distance_correlation(distances, 3 * distances)), 5)
    1.0
    """
    a, b = _square(distances1=distances1, distances2=distances2)
    check_shape("distances2", b, a.shape)
    a, b = _centred(a), _centred(b)
    norms = safe_sqrt(jnp.sum(a**2)) * safe_sqrt(jnp.sum(b**2))
    return safe_sqrt(safe_divide(jnp.sum(a * b), norms))


def _square(**matrices):
    """Square, non-empty arrays of one floating dtype."""
    for name, matrix in matrices.items():
        check_shape(name, matrix, ("n", "n"))
        check_shape(name, matrix, (len(matrix), len(matrix)))
        check_nonempty(name, matrix)
        check_real(name, matrix)
    return promote_floating(*matrices.values())


def _centred(matrix):
    """Matrix with mean 0 in every row and column."""
    rows = jnp.mean(matrix, axis=1, keepdims=True)
    columns = jnp.mean(matrix, axis=0, keepdims=True)
    return matrix - rows - columns + jnp.mean(matrix)
