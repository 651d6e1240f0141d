"""Figures in one style, drawn without pyplot and hence without global state."""

import contextlib
import importlib.resources
import importlib.util

from ..core import MissingExtraError, check_choice

_WIDTHS = {"column": 3.25, "page": 6.75}


def require_matplotlib() -> None:
    """Raise unless matplotlib can be imported."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plots", "Drawing figures")


@contextlib.contextmanager
def open_figure(width: str, height: float | None, subplots: dict):
    """A figure and its axes within the style of the package."""
    require_matplotlib()
    check_choice("width", width, _WIDTHS)
    from matplotlib.figure import Figure

    with plot_style():
        figure = Figure(figsize=(_WIDTHS[width], height or 2.3), layout="constrained")
        yield figure, figure.subplots(**subplots)


@contextlib.contextmanager
def plot_style():
    """Style sheet of the package, for figures drawn outside of a run.

    Yields
    ------
    None
        Within the context, matplotlib uses fonts of 8 to 9 pt, a palette that
        colour-blind readers can tell apart, and no LaTeX.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> from jaxrepro.experiment import plot_style
    >>> with plot_style():
    ...     matplotlib.rcParams["font.size"]
    8.0
    """
    require_matplotlib()
    import matplotlib.style

    sheet = importlib.resources.files("jaxrepro.experiment") / "paper.mplstyle"
    with importlib.resources.as_file(sheet) as path:
        with matplotlib.style.context(str(path)):
            yield
