"""Checks of the traced program: portable, of one precision, compiled once."""

import jax
import jax.numpy as jnp

from ._case import Case
from ._inputs import Inputs
from ._jaxpr import equations

_COMPILED = "/jax/core/compile/backend_compile_duration"


def check_callbacks(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """No call back to the host."""
    first = inputs[0]
    return _callback(jax.make_jaxpr(first.call)(first.leaves))


def _callback(jaxpr):
    for eqn in equations(jaxpr):
        name = eqn.primitive.name
        if "callback" in name or name.startswith("debug_") or name.endswith("feed"):
            return f"the program calls back to the host ({name})"
    return None


def check_precision(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """No callback, and no float64 in a program whose inputs are float32.

    Python scalars are traced as weak float64 scalars when x64 is on and take
    the dtype of what they meet; they are no fault. What happens inside a library
    (``strict=False``) is not asked.
    """
    first = inputs[0]
    jaxpr = jax.make_jaxpr(first.call)(first.leaves)
    found = _callback(jaxpr)
    if found or not case.strict:
        return found
    for eqn in equations(jaxpr):
        for atom in (*eqn.invars, *eqn.outvars):
            aval = atom.aval
            if getattr(aval, "dtype", None) not in (jnp.float64, jnp.complex128):
                continue
            if not (aval.weak_type and aval.shape == ()):
                return (
                    f"{eqn.primitive.name} works on {aval.str_short()} although "
                    "every input is float32"
                )
    return None


def check_lower(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """The program lowers for the platforms of the case."""
    first = inputs[0]
    for platform in case.platforms:
        try:
            traced = jax.jit(first.call).trace(first.leaves)
            traced.lower(lowering_platforms=(platform,))
        except Exception as error:
            return f"does not lower for {platform}: {brief(error)}"
    return None


def check_traces(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """New values trace once under jit."""
    traces = 0

    def counted(leaves):
        nonlocal traces
        traces += 1
        return inputs[0].call(leaves)

    jitted = jax.jit(counted)
    for member in inputs:
        jitted.trace(member.leaves)
    if traces != 1:
        return f"three calls with new values trace {traces} times"
    return None


def check_compiles(case: Case, inputs: list[Inputs], tol: float) -> str | None:
    """New values compile nothing in an eager call."""
    compiled = []

    def listen(event, duration_secs, **_):
        if event == _COMPILED:
            compiled.append(duration_secs)

    for member in inputs[:-1]:
        inputs[0].call(member.leaves)
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        inputs[0].call(inputs[-1].leaves)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    if compiled:
        return (
            f"an eager call with new values compiles {len(compiled)} programs again; "
            "decorate the function with jit, and jit no closure made in a call"
        )
    return None


def brief(error: BaseException) -> str:
    """First line of an exception, with its kind."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}".strip()
