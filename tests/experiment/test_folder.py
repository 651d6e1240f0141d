import json

import jax
import numpy as np
import pytest

from jaxrepro.experiment import RunFolder, read_table
from jaxrepro.experiment._folder import new_folder, settings_hash


def test_a_stage_is_computed_once(tmp_path):
    calls = []

    def stage(factor, *, shift):
        calls.append(factor)
        return {"x": factor * np.arange(3) + shift, "name": np.array(["ä", "b"])}

    first = RunFolder(tmp_path).cached("stage", stage, 2, shift=1)
    again = RunFolder(tmp_path).cached("stage", stage, 2, shift=1)
    assert calls == [2]
    for key in first:
        np.testing.assert_array_equal(first[key], again[key])
    messages = [json.loads(line)["message"] for line in open(tmp_path / "log.jsonl")]
    assert messages == ["stage finished", "stage read from the folder"]


def test_a_stage_that_raises_leaves_nothing(tmp_path):
    out = RunFolder(tmp_path)
    with pytest.raises(ZeroDivisionError):
        out.cached("stage", lambda: 1 / 0)
    assert not (tmp_path / "arrays").exists()
    assert RunFolder(tmp_path).cached("stage", lambda: {"x": [1]})["x"].tolist() == [1]


def test_a_name_serves_one_stage(tmp_path):
    out = RunFolder(tmp_path)
    out.cached("stage", lambda: {"x": [1]})
    with pytest.raises(ValueError, match="'stage' was used twice"):
        out.cached("stage", lambda: {"x": [2]})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "expected a dict of arrays; got list"),
        ({"x": [None]}, "Python objects"),
    ],
)
def test_stages_are_dicts_of_plain_arrays(tmp_path, value, message, plain_errors):
    with pytest.raises(TypeError, match=message):
        RunFolder(tmp_path).cached("stage", lambda: value)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b"])
def test_names_stay_in_the_folder(tmp_path, name):
    with pytest.raises(ValueError, match="name: expected letters, digits"):
        RunFolder(tmp_path).save_table(name, {"x": [1]})


def test_key_follows_the_seed(tmp_path):
    a, b = RunFolder(tmp_path, seed=1).key, RunFolder(tmp_path, seed=2).key
    assert jax.random.key_data(a).tolist() == [0, 1]
    assert jax.random.key_data(b).tolist() == [0, 2]


def test_progress_is_silent_without_a_terminal(tmp_path, capsys):
    assert list(RunFolder(tmp_path).progress([1, 2], "steps")) == [1, 2]
    assert capsys.readouterr().err == ""


def test_tables_in_between(tmp_path):
    RunFolder(tmp_path).save_table("t", {"x": [1, 2]})
    assert read_table(tmp_path / "tables" / "t.csv")["x"].tolist() == [1, 2]


def test_no_folder_is_taken_twice(tmp_path):
    taken = [new_folder(tmp_path, "stamp") for _ in range(3)]
    assert [p.name for p in taken] == ["stamp", "stamp-2", "stamp-3"]


def test_hash_tells_settings_apart():
    a = settings_hash({"config": {"n": 1}})
    assert len(a) == 8
    assert a == settings_hash({"config": {"n": 1}})
    assert a != settings_hash({"config": {"n": 2}})
