import errno
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from jaxrepro.core._files import read_json, write_json
from jaxrepro.experiment import main, run_session

STAGES = """
def stage(i):
    with open("calls.txt", "a") as file:
        file.write(f"{{i}}\\\\n")
    return {{"x": [i]}}

import pathlib, time
for i in range(3):
    out.cached(f"stage_{{i}}", stage, i)
    if i == 1 and not pathlib.Path("go").exists():
        pathlib.Path("waiting").touch()
        time.sleep(120)
"""
COUNTED = """
with open("first.txt", "a") as file:
    file.write("run ")
"""


def wait_for(path, process):
    end = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, "the process ended by itself"
        assert time.monotonic() < end, "nothing happened within a minute"
        time.sleep(0.02)


@pytest.fixture
def killed(package, source, tmp_path):
    """Session that was killed in its second experiment, and its package."""
    stages = STAGES.replace("{{", "{").replace("}}", "}").replace("\\\\", "\\")
    name = package(a__first=source(body=COUNTED), b__second=source(body=stages))
    process = subprocess.Popen(
        [sys.executable, "-m", name, "run", "all"],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(tmp_path / "waiting", process)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (session,) = tmp_path.glob("results/*/summary.json")
    return name, session.parent


def test_a_killed_session_says_so_and_continues(killed, tmp_path, capsys):
    name, session = killed
    summary = read_json(session / "summary.json")
    assert summary["status"] == "running"
    states = {e["experiment"]: e["status"] for e in summary["experiments"]}
    assert states == {"a/first": "complete", "b/second": "running"}

    assert main(name, ["report", str(session)]) == 0
    page = (session / "report.html").read_text(encoding="utf-8")
    assert "incomplete: still at work, or stopped" in page

    (tmp_path / "go").touch()
    assert main(name, ["run", "--resume", str(session)]) == 1  # n=5: last is 16
    summary = read_json(session / "summary.json")
    assert summary["status"] == "finished"
    assert [e["status"] for e in summary["experiments"]] == ["complete"] * 2
    # The first was not run again, and no finished stage of the second.
    assert (tmp_path / "first.txt").read_text() == "run "
    assert (tmp_path / "calls.txt").read_text().split() == ["0", "1", "2"]
    assert len(list(tmp_path.glob("results/b/second/*"))) == 1
    assert "incomplete" not in (session / "report.html").read_text(encoding="utf-8")

    before = {
        f: f.read_bytes() for f in tmp_path.glob("results/[ab]/*/*/*") if f.is_file()
    }
    assert main(name, ["run", "all", "--resume", str(session)]) == 1
    assert {f: f.read_bytes() for f in before} == before
    assert capsys.readouterr().out.count("report:") == 2


def test_one_run_continues_by_itself(package, source, tmp_path, capsys):
    stop = 'import pathlib\nif not pathlib.Path("go").exists(): raise ValueError'
    name = package(a__one=source(body=COUNTED + stop), b__two=source())
    assert main(name, ["run", "all", "--quick"]) == 1
    (run,) = tmp_path.glob("results/a/one/*")
    (tmp_path / "go").touch()
    capsys.readouterr()
    assert main(name, ["run", "--resume", str(run)]) == 0
    assert read_json(run / "manifest.json")["status"] == "complete"
    assert (tmp_path / "first.txt").read_text() == "run run "
    assert "1/1 claims held" in capsys.readouterr().out
    assert (run / "report.html").exists()
    # Complete now: a second time changes nothing.
    manifest = (run / "manifest.json").read_bytes()
    assert main(name, ["run", "--resume", str(run)]) == 0
    assert (run / "manifest.json").read_bytes() == manifest


def test_one_run_with_other_settings_is_refused(package, source, tmp_path, capsys):
    name = package(a__one=source(body="raise ValueError"))
    assert main(name, ["run", "all", "--quick"]) == 1
    (run,) = tmp_path.glob("results/a/one/*")
    config = read_json(run / "config.json")
    write_json(run / "config.json", {**config, "seed": 5})
    assert main(name, ["run", "--resume", str(run)]) == 2
    assert "started with other settings (seed)" in capsys.readouterr().err


def test_one_failure_does_not_stop_the_others(package, source, capsys):
    name = package(
        a__fails=source(body="raise ValueError('no luck')"),
        b__broken="import no_such_module_at_all",
        c__works=source(),
    )
    session = run_session(name, ["a/fails", "b/broken", "c/works"], quick=True)
    assert [run.status for run in session.results] == ["failed", "failed", "complete"]
    assert not session.as_declared
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[1/3] a/fails ... failed: ValueError: no luck"
    assert lines[1].startswith("[2/3] b/broken ... failed: ModuleNotFoundError")
    assert re.fullmatch(r"\[3/3\] c/works \.\.\. \d+\.\d s, 1/1 claims held", lines[2])
    page = session.report.read_text(encoding="utf-8")
    assert "ValueError: no luck" in page
    assert "no_such_module_at_all" in page


def test_sessions_do_not_share_a_folder(package):
    name = package()
    folders = {run_session(name, []).folder for _ in range(3)}
    assert len(folders) == 3


def test_an_interrupt_leaves_a_session_that_can_go_on(
    package, source, capsys, tmp_path
):
    stop = 'import pathlib\nif not pathlib.Path("go").exists(): raise KeyboardInterrupt'
    name = package(a__first=source(), b__second=source(body=stop))
    assert main(name, ["run", "all", "--quick"]) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    hint = captured.err.splitlines()[-1]
    folder = hint.rpartition(" ")[2]
    assert hint == f"stopped; continue with: python -m {name} run --resume {folder}"
    assert read_json(tmp_path / folder / "summary.json")["status"] == "interrupted"
    (tmp_path / "go").touch()
    assert main(name, ["run", "--resume", folder]) == 0


def test_changed_settings_start_a_run_anew(package, source, capsys, tmp_path):
    name = package(a__first=source(body="raise ValueError"))
    session = run_session(name, ["a/first"], quick=True, command=["run", "all"])
    again = run_session(name, ["a/first"], resume=session.folder)
    assert again.folder == session.folder
    assert again.results[0].folder != session.results[0].folder
    assert "(config, quick changed: anew)" in capsys.readouterr().err


def test_a_config_is_for_one_experiment(package, source):
    name = package(a__one=source(), a__two=source())
    with pytest.raises(ValueError, match="config: expected None for 2 experiments"):
        run_session(name, ["a/one", "a/two"], config=object())


@pytest.mark.parametrize("at_import", [False, True])
def test_an_experiment_may_change_the_working_directory(
    package, source, tmp_path, at_import
):
    leave = 'import os; os.makedirs("away"); os.chdir("away")'
    text = source(plot=leave) if at_import else source(body=leave)
    name = package(a__leaves=text, b__stays=source())
    session = run_session(name, ["a/leaves", "b/stays"], quick=True, results="out")
    assert session.as_declared
    assert session.folder.parent == tmp_path / "out"
    assert os.listdir(tmp_path / "away") == []
    assert os.getcwd() == str(tmp_path)


@pytest.mark.parametrize(
    "file", ["config.json", "manifest.json", "claims.json", "log.jsonl"]
)
def test_a_full_disk_fails_one_run(package, source, tmp_path, monkeypatch, file):
    import jaxrepro.core._files as files
    import jaxrepro.experiment._folder as folder

    def full(path, *args, **kwargs):
        opened = open(path, *args, **kwargs)
        if "first" in str(path) and str(path).endswith(file):
            opened.close()
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return opened

    for module in (files, folder):
        monkeypatch.setattr(module, "open", full, raising=False)
    name = package(a__first=source(), b__second=source())
    session = run_session(name, ["a/first", "b/second"], quick=True)
    first, second = session.results
    assert (first.status, second.status) == ("failed", "complete")
    assert "No space left on device" in first.error
    assert list(tmp_path.rglob(".tmp-*")) == []
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    again = run_session(name, ["a/first"], quick=True, resume=session.folder)
    assert again.results[0].status == "complete"
