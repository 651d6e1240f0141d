"""The specification of a sweep, and what it means that two are equal."""

import functools
import hashlib
import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..core._files import to_plain
from ._outputs import Output
from ._trials import Trials

FORMAT = 1
# What later starts may change: what these fields say is no part of the results.
_FREE = {"batch", "block_size", "labels", "fn_sha256"}


class SweepMismatchError(ValueError):
    """The folder holds another sweep; the message lists every differing field."""


def sweep_spec(
    fn: Callable,
    trials: Trials,
    columns: Mapping[str, np.ndarray],
    outputs: Sequence[Output],
    order: np.ndarray | None,
    exact: bool,
    batch: int,
    block_size: int,
    labels: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything that fixes the results of a sweep, as JSON can hold it.

    Parameters
    ----------
    fn : callable
        The function.
    trials : Trials
        All trials.
    columns : mapping of arrays
        Hyper-parameters at every point, in the dtypes of the program.
    outputs : sequence of Output
        What a trial returns.
    order : numpy array or None
        Trial number at each execution position, or None for their own order.
    exact, batch
        Mode of the device program, and trials a device and launch.
    block_size : int
        Positions that belong to one worker.
    labels : mapping
        ``dims``, ``coords`` and ``attrs`` of the result.
    """
    space = trials.space
    spec: Any = {
        "format": FORMAT,
        "fn": static_label(fn),
        "fn_sha256": _source_hash(fn),
        "trials": trials.n_trials,
        "dims": trials.dims,
        "shape": trials.shape,
        "axes": [
            {"dim": dim, "columns": {k: _column(x) for k, x in axis.columns.items()}}
            for dim, axis in zip(space.dims, space.axes)
        ],
        "options": {name: _labels(values) for name, values in space.options.items()},
        # Labels do not tell all values apart: 1 and True, two lambdas, long arrays.
        "options_sha256": {
            name: [_identity(x) for x in values]
            for name, values in space.options.items()
        },
        "columns_sha256": {name: array_hash(x) for name, x in columns.items()},
        "seeds": trials.seeds,
        "base_seed": trials.base_seed,
        "keys": "common" if trials.common else "independent",
        "exact": exact,
        "x64": bool(jax.config.jax_enable_x64),  # pyright: ignore
        "outputs": [output._asdict() for output in outputs],
        "order_sha256": None if order is None else array_hash(order),
        "batch": batch,
        "block_size": block_size,
        "labels": labels,
    }
    plain: Any = to_plain(spec)
    return plain


def check_same_sweep(old: Mapping[str, Any], new: Mapping[str, Any], folder) -> None:
    """Raise ``SweepMismatchError`` unless two specifications mean the same results."""
    fields = [name for name in {**old, **new} if name not in _FREE]
    differing = [name for name in fields if old.get(name) != new.get(name)]
    if differing:
        lines = [
            "  {}: {} there, {} now".format(name, *_short(old.get(name), new.get(name)))
            for name in differing
        ]
        raise SweepMismatchError(
            f"out: {folder} holds another sweep. Choose another folder, or remove "
            "this one. Differing:\n" + "\n".join(lines)
        )


def check_same_source(old, new, folder, *, strict: bool) -> None:
    """Warn, or with ``strict`` raise, if the text of the function has changed."""
    before, now = old["fn_sha256"], new["fn_sha256"]
    if before != now and before is not None and now is not None:
        text = (
            f"out: the source of {new['fn']} has changed since {folder} was begun; "
            "results of the two versions would be mixed"
        )
        if strict:
            raise SweepMismatchError(text)
        warnings.warn(text, stacklevel=4)


def function_name(fn: Callable) -> str:
    """Qualified name of a function, or of the function that a partial one calls."""
    fn = getattr(fn, "func", fn)
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    module = getattr(fn, "__module__", "?")
    # What a process started by multiprocessing calls the script that started it.
    return f"{'__main__' if module == '__mp_main__' else module}.{name}"


def static_label(value: Any) -> Any:
    """A static value as a label: itself, or the name of a function."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, functools.partial):
        args, keywords = jax.tree.map(_ArrayLabel.of, (value.args, value.keywords))
        given = [*map(repr, args)]
        given += [f"{name}={item!r}" for name, item in keywords.items()]
        return _without_address(f"{function_name(value)}({', '.join(given)})")
    return function_name(value) if callable(value) else _without_address(repr(value))


class _ArrayLabel(str):
    """What stands for an array, whose own text leaves out most numbers."""

    def __repr__(self):
        return str(self)

    @classmethod
    def of(cls, leaf):
        if not isinstance(leaf, np.ndarray | jax.Array):
            return leaf
        if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        array = np.asarray(leaf)
        return cls(f"{array.dtype}{list(array.shape)}:{array_hash(array)[:12]}")


def _without_address(text):
    """A text that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _identity(value):
    """What a static value is, beyond its label: type, numbers, source and closure."""
    parts = [type(value).__qualname__, static_label(value)]
    if isinstance(value, np.ndarray | jax.Array):
        parts.append(_ArrayLabel.of(value))
    if callable(value):
        cells = getattr(value, "__closure__", None) or ()
        held = jax.tree.map(_ArrayLabel.of, [cell.cell_contents for cell in cells])
        parts += [_source_hash(value), _without_address(repr(held))]
        parts.append(_without_address(repr(getattr(value, "__defaults__", None))))
        # Lambdas of one line share its text.
        code = getattr(value, "__code__", None)
        if code is not None:
            numbers = [x for x in code.co_consts if not inspect.iscode(x)]
            parts.append((code.co_code, code.co_names, repr(numbers)))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _labels(values):
    """Labels of static values; numbers tell apart what shares one, as lambdas do."""
    labels = [static_label(x) for x in values]
    return [
        f"{label} [{labels[:i].count(label)}]" if labels.count(label) > 1 else label
        for i, label in enumerate(labels)
    ]


def _source_hash(fn):
    fn = getattr(fn, "func", fn)
    try:
        source = inspect.getsource(fn)
        if getattr(fn, "__name__", "") == "<lambda>":
            source = _lambda_source(fn.__code__)
    except (OSError, TypeError):  # typed at a prompt, or no Python function
        return None
    return hashlib.sha256(source.encode()).hexdigest()


def _column(values):
    return {"dtype": str(values.dtype), "values": values}


def array_hash(array: np.ndarray) -> str:
    """Digest of dtype, shape and content."""
    array = np.ascontiguousarray(array)
    kind = f"{array.dtype} {array.shape}"
    return hashlib.sha256(kind.encode() + array.tobytes()).hexdigest()


def _lambda_source(code):
    """The text of a lambda's body alone; what surrounds it on its lines may change."""
    places = [
        (first, last, left, right)
        for first, last, left, right in code.co_positions()
        if None not in (first, last, left, right) and (left, right) != (0, 0)
    ]
    lines, _ = inspect.findsource(code)
    first = min((top, left) for top, _, left, _ in places)
    last = max((bottom, right) for _, bottom, _, right in places)
    text = [line.encode() for line in lines[first[0] - 1 : last[0]]]
    text[-1] = text[-1][: last[1]]
    text[0] = text[0][first[1] :]
    return b"".join(text).decode()


def _short(old, new):
    """Two texts, cut to what is around their first difference if they are long."""
    old, new = str(old), str(new)
    if max(len(old), len(new)) <= 60:
        return old, new
    same = len(os.path.commonprefix([old, new]))
    start = max(0, same - 20)

    def cut(text):
        head, tail = "..." if start else "", "..." if len(text) > start + 54 else ""
        return f"{head}{text[start : start + 54]}{tail}"

    return cut(old), cut(new)
