import dataclasses
import json
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.core._files import read_json
from jaxrepro.experiment import (
    Claim,
    Verdict,
    experiment,
    read_result,
    read_table,
    run_experiment,
)


@dataclasses.dataclass(frozen=True)
class Config:
    n: int = 4
    sizes: tuple[int, ...] = (1, 2)


LAST = Claim("last", "the last is 9", "derivation", lambda t: t["t"]["x"][-1], 9)


def declare(function=None, **changes):
    def run(config, out):
        return {"t": {"x": [i**2 for i in range(config.n)]}}

    options = {
        "config": Config,
        "quick": {"n": 2},
        "claims": [LAST],
        "papers": ["germain2026spectral", "no_such_key"],
        "cost": "1 s",
    }
    return experiment(**{**options, **changes})(function or run)


def test_a_run_leaves_all_evidence(tmp_path):
    result = run_experiment(declare(), results=tmp_path, seed=7, command=["run", "x"])
    folder = result.folder
    assert result.status == "complete"
    assert result.as_declared
    assert folder.parent == tmp_path.joinpath(*declare().name.split("/"))
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", folder.name)
    assert read_json(folder / "config.json") == {
        "experiment": declare().name,
        "config": {"n": 4, "sizes": [1, 2]},
        "quick": False,
        "seed": 7,
        "x64": False,
    }
    assert read_table(folder / "tables" / "t.csv")["x"].tolist() == [0, 1, 4, 9]
    assert read_json(folder / "claims.json")[0]["verdict"] == "held"
    manifest = read_json(folder / "manifest.json")
    assert manifest["status"] == "complete"
    assert manifest["command"] == ["run", "x"]
    assert manifest["seed"] == 7
    assert manifest["versions"]["jax"] == jax.__version__
    assert manifest["versions"]["jaxrepro"]
    assert manifest["python"] == sys.version.split()[0]
    assert manifest["devices"]["platform"] == "cpu"
    assert manifest["flags"]["JAX_PLATFORMS"] == "cpu"
    assert manifest["started"] <= manifest["finished"]
    found, missing = manifest["papers"]
    assert "Spectral-Grassmann" in found["bibtex"]
    assert missing == {"key": "no_such_key", "bibtex": ""}
    lines = [json.loads(line) for line in open(folder / "log.jsonl")]
    assert [line["message"] for line in lines] == ["started", "complete"]


def test_quick_runs_use_the_quick_settings(tmp_path):
    result = run_experiment(declare(), results=tmp_path, quick=True)
    assert result.claims[0].verdict == Verdict.MISSED
    assert not result.as_declared
    assert read_json(result.folder / "config.json")["config"]["n"] == 2


def test_changed_settings_are_on_record(tmp_path):
    declared = run_experiment(declare(), results=tmp_path)
    assert declared.changed == ()
    config = Config(n=2, sizes=(1, 2))
    other = run_experiment(declare(), config, results=tmp_path, x64=True)
    assert other.changed == ("n 2 (4)", "x64 true (false)")
    assert read_result(other.folder).changed == other.changed
    quick = run_experiment(declare(), config, results=tmp_path, quick=True)
    assert quick.changed == ()


def test_no_folder_is_overwritten(tmp_path):
    first = run_experiment(declare(), results=tmp_path)
    before = {f: f.read_bytes() for f in first.folder.rglob("*") if f.is_file()}
    folders = {run_experiment(declare(), results=tmp_path).folder for _ in range(2)}
    assert len(folders | {first.folder}) == 3
    after = {f: f.read_bytes() for f in first.folder.rglob("*") if f.is_file()}
    assert after == before


def test_a_failing_run_is_recorded_and_does_not_raise(tmp_path):
    def run(config, out):
        out.log("about to fail", step=3)
        raise RuntimeError("ünexpected <&>")

    result = run_experiment(declare(run), results=tmp_path)
    assert result.status == "failed"
    assert not result.as_declared
    assert [c.verdict for c in result.claims] == [Verdict.ERROR]
    assert result.error.endswith("RuntimeError: ünexpected <&>\n")
    assert "/_runner.py" not in result.error
    assert "ünexpected" in (result.folder / "log.jsonl").read_text(encoding="utf-8")
    assert read_result(result.folder) == result


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "run: expected a dict of tables; got NoneType"),
        ({"t": {"x": [1], "y": [1, 2]}}, "columns of equal length"),
        ({"a/b": {"x": [1]}}, "name: expected letters"),
    ],
)
def test_what_run_returns_is_checked(tmp_path, returned, message):
    result = run_experiment(declare(lambda config, out: returned), results=tmp_path)
    assert result.status == "failed"
    assert message in result.error


def test_sys_exit_in_an_experiment_is_a_failure(tmp_path):
    result = run_experiment(declare(lambda c, o: sys.exit(0)), results=tmp_path)
    assert result.status == "failed"


def test_read_result_gives_back_the_result(tmp_path):
    result = run_experiment(declare(), results=tmp_path)
    assert read_result(result.folder) == result


@pytest.mark.parametrize(
    ("declared", "asked", "want"),
    [(False, None, 32), (True, None, 64), (False, True, 64), (True, False, 32)],
)
def test_precision_is_a_context(tmp_path, declared, asked, want):
    def run(config, out):
        return {"t": {"x": [9], "bits": [jnp.ones(1).dtype.itemsize * 8]}}

    result = run_experiment(declare(run, x64=declared), results=tmp_path, x64=asked)
    assert read_table(result.folder / "tables" / "t.csv")["bits"].tolist() == [want]
    assert read_json(result.folder / "manifest.json")["x64"] is (want == 64)
    assert not jax.config.jax_enable_x64


def test_same_seed_same_tables(tmp_path):
    def run(config, out):
        return {"t": {"x": np.asarray(jax.random.normal(out.key, (3,)))}}

    def table(seed):
        result = run_experiment(declare(run), results=tmp_path, seed=seed)
        return (result.folder / "tables" / "t.csv").read_bytes()

    assert table(1) == table(1) != table(2)


def test_stdout_is_kept_free(tmp_path, capsys):
    def run(config, out):
        print("chatter")
        return {"t": {"x": [9]}}

    run_experiment(declare(run), results=tmp_path)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "chatter" in captured.err


def test_figures_that_fail_do_not_stop_the_claims(tmp_path):
    def plot(tables, out):
        raise ValueError("no such axis")

    result = run_experiment(declare(plot=plot), results=tmp_path)
    assert result.status == "complete"
    assert result.claims[0].verdict == Verdict.HELD
    assert result.plot_error.endswith("ValueError: no such axis\n")
    assert not result.as_declared


def test_without_matplotlib_the_run_goes_on(tmp_path, monkeypatch):
    import importlib.util

    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "matplotlib" else find_spec(name, *rest),
    )

    def plot(tables, out):
        raise AssertionError("not reached")

    result = run_experiment(declare(plot=plot), results=tmp_path)
    assert 'pip install "jaxrepro[plots]"' in result.plot_error
    assert result.as_declared


def test_a_run_continues_with_its_stages(tmp_path):
    calls, stop = [], [True]

    def run(config, out):
        for i in range(3):
            out.cached(f"stage_{i}", lambda i=i: calls.append(i) or {"x": [i]})
            if i == 1 and stop:
                raise RuntimeError("stopped")
        return {"t": {"x": [9]}}

    first = run_experiment(declare(run), results=tmp_path)
    stop.clear()
    again = run_experiment(declare(run), resume=first.folder)
    assert (first.status, again.status) == ("failed", "complete")
    assert again.folder == first.folder
    assert calls == [0, 1, 2]
    manifest = read_json(again.folder / "manifest.json")
    assert len(manifest["resumed"]) == 1
    assert manifest["started"] < manifest["resumed"][0]
    assert manifest["error"] == ""


def test_other_settings_do_not_continue_a_run(tmp_path):
    first = run_experiment(declare(), results=tmp_path)
    with pytest.raises(ValueError, match=r"other settings \(config, seed\)"):
        run_experiment(declare(), Config(n=5), seed=1, resume=first.folder)


def test_an_interrupt_comes_through_and_leaves_the_run_unfinished(tmp_path):
    def run(config, out):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(declare(run), results=tmp_path)
    (manifest,) = tmp_path.rglob("manifest.json")
    result = read_result(manifest.parent)
    assert result.status == "running"
    assert result.claims == ()
    assert not result.as_declared


def test_not_a_run_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a run folder"):
        read_result(tmp_path)
