"""Check of derivatives against finite differences."""

import jax
import jax.numpy as jnp
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
    point = tuple(_parts(x) for x, m in zip(first.leaves, moved) if m)
    if not point:
        return "no float argument to differentiate; set differentiable=False"

    def at(point):
        given = iter(point)
        return [_joined(next(given)) if m else x for x, m in zip(first.leaves, moved)]

    def real(output):
        leaves = jax.tree.leaves(_selected(case, output))
        with promotion(case):
            return [_finite(p) for x in leaves if is_inexact(x) for p in _parts(x)]

    # The first is the program of the jit check, compiled already.
    call, select = jax.jit(first.call), jax.jit(real)
    value = select(call(at(point)))
    if not value:
        return "no float output to differentiate; set differentiable=False"
    rng = np.random.default_rng(0)
    tangent = jax.tree.map(lambda x: rng.normal(size=x.shape), point)
    cotangent = jax.tree.map(lambda x: rng.normal(size=x.shape), value)

    @jax.jit
    def derivatives(point, tangent, cotangent):
        push = jax.linearize(lambda *p: real(first.call(at(p))), *point)[1]
        return push(*tangent), jax.linear_transpose(push, *point)(cotangent)

    forward, reverse = derivatives(point, tangent, cotangent)

    names = [n for n, m in zip(first.names, moved) if m]
    for name, gradient in zip(names, reverse):
        if not all(np.isfinite(g).all() for g in gradient):
            return f"the gradient in argument {name!r} is not finite"
    if not all(np.isfinite(t).all() for t in forward):
        return "the forward derivative is not finite"
    if case.edge:
        return None
    # The short step suits closed forms, the long one what a solver has rounded; a
    # wrong derivative agrees with neither.
    happened = None
    for step in (1e-5, 1e-4):
        above, below = (
            select(call(at(jax.tree.map(lambda x, t, s=s: x + s * t, point, tangent))))
            for s in (step, -step)
        )
        slope = [np.subtract(a, b) / (2 * step) for a, b in zip(above, below)]
        pairs = [("forward", f, s) for f, s in zip(forward, slope)]
        pairs.append(("reverse", _inner(reverse, tangent), _inner(slope, cotangent)))
        happened = _worst(pairs, case.grad_tol)
        if happened is None:
            break
    return happened


def _inner(left, right):
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right))
    return np.sum([np.sum(np.asarray(a) * np.asarray(b)) for a, b in pairs])


def _worst(pairs, tol) -> str | None:
    """Say which derivative differs by more than ``tol``, absolute or relative."""
    for mode, got, want in pairs:
        error = np.abs(got - want) / (1 + np.abs(want))
        if not np.all(error <= tol):
            at = np.unravel_index(np.argmax(error), error.shape)
            return (
                f"derivative and finite difference differ: {mode} mode gives "
                f"{np.asarray(got)[at]}, not {np.asarray(want)[at]}"
            )
    return None


def _joined(parts):
    return jax.lax.complex(*parts) if len(parts) == 2 else parts[0]
