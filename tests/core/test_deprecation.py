"""A retired name works and warns."""

import subprocess
import sys

import jax
import pytest

from jaxrepro.core import citations, deprecated, paper


@deprecated("0.2", "jaxrepro.ot.emd")
@paper("key", "statement")
def old(x, *, factor=2):
    """Multiply."""
    return x * factor


def test_it_works_and_warns():
    message = "^old is deprecated since jaxrepro 0.2; use jaxrepro.ot.emd$"
    with pytest.warns(DeprecationWarning, match=message):
        assert old(3, factor=4) == 12


def test_the_warning_points_at_the_caller(tmp_path):
    file = tmp_path / "caller.py"
    file.write_text(
        "from jaxrepro.core import deprecated\n"
        "old = deprecated('0.2', 'new')(abs)\n"
        "old(1)\n"
    )
    command = [sys.executable, "-W", "always::DeprecationWarning", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr.startswith(f"{file}:3: DeprecationWarning: abs is deprecated")


def test_it_keeps_name_docstring_and_references():
    assert old.__name__ == "old"
    assert old.__doc__ == "Multiply."
    assert citations(old)[0].key == "key"


def test_it_wraps_jitted_functions():
    wrapped = deprecated("0.3", "something else")(jax.jit(lambda x: x + 1))
    with pytest.warns(DeprecationWarning, match="deprecated since jaxrepro 0.3"):
        assert wrapped(1) == 2
