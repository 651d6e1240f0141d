import importlib.util

import numpy as np
import pytest
import scipy.spatial

from jaxrepro.core import MissingExtraError
from jaxrepro.core._files import read_json
from jaxrepro.experiment import RunFolder, plot_style

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plots'")


@pytest.mark.parametrize(("width", "inches"), [("column", 3.25), ("page", 6.75)])
def test_widths_are_those_of_a_journal(tmp_path, width, inches):
    with RunFolder(tmp_path).figure("f", width=width, caption="A – ü") as (
        figure,
        axes,
    ):
        axes.plot([1, 2])
        assert figure.get_size_inches()[0] == inches
        assert 8 <= axes.xaxis.label.get_size() <= 9
        assert 8 <= axes.title.get_size() <= 9
    for suffix in ("pdf", "png"):
        assert (tmp_path / "figures" / f"f.{suffix}").stat().st_size > 1000
    assert read_json(tmp_path / "figures" / "captions.json") == {"f": "A – ü"}


def test_several_axes(tmp_path):
    with RunFolder(tmp_path).figure("f", ncols=2, sharey=True) as (_, axes):
        assert axes.shape == (2,)


def test_a_failing_figure_leaves_no_file(tmp_path):
    out = RunFolder(tmp_path)
    with pytest.raises(ZeroDivisionError), out.figure("f"):
        raise ZeroDivisionError
    assert not (tmp_path / "figures").exists()


def test_unknown_width(tmp_path):
    figure = RunFolder(tmp_path).figure("f", width="poster")
    with pytest.raises(ValueError, match="width: expected one of 'column', 'page'"):
        figure.__enter__()


def test_the_style_ends_with_the_figure(tmp_path):
    before = dict(matplotlib.rcParams)
    with plot_style():
        assert matplotlib.rcParams["axes.spines.top"] is False
        assert matplotlib.rcParams["text.usetex"] is False
    assert dict(matplotlib.rcParams) == before


# Machado, Oliveira and Fernandes (2009), linear RGB as two kinds of eyes see it.
SEEN = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


@pytest.mark.parametrize("eyes", SEEN)
def test_colours_stay_apart_for_the_colour_blind(eyes):
    def smallest_distance(colours):
        rgb = np.array([to_rgb(c) for c in colours])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        seen = linear @ np.array(SEEN[eyes]).T
        return scipy.spatial.distance.pdist(seen).min()

    from matplotlib.colors import to_rgb

    usual = [f"C{i}" for i in range(8)]
    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        default = smallest_distance(usual)
    with plot_style():
        ours = smallest_distance(usual)
    assert ours > 2 * default


def test_matplotlib_is_imported_late():
    import subprocess
    import sys

    code = "import sys, jaxrepro.experiment; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "matplotlib" else find_spec(name, *rest),
    )
    with pytest.raises(MissingExtraError, match=r'pip install "jaxrepro\[plots\]"'):
        RunFolder(tmp_path).figure("f").__enter__()
