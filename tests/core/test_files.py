import json
import os
from pathlib import Path

import numpy as np
import pytest

from jaxrepro.core._files import read_json, to_json, write_bytes, write_json, write_npz


def test_writing_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def interrupted(fd):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(path, b"new and longer")
    assert path.read_bytes() == b"old"


def test_json_of_everything_in_a_config(tmp_path):
    value = {
        "path": Path("a/b"),
        "nan": float("nan"),
        "inf": -np.inf,
        "array": np.arange(2),
        "scalar": np.float32(0.5),
        "tuple": (1, "ä"),
        "none": None,
        "bool": np.bool_(True),
    }
    write_json(tmp_path / "v.json", value)
    assert read_json(tmp_path / "v.json") == {
        "path": "a/b",
        "nan": "nan",
        "inf": "-inf",
        "array": [0, 1],
        "scalar": 0.5,
        "tuple": [1, "ä"],
        "none": None,
        "bool": True,
    }
    assert json.loads(to_json(value))  # no NaN token, which JSON does not know


def test_an_exclusive_write_replaces_nothing(tmp_path):
    path = tmp_path / "x"
    assert write_bytes(path, b"first", exclusive=True)
    assert not write_bytes(path, b"second", exclusive=True)
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["x"]


def test_archives_are_those_of_numpy(tmp_path):
    arrays = {"file": np.arange(3), "value/a.b": np.ones((2, 0)), "t": np.asarray("x")}
    write_npz(tmp_path / "x.npz", arrays)
    with np.load(tmp_path / "x.npz") as archive:
        assert set(archive) == set(arrays)
        for name, array in arrays.items():
            assert np.array_equal(archive[name], array)
            assert archive[name].dtype == array.dtype
