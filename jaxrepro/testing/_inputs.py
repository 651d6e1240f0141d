"""Arguments of a case, split into the arrays that vary and the rest that does not."""

import contextlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._case import Case


def numpy_generator(key: jax.Array) -> np.random.Generator:
    """NumPy's random generator, seeded by a key.

    For the arguments of a :class:`Case`: drawing them with :mod:`jax.random` would
    compile a small program for every shape, often more work than the check itself.

    Parameters
    ----------
    key : key array of shape ()
        Typed random key.

    Returns
    -------
    numpy.random.Generator
        A new generator; equal keys give equal draws.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.testing import numpy_generator
    >>> numpy_generator(jax.random.key(0)).normal(size=(2, 3)).shape
    (2, 3)
    """
    return np.random.default_rng(np.asarray(jax.random.key_data(key)))


class Inputs(NamedTuple):
    """The array leaves of all arguments, and how to call the function with them.

    Attributes
    ----------
    leaves : list of jax.Array
        Arrays and keys, positional arguments first, then traced keywords.
    names : list of int or str
        For each leaf the position or the keyword of its argument.
    call : callable
        ``call(leaves) -> output``, pure; runs under the promotion rules of the
        case.
    """

    leaves: list
    names: list
    call: Any


def is_key(x) -> bool:
    """Whether an array holds typed random keys."""
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def is_inexact(x) -> bool:
    """Whether an array holds real or complex numbers of floating point."""
    return jnp.issubdtype(x.dtype, jnp.inexact)


@contextlib.contextmanager
def promotion(case: Case):
    """Strict promotion of dtypes and ranks, unless the case is excused."""
    if not case.strict:
        yield
        return
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def _is_array(x) -> bool:
    return isinstance(x, jax.Array | np.ndarray | np.generic)


def make_inputs(case: Case, dtype, index: int = 0, like: Inputs | None = None):
    """Build the inputs of a case.

    Parameters
    ----------
    case : Case
        What to call.
    dtype : dtype
        float32 or float64.
    index : int
        Other indices give other values.
    like : Inputs, optional
        Earlier inputs of the same case, whose constants are kept, so that a
        callable made anew by ``make_args`` does not count as a new function.

    Returns
    -------
    Inputs
        Arrays, their names, and the call.
    """
    key = jax.random.fold_in(jax.random.key(0), index)
    args = case.make_args(key, dtype)
    if not isinstance(args, tuple):
        raise TypeError(f"make_args returned {type(args).__name__}, not a tuple")
    values = {
        name: jnp.asarray(value * (1 - index / 16), dtype)
        for name, value in case.traced.items()
    }
    flat, tree = jax.tree.flatten(args)
    vary = [_is_array(x) or isinstance(x, float | complex) for x in flat]
    flat = [_as_input(x, dtype) if v else x for x, v in zip(flat, vary)]
    names = [i for i, arg in enumerate(args) for leaf in jax.tree.leaves(arg)]
    leaves = [x for x, v in zip(flat, vary) if v] + list(values.values())
    names = [n for n, v in zip(names, vary) if v] + list(values)
    _check_leaves(case, leaves, names, dtype)
    leaves = [jnp.asarray(x) for x in leaves]
    if like is not None:
        same = [(x.shape, x.dtype) for x in leaves] == [
            (x.shape, x.dtype) for x in like.leaves
        ]
        if not same or names != like.names:
            raise ValueError("make_args gives other shapes or dtypes for another key")
        return Inputs(leaves, names, like.call)

    def call(leaves):
        given = iter(leaves)
        positional = jax.tree.unflatten(
            tree, [next(given) if v else x for x, v in zip(flat, vary)]
        )
        with promotion(case):
            return case.fn(*positional, **case.static, **dict(zip(values, given)))

    return Inputs(leaves, names, call)


def _as_input(x, dtype):
    """A Python float counts as an array of the case's dtype."""
    return x if _is_array(x) else jnp.asarray(x, jnp.result_type(dtype, type(x)))


def _check_leaves(case, leaves, names, dtype):
    complex_dtype = jnp.result_type(dtype, jnp.complex64)
    for name, x in zip(names, leaves):
        if is_key(x):
            if name != case.key_argument:
                raise ValueError(f"argument {name} is a key; set key_argument={name}")
        elif is_inexact(x) and x.dtype not in (dtype, complex_dtype):
            raise ValueError(
                f"make_args gave argument {name} in {x.dtype}, not {jnp.dtype(dtype)}"
            )
        elif getattr(x, "weak_type", False):
            raise ValueError(f"make_args gave argument {name} with a weak dtype")
