"""Cost of a program in operations, counted on its trace: no device, no clock."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax

from ._jaxpr import plain, subprograms

# Primitives that move or relabel data and compute nothing.
_MOVES = frozenset(
    "bitcast_convert_type broadcast_in_dim concatenate convert_element_type copy "
    "device_put dynamic_slice dynamic_update_slice expand_dims gather imag iota pad "
    "random_unwrap random_wrap real reshape rev scatter slice split squeeze "
    "stop_gradient transpose".split()
)


class FlopCount(NamedTuple):
    """Operations of one call.

    Attributes
    ----------
    contractions : int
        Multiplications and additions of matrix products and convolutions. The
        same under every version of JAX, so it may be compared exactly.
    elementwise : int
        Operations of everything else, one an entry; depends on the version.
    unbounded_loops : int
        Loops whose number of steps the trace does not know; one step of each
        is counted.
    """

    contractions: int
    elementwise: int
    unbounded_loops: int


def count_flops(fn: Callable, *args) -> FlopCount:
    r"""Count the operations of a call from its trace, without running it.

    A product of shapes (n, k) and (k, m) counts :math:`2nmk`, a convolution
    twice the entries of its output times the entries of the kernel that meet
    one of them. A ``scan`` multiplies its body by its length, a ``cond`` counts
    its most expensive branch, a ``while_loop`` one step, and calls count what
    they call.

    Parameters
    ----------
    fn : callable
        A pure function; bind keyword options with :func:`functools.partial`.
    *args : array or jax.ShapeDtypeStruct pytrees
        Arguments, of which only shapes and dtypes matter.

    Returns
    -------
    FlopCount
        ``contractions``, ``elementwise``, ``unbounded_loops``.

    Notes
    -----
    Use this in place of ``compiled.cost_analysis()``, which counts the body of a
    loop once whatever its length. Decompositions (``eigh``, ``svd``, ...) count
    the entries of their outputs only.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.testing import count_flops
    >>> x = jax.ShapeDtypeStruct((64, 64), "float32")
    >>> count_flops(lambda a, b: a @ b, x, x).contractions
    524288
    """
    return _count(jax.make_jaxpr(fn)(*args))


def _count(jaxpr) -> FlopCount:
    counts = [_count_equation(eqn) for eqn in plain(jaxpr).eqns]
    return FlopCount(*map(sum, zip(FlopCount(0, 0, 0), *counts)))


def _count_equation(eqn) -> FlopCount:
    name = eqn.primitive.name
    out = sum(math.prod(v.aval.shape) for v in eqn.outvars)
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        sizes = eqn.invars[0].aval.shape
        return FlopCount(2 * out * math.prod(sizes[i] for i in contracted), 0, 0)
    if name == "conv_general_dilated":
        kernel = eqn.invars[1].aval.shape
        channels_out = kernel[eqn.params["dimension_numbers"].rhs_spec[0]]
        return FlopCount(2 * out * math.prod(kernel) // channels_out, 0, 0)
    if name == "scan":
        body = _count(eqn.params["jaxpr"])
        length = eqn.params["length"]
        return FlopCount(
            length * body.contractions, length * body.elementwise, body.unbounded_loops
        )
    if name == "while":
        test, body = _count(eqn.params["cond_jaxpr"]), _count(eqn.params["body_jaxpr"])
        return FlopCount(*map(sum, zip(test, body, (0, 0, 1))))
    if name == "cond":
        branches = [_count(branch) for branch in eqn.params["branches"]]
        return max(branches, key=lambda c: (c.contractions + c.elementwise, c))
    if name == "custom_linear_solve":
        return _count(eqn.params["jaxprs"].solve)
    if name.startswith(("reduce_", "arg", "cum")):
        return FlopCount(0, max(math.prod(v.aval.shape) for v in eqn.invars), 0)
    if name.startswith("scatter") and name != "scatter":
        return FlopCount(0, math.prod(eqn.invars[2].aval.shape), 0)
    if name in _MOVES:
        return FlopCount(0, 0, 0)
    inner = [_count(program) for program in subprograms(eqn)]
    if inner:
        return FlopCount(*map(sum, zip(*inner)))
    return FlopCount(0, out, 0)
