"""The house rules: cheap import, arrows that point down, I/O in its places, docs."""

import ast
import importlib
import importlib.metadata
import inspect
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import warnings
from pathlib import Path

import pytest

import jaxrepro
from jaxrepro.testing import area_names

PACKAGE = Path(jaxrepro.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
AREAS = jaxrepro._AREAS


def relative(file):
    return file.relative_to(PACKAGE).as_posix()


# Importing.

HEAVY = {
    *("aeon", "diffrax", "flax", "matplotlib", "ott", "pandas", "sklearn"),
    *("xarray", "ot", "beartype", "hypothesis", "pytest"),
}
LOOK = """
import json, os, sys
environment = dict(os.environ)
{statement}
after = dict(os.environ)
import jax
from jax._src import xla_bridge
print(json.dumps({{
    "modules": sorted({{name.split(".")[0] for name in sys.modules}}),
    "x64": jax.config.jax_enable_x64,
    "promotion": jax.config.jax_numpy_dtype_promotion,
    "initialised": xla_bridge.backends_are_initialized(),
    "same environment": environment == after,
}}))
"""


def look(statement, **environment):
    """What a fresh interpreter has after a statement."""
    command = [sys.executable, "-c", LOOK.format(statement=statement)]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_changes_nothing():
    seen = look("import jaxrepro")
    assert not sorted((HEAVY | {"equinox", "optax", "tyro"}) & set(seen["modules"]))
    assert seen["x64"] is False
    assert seen["initialised"] is False
    assert seen["promotion"] == "standard"
    assert seen["same environment"]


def test_core_needs_jax_only():
    seen = look("import jaxrepro.core; assert 'jax' in sys.modules")
    assert not sorted((HEAVY | {"equinox", "optax", "tyro"}) & set(seen["modules"]))
    assert not seen["initialised"]


def test_areas_touch_no_device_and_load_nothing_heavy():
    imports = "; ".join(f"import jaxrepro.{area}" for area in AREAS)
    seen = look(f"import jaxrepro.cli; {imports}")
    assert not sorted(HEAVY & set(seen["modules"]))
    assert seen["x64"] is False
    assert seen["initialised"] is False
    assert seen["same environment"]


def test_import_time(record_property):
    def seconds(statement):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - start

    pairs = [(seconds("import jaxrepro"), seconds("import jax")) for _ in range(3)]
    ours, theirs = map(min, zip(*pairs))
    record_property("import time over that of jax", ours / theirs)
    assert ours < 1.3 * theirs


def test_areas_are_found_and_load_late():
    assert {"core", "testing"} <= set(AREAS)
    assert set(dir(jaxrepro)) >= {*AREAS, "cite", "__version__"}
    assert jaxrepro.core is importlib.import_module("jaxrepro.core")
    assert jaxrepro.cite is jaxrepro.core.cite
    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        jaxrepro.nowhere  # noqa: B018


def test_version_has_one_source():
    assert jaxrepro.__version__ == importlib.metadata.version("jaxrepro")
    project = PACKAGE.parent / "pyproject.toml"
    if project.exists():
        version = tomllib.loads(project.read_text())["project"]["version"]
        assert jaxrepro.__version__ == version


def test_ships_its_types():
    assert (PACKAGE / "py.typed").exists()


CURE = "--xla_cpu_experimental_ynn_fusion_type="


@pytest.mark.parametrize(
    ("version", "flags", "warned"),
    [
        ("0.10.2", "", True),
        ("0.10.2", "--xla_dump_to=/nowhere", True),
        ("0.10.2", f"--xla_dump_to=/nowhere {CURE}", False),
        ("0.10.1", "", False),
        ("0.12.0.1", "", False),
    ],
)
def test_the_faulty_jaxlib_is_named(monkeypatch, version, flags, warned):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    monkeypatch.setenv("XLA_FLAGS", flags)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jaxrepro._warn_about_faulty_jaxlib()
    assert [w.category for w in caught] == [RuntimeWarning] * warned
    assert all(f"XLA_FLAGS={CURE}" in str(w.message) for w in caught)


# Imports go down. An area may know core and what stands here, nothing else.

KNOWS = {
    "operators": {"ot"},
    "neural_ode": {"eeg"},
    "cli": {"sweep", "testing"},
}
ONLY_IN = {("rmt", "diffusion"): "rmt/empirical/"}


def imported(source, module, *, is_package):
    """Modules of this package that a source imports, wherever it does so."""
    here = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*base, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def import_graph(sources):
    """For every module, the modules of the package that it imports."""
    names = {
        "jaxrepro."
        + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): path
        for path in sources
    }
    names["jaxrepro"] = "__init__.py"
    return {
        name: {
            target
            for target in imported(
                sources[path], name, is_package=path.endswith("__init__.py")
            )
            # Importing a member imports its package, which is no arrow of its own.
            if target in names and target != name and not name.startswith(target + ".")
        }
        for name, path in names.items()
        if path in sources
    }


def wrong_arrows(sources):
    """Imports between areas that the table does not allow."""
    wrong = []
    for name, targets in import_graph(sources).items():
        area = (name.split(".") + [""])[1]
        path = name.removeprefix("jaxrepro.").replace(".", "/") + ".py"
        for target in sorted(targets):
            other = (target.split(".") + [""])[1]
            allowed = other in (area, "core") or other in KNOWS.get(area, ())
            if path.startswith(ONLY_IN.get((area, other), "nowhere")):
                allowed = True
            if area and other and not allowed:
                wrong.append(f"{name} imports {target}")
    return wrong


def circles(graph):
    """Modules that import themselves by way of others."""

    def reach(start):
        seen, todo = set(), list(graph[start])
        while todo:
            module = todo.pop()
            if module not in seen:
                seen.add(module)
                todo += graph.get(module, ())
        return seen

    return sorted(module for module in graph if module in reach(module))


def own_sources():
    return {relative(file): file.read_text() for file in FILES}


def test_imports_go_down():
    assert not wrong_arrows(own_sources())


def test_imports_go_in_no_circle():
    assert not circles(import_graph(own_sources()))


def test_the_package_knows_no_experiment_and_no_test():
    outside = {"experiments", "benchmarks", "tests", "conftest"}
    for file in FILES:
        found = imported(file.read_text(), "jaxrepro.x", is_package=False)
        assert not outside & {name.split(".")[0] for name in found}, relative(file)


@pytest.mark.parametrize(
    ("path", "line", "wrong"),
    [
        ("ot/_a.py", "from ..core import matmul", False),
        ("ot/_a.py", "from ._b import x", False),
        ("new_area/_a.py", "from ..core import matmul", False),
        ("operators/_a.py", "from ..ot import emd", False),
        ("operators/_a.py", "from .. import ot", False),
        ("rmt/empirical/_a.py", "from ...diffusion import denoise", False),
        ("core/_a.py", "from ..ot import emd", True),
        ("ot/_a.py", "from ..operators import sgot", True),
        ("ot/_a.py", "from .. import operators", True),
        ("ot/_a.py", "import jaxrepro.operators", True),
        ("ot/_a.py", "from jaxrepro.data import x", True),
        ("ot/_a.py", "def f():\n    from ..testing import Case", True),
        ("testing/_a.py", "from ..ot import emd", True),
        ("rmt/_a.py", "from ..diffusion import denoise", True),
        ("core/_a.py", "from ..cli import main", True),
        ("new_area/_a.py", "from ..ot import emd", True),
    ],
)
def test_a_wrong_arrow_is_found(path, line, wrong):
    areas = "core ot operators testing data rmt diffusion new_area".split()
    sources = {f"{area}/__init__.py": "" for area in areas}
    sources |= {"__init__.py": "", "cli.py": "", "ot/_b.py": "", path: line}
    assert bool(wrong_arrows(sources)) == wrong


def test_a_circle_is_found():
    sources = {
        "ot/__init__.py": "from ._a import a as a",
        "ot/_a.py": "from ._b import b",
        "ot/_b.py": "def f():\n    from ._a import a",
    }
    found = circles(import_graph(sources))
    assert found == ["jaxrepro.ot._a", "jaxrepro.ot._b"]
    sources["ot/_b.py"] = "b = 1"
    assert not circles(import_graph(sources))
    sources["ot/_b.py"] = "from ..ot._a import a"
    assert circles(import_graph(sources)) == ["jaxrepro.ot._a", "jaxrepro.ot._b"]


# Input and output have their places.

IO_PLACES = {
    *("eeg/", "data/", "sweep/", "experiment/"),
    *("async_sgd/_runtime.py", "async_sgd/_trace.py"),
    *("neural_ode/_checkpoint.py", "kernels/_stream.py", "operators/_store.py"),
    # What sweep, experiment and the files of operators write and note in one way.
    *("core/_files.py", "core/_provenance.py"),
    # What the console script prints, what the self-test's process says, and the
    # references.bib that each area ships.
    *("cli.py", "testing/_probe.py", "testing/_selftest.py", "core/_citation.py"),
}
IO_CALLS = {"open", "print", "input"}
IO_METHODS = {
    *("open", "read_text", "read_bytes", "write", "write_text", "write_bytes"),
    *("mkdir", "touch", "unlink", "rmdir", "rename", "tofile", "savefig"),
}
IO_FUNCTIONS = {
    *("np.save", "np.savez", "np.savez_compressed", "np.savetxt", "np.load"),
    *("np.loadtxt", "np.genfromtxt", "np.fromfile", "np.memmap", "jnp.save"),
    *("jnp.load", "json.dump", "json.load", "pickle.dump", "pickle.load"),
    *("subprocess.run", "subprocess.Popen", "os.system", "os.remove", "os.makedirs"),
    *("shutil.rmtree", "shutil.copy", "urllib.request.urlopen", "jax.debug.print"),
}


def io_calls(source):
    """Calls that read, write or print, as ``line: call``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            method = name.rpartition(".")[2] if "." in name else None
            if name in IO_CALLS | IO_FUNCTIONS or method in IO_METHODS:
                yield f"{node.lineno}: {name}"


def test_io_in_its_places():
    found = [
        f"{relative(file)}:{call}"
        for file in FILES
        if not relative(file).startswith(tuple(IO_PLACES))
        for call in io_calls(file.read_text())
    ]
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "print(1)",
        "open('x')",
        "Path('x').write_text('y')",
        "np.save('x', y)",
        "np.load('x')",
        "def f():\n    with path.open() as file:\n        pass",
        "sys.stdout.write('x')",
        "jax.debug.print('x')",
    ],
)
def test_io_is_found(line):
    assert list(io_calls(line))


# Every file and every public name.


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_files_are_short_and_say_what_they_are(file):
    source = file.read_text()
    assert source.count("\n") <= 400
    tree = ast.parse(source)
    assert ast.get_docstring(tree)
    future = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert not ("jaxtyping" in source and "__future__" in {n.module for n in future})
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", source)
    calls = [ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert not [call for call in calls if call.endswith("config.update")]
    assert "utils" not in file.stem


@pytest.mark.parametrize("area", area_names())
def test_public_names_are_sorted_and_re_exported_plainly(area):
    module = importlib.import_module(f"jaxrepro.{area}")
    assert module.__all__ == sorted(module.__all__)
    folder = PACKAGE / area.replace(".", "/")
    tree = ast.parse((folder / "__init__.py").read_text())
    aliases = [
        alias
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert {alias.asname for alias in aliases} == set(module.__all__)
    assert all(alias.asname == alias.name for alias in aliases)


def public_names():
    for area in area_names():
        module = importlib.import_module(f"jaxrepro.{area}")
        for name in module.__all__:
            yield pytest.param(getattr(module, name), id=f"{area}.{name}")
    yield pytest.param(importlib.import_module("jaxrepro.cli").main, id="cli.main")


def section(docstring, title):
    """Text of a numpydoc section, or None."""
    parts = re.split(r"\n(\w[\w ]*)\n-{3,}\n", "\n" + docstring)
    return dict(zip(parts[1::2], parts[2::2])).get(title)


def documented(text):
    """Names that a section of parameters or attributes describes."""
    heads = re.findall(r"^(\*{0,2}\w[^:\n]*?)(?: :.*)?$", text, re.M)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def missing_documentation(x):
    """What the docstring of a public name lacks."""
    doc = inspect.getdoc(x) or ""
    if not doc:
        return ["docstring"]
    if isinstance(x, type):
        fields = set(getattr(x, "_fields", ()))
        attributes = section(doc, "Attributes") or ""
        return sorted(fields - documented(attributes))
    if not callable(x):
        return []
    wanted = ["Examples"]
    signature = inspect.signature(x)
    if signature.return_annotation is not None:
        wanted.append("Returns")
    if "\nYields\n" in doc:
        wanted.remove("Returns")
    missing = [title for title in wanted if section(doc, title) is None]
    parameters = documented(section(doc, "Parameters") or "")
    missing += sorted(set(signature.parameters) - parameters)
    if ">>>" not in (section(doc, "Examples") or ""):
        missing.append("an example that runs")
    return missing


@pytest.mark.parametrize("x", list(public_names()))
def test_every_public_name_is_documented(x):
    assert not missing_documentation(x)


def test_missing_documentation_is_found():
    def bare(x, y, *rest, flag=True):
        return x

    assert missing_documentation(bare) == ["docstring"]
    bare.__doc__ = """Do.

    Parameters
    ----------
    x, rest : int
        Text.

    Examples
    --------
    Nothing.
    """
    assert missing_documentation(bare) == [
        "Returns",
        "flag",
        "y",
        "an example that runs",
    ]
