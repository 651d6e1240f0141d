"""Settings of the test run, and the fixtures that every test file shares.

The run uses the CPU unless tests marked ``gpu`` are selected, keeps compiled
programs in the user's cache folder, and never changes a setting that the
environment already has.

Most tests compile a program, run it once on a few numbers and drop it, so XLA's
optimisations cost far more than they save: the default run leaves them out. The
``slow`` tests, the pages and the smoke suite have them.
"""

import importlib.metadata
import os
import tempfile
from pathlib import Path

import pytest


def _selects(config, marker):
    """Whether the ``-m`` expression asks for a marker."""
    expression = config.getoption("markexpr", "") or ""
    return marker in expression.replace(f"not {marker}", "")


def _cache_folder():
    """A folder of the user's cache for compiled programs, or a temporary one."""
    root = os.environ.get("XDG_CACHE_HOME")
    root = Path(root) if root else Path.home() / ".cache"
    folder = root / "jaxrepro" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return tempfile.mkdtemp(prefix="jaxrepro-")
    return str(folder)


def pytest_configure(config):
    # JAX reads its environment when it is imported, which no plugin does before
    # this hook; workers of pytest-xdist inherit what the first process sets.
    if not _selects(config, "gpu"):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = _cache_folder()
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    if not (_selects(config, "gpu") or _selects(config, "slow")):
        os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        if importlib.metadata.version("jaxlib").startswith("0.10."):
            # A third of the compile time; later releases know no such flag. The
            # other one keeps 0.10 from hanging (docs/numerics.md).
            os.environ.setdefault(
                "XLA_FLAGS",
                "--xla_cpu_use_fusion_emitters=false "
                "--xla_cpu_enable_concurrency_optimized_scheduler=false",
            )
    os.environ.setdefault("MPLBACKEND", "Agg")
    # Two workers on two cores: threads of a BLAS would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    import hypothesis

    hypothesis.settings.register_profile(
        "jaxrepro",
        deadline=None,
        max_examples=200 if _selects(config, "slow") else 25,
        derandomize="CI" in os.environ,
        # The fixtures below hold no state that an example could change.
        suppress_health_check=[
            hypothesis.HealthCheck.function_scoped_fixture,
            hypothesis.HealthCheck.too_slow,
        ],
    )
    hypothesis.settings.load_profile("jaxrepro")


def pytest_collection_modifyitems(items):
    for item in items:
        if "reference" in getattr(item, "fixturenames", ()):
            item.add_marker("reference")


@pytest.fixture
def getkey():
    """Return a function that gives a new typed key at every call."""
    import jax

    base = jax.random.key(0)
    count = iter(range(2**32))
    return lambda: jax.random.fold_in(base, next(count))


@pytest.fixture
def x64():
    """Run the test in double precision."""
    import jax

    with jax.enable_x64(True):
        yield


@pytest.fixture
def optimised():
    """Compile as users do, where the numbers are many."""
    import jax

    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture
def plain_errors(monkeypatch):
    """Let our own error message through where a type check would come first."""
    import jaxtyping

    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture(autouse=True, scope="module")
def _bounded_memory():
    """Drop the compiled programs of a file when the file is done."""
    yield
    import jax

    jax.clear_caches()
