"""What a trial returns: a tree of arrays, seen as a flat table of named arrays."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._trials import Trials

_RESERVED = ("status", "seed", "point")


class Output(NamedTuple):
    """Name, shape and stored dtype of one output of a trial."""

    name: str
    shape: tuple[int, ...]
    dtype: str


def flatten(tree: Any) -> dict[str, Any]:
    """Leaves of a tree by name: the path with dots between its parts."""
    leaves, _ = jax.tree.flatten_with_path(jax.tree.map(_fields, tree))
    named: dict[str, Any] = {}
    for path, leaf in leaves:
        name = ".".join(_part(key) for key in path).replace("/", ".") or "value"
        if name in named:
            raise ValueError(f"fn: expected outputs of different names; got {name!r}")
        named[name] = leaf
    return named


def _fields(leaf):
    """A dataclass that JAX does not know, as a dict."""
    if not dataclasses.is_dataclass(leaf) or isinstance(leaf, type):
        return leaf
    names = [field.name for field in dataclasses.fields(leaf)]
    return {name: jax.tree.map(_fields, getattr(leaf, name)) for name in names}


def _part(key) -> str:
    for field in ("key", "name", "idx"):
        if hasattr(key, field):
            return str(getattr(key, field))
    return str(key)


def storable(leaf: Any) -> jax.Array:
    """An array of a dtype that NumPy's files know, unlike bfloat16, float8 and int4."""
    leaf = jnp.asarray(leaf)
    if leaf.dtype.num < 256:  # NumPy counts the dtypes of others from there
        return leaf
    real = jnp.issubdtype(leaf.dtype, jnp.floating)
    return leaf.astype(jnp.float32 if real else jnp.int32)


def all_finite(leaves: Mapping[str, jax.Array]) -> jax.Array:
    """Whether every real or complex output is finite."""
    inexact = [x for x in leaves.values() if jnp.issubdtype(x.dtype, jnp.inexact)]
    checks = [jnp.all(jnp.isfinite(x)) for x in inexact]
    return jnp.all(jnp.stack(checks)) if checks else jnp.asarray(True)


def outputs_of(
    functions: Sequence[Callable], trials: Trials, columns: Mapping[str, Any]
) -> list[Output]:
    """Outputs of a trial, the same for every static group; nothing is computed.

    Parameters
    ----------
    functions : sequence of callables
        The trial as a function of seed, point and hyper-parameters, one a group.
    trials : Trials
        All trials.
    columns : mapping of arrays
        Hyper-parameters at every point, in the dtypes of the program.
    """
    index = jax.ShapeDtypeStruct((), np.uint32)
    params = {name: jax.ShapeDtypeStruct((), x.dtype) for name, x in columns.items()}
    first: list[Output] = []
    for function, options in zip(functions, trials.space.groups):
        tree = jax.eval_shape(function, index, index, params)
        outputs = [Output(k, tuple(x.shape), str(x.dtype)) for k, x in tree.items()]
        _check_outputs(outputs, trials, columns)
        first = first or outputs
        if outputs != first:
            raise ValueError(
                "fn: expected the same outputs for all static options; got "
                f"{_text(outputs)} for {options}, but {_text(first)} for "
                f"{trials.space.groups[0]}"
            )
    return first


def _check_outputs(outputs, trials, columns):
    if not outputs:
        raise ValueError("fn: expected at least one output; got none")
    taken = {*_RESERVED, *columns, *trials.dims}
    for output in outputs:
        if output.name in taken:
            raise ValueError(
                f"fn: expected outputs of other names than {', '.join(sorted(taken))}; "
                f"got {output.name!r}"
            )
        if 0 in output.shape:
            raise ValueError(
                f"fn: expected outputs with elements; got {output.name!r} of shape "
                f"{output.shape}"
            )


def _text(outputs):
    return ", ".join(f"{x.name}: {x.dtype}{list(x.shape)}" for x in outputs)
