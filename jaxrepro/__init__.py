"""Functional numerics in JAX for methods from recent machine-learning papers.

Areas are imported on first use::

    from jaxrepro import operators, ot

Importing the package touches no device, changes no setting of JAX and loads
none of the heavier dependencies.
"""

import importlib
import importlib.metadata
import os
import pkgutil
import warnings

__version__ = importlib.metadata.version("jaxrepro")

# An area is a folder with an __init__.py; adding one edits nothing here.
_AREAS = tuple(m.name for m in pkgutil.iter_modules(__path__) if m.ispkg)
__all__ = [*_AREAS, "cite"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name):
    if name in _AREAS:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "cite":
        return importlib.import_module(f"{__name__}.core").cite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])


def _warn_about_faulty_jaxlib():
    """Warn about the one release whose CPU compiler returns wrong numbers."""
    version = importlib.metadata.version("jaxlib")
    cured = "--xla_cpu_experimental_ynn_fusion_type=" in os.environ.get("XLA_FLAGS", "")
    if version == "0.10.2" and not cured:
        warnings.warn(
            "jaxlib 0.10.2 returns wrong numbers on CPU under jit and vmap. Install "
            "another version (0.10.1, or 0.12 and later), or set "
            "XLA_FLAGS=--xla_cpu_experimental_ynn_fusion_type= (empty value) before "
            "starting Python.",
            RuntimeWarning,
            stacklevel=3,
        )


_warn_about_faulty_jaxlib()
