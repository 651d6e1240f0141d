import importlib.util

import numpy as np
import pytest

from jaxrepro.core import DataUnavailableError
from jaxrepro.data import load_photo_patches

datasets = pytest.importorskip("sklearn.datasets")


def test_patches_are_those_of_the_photographs():
    photos = datasets.load_sample_images().images
    patches = load_photo_patches(8, stride=4)
    images = patches.images
    assert images.shape == (2 * 105 * 159, 8, 8, 3)
    assert images.min() >= -1
    assert images.max() <= 1
    china = photos[0] / 127.5 - 1
    per_row = len(range(0, 640 - 7, 4))
    np.testing.assert_allclose(images[0], china[:8, :8])
    np.testing.assert_allclose(images[per_row + 2], china[4:12, 8:16])
    np.testing.assert_allclose(images[len(images) // 2], photos[1][:8, :8] / 127.5 - 1)
    assert len(patches.sha256) == 64
    assert load_photo_patches(427, stride=500).images.shape == (2, 427, 427, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"size": 0}, "size: "), ({"size": 428}, "size: "), ({"stride": 0}, "stride: ")],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        load_photo_patches(**options)


def test_absent_package(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataUnavailableError, match="pip install"):
        load_photo_patches()
