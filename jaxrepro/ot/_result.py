"""Result of the exact solvers."""

from typing import NamedTuple

from jaxtyping import Array, Bool, Float, Int32


class OTResult(NamedTuple):
    r"""Solution of a discrete optimal-transport problem.

    Attributes
    ----------
    value : array of shape ()
        Optimal cost :math:`\langle C, P \rangle`; NaN for bad input.
    plan : array of shape (n, m)
        Optimal plan :math:`P \ge 0`.
    f : array of shape (n,)
        Dual potential of the rows; 0 on padded atoms, NaN where the method has
        none. Potentials are defined up to :math:`(f + t, g - t)`.
    g : array of shape (m,)
        Dual potential of the columns.
    n_iter : int32 array of shape ()
        Pivots, augmentations or iterations that were made.
    error : array of shape ()
        Largest absolute violation of a marginal by ``plan``.
    converged : bool array of shape ()
        Whether the solution is optimal to the tolerance of the method.
    """

    value: Float[Array, ""]
    plan: Float[Array, "n m"]
    f: Float[Array, " n"]
    g: Float[Array, " m"]
    n_iter: Int32[Array, ""]
    error: Float[Array, ""]
    converged: Bool[Array, ""]
