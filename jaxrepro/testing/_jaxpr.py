"""Walking over the equations of a traced program."""

from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr


def plain(jaxpr):
    """Return the jaxpr inside a closed one."""
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def subprograms(eqn) -> list[tuple[str, Any]]:
    """Programs that an equation calls, each with the parameter that holds it."""
    kinds = Jaxpr | ClosedJaxpr
    found = []
    for name, value in eqn.params.items():
        values = value if isinstance(value, tuple | list) else (value,)
        found += [(name, plain(v)) for v in values if isinstance(v, kinds)]
    return found


def equations(jaxpr) -> Iterator:
    """Every equation of a program, inner programs included."""
    for eqn in plain(jaxpr).eqns:
        yield eqn
        for _, inner in subprograms(eqn):
            yield from equations(inner)
