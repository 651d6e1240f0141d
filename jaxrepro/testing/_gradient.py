"""Check of derivatives against finite differences."""

import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np

from ._case import Case
from ._inputs import Inputs, is_inexact, promotion


def _selected(case: Case, output):
    """Return the part of an output that the case differentiates."""
    if callable(case.differentiable):
        return case.differentiable(output)
    if isinstance(case.differentiable, tuple):
        return [getattr(output, field) for field in case.differentiable]
    return output


def _parts(x):
    """Real and imaginary part: both are real functions of real variables."""
    return [x.real, x.imag] if jnp.iscomplexobj(x) else [x]


def _finite(x):
    return jnp.where(jnp.isfinite(x), x, 0)


def check_grad(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """Forward and reverse derivatives agree with central differences.

    Complex arrays are pairs of real ones on both sides, so no assumption of
    holomorphy enters. Outputs that are not finite count as 0.
    """
    first = inputs[0]
    wrt = first.names if case.wrt is None else case.wrt
    moved = [is_inexact(x) and n in wrt for n, x in zip(first.names, first.leaves)]
    point = [_parts(x) for x, m in zip(first.leaves, moved) if m]
    if not point:
        return "no float argument to differentiate; set differentiable=False"

    @jax.jit
    def fn(*point):
        given = iter(point)
        leaves = [_joined(next(given)) if m else x for x, m in zip(first.leaves, moved)]
        output = jax.tree.leaves(_selected(case, first.call(leaves)))
        with promotion(case):
            return [_finite(p) for x in output if is_inexact(x) for p in _parts(x)]

    if not fn(*point):
        return "no float output to differentiate; set differentiable=False"

    def total(*point):
        return sum(jnp.sum(x) for x in fn(*point))

    gradients = jax.jit(jax.grad(total, tuple(range(len(point)))))(*point)
    names = [n for n, m in zip(first.names, moved) if m]
    for name, gradient in zip(names, gradients):
        if not all(np.isfinite(g).all() for g in gradient):
            return f"the gradient in argument {name!r} is not finite"
    if case.edge:
        return None
    # The short step suits closed forms, the long one what a solver has rounded; a
    # wrong derivative agrees with neither.
    happened = None
    for step in (1e-5, 1e-4):
        happened = _compare(fn, point, case.grad_tol, step)
        if happened is None:
            break
    return happened


def _compare(fn, point, tol, step) -> str | None:
    try:
        jax.test_util.check_grads(fn, point, order=1, atol=tol, rtol=tol, eps=step)
    except AssertionError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return f"derivative and finite difference differ: {' '.join(lines)[:400]}"
    return None


def _joined(parts):
    return jax.lax.complex(*parts) if len(parts) == 2 else parts[0]
