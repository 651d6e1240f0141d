r"""Transportation simplex for many small problems at once.

A basis of the transport problem is a spanning tree of the :math:`n + m` nodes
(rows and columns) with :math:`K = n + m - 1` arcs. Removing arc :math:`k` cuts
the tree in two; the part that holds the row of the arc is its *cut*
:math:`S_k`. Cuts say everything about a basis:

* flow of an arc: mass of the rows in :math:`S_k` less that of its columns;
* potentials: :math:`f_i = \sum_k c_k [i \in S_k]`,
  :math:`g_j = -\sum_k c_k [j \in S_k]` with :math:`c_k` the cost of arc k;
* the cycle that an entering cell (i, j) closes: the arcs whose cut separates
  i from j.

A cut is kept as a bitset in ``uint32`` words, so that a pivot, which exchanges
one arc for another, is a handful of bitwise operations on K words instead of
the rank-one update of a basis inverse.

Everything here is integer-valued in its result and carries no derivative:
``_emd`` rebuilds flows and potentials from the cuts, differentiably.

Inside, a batch of problems is the *last* axis of every array, so that each
operation runs along contiguous memory, and nothing is gathered: entries are
selected by comparing indices. A number of each problem has shape (1, batch).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, UInt32

# Problems that run together on a CPU: few enough to stay in cache and not to
# wait long for the slowest, enough to fill vector registers.
_CHUNK = 64

_NO_ARC = np.iinfo(np.int32).max


class Basis(NamedTuple):
    """Spanning tree that solves a transport problem.

    Attributes
    ----------
    cell : int32 array of shape (K,)
        Flat index i * m + j of each arc.
    cut : uint32 array of shape (K, W)
        Bitset of the nodes on the row's side of each arc; node i is row i,
        node n + j is column j.
    n_iter : int32 array of shape ()
        Pivots that were made.
    optimal : bool array of shape ()
        Whether no cell has a negative reduced cost left.
    """

    cell: Int32[Array, " K"]
    cut: UInt32[Array, "K W"]
    n_iter: Int32[Array, ""]
    optimal: Bool[Array, ""]


@jax.custom_batching.custom_vmap
def transport_simplex(
    cost: Float[Array, "n m"],
    a: Float[Array, " n"],
    b: Float[Array, " m"],
    max_pivots: Int32[Array, ""],
) -> Basis:
    """Find an optimal basis of one problem with equal masses and finite cost."""
    batch = _solve(cost[..., None], a[:, None], b[:, None], max_pivots[None])
    return jax.tree.map(lambda x: x[..., 0], batch)


@transport_simplex.def_vmap
def _transport_simplex_vmap(size, batched, *problem):
    basis = _solve_batch(*_broadcast(size, batched, problem))
    return basis, jax.tree.map(lambda _: True, basis)


@jax.custom_batching.custom_vmap
def _solve_batch(cost, a, b, max_pivots):
    """Solve problems along a leading axis, in the way that suits the platform."""
    batch = (cost, a, b, max_pivots)
    basis = lax.platform_dependent(
        *(jnp.moveaxis(x, 0, -1) for x in batch), cpu=_solve_in_chunks, default=_solve
    )
    return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), basis)


@_solve_batch.def_vmap
def _solve_batch_vmap(size, batched, *batch):
    # A nested batch is one longer batch, so that its chunks are full as well.
    batch = _broadcast(size, batched, batch)
    inner = batch[0].shape[1]
    merged = [x.reshape(size * inner, *x.shape[2:]) for x in batch]
    basis = _solve_batch(*merged)
    basis = jax.tree.map(lambda x: x.reshape(size, inner, *x.shape[1:]), basis)
    return basis, jax.tree.map(lambda _: True, basis)


def _broadcast(size, batched, arrays):
    return [
        x if is_batched else jnp.broadcast_to(x, (size, *x.shape))
        for x, is_batched in zip(arrays, batched)
    ]


def _solve_in_chunks(*batch):
    """Solve chunk after chunk, so that the working set stays in cache."""
    size = batch[0].shape[-1]
    n_chunks = -(-size // _CHUNK)
    if n_chunks == 1:
        return _solve(*batch)

    def split(x):
        # The last chunk is filled up with copies of the last problem.
        x = jnp.pad(
            x, [(0, 0)] * (x.ndim - 1) + [(0, n_chunks * _CHUNK - size)], "edge"
        )
        return jnp.moveaxis(x.reshape(*x.shape[:-1], n_chunks, _CHUNK), -2, 0)

    def join(x):
        x = jnp.moveaxis(x, 0, -2)
        return x.reshape(*x.shape[:-2], n_chunks * _CHUNK)[..., :size]

    chunks = tuple(split(x) for x in batch)
    return jax.tree.map(join, lax.map(lambda chunk: _solve(*chunk), chunks))


def _solve(cost, a, b, max_pivots) -> Basis:
    """Solve problems along the last axis: greedy tree, then pivots."""
    nodes = _Nodes(cost.shape[0], cost.shape[1])
    live = (a > 0)[:, None] & (b > 0)[None]
    cost = jnp.where(live, cost, 0)
    # Flows closer than this count as equal.
    tie = 1e-13 if cost.dtype == jnp.float64 else 1e-6
    tie *= jnp.sum(a, axis=0, keepdims=True)
    tree = _greedy_tree(nodes, cost, live, a, b, tie)
    return _pivot_to_optimum(nodes, cost, live, tree, tie, max_pivots[None])


class _Nodes:
    """Index arrays of the nodes of an (n, m) problem, all static."""

    def __init__(self, n, m):
        self.n, self.m, self.size, self.n_arcs = n, m, n + m, n + m - 1
        index = np.arange(n + m, dtype=np.int32)
        self.index = index[:, None]
        self.arc = index[:-1, None]
        self.cell = (index[:n, None] * m + index[None, :m])[..., None]
        self.word = np.arange(-(-(n + m) // 32), dtype=np.int32)[:, None]
        self.bit = np.zeros((n + m, len(self.word), 1), np.uint32)
        self.bit[index, index // 32, 0] = np.uint32(1) << (index % 32).astype(np.uint32)
        self.all = np.bitwise_or.reduce(self.bit, axis=0, keepdims=True)
        # Masses of a perturbed problem, times m + 1. No set of its rows balances
        # a set of its columns short of the whole, so no flow of it is ever 0.
        last = n * (m + 1) - (m - 1)
        self.perturbation = np.array([m + 1] * n + [1] * (m - 1) + [last], np.int32)

    def bit_of(self, node):
        """Bitset with one node in it, of shape (1, W, batch)."""
        bit = jnp.uint32(1) << (node % 32).astype(jnp.uint32)
        return jnp.where(self.word == node // 32, bit, jnp.uint32(0))[None]


def unpack(cut: UInt32[Array, "K W"], n_nodes: int) -> Bool[Array, "K N"]:
    """Whether each node lies in each cut."""
    node = np.arange(n_nodes)
    bit = np.uint32(1) << (node % 32).astype(np.uint32)
    return (cut[:, node // 32] & bit[None]) != 0


def _nonempty(bits):
    return jnp.any(bits != 0, axis=-2)


def _select(at, x):
    """Entry of ``x`` along its first axis where ``at`` holds, without a gather."""
    return jnp.sum(jnp.where(at, x, 0), axis=0, keepdims=True, dtype=x.dtype)


def _select_bits(at, bits):
    chosen = jnp.where(at[:, None], bits, jnp.uint32(0))
    return lax.reduce(chosen, np.uint32(0), lax.bitwise_or, (0,))[None]


def _argmin(x, index):
    """Smallest entry over all but the last axis, and the first index that has it."""
    axes = tuple(range(x.ndim - 1))
    smallest = jnp.min(x, axes, keepdims=True)
    # Two plain reductions vectorise; one over pairs (value, index) does not.
    first = jnp.min(jnp.where(x == smallest, index, _NO_ARC), axes)
    return smallest.reshape(1, -1), first[None]


class _Tree(NamedTuple):
    cell: Array  # (K, batch)
    cut: Array  # (K, W, batch)
    flow: Array  # (K, batch)
    tie_flow: Array  # (K, batch), flow of the perturbed problem


def _greedy_tree(nodes, cost, live, a, b, tie) -> _Tree:
    """Spanning tree of the least-cost rule.

    Each step takes the cheapest open cell, ships what it can, and closes the
    end that is exhausted, which thereby hangs below the other end.
    """
    n, m, n_arcs = nodes.n, nodes.m, nodes.n_arcs
    batch = cost.shape[-1]
    # Cells of padded atoms only connect what is left over.
    dearest = jnp.max(jnp.abs(cost), axis=(0, 1), keepdims=True)
    priority = jnp.where(live, cost, 2 * dearest + 1)

    def step(t, state):
        tree, mass, tie_mass, subtree, closed, n_rows, n_columns = state
        is_open = ~(closed[:n, None] | closed[None, n:])
        _, cell = _argmin(jnp.where(is_open, priority, jnp.inf), nodes.cell)
        row, column = cell // m, n + cell % m
        at_row, at_column = nodes.index == row, nodes.index == column
        row_mass, column_mass = _select(at_row, mass), _select(at_column, mass)
        row_tie, column_tie = _select(at_row, tie_mass), _select(at_column, tie_mass)
        row_is_short = jnp.where(
            jnp.abs(row_mass - column_mass) <= tie,
            row_tie < column_tie,
            row_mass < column_mass,
        )
        # The last open row waits for the last open column and vice versa.
        close_row = jnp.where(
            n_rows == 1, n_columns == 1, (n_columns == 1) | row_is_short
        )
        at_closed = jnp.where(close_row, at_row, at_column)
        at_parent = jnp.where(close_row, at_column, at_row)
        flow = jnp.where(close_row, row_mass, column_mass)
        tie_flow = jnp.where(close_row, row_tie, column_tie)
        below = _select_bits(at_closed, subtree)
        cut = jnp.where(close_row[None], below, below ^ nodes.all)
        here = nodes.arc == t
        tree = _Tree(
            jnp.where(here, cell, tree.cell),
            jnp.where(here[:, None], cut, tree.cut),
            jnp.where(here, flow, tree.flow),
            jnp.where(here, tie_flow, tree.tie_flow),
        )
        return (
            tree,
            mass - jnp.where(at_parent, flow, 0),
            tie_mass - jnp.where(at_parent, tie_flow, 0),
            subtree | jnp.where(at_parent[:, None], below, jnp.uint32(0)),
            closed | at_closed,
            n_rows - close_row.astype(jnp.int32),
            n_columns - (~close_row).astype(jnp.int32),
        )

    def empty(*shape, dtype):
        return jnp.zeros((*shape, batch), dtype)

    def repeat(x):
        return jnp.broadcast_to(x, (*x.shape[:-1], batch))

    tree = _Tree(
        empty(n_arcs, dtype=jnp.int32),
        empty(n_arcs, len(nodes.word), dtype=jnp.uint32),
        empty(n_arcs, dtype=cost.dtype),
        empty(n_arcs, dtype=jnp.int32),
    )
    state = (
        tree,
        jnp.concatenate([a, b]),
        repeat(nodes.perturbation[:, None]),
        repeat(nodes.bit),
        empty(nodes.size, dtype=bool),
        jnp.full((1, batch), n, jnp.int32),
        jnp.full((1, batch), m, jnp.int32),
    )
    return lax.fori_loop(0, n_arcs, step, state)[0]


def _pivot_to_optimum(nodes, cost, live, tree, tie, max_pivots) -> Basis:
    """Exchange arcs until no cell has a negative reduced cost.

    The cell of the most negative reduced cost enters. Among the arcs whose
    flow the cycle lowers, the one with the least flow leaves; ties are broken by
    the flow of the perturbed problem, which rules out cycling.
    """
    n, m = nodes.n, nodes.m
    n_cells, batch = n * m, cost.shape[-1]
    tolerance = 1e-12 if cost.dtype == jnp.float64 else 1e-6
    tolerance *= jnp.max(jnp.abs(cost), axis=0).max(axis=0, keepdims=True)
    may_enter = jnp.where(live, cost, jnp.inf)

    def pivot(state):
        tree, f, g, n_iter, _ = state
        reduced, cell = _argmin(may_enter - f[:, None] - g[None], nodes.cell)
        go = (reduced < -tolerance) & (n_iter < max_pivots)
        has_row = _nonempty(tree.cut & nodes.bit_of(cell // m))
        has_column = _nonempty(tree.cut & nodes.bit_of(n + cell % m))
        falls, rises = has_row & ~has_column, has_column & ~has_row

        flow = jnp.where(falls, tree.flow, jnp.inf)
        ties = flow <= jnp.min(flow, axis=0, keepdims=True) + tie
        _, leaving = _argmin(jnp.where(ties, tree.tie_flow, _NO_ARC), nodes.arc)
        at = (nodes.arc == leaving) & go
        step, tie_step = _select(at, tree.flow), _select(at, tree.tie_flow)
        cut = _select_bits(at, tree.cut)

        # Cuts of a tree are nested or disjoint once each may be complemented.
        # Subtracting the leaving cut from one that holds it, or uniting it with
        # a disjoint one, gives the new cut; if that is empty, its complement is.
        other = jnp.where(falls[:, None], cut ^ nodes.all, cut)
        both = tree.cut & other
        new_cut = jnp.where(_nonempty(both)[:, None], both, tree.cut | other)
        changes = (falls | rises) & ~at & go
        sign = jnp.where(at, 0, rises.astype(jnp.int32) - falls.astype(jnp.int32))
        tree = _Tree(
            jnp.where(at, cell, tree.cell),
            jnp.where(changes[:, None], new_cut, tree.cut),
            tree.flow + sign.astype(cost.dtype) * step,
            tree.tie_flow + sign * tie_step,
        )
        # Potentials on the row's side of the leaving arc make the new one tight.
        on_row_side = _nonempty(cut & nodes.bit)
        f += jnp.where(on_row_side[:n], reduced, 0)
        g -= jnp.where(on_row_side[n:], reduced, 0)
        return tree, f, g, n_iter + go.astype(jnp.int32), go

    arc_cost = jnp.take_along_axis(cost.reshape(n_cells, batch), tree.cell, axis=0)
    in_cut = _nonempty(tree.cut[:, None] & nodes.bit[None])
    y = jnp.sum(jnp.where(in_cut, arc_cost[:, None], 0), axis=0)
    n_iter, go = jnp.zeros((1, batch), jnp.int32), jnp.ones((1, batch), bool)
    state = (tree, y[:n], -y[n:], n_iter, go)
    tree, f, g, n_iter, _ = lax.while_loop(lambda s: jnp.any(s[-1]), pivot, state)
    reduced = jnp.min(may_enter - f[:, None] - g[None], axis=(0, 1))
    return Basis(tree.cell, tree.cut, n_iter[0], reduced >= -tolerance[0])
