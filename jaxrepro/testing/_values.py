"""Checks of what a function returns: the same numbers, in the right dtype."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._case import Case
from ._inputs import Inputs, is_inexact, is_key


def paths(tree) -> list[tuple[str, Any]]:
    """Leaves of an output, each with the name under which to show it."""
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(f"output{jax.tree_util.keystr(path)}", leaf) for path, leaf in flat]


def _raw(x):
    return np.asarray(jax.random.key_data(x) if is_key(x) else x)


def _weak(x) -> bool:
    return getattr(x, "weak_type", False)


def difference(got, want, tol: float) -> str | None:
    """Say where two outputs differ, or None if they agree.

    Integers and booleans must be equal, floats within ``tol`` times the largest
    finite entry of the leaf, or times 1 where that is smaller.
    """
    if jax.tree.structure(got) != jax.tree.structure(want):
        return f"structure {jax.tree.structure(got)}, not {jax.tree.structure(want)}"
    for (path, a), (_, b) in zip(paths(got), paths(want)):
        a, b = _raw(a), _raw(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{path} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        if not jnp.issubdtype(a.dtype, jnp.inexact):
            if not np.array_equal(a, b):
                return f"{path} is {a.flat[:5]}, not {b.flat[:5]}"
            continue
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, finite.max(initial=0.0))
        close = np.isclose(a, b, rtol=0, atol=tol * scale, equal_nan=True)
        if not close.all():
            at = tuple(int(i) for i in np.argwhere(~close)[0])
            return f"{path}{list(at) if at else ''} is {a[at]}, not {b[at]}"
    return None


def check_jit(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """Jitted equals eager."""
    first = inputs[0]
    eager = first.call(first.leaves)
    jitted = jax.jit(first.call)(first.leaves)
    for path, leaf in paths(jitted):
        if _weak(leaf):
            return f"{path} of the jitted call is weakly typed"
    found = difference(jitted, eager, tol)
    return found and f"jitted and eager calls differ: {found}"


def check_jit_traces(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """Without running it, the jitted program has the outputs of an eager call."""
    first = inputs[0]
    eager = jax.tree.map(jax.typeof, first.call(first.leaves))
    traced = jax.eval_shape(first.call, first.leaves)
    if jax.tree.structure(traced) != jax.tree.structure(eager):
        return (
            f"structure {jax.tree.structure(traced)} of the jitted call, "
            f"not {jax.tree.structure(eager)}"
        )
    for (path, one), (_, other) in zip(paths(traced), paths(eager)):
        if _weak(one):
            return f"{path} of the jitted call is weakly typed"
        if one.shape != other.shape or one.dtype != other.dtype:
            got, want = (
                one.dtype.name + str(one.shape),
                other.dtype.name + str(other.shape),
            )
            return f"{path} of the jitted call is {got}, not {want}"
    return None


def check_vmap(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """A batch equals the stacked results of its members."""
    call = inputs[0].call
    batch = jax.jit(lambda many: jax.vmap(call)([jnp.stack(x) for x in zip(*many)]))
    leaves, structure = jax.tree.flatten(batch([i.leaves for i in inputs]))
    leaves = [_raw(x) for x in leaves]
    for index, member in enumerate(inputs):
        got = jax.tree.unflatten(structure, [x[index] for x in leaves])
        found = difference(got, jax.jit(call)(member.leaves), tol)
        if found:
            return f"batched and single calls differ in member {index}: {found}"
    return None


def check_vmap_traces(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """Without running it, a batch has the shapes and dtypes of its members."""
    call, leaves = inputs[0].call, inputs[0].leaves
    single = jax.eval_shape(call, leaves)
    many = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct((len(inputs), *x.shape), x.dtype), leaves
    )
    batch = jax.eval_shape(jax.vmap(call), many)
    for (path, one), (_, several) in zip(paths(single), paths(batch)):
        if several.shape[1:] != one.shape or several.dtype != one.dtype:
            return f"{path} of a batch is {several}, of a member {one}"
    return None


def check_dtype(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """Outputs are arrays in the precision of the inputs and not weakly typed."""
    first = inputs[0]
    return _wrong_dtype(first, first.call(first.leaves), jax.Array)


def check_traced_dtype(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """Check the same of the traced program."""
    first = inputs[0]
    traced = jax.eval_shape(first.call, first.leaves)
    return _wrong_dtype(first, traced, jax.ShapeDtypeStruct)


def _wrong_dtype(first: Inputs, output, kind) -> str | None:
    floats = [x.dtype for x in first.leaves if is_inexact(x)]
    dtype = jnp.finfo(floats[0]).dtype if floats else jnp.result_type(float)
    allowed = (dtype, jnp.result_type(dtype, jnp.complex64))
    for path, leaf in paths(output):
        if not isinstance(leaf, kind):
            return f"{path} is a {type(leaf).__name__}, not an array"
        if _weak(leaf):
            return f"{path} is weakly typed"
        if is_inexact(leaf) and leaf.dtype not in allowed:
            return f"{path} is {leaf.dtype} for {dtype} inputs"
    return None


def check_keys(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """Keys are used once; equal keys give equal draws, other keys others."""
    first = inputs[0]
    here = [name == case.key_argument for name in first.names]
    if not any(is_key(x) for x, h in zip(first.leaves, here) if h):
        return f"argument {case.key_argument} holds no typed key"

    def given(change):
        return [change(x) if h else x for x, h in zip(first.leaves, here)]

    # New function objects, since a trace made without the debugging flag would
    # be found in the cache.
    with jax.debug_key_reuse(True):
        jax.jit(lambda leaves: first.call(leaves))(given(jax.random.clone))
        first.call(given(jax.random.clone))
    once, twice = (first.call(given(jax.random.clone)) for _ in range(2))
    if found := difference(once, twice, 0.0):
        return f"the same key gives two results: {found}"
    other = first.call(given(lambda key: jax.random.fold_in(key, 1)))
    if difference(once, other, 0.0) is None:
        return "two keys give the same result"
    return None
