import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxrepro.core import DataUnavailableError
from jaxrepro.data import load_basic_motions

needs_aeon = pytest.mark.skipif(
    importlib.util.find_spec("aeon") is None,
    reason="needs aeon: pip install 'jaxrepro[data]'",
)


@pytest.fixture(scope="module")
def motions():
    return load_basic_motions()


@needs_aeon
def test_shape_names_and_split(motions):
    assert motions.series.shape == (80, 100, 6)
    assert motions.series.dtype == np.float64
    assert motions.label_names == ("Standing", "Running", "Walking", "Badminton")
    assert np.bincount(motions.labels).tolist() == [20] * 4
    assert np.bincount(motions.labels[motions.is_train]).tolist() == [10] * 4
    assert motions.is_train.sum() == 40
    assert motions.sampling_rate == 10.0
    assert len(motions.channel_names) == 6
    assert "smart watch" in motions.description
    assert motions.licence.startswith("BSD-3")


@needs_aeon
def test_checksum_and_a_statistic(motions):
    digest = "02492b25cf1523f36f414296656fe1f7ee5f31c0e9b3cda3d1a7450d7d6e1e93"
    assert motions.sha256 == digest
    # Standing still moves least, by far.
    spread = motions.series.std(axis=(1, 2))
    means = [spread[motions.labels == k].mean() for k in range(4)]
    assert np.argmin(means) == 0
    np.testing.assert_allclose(spread.mean(), 3.7140843, rtol=1e-6)


@needs_aeon
def test_the_order_of_axes_is_that_of_the_file(motions):
    first = (Path(motions.source) / "BasicMotions_TRAIN.ts").read_text().splitlines()
    row = next(line for line in first if line[0] not in "#@").split(":")
    values = np.array([part.split(",") for part in row[:-1]], float)
    np.testing.assert_array_equal(motions.series[0], values.T)
    assert motions.label_names[motions.labels[0]] == row[-1]


@needs_aeon
def test_aeon_is_read_but_not_imported():
    code = (
        "import sys; from jaxrepro.data import load_basic_motions as f; f();"
        "sys.exit(bool({'aeon', 'numba', 'sklearn'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_aeon
def test_a_folder_of_ones_own(motions, tmp_path, monkeypatch):
    shutil.copytree(motions.source, tmp_path / "BasicMotions")
    by_path = load_basic_motions(tmp_path / "BasicMotions")
    assert by_path.sha256 == motions.sha256
    monkeypatch.setenv("JAXREPRO_DATA", str(tmp_path))
    by_variable = load_basic_motions()
    assert by_variable.source == str(tmp_path / "BasicMotions")
    # A data folder without this set leaves the installed copy.
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("JAXREPRO_DATA", str(tmp_path / "empty"))
    assert load_basic_motions().source == motions.source


def test_absent_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None)
    monkeypatch.delenv("JAXREPRO_DATA", raising=False)
    with pytest.raises(DataUnavailableError, match=r'pip install "jaxrepro\[data\]"'):
        load_basic_motions()


def test_a_wrong_path(tmp_path):
    with pytest.raises(DataUnavailableError, match="BasicMotions_TRAIN.ts and Basic"):
        load_basic_motions(tmp_path)
