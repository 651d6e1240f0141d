"""One function of two objects, over all pairs, in memory that does not grow."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Num, PyTree

from ..core import check_integer


def pairwise(
    fn: Callable,
    xs: PyTree,
    ys: PyTree = None,
    *,
    block: int = 1024,
    symmetric: bool | None = None,
) -> Num[Array, "N M"]:
    r"""Evaluate a function on all pairs of two batches of objects.

    .. math:: D_{ij} = \mathrm{fn}(x_i, y_j), \qquad
              1 \le i \le N, \; 1 \le j \le M

    Parameters
    ----------
    fn : callable
        ``fn(x, y) -> scalar`` for one pair. It is vectorised over a block of
        pairs, so it must work under ``vmap``; values that it closes over are
        differentiated as well.
    xs : pytree of arrays with leading axis N
        The objects :math:`x_i`.
    ys : pytree of arrays with leading axis M, optional
        The objects :math:`y_j`; None means ``xs`` again.
    block : int, default 1024
        Number of pairs that are evaluated at once.
    symmetric : bool, optional
        Whether ``fn`` is a distance within ``xs``: only pairs :math:`i < j` are
        evaluated, the result is mirrored, and its diagonal is exactly 0. By
        default True without ``ys`` and False with them.

    Returns
    -------
    array of shape (N, M)
        The matrix :math:`D`, in the dtype that ``fn`` returns.

    Raises
    ------
    ValueError
        If a batch is empty, its leading axes differ, ``fn`` does not return a
        scalar, ``block < 1``, or ``symmetric`` is True and ``ys`` is given.

    Notes
    -----
    Memory is :math:`O(NM)` for the result plus ``block`` times what one pair
    needs, also for reverse-mode derivatives: a block is computed again in the
    backward pass. The entries do not depend on ``block`` beyond rounding.

    ``fn`` is compiled, once for each function object and shape: as under
    ``jax.jit``, a value that it reads from outside is frozen at the first call.
    To vary a parameter without compiling again, bind it with
    :class:`jax.tree_util.Partial` or make ``fn`` an ``equinox.Module``: array
    and float leaves of ``fn`` are traced and differentiated.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro.ot import pairwise
    >>> pairwise(lambda x, y: jnp.abs(x - y), jnp.array([0.0, 1.0, 3.0])).tolist()
    [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    """
    block = check_integer("block", block)
    if symmetric is None:
        symmetric = ys is None
    if symmetric and ys is not None:
        raise ValueError("symmetric: expected False with ys; got True")
    n = _batch_size("xs", xs)
    m = n if ys is None else _batch_size("ys", ys)
    leaves, structure = jax.tree.flatten(fn)
    traced = [leaf if _is_traced(leaf) else None for leaf in leaves]
    fixed = tuple(None if _is_traced(leaf) else leaf for leaf in leaves)
    return _pairwise(
        traced,
        xs,
        ys,
        fixed=fixed,
        structure=structure,
        shape=(n, m),
        block=block,
        symmetric=symmetric,
    )


def _is_traced(leaf):
    """Whether a leaf of the function is data and not a part of the program."""
    return isinstance(leaf, float | np.ndarray | np.generic | jax.Array)


def _batch_size(name, batch):
    """Common length of the leading axes of a pytree."""
    shapes = {np.shape(leaf) for leaf in jax.tree.leaves(batch)}
    sizes = {shape[:1] for shape in shapes}
    if len(sizes) != 1 or sizes == {()}:
        raise ValueError(
            f"{name}: expected arrays with one common leading axis; "
            f"got shapes {sorted(shapes)}"
        )
    (size,) = sizes.pop()
    if size == 0:
        raise ValueError(f"{name}: expected at least one object; got 0")
    return size


@partial(jax.jit, static_argnames=("fixed", "structure", "shape", "block", "symmetric"))
def _pairwise(traced, xs, ys, *, fixed, structure, shape, block, symmetric):
    leaves = [f if t is None else t for t, f in zip(traced, fixed)]
    fn = jax.tree.unflatten(structure, leaves)
    ys = xs if ys is None else ys
    n, m = shape
    if symmetric:
        rows, columns = np.triu_indices(n, k=1)
    else:
        rows, columns = np.divmod(np.arange(n * m), m)
    n_pairs = len(rows)
    if n_pairs == 0:
        first = jax.tree.map(lambda x: x[0], xs)
        return jnp.zeros((n, m), jax.eval_shape(fn, first, first).dtype)

    # Blocks of equal size, of which the last is filled up with its last pair.
    block = -(-n_pairs // -(-n_pairs // block))
    padded = np.minimum(np.arange(-(-n_pairs // block) * block), n_pairs - 1)
    rows = jnp.asarray(rows[padded].reshape(-1, block), jnp.int32)
    columns = jnp.asarray(columns[padded].reshape(-1, block), jnp.int32)

    @partial(jax.checkpoint, prevent_cse=False)
    def evaluate(pairs):
        i, j = pairs
        take = lambda batch, k: jax.tree.map(lambda leaf: jnp.take(leaf, k, 0), batch)
        values = jax.vmap(fn)(take(xs, i), take(ys, j))
        if not isinstance(values, jax.Array) or values.shape != (block,):
            got = jax.tree.map(lambda leaf: leaf.shape[1:], values)
            raise ValueError(f"fn: expected a scalar for each pair; got shape {got}")
        return values

    values = lax.map(evaluate, (rows, columns)).reshape(-1)[:n_pairs]
    if not symmetric:
        return values.reshape(n, m)
    upper = jnp.zeros((n, n), values.dtype).at[np.triu_indices(n, k=1)].set(values)
    return upper + upper.T
