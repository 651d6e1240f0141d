"""Walking over the equations of a traced program."""

from collections.abc import Iterator

from jax.extend.core import Jaxpr


def plain(jaxpr):
    """Return the jaxpr inside a closed one."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def subprograms(eqn) -> list[Jaxpr]:
    """Programs that an equation calls."""
    found = []
    for value in eqn.params.values():
        values = value if isinstance(value, tuple | list) else (value,)
        found += [plain(v) for v in values if isinstance(plain(v), Jaxpr)]
    return found


def equations(jaxpr) -> Iterator:
    """Every equation of a program, inner programs included."""
    for eqn in plain(jaxpr).eqns:
        yield eqn
        for inner in subprograms(eqn):
            yield from equations(inner)
