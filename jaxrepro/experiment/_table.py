"""Tables: a dict of columns of equal length, one row an observation."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ..core._files import write_bytes

Table = dict[str, np.ndarray]


def as_table(name: str, columns: Mapping) -> Table:
    """Check columns and turn each into a 1-dimensional NumPy array.

    Parameters
    ----------
    name : str
        Name of the table, for messages.
    columns : mapping of str to sequence or array
        Numbers, booleans or strings, all columns of one length.

    Returns
    -------
    dict of str to array of shape (n_rows,)
        The columns in order.

    Raises
    ------
    TypeError
        If ``columns`` is no mapping, or a column holds anything else.
    ValueError
        If a column is not 1-dimensional or the lengths differ.

    Examples
    --------
    >>> from jaxrepro.experiment import as_table
    >>> as_table("error", {"n": [10, 20], "error": [0.2, 0.1]})["n"].tolist()
    [10, 20]
    """
    if not isinstance(columns, Mapping):
        raise TypeError(
            f"table {name!r}: expected a dict of columns; got {type(columns).__name__}"
        )
    table = {str(key): np.asarray(column) for key, column in columns.items()}
    for key, column in table.items():
        if column.ndim != 1:
            raise ValueError(
                f"table {name!r}, column {key!r}: expected a 1-dimensional column; "
                f"got shape {column.shape}"
            )
        if column.dtype.kind == "V":  # bfloat16 and its relatives
            table[key] = column = column.astype(np.float32)
        if column.dtype.kind not in "biufU":
            raise TypeError(
                f"table {name!r}, column {key!r}: expected real numbers, booleans or "
                f"strings; got dtype {column.dtype}"
            )
    lengths = {key: len(column) for key, column in table.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"table {name!r}: expected columns of equal length; got {lengths}"
        )
    return table


def table_from_rows(rows: Iterable[Mapping]) -> Table:
    """Table of a list of rows, each a dict with the same keys.

    Parameters
    ----------
    rows : iterable of mapping
        One dict a row; at least one.

    Returns
    -------
    dict of str to array of shape (n_rows,)
        The columns, in the order of the first row's keys.

    Raises
    ------
    ValueError
        If there is no row, or a row has other keys than the first.

    Examples
    --------
    >>> from jaxrepro.experiment import table_from_rows
    >>> table_from_rows([{"n": 1, "x": 0.5}, {"n": 2, "x": 0.25}])["x"].tolist()
    [0.5, 0.25]
    """
    rows = list(rows)
    if not rows:
        raise ValueError("rows: expected at least one row; got none")
    keys = list(rows[0])
    for i, row in enumerate(rows):
        if set(row) != set(keys):
            raise ValueError(f"rows: expected the keys {keys}; row {i} has {list(row)}")
    return as_table("rows", {key: [row[key] for row in rows] for key in keys})


def select_rows(table: Mapping, **equal) -> Table:
    """Rows of a table in which the named columns have the given values.

    Parameters
    ----------
    table : mapping of str to array
        A table.
    **equal
        ``column=value`` pairs; a row is kept if all of them hold.

    Returns
    -------
    dict of str to array of shape (n_kept,)
        All columns, the kept rows.

    Raises
    ------
    KeyError
        If a named column does not exist.
    ValueError
        If no row is left: a claim about an empty selection would mean nothing.

    Examples
    --------
    >>> from jaxrepro.experiment import select_rows
    >>> accuracy = {"method": ["SOT", "SGOT"], "mean": [0.95, 0.99]}
    >>> select_rows(accuracy, method="SGOT")["mean"].tolist()
    [0.99]
    """
    columns = as_table("table", table)
    keep = np.ones(len(next(iter(columns.values()), ())), bool)
    for key, value in equal.items():
        if key not in columns:
            raise KeyError(f"no column {key!r}; the columns are {list(columns)}")
        keep &= columns[key] == value
    if not keep.any():
        raise ValueError(f"equal: expected some row with {equal}; got none")
    return {key: column[keep] for key, column in columns.items()}


def write_table(path: Path, columns: Mapping) -> None:
    """Write a table as CSV (UTF-8, header line, shortest exact numbers)."""
    table = as_table(path.stem, columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*(map(str, column) for column in table.values())))
    write_bytes(path, text.getvalue().encode())


def read_table(path: str | Path) -> Table:
    """Read a table that a run has written.

    Parameters
    ----------
    path : str or Path
        A ``tables/*.csv`` file of a run folder.

    Returns
    -------
    dict of str to array of shape (n_rows,)
        A column whose entries all read as booleans, integers or floats has that
        dtype; any other holds strings.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from jaxrepro.experiment import RunFolder, read_table
    >>> out = RunFolder(pathlib.Path(tempfile.mkdtemp()))
    >>> out.save_table("error", {"n": [1, 2], "error": [0.5, 0.25]})
    >>> read_table(out.path / "tables" / "error.csv")["error"].tolist()
    [0.5, 0.25]
    """
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return {
        name: _parse_column([row[j] for row in rows]) for j, name in enumerate(header)
    }


def _parse_column(entries):
    if entries and set(entries) <= {"True", "False"}:
        return np.array([entry == "True" for entry in entries])
    for dtype in (int, float):
        try:
            return np.array([dtype(entry) for entry in entries])
        except (ValueError, OverflowError):
            continue
    return np.array(entries, dtype=str)


def format_value(value, resolution: float = 0.0) -> str:
    """Short text of a value: four significant digits, or as many as tell it apart.

    ``resolution`` is the difference that matters, such as the tolerance of a claim.
    """
    value = np.asarray(value)
    if value.ndim:
        entries = [format_value(entry, resolution) for entry in value[:8]]
        return f"[{', '.join(entries + ['...'] * (len(value) > 8))}]"
    value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        digits = 4
        if resolution > 0 and value != 0 and math.isfinite(value):
            exponents = (math.floor(math.log10(x)) for x in (abs(value), resolution))
            digits = min(12, max(4, next(exponents) - next(exponents) + 1))
        return f"{value:.{digits}g}"
    return str(value)
