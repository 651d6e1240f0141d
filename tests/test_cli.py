"""The console script: what it prints where, and its exit codes."""

import importlib.metadata
import os
import subprocess
import sys

import jax
import pytest

import jaxrepro
from jaxrepro import cli
from jaxrepro.testing import SelfTestCheck, SelfTestReport


@pytest.mark.parametrize("word", ["version", "--version"])
def test_version(capsys, word):
    assert cli.main([word]) == 0
    assert capsys.readouterr().out == importlib.metadata.version("jaxrepro") + "\n"


def test_cite_prints_bibtex(capsys):
    assert cli.main(["cite", "operators.sgot"]) == 0
    out, err = capsys.readouterr()
    assert out == jaxrepro.cite(jaxrepro.operators.sgot) + "\n"
    assert "@inproceedings{germain2026spectral," in out
    assert err == ""


def test_cite_takes_several_names_and_says_which_stem_from_no_paper(capsys):
    assert cli.main(["cite", "core.safe_norm", "jaxrepro.operators.sgot"]) == 0
    out, err = capsys.readouterr()
    assert out.count("@inproceedings{germain2026spectral,") == 1
    assert err == "core.safe_norm: stems from no paper\n"


def test_cite_prints_nothing_where_there_is_nothing(capsys):
    assert cli.main(["cite", "core.safe_norm"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["cite"], "expected at least one name"),
        (["cite", "sgot"], "expected area.function"),
        (["cite", "nowhere.sgot"], "expected area.function"),
        (["cite", "sgot"], "did you mean operators.sgot?"),
        (["cite", "operator.sgot"], "did you mean operators?"),
        (["cite", "operators"], "expected area.function, such as operators."),
        (["cite", "operators.sgott"], "did you mean sgot"),
        (["cite", "core.nothing"], "no such name"),
        (["cite", "core._eig"], "no such name"),
    ],
)
def test_wrong_names_are_usage_errors(capsys, args, message):
    assert cli.main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


@pytest.mark.parametrize("args", [[], ["status"], ["doctor", "--fast"], ["-x"]])
def test_usage_errors_exit_with_2(capsys, args):
    with pytest.raises(SystemExit) as caught:
        cli.main(args)
    assert caught.value.code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_doctor(capsys, monkeypatch, passed, code):
    checks = (
        SelfTestCheck("exp", True, "fine"),
        SelfTestCheck("crash", passed, "the process crashed (SIGSEGV)"),
    )
    report = SelfTestReport(passed, checks)
    monkeypatch.setattr("jaxrepro.testing.selftest", lambda: report)
    assert cli.main(["doctor"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert f"jaxlib {importlib.metadata.version('jaxlib')}" in lines
    assert f"devices {jax.devices()[0]}" in out
    assert "ok   exp: fine" in lines
    assert f"{'ok  ' if passed else 'FAIL'} crash: the process crashed" in out
    assert lines[-1] == f"{1 + passed} of 2 checks passed"


def test_console_script_returns_the_code():
    code = "import sys; from jaxrepro.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "cite", "core.nothing"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="jaxrepro")
    assert entry.value == "jaxrepro.cli:main"


def test_tyro_is_imported_late():
    code = "import sys, jaxrepro.cli; print('tyro' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_a_broken_pipe_is_silent():
    code = "import sys; from jaxrepro.cli import main; sys.exit(main())"
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", code, "version"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
