"""Which public functions have a contract case, and which have none."""

import pkgutil
from collections.abc import Iterable, Mapping
from types import ModuleType

import jaxrepro

from ._case import Case


def area_names() -> tuple[str, ...]:
    """Names of all areas, and of the public packages within them.

    Returns
    -------
    tuple of str
        Import paths without the leading ``jaxrepro.``, sorted.

    Examples
    --------
    >>> from jaxrepro.testing import area_names
    >>> [name for name in area_names() if name.startswith("diffusion")]
    ['diffusion', 'diffusion.networks']
    """

    def below(path, prefix):
        for module in pkgutil.iter_modules(path):
            if module.ispkg and not module.name.startswith("_"):
                yield prefix + module.name
                inner = [f"{folder}/{module.name}" for folder in path]
                yield from below(inner, f"{prefix}{module.name}.")

    return tuple(sorted(below(list(jaxrepro.__path__), "")))


def public_functions(area: ModuleType) -> tuple[str, ...]:
    """Names in an area's ``__all__`` that are functions.

    Parameters
    ----------
    area : module
        An area, such as ``jaxrepro.core``.

    Returns
    -------
    tuple of str
        Every callable that is not a class, jitted functions included, in the
        order of ``__all__``.

    Examples
    --------
    >>> from jaxrepro import core
    >>> from jaxrepro.testing import public_functions
    >>> "safe_norm" in public_functions(core), "Status" in public_functions(core)
    (True, False)
    """
    public = {name: getattr(area, name) for name in area.__all__}
    return tuple(
        name for name, x in public.items() if callable(x) and not isinstance(x, type)
    )


def contract_gaps(
    area: ModuleType, cases: Iterable[Case], exempt: Mapping[str, str]
) -> list[str]:
    """What is missing from, or wrong in, the contract cases of an area.

    Parameters
    ----------
    area : module
        The area.
    cases : iterable of Case
        Its cases. A class may have cases, but needs none.
    exempt : mapping of str to str
        Names of functions without a case, each with the reason.

    Returns
    -------
    list of str
        One sentence a gap; empty if every public function has at least one
        case or a reason to have none.

    Examples
    --------
    >>> from jaxrepro import core
    >>> from jaxrepro.testing import contract_gaps
    >>> contract_gaps(core, [], {})[-1]
    'status_message: no contract case and no reason to have none'
    """
    covered = {case.function for case in cases}
    gaps = [
        f"{name}: no contract case and no reason to have none"
        for name in public_functions(area)
        if name not in covered and name not in exempt
    ]
    for name in sorted(covered - set(area.__all__)):
        gaps.append(f"{name}: has a case but is not public")
    for name, reason in exempt.items():
        if name not in area.__all__:
            gaps.append(f"{name}: is exempt but is not public")
        elif name in covered:
            gaps.append(f"{name}: has a case and is exempt")
        elif not reason.strip():
            gaps.append(f"{name}: is exempt without a reason")
    return gaps
