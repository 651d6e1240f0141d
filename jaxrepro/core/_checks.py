"""Argument checks with one message style: ``name: expected X; got Y``.

Ranks, shapes and static options are known at trace time and raise there.
Values are checked only where they are concrete: under ``jit`` a check on a
traced value passes, and the numerical function answers with NaN and a status.
"""

import math
import operator
from collections.abc import Iterable, Sequence
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def is_concrete(x) -> bool:
    """Whether the value of ``x`` can be looked at, that is, it is not traced.

    Parameters
    ----------
    x : array_like
        Anything; ``None`` and Python scalars are concrete.

    Returns
    -------
    bool
        False exactly for JAX tracers.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import is_concrete
    >>> is_concrete(1.0), bool(jax.jit(is_concrete)(1.0))
    (True, False)
    """
    return not isinstance(x, Tracer)


def promote_floating(*arrays):
    """Cast array arguments to the one inexact dtype that they share.

    Integers and booleans become the default float; float32 stays float32 also
    when x64 is enabled. ``None`` passes through, so optional weights can be
    given as they are.

    Parameters
    ----------
    *arrays : array_like or None
        Arrays of any real or complex dtype.

    Returns
    -------
    tuple of jax.Array or None
        The arguments in order, in ``jnp.result_type`` of all of them.

    Notes
    -----
    Python scalars do not decide the precision unless there is nothing else.
    Cast hyper-parameters with ``jnp.asarray(value, dtype=x.dtype)`` instead:
    they should not decide it either when they come as arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.core import promote_floating
    >>> x, w = promote_floating(np.ones(2, np.float32), np.arange(2))
    >>> x.dtype.name, w.dtype.name
    ('float32', 'float32')
    """
    given = [jnp.asarray(x) for x in arrays if x is not None]
    inexact = [x for x in given if jnp.issubdtype(x.dtype, jnp.inexact)]
    with jax.numpy_dtype_promotion("standard"):
        # Arrays and not their dtypes: a Python scalar is weak and yields to arrays.
        dtype = jnp.result_type(*inexact) if inexact else jnp.result_type(float)
    # lax.convert_element_type also drops the weak type that jnp.asarray keeps.
    promoted = iter([jax.lax.convert_element_type(x, dtype) for x in given])
    result = tuple(None if x is None else next(promoted) for x in arrays)
    return cast(tuple[jax.Array, ...], result)  # None only for None


def check_real(name: str, x) -> None:
    """Raise unless ``x`` holds real numbers, none of them masked.

    Parameters
    ----------
    name : str
        Name of the argument.
    x : array_like
        The argument.

    Raises
    ------
    TypeError
        If the entries are complex or no numbers at all, or a NumPy masked array
        has masked ones.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.core import check_real
    >>> check_real("cost", [[1, 2.5]])
    >>> check_real("cost", np.ones((2, 2), complex))
    Traceback (most recent call last):
    ...
    TypeError: cost: expected real numbers; got dtype complex128
    """
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        dtype = np.asarray(x).dtype
    kinds = (jnp.floating, jnp.integer, jnp.bool_)
    if not any(jnp.issubdtype(dtype, kind) for kind in kinds):
        got = f"dtype {dtype}" if np.shape(x) else repr(x)
        raise TypeError(f"{name}: expected real numbers; got {got}")
    if np.ma.is_masked(x):
        raise TypeError(f"{name}: expected real numbers; got masked entries")


def check_precision(name: str, x) -> None:
    """Raise if ``x`` is in half precision, which decompositions of matrices lack.

    Parameters
    ----------
    name : str
        Name of the argument.
    x : array_like
        The argument.

    Raises
    ------
    TypeError
        If the dtype is float16, bfloat16 or narrower.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.core import check_precision
    >>> check_precision("matrix", np.ones(2, np.float16))
    Traceback (most recent call last):
    ...
    TypeError: matrix: expected float32 or float64; got dtype float16
    """
    dtype = getattr(x, "dtype", None)
    if dtype is not None and jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize < 4:
        raise TypeError(f"{name}: expected float32 or float64; got dtype {dtype}")


def check_shape(name: str, x, shape: Sequence[int | str | None]) -> None:
    """Raise unless the shape of ``x`` matches a pattern.

    Parameters
    ----------
    name : str
        Name of the argument, as the user wrote it.
    x : array_like
        The argument.
    shape : sequence of int, str or None
        One entry an axis: an int must match, a string names a free size in the
        message, None is free and nameless.

    Raises
    ------
    ValueError
        If the rank or a fixed size differs.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.core import check_shape
    >>> check_shape("cost", np.zeros((2, 3)), ("n", "m"))
    >>> check_shape("a", np.zeros(2), (3,))
    Traceback (most recent call last):
    ...
    ValueError: a: expected shape (3,); got shape (2,)
    """
    got = np.shape(x)
    fits = len(got) == len(shape) and all(
        want is None or isinstance(want, str) or want == size
        for want, size in zip(shape, got)
    )
    if not fits:
        sizes = ["_" if s is None else str(s) for s in shape]
        want = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        raise ValueError(f"{name}: expected shape {want}; got shape {got}")


def check_nonempty(name: str, x) -> None:
    """Raise if an axis of ``x`` has length zero.

    Parameters
    ----------
    name : str
        Name of the argument.
    x : array_like
        The argument.

    Raises
    ------
    ValueError
        If ``x`` has no element.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.core import check_nonempty
    >>> check_nonempty("cost", np.zeros((0, 3)))
    Traceback (most recent call last):
    ...
    ValueError: cost: expected at least one element; got shape (0, 3)
    """
    if math.prod(np.shape(x)) == 0:
        raise ValueError(
            f"{name}: expected at least one element; got shape {np.shape(x)}"
        )


def check_choice(name: str, value, allowed: Iterable) -> None:
    """Raise unless a static option is one of the allowed values.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        The option that was given.
    allowed : iterable
        The allowed values, in the order in which to show them.

    Raises
    ------
    ValueError
        If ``value`` is none of them.

    Examples
    --------
    >>> from jaxrepro.core import check_choice
    >>> check_choice("kind", "line", ("projector", "subspace"))
    Traceback (most recent call last):
    ...
    ValueError: kind: expected one of 'projector', 'subspace'; got 'line'
    """
    allowed = tuple(allowed)
    if not any(value is a or _equal(value, a) for a in allowed):
        raise ValueError(
            f"{name}: expected one of {', '.join(map(repr, allowed))}; got {value!r}"
        )


def _equal(value, allowed) -> bool:
    """Equality of two options; an array compares entry by entry and is none."""
    equal = value == allowed
    return isinstance(equal, bool | np.bool_) and bool(equal)


def check_integer(
    name: str, value, *, minimum: int = 1, maximum: int | None = None
) -> int:
    """Return a static option as an int, or raise unless it is one in range.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : int
        The option that was given. NumPy integers are accepted, booleans and
        floats are not.
    minimum : int, default 1
        Smallest allowed value.
    maximum : int or None, default None
        Largest allowed value, if there is one.

    Returns
    -------
    int
        ``value`` as a Python int.

    Raises
    ------
    TypeError
        If ``value`` is not an integer (a traced value is not: it sets a shape).
    ValueError
        If it lies outside ``[minimum, maximum]``.

    Examples
    --------
    >>> from jaxrepro.core import check_integer
    >>> check_integer("rank", 3)
    3
    >>> check_integer("rank", 0)
    Traceback (most recent call last):
    ...
    ValueError: rank: expected an integer >= 1; got 0
    """
    limits = f">= {minimum}" if maximum is None else f"in [{minimum}, {maximum}]"
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        integer = operator.index(value)
    except TypeError:
        got = f"{value!r}" if is_concrete(value) else f"a traced value ({value})"
        raise TypeError(f"{name}: expected an integer {limits}; got {got}") from None
    if integer < minimum or (maximum is not None and integer > maximum):
        raise ValueError(f"{name}: expected an integer {limits}; got {integer}")
    return integer


def check_interval(
    name: str,
    value,
    low: int | float = -math.inf,
    high: int | float = math.inf,
    *,
    closed: str = "both",
) -> None:
    """Raise if a concrete number, or an entry of a concrete array, is out of range.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : array_like
        A number or an array. Traced values pass: the numerical function
        answers them with NaN.
    low, high : float
        Ends of the interval.
    closed : {"both", "left", "right", "neither"}, default "both"
        Which ends belong to the interval.

    Raises
    ------
    TypeError
        If ``value`` is no real number.
    ValueError
        If a value lies outside the interval or is NaN, or ``closed`` is unknown.

    Examples
    --------
    >>> from jaxrepro.core import check_interval
    >>> check_interval("eta", 0.5, 0.0, 1.0)
    >>> check_interval("eps", 0.0, 0.0, closed="right")
    Traceback (most recent call last):
    ...
    ValueError: eps: expected a value in (0, inf]; got 0.0
    """
    check_choice("closed", closed, ("both", "left", "right", "neither"))
    check_real(name, value)
    if not is_concrete(value):
        return
    v = np.asarray(value)
    above = v >= low if closed in ("both", "left") else v > low
    below = v <= high if closed in ("both", "right") else v < high
    bad = ~(above & below)
    if np.any(bad):
        left = "[" if closed in ("both", "left") else "("
        right = "]" if closed in ("both", "right") else ")"
        first = v[bad].flat[0] if v.ndim else v[()]
        what = "a value" if v.ndim == 0 else "every entry"
        raise ValueError(
            f"{name}: expected {what} in {left}{low:g}, {high:g}{right}; got {first}"
        )
