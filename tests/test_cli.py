"""The console script: what it prints where, and its exit codes."""

import importlib.metadata
import json
import os
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxrepro
from jaxrepro import cli, sweep
from jaxrepro.core import MissingExtraError
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


@pytest.mark.parametrize(
    "args",
    [[], ["state"], ["status"], ["export", "run"], ["doctor", "--fast"], ["-x"]],
)
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


def _inverse(folder, **options):
    space = sweep.Grid(x=[0.0, 1.0, 2.0, 3.0])
    sweep.sweep(lambda key, p: 1 / p["x"], space, out=folder, **options)


@pytest.fixture
def run(tmp_path):
    """A sweep's folder: one worker of two has run its half."""
    _inverse(tmp_path / "run", worker=(0, 2), batch_per_device=2)
    return tmp_path / "run"


def test_status_of_a_sweep_that_runs(capsys, run):
    assert cli.main(["status", str(run)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    host = socket.gethostname()
    assert out.splitlines() == [
        "trials     4",
        "done       2  50.0 %",
        "ok         1",
        "non-finite 1",
        "raised     0",
        "missing    2",
        f"worker     0/2 on {host}",
    ]
    assert cli.main(["status", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        **{"total": 4, "done": 2, "ok": 1, "non_finite": 1, "raised": 0},
        "workers": [f"0/2 on {host}"],
    }


def test_export_of_a_sweep(capsys, run, tmp_path):
    path = tmp_path / "result.npz"
    assert cli.main(["export", str(run), str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 of 4 trials are missing" in err
    _inverse(run)
    assert cli.main(["export", str(run), str(path)]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert np.load(path)["value"].ravel()[1:].tolist() == [1, 0.5, np.float32(1 / 3)]


def test_wrong_use_of_status_and_export(capsys, run, tmp_path):
    for args, message in [
        (["status", str(tmp_path)], "expected a sweep's folder"),
        (["export", str(tmp_path), "result.npz"], "expected a sweep's folder"),
        (["export", str(run), "result.csv"], "path: expected one of .nc"),
    ]:
        assert cli.main(args) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err


def test_a_damaged_part_and_a_missing_package_are_told(capsys, run, monkeypatch):
    def missing(*args):
        raise MissingExtraError("zarr", "sweep", "Writing zarr")

    with monkeypatch.context() as patch:
        patch.setattr("jaxrepro.sweep.export", missing)
        assert cli.main(["export", str(run), "result.zarr"]) == 1
    assert "Writing zarr needs the package zarr" in capsys.readouterr().err
    next((run / "parts").iterdir()).write_bytes(b"PK")
    assert cli.main(["status", str(run)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "damaged" in err


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
