"""One function of two objects, over all pairs, in blocks and on many devices."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Num, PyTree

from ..core import check_integer, check_mesh, replicate
from ._pairs import count_pairs, matrix_of, pair_of

# So that numbers of pairs, filled up to whole blocks, fit into 32 bits.
_MOST_PAIRS = 2**30


def pairwise(
    fn: Callable,
    xs: PyTree,
    ys: PyTree = None,
    *,
    block: int = 1024,
    symmetric: bool | None = None,
    mesh: Mesh | None = None,
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
        Number of pairs that are evaluated at once, on each device.
    symmetric : bool, optional
        Whether ``fn`` is a distance within ``xs``: only pairs :math:`i < j` are
        evaluated, the result is mirrored, and its diagonal is exactly 0. By
        default True without ``ys`` and False with them.
    mesh : jax.sharding.Mesh, optional
        Devices among which the pairs are divided evenly, for instance
        ``jax.make_mesh((jax.device_count(),), ("devices",))``. By default one
        device does all.

    Returns
    -------
    array of shape (N, M)
        The matrix :math:`D`, in the dtype that ``fn`` returns; with a mesh, whole
        on each of its devices.

    Raises
    ------
    ValueError
        If a batch is empty, its leading axes differ, ``fn`` does not return a
        scalar, ``block < 1``, ``symmetric`` is True and ``ys`` is given, there are
        more than :math:`2^{30}` pairs, or ``mesh`` has no axis.
    TypeError
        If ``mesh`` is not a ``jax.sharding.Mesh``.

    Notes
    -----
    Memory is :math:`O(NM)` for the result plus ``block`` times what one pair
    needs, also for reverse-mode derivatives: a block is computed again in the
    backward pass. Which pairs are in a block follows from its number. With a mesh
    every device holds all objects and the whole result. The entries do not depend
    on ``block`` nor on the mesh beyond rounding.

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
    n_pairs = count_pairs(n, m, symmetric)
    if n_pairs > _MOST_PAIRS:
        raise ValueError(f"xs: expected at most {_MOST_PAIRS} pairs; got {n_pairs}")
    mesh = check_mesh("mesh", mesh)
    leaves, structure = jax.tree.flatten(fn)
    traced = [leaf if _is_traced(leaf) else None for leaf in leaves]
    fixed = tuple(None if _is_traced(leaf) else leaf for leaf in leaves)
    return _pairwise(
        *replicate((traced, xs, ys), mesh),
        fixed=fixed,
        structure=structure,
        shape=(n, m),
        block=block,
        symmetric=symmetric,
        mesh=mesh,
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


@partial(
    jax.jit,
    static_argnames=("fixed", "structure", "shape", "block", "symmetric", "mesh"),
)
def _pairwise(traced, xs, ys, *, fixed, structure, shape, block, symmetric, mesh):
    n, m = shape
    n_pairs = count_pairs(n, m, symmetric)

    def function(traced):
        leaves = [f if t is None else t for t, f in zip(traced, fixed)]
        return jax.tree.unflatten(structure, leaves)

    if n_pairs == 0:
        first = jax.tree.map(lambda x: x[0], xs)
        return jnp.zeros((n, m), jax.eval_shape(function(traced), first, first).dtype)

    # Each device takes as many blocks of equal size; the last pair fills them up.
    n_devices = 1 if mesh is None else mesh.size
    n_blocks = -(-n_pairs // (n_devices * block))
    block = -(-n_pairs // (n_devices * n_blocks))

    def values_on(device, traced, xs, ys):
        fn = function(traced)
        ys = xs if ys is None else ys

        @partial(jax.checkpoint, prevent_cse=False)
        def evaluate(start):
            numbers = start + jnp.arange(block, dtype=jnp.int32)
            i, j = pair_of(jnp.minimum(numbers, n_pairs - 1), n, m, symmetric)
            values = jax.vmap(fn)(_take(xs, i), _take(ys, j))
            if not isinstance(values, jax.Array) or values.shape != (block,):
                got = jax.tree.map(lambda leaf: leaf.shape[1:], values)
                raise ValueError(
                    f"fn: expected a scalar for each pair; got shape {got}"
                )
            return values

        blocks = device * n_blocks + jnp.arange(n_blocks, dtype=jnp.int32)
        return lax.map(evaluate, blocks * block).reshape(-1)

    if mesh is None:
        values = values_on(0, traced, xs, ys)
    else:
        names, everywhere = mesh.axis_names, PartitionSpec()

        def gathered(traced, xs, ys):
            values = values_on(lax.axis_index(names), traced, xs, ys)
            return lax.all_gather(values, names, tiled=True)

        # Unchecked, since loops within fn may start from what is no device's own.
        values = jax.shard_map(
            gathered, mesh=mesh, in_specs=everywhere, out_specs=everywhere,
            check_vma=False,
        )(traced, xs, ys)  # fmt: skip
    return matrix_of(values[:n_pairs], n, m, symmetric)


def _take(batch, indices):
    return jax.tree.map(lambda leaf: jnp.take(leaf, indices, 0, mode="clip"), batch)
