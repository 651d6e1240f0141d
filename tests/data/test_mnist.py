"""MNIST and Fashion-MNIST, from files made here and from those that are given."""

import gzip
import os
import struct

import numpy as np
import pytest

from jaxrepro.core import DataUnavailableError
from jaxrepro.data import _mnist, load_fashion_mnist, load_mnist, read_idx

GIVEN = os.environ.get("JAXREPRO_DATA")


def idx(array, code=8):
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return head + array.tobytes()


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (5, 28, 28), np.uint8)


@pytest.fixture(autouse=True)
def _no_data_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.delenv("JAXREPRO_DATA", raising=False)
    monkeypatch.setattr(_mnist, "_DEBIAN", tmp_path / "absent")


def write(folder, images, labels, part="train", pack=True):
    folder.mkdir(exist_ok=True)
    for stem, array in (("images-idx3", images), ("labels-idx1", labels)):
        content = idx(array)
        end = ".gz" if pack else ""
        content = gzip.compress(content) if pack else content
        (folder / f"{part}-{stem}-ubyte{end}").write_bytes(content)


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("where", ["path", "named folder", "variable"])
def test_files_are_found_and_read(tmp_path, pixels, pack, where, monkeypatch):
    labels = np.arange(5, dtype=np.uint8)
    folder = tmp_path / ("MNIST" if where == "named folder" else "files")
    write(folder, pixels, labels, "t10k", pack)
    if where == "variable":
        monkeypatch.setenv("JAXREPRO_DATA", str(folder))
    given = {"path": folder, "named folder": tmp_path, "variable": None}[where]
    found = load_mnist(given, split="test")
    assert found.images.dtype == np.float32
    np.testing.assert_allclose(
        found.images[..., 0], pixels / 127.5 - 1, rtol=1e-6, atol=1e-6
    )
    assert found.labels.tolist() == [0, 1, 2, 3, 4]
    assert (len(found.label_names), len(found.sha256)) == (10, 64)
    with pytest.raises(DataUnavailableError, match="train-images-idx3-ubyte"):
        load_mnist(given)


def test_squares_are_means(tmp_path, pixels):
    write(tmp_path, pixels, np.zeros(5, np.uint8))
    small = load_fashion_mnist(tmp_path, pool=2).images
    assert small.shape == (5, 14, 14, 1)
    expected = pixels[3, 4:6, 10:12].mean() / 127.5 - 1
    np.testing.assert_allclose(small[3, 2, 5, 0], expected, rtol=1e-5)
    whole = load_fashion_mnist(tmp_path, pool=28).images
    np.testing.assert_allclose(
        whole.ravel(), pixels.mean((1, 2)) / 127.5 - 1, rtol=1e-4, atol=1e-6
    )


def test_archive_of_arrays(tmp_path, pixels, monkeypatch):
    file = tmp_path / "digits.npz"
    np.savez(file, images=pixels.reshape(5, 784), labels=np.arange(5))
    np.testing.assert_allclose(
        load_mnist(file).images[..., 0], pixels / 127.5 - 1, atol=1e-6
    )
    with pytest.raises(ValueError, match="split: "):
        load_mnist(file, split="test")
    file.rename(tmp_path / "MNIST.npz")
    monkeypatch.setenv("JAXREPRO_DATA", str(tmp_path))
    assert load_mnist().images.shape == (5, 28, 28, 1)
    with pytest.raises(DataUnavailableError):
        load_mnist(split="test")
    np.savez(file, images=pixels[:, 1:], labels=np.arange(5))
    with pytest.raises(ValueError, match=r"digits.npz: images: .*\(5, 27, 28\)"):
        load_mnist(file)
    np.savez(file, images=pixels, labels=np.arange(4))
    with pytest.raises(ValueError, match="digits.npz: labels: expected 5"):
        load_mnist(file)
    np.savez(file, images=pixels, labels=np.arange(5) + 7)
    with pytest.raises(ValueError, match="classes 0 to 9"):
        load_mnist(file)
    file.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="expected arrays images, labels"):
        load_mnist(file)
    with pytest.raises(DataUnavailableError, match="npz"):
        load_mnist(tmp_path / "absent.npz")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"split": "all"}, "split: "), ({"pool": 3}, "pool: .*28"), ({"pool": 0}, "pool")],
)
def test_options(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        load_mnist(tmp_path, **options)


def test_absent_set_tells_what_installs_it():
    with pytest.raises(DataUnavailableError, match="dataset-fashion-mnist"):
        load_fashion_mnist()


@pytest.mark.parametrize(
    ("code", "dtype"), [(9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")]
)
def test_numbers_of_every_type(tmp_path, code, dtype):
    numbers = np.array([[1, -2, 3], [100, 5, -6]], dtype)
    (tmp_path / "x.idx").write_bytes(idx(numbers, code))
    found = read_idx(tmp_path / "x.idx")
    np.testing.assert_array_equal(found, numbers)
    assert found.dtype.isnative


def test_damaged_files(tmp_path, pixels):
    file = tmp_path / "x"
    whole = idx(pixels)
    packed = gzip.compress(whole)
    damaged = [b"", whole[:3], whole[:9], whole[:-1], whole + b"\0", b"\1" + whole[1:]]
    damaged += [packed[:-20], packed[:40] + b"\0\0\0" + packed[43:]]
    for content in damaged:
        file.write_bytes(content)
        with pytest.raises(ValueError, match="x: "):
            read_idx(file)
    with pytest.raises(FileNotFoundError):
        read_idx(tmp_path / "absent")


def test_the_published_files():
    try:
        found = load_fashion_mnist(GIVEN)
    except DataUnavailableError:
        pytest.skip("needs the files of Fashion-MNIST, for instance in JAXREPRO_DATA")
    assert found.images.shape == (60000, 28, 28, 1)
    assert np.bincount(found.labels).tolist() == [6000] * 10
