import os
import subprocess
import sys
import textwrap

import pytest

import jaxrepro.experiment
from jaxrepro.core._files import read_json
from jaxrepro.experiment import main


def configs(tmp_path):
    files = sorted(tmp_path.glob("results/*/*/*/config.json"))
    return [read_json(file) for file in files]


def test_list(package, source, capsys):
    papers = "'germain2026spectral'"
    name = package(a__first=source(papers=papers), b__broken="import no_such_module")
    assert main(name, ["list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a/first",
        "    Squares",
        "    1 s; germain2026spectral",
        "b/broken",
        "    The file cannot be imported (ModuleNotFoundError: No module named "
        "'no_such_module')",
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise ValueError('one\\n  two')", "ValueError: one two"),
        ("assert False", "AssertionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("x = (", "SyntaxError: '(' was never closed (broken.py, line 1)"),
    ],
)
def test_list_says_in_one_line_why_a_file_fails(package, capsys, code, said):
    assert main(package(a__broken=code), ["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["a/broken", f"    The file cannot be imported ({said})"]


def test_run_prints_the_table_and_the_page(package, source, capsys, tmp_path):
    name = package(a__first=source())
    assert main(name, ["run", "all", "--quick"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[-2] == "1/1 claims held"
    assert lines[-1].startswith("report: results/")
    assert (tmp_path / lines[-1].removeprefix("report: ")).is_file()
    assert captured.err.startswith("[1/1] a/first ... ")
    assert captured.err.endswith(" s, 1/1 claims held\n")


@pytest.mark.parametrize(
    ("what", "want"), [("a/one", 1), ("a", 2), ("b", 1), ("all", 3)]
)
def test_what_to_run(package, source, tmp_path, what, want):
    name = package(a__one=source(), a__two=source(), b__one=source())
    assert main(name, ["run", what, "--quick"]) == 0
    assert len(configs(tmp_path)) == want


def test_flags_of_the_settings(package, source, tmp_path):
    name = package(a__one=source())
    command = ["run", "a/one", "--n", "3", "--scale", "1", "--seed", "4", "--x64"]
    assert main(name, command) == 0
    (config,) = configs(tmp_path)
    assert config["config"] == {"n": 3, "scale": 1.0}
    assert (config["seed"], config["x64"], config["quick"]) == (4, True, False)


def test_flags_change_the_quick_settings(package, source, tmp_path):
    name = package(a__one=source())
    assert main(name, ["run", "a/one", "--quick", "--scale", "2.5"]) == 1
    assert configs(tmp_path)[0]["config"] == {"n": 3, "scale": 2.5}


def test_help_shows_the_settings(package, source, capsys):
    name = package(a__one=source())
    with pytest.raises(SystemExit) as end:
        main(name, ["run", "a/one", "--quick", "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "How many squares. (default: 3)" in text
    assert "--resume" in text


def test_a_package_without_experiments(package, capsys):
    name = package()
    assert main(name, ["run", "all"]) == 2
    assert f"there are no experiments in {name}" in capsys.readouterr().err
    assert main(name, ["list"]) == 0


def test_the_example_of_the_documentation_runs(package, capsys, monkeypatch):
    text = textwrap.dedent(
        jaxrepro.experiment.__doc__.partition("complete example::")[2].partition(
            "``python -m"
        )[0]
    ).replace("'''", '"""')
    name = package(maths__monte_carlo=text)
    assert main(name, ["run", "maths/monte_carlo", "--quick"]) == 0
    assert "1/1 claims held" in capsys.readouterr().out
    assert len(text.splitlines()) < 75


def test_out_and_no_x64(package, source, tmp_path):
    name = package(a__one=source(options="x64=True"))
    command = ["run", "a", "--quick", "--out", "elsewhere", "--no-x64"]
    assert main(name, command) == 0
    (file,) = tmp_path.glob("elsewhere/a/one/*/config.json")
    assert read_json(file)["x64"] is False


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["run", "a/onne"], "unknown experiment 'a/onne'; did you mean a/one"),
        (["run", "one"], "unknown experiment 'one'; did you mean a/one"),
        (["run", "al"], "did you mean all"),
        (["run", "zzzzzz"], "list shows all"),
        (["run"], 'expected an experiment, an area or "all"; got nothing'),
        (["run", "a", "--x64", "--no-x64"], "--x64 and --no-x64 exclude each other"),
        (["run", "--resume", "no_such_folder"], "neither a session nor a run"),
        (["report", "no_such_folder"], "neither a session nor a run folder"),
    ],
)
def test_commands_that_make_no_sense(package, source, capsys, command, message):
    name = package(a__one=source())
    assert main(name, command) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "command",
    [[], ["rum"], ["run", "a/one", "--m", "3"], ["run", "a", "--n", "3"]],
    ids=["nothing", "unknown command", "unknown setting", "setting of an area"],
)
def test_the_parser_ends_with_2(package, source, command):
    with pytest.raises(SystemExit) as end:
        main(package(a__one=source()), command)
    assert end.value.code == 2


def test_a_setting_that_the_config_refuses(package, source, capsys):
    check = "def __post_init__(self):\n        assert_n(self.n)\n"
    text = source().replace("    n: int = 5", f"    {check}\n    n: int = 5")
    text += (
        "\n\ndef assert_n(n):\n    if n < 1: raise ValueError('n: expected n >= 1')\n"
    )
    assert main(package(a__one=text), ["run", "a/one", "--n", "0"]) == 2
    assert capsys.readouterr().err == "n: expected n >= 1\n"


def test_resume_takes_no_other_options(package, source, capsys, tmp_path):
    name = package(a__one=source())
    assert main(name, ["run", "all", "--quick"]) == 0
    (folder,) = [f.parent for f in tmp_path.glob("results/*/summary.json")]
    assert main(name, ["run", "a", f"--resume={folder}"]) == 2
    assert "was started with: run all --quick" in capsys.readouterr().err
    assert main(name, ["run", "all", "--quick", f"--resume={folder}"]) == 0


def test_the_report_is_built_again(package, source, capsys, tmp_path):
    name = package(a__one=source())
    main(name, ["run", "all", "--quick"])
    (folder,) = [f.parent for f in tmp_path.glob("results/*/summary.json")]
    first = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    capsys.readouterr()
    assert main(name, ["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder}/report.html\n"
    assert (folder / "report.html").read_bytes() == first


def test_as_a_program_with_an_ascii_terminal(package, source, tmp_path):
    claim = 'Claim("c", "größer als 中", "paper", last, 4, relation=">=")'
    name = package(a__one=source(claims=claim))
    done = subprocess.run(
        [sys.executable, "-m", name, "run", "a/one", "--quick"],
        env={"PYTHONIOENCODING": "ascii", "JAX_PLATFORMS": "cpu", "PATH": ""},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert b"gr??er als ?" in done.stdout
    assert b"report: results/" in done.stdout


def one_line(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    return err.count("\n") == 1 and err.strip()


def test_a_results_folder_that_cannot_be(package, source, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    name = package(a__one=source())
    for out in ("file", "file/sub"):
        assert main(name, ["run", "a", "--quick", "--out", out]) == 2
        assert f"--out: expected a folder, or the name of a new one; got {out}" in (
            one_line(capsys)
        )


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", b"\xff", None])
@pytest.mark.parametrize(
    "place", ["results/*/summary.json", "results/*/*/*/manifest.json"]
)
def test_damaged_records_are_named(package, source, capsys, tmp_path, place, text):
    name = package(a__one=source())
    main(name, ["run", "all", "--quick"])
    (file,) = tmp_path.glob(place)
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    capsys.readouterr()
    commands = [["run", "--resume"], ["report"]]
    if text is None and file.name == "manifest.json":
        commands = commands[:1]  # the report shows a run that has not started
    for command in commands:
        assert main(name, [*command, str(file.parent)]) == 2
        assert str(file if text is not None else file.parent) in one_line(capsys)


@pytest.mark.parametrize("command", [["list"], ["run", "a/one", "--help"]])
def test_a_broken_pipe_is_silent(package, source, command):
    name = package(a__one=source())
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", name, *command], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    "command",
    [["--out", "a/one", "a"], ["a", "--out", "a/one"], ["--out", "b/x", "a/one"]],
)
def test_the_value_of_an_option_is_no_experiment(package, source, tmp_path, command):
    name = package(a__one=source(), b__x=source())
    assert main(name, ["run", "--quick", *command]) == 0
    assert len(list(tmp_path.glob("[ab]/*/a/one/*/config.json"))) == 1


def test_the_value_of_a_setting_is_no_experiment(package, source, tmp_path):
    text = source().replace("    n: int = 5", '    label: str = ""\n    n: int = 5')
    name = package(a__one=text, b__x=source())
    assert main(name, ["run", "--label", "b/x", "a/one", "--quick"]) == 0
    assert configs(tmp_path)[0]["config"]["label"] == "b/x"
