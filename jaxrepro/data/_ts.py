"""Reader of ``.ts`` files, the text format of the UEA and UCR time-series archive."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ._files import check_path

_CUT = 40  # characters of the file that a message repeats
_NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)


class TimeSeriesFile(NamedTuple):
    """Content of a ``.ts`` file.

    Attributes
    ----------
    series : tuple of float64 arrays of shape (n_steps_i, n_channels)
        The recordings, whose lengths may differ; NaN where a value is missing.
    labels : tuple of str or None
        Class label of each recording, None if the file has no classes.
    label_names : tuple of str
        Classes that the header declares, in its order; those that occur, sorted,
        if it declares none.
    header : dict of str to str
        All ``@`` lines, names in lower case.
    comments : str
        Text of the ``#`` and ``%`` lines.
    """

    series: tuple[np.ndarray, ...]
    labels: tuple[str, ...] | None
    label_names: tuple[str, ...]
    header: dict[str, str]
    comments: str


class TsFormatError(ValueError):
    """A ``.ts`` file that cannot be read; the message holds file and line."""


def read_ts(path: str | Path) -> TimeSeriesFile:
    r"""Read a ``.ts`` file of univariate or multivariate, labelled or plain series.

    Parameters
    ----------
    path : str or Path
        The file, uncompressed text.

    Returns
    -------
    TimeSeriesFile
        ``series``, ``labels``, ``label_names``, ``header``, ``comments``.

    Raises
    ------
    TypeError
        If ``path`` is neither text nor Path.
    FileNotFoundError
        If there is no such file.
    TsFormatError
        If a line does not fit the format or the header: the message names file
        and line. Also for series with time stamps or numerical targets, which
        this reader does not know.

    Notes
    -----
    After the header lines (``@name value``) and ``@data``, every line is one
    recording: channels separated by colons, the values of a channel by commas,
    ``?`` for a missing value, and the class label after the last colon if the
    header says ``@classLabel true``. Lengths may differ between recordings, unless
    the header says ``@equalLength true``, but not between the channels of one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from jaxrepro.data import read_ts
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.ts")
    >>> lines = ["@classLabel true up down", "@data", "1,2:3,?:up", "5:6:down"]
    >>> _ = path.write_text("\n".join(lines))
    >>> file = read_ts(path)
    >>> [x.shape for x in file.series], file.labels
    ([(2, 2), (1, 2)], ('up', 'down'))
    """
    path = check_path("path", path)
    header: dict[str, str] = {}
    comments, series, labels = [], [], []
    in_data = False
    # The archive holds a few names in Latin-1; bytes that are no UTF-8 stay apart.
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            line = line.strip().removeprefix("\ufeff")
            try:
                if not line:
                    continue
                if line.startswith(("#", "%")):
                    comments.append(line[1:].strip())
                elif in_data:
                    channels, label = _parse_recording(line, header)
                    series.append(channels)
                    labels.append(label)
                    _check_recording(series, label, header)
                elif line.lower() == "@data":
                    in_data = True
                    _check_header(header)
                elif line.startswith("@"):
                    name, _, value = line[1:].partition(" ")
                    header[name.lower()] = value.strip()
                else:
                    raise ValueError(
                        "expected a line with '@', '#' or '%' first; got "
                        f"{line[:_CUT]!r}"
                    )
            except ValueError as error:
                raise TsFormatError(f"{path}, line {number}: {error}") from None
    if not series:
        missing = "a recording after '@data'" if in_data else "a line '@data'"
        raise TsFormatError(f"{path}: expected {missing}; got the end of the file")
    names = _label_names(header)
    if _has_classes(header) and not names:
        names = tuple(sorted(set(labels)))
    return TimeSeriesFile(
        series=tuple(series),
        labels=tuple(labels) if _has_classes(header) else None,
        label_names=names,
        header=header,
        comments="\n".join(comments),
    )


def _is_true(header, name):
    return header.get(name, "").split(" ")[0].lower() == "true"


def _has_classes(header):
    return _is_true(header, "classlabel")


def _label_names(header):
    return tuple(header["classlabel"].split()[1:]) if _has_classes(header) else ()


def _check_header(header):
    if _is_true(header, "timestamps"):
        raise ValueError("expected series without time stamps; got '@timeStamps true'")
    if _is_true(header, "targetlabel"):
        raise ValueError("expected class labels or none; got '@targetLabel true'")
    names = _label_names(header)
    if len(set(names)) < len(names):
        raise ValueError(f"expected classes of different names; got {_list(names)}")


def _list(names):
    text = ", ".join(names)
    return text if len(text) <= 5 * _CUT else f"{text[: 5 * _CUT]}..."


def _number(name, header):
    """Integer that the header gives, 0 for none."""
    text = header.get(name.lower()) or "0"
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError(f"expected an integer after '@{name}'; got {text[:_CUT]!r}")
    return int(text)


def _parse_recording(line, header):
    """Array of shape (n_steps, n_channels) and the label, or None."""
    parts = line.split(":")
    label = parts.pop().strip() if _has_classes(header) else None
    if not parts:
        raise ValueError("expected values and a class label separated by ':'")
    if label is not None and (not label or "," in label):
        got = repr(label[:_CUT]) if label else "nothing"
        raise ValueError(f"expected a class label after the last ':'; got {got}")
    channels = [_parse_channel(part, i) for i, part in enumerate(parts, start=1)]
    lengths = [len(channel) for channel in channels]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"expected channels of one length; got lengths {str(lengths)[:_CUT]}"
        )
    return np.array(channels).T, label


def _parse_channel(text, position):
    values = []
    for entry in (entry.strip() for entry in text.split(",")):
        if entry == "?":
            values.append(math.nan)
            continue
        if not _NUMBER.fullmatch(entry):
            raise ValueError(
                f"channel {position}: expected numbers or '?' separated by ','; got "
                f"{entry[:_CUT]!r}"
            )
        values.append(float(entry))
        if math.isinf(values[-1]) and "inf" not in entry.lower():
            raise ValueError(
                f"channel {position}: expected numbers in the range of float64; got "
                f"{entry[:_CUT]!r}"
            )
    return values


def _check_recording(series, label, header):
    recording, first = series[-1], series[0]
    n_steps, n_channels = recording.shape
    expected = _number("dimensions", header) or _number("dimension", header)
    if _is_true(header, "univariate"):
        expected = expected or 1
    expected = expected or first.shape[1]
    if n_channels != expected:
        raise ValueError(f"expected {expected} channels; got {n_channels}")
    if _is_true(header, "equallength"):
        length = _number("seriesLength", header) or len(first)
        if n_steps != length:
            raise ValueError(f"expected {length} values a channel; got {n_steps}")
    names = _label_names(header)
    if names and label not in names:
        raise ValueError(f"expected a label among {_list(names)}; got {label[:_CUT]!r}")
