import re
import subprocess

from jaxrepro.core._provenance import git_state


def test_commit_and_dirty_flag_or_unknown(tmp_path):
    unknown = {"commit": "unknown", "dirty": "unknown"}
    assert git_state(None) == unknown
    assert git_state(tmp_path / "file.py") == unknown
    state = git_state_of_new_checkout(tmp_path)
    assert re.fullmatch("[0-9a-f]{40}", state["commit"])
    assert state["dirty"] is False
    (tmp_path / "new.py").write_text("")
    assert git_state(tmp_path / "new.py")["dirty"] is True


def git_state_of_new_checkout(folder):
    who = ["-c", "user.name=x", "-c", "user.email=x@y"]
    for arguments in (
        ["init", "-q"],
        [*who, "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return git_state(folder / "file.py")


def test_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path / "x")["commit"] == "unknown"
