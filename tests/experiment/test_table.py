import csv

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from jaxrepro.experiment import as_table, read_table, select_rows, table_from_rows
from jaxrepro.experiment._table import format_value, write_table


def test_columns_become_arrays():
    table = as_table("t", {"n": range(2), "x": jnp.ones(2), "s": ["a", "b"]})
    assert [c.dtype.kind for c in table.values()] == ["i", "f", "U"]
    assert all(isinstance(c, np.ndarray) for c in table.values())


def test_lists_of_jax_scalars_are_columns():
    assert as_table("t", {"x": [jnp.float32(1), jnp.float32(2)]})["x"].sum() == 3


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ([1, 2], TypeError, "table 't': expected a dict of columns; got list"),
        ({"x": [1], "y": [1, 2]}, ValueError, "equal length; got {'x': 1, 'y': 2}"),
        ({"x": 1.0}, ValueError, r"column 'x': expected a 1-dimensional column"),
        ({"x": [[1.0]]}, ValueError, r"got shape \(1, 1\)"),
        ({"x": [1j]}, TypeError, "expected real numbers, booleans or strings"),
        ({"x": [None, 1]}, TypeError, "got dtype object"),
    ],
)
def test_bad_columns(columns, error, message, plain_errors):
    with pytest.raises(error, match=message):
        as_table("t", columns)


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**62), 2**62),
            st.floats(allow_nan=True, allow_infinity=True),
            st.booleans(),
            st.text(
                st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")),
            ).map(lambda s: f"<{s}>"),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_csv_gives_back_what_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    columns = dict(zip(("int", "float", "bool", "text"), map(list, zip(*rows))))
    write_table(path, columns)
    back = read_table(path)
    for name, column in columns.items():
        np.testing.assert_array_equal(back[name], np.asarray(column))
        assert back[name].dtype.kind == np.asarray(column).dtype.kind


def test_float32_is_written_short_and_read_exactly(tmp_path):
    x = np.array([0.1, 1 / 3], np.float32)
    write_table(tmp_path / "t.csv", {"x": x})
    assert "0.1\n" in (tmp_path / "t.csv").read_text()
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv")["x"].astype("f4"), x)


def test_the_standard_reader_agrees(tmp_path):
    write_table(tmp_path / "t.csv", {"a, b": ['say "x"', "line\nbreak"], "n": [1, 2]})
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["a, b"] == 'say "x"'
    assert rows[1]["a, b"] == "line\nbreak"


def test_empty_table(tmp_path):
    write_table(tmp_path / "t.csv", {"x": []})
    assert read_table(tmp_path / "t.csv")["x"].shape == (0,)


def test_rows():
    table = table_from_rows({"n": n, "x": n / 2} for n in (1, 2, 3))
    assert table["x"].tolist() == [0.5, 1.0, 1.5]
    with pytest.raises(ValueError, match="expected at least one row"):
        table_from_rows([])
    with pytest.raises(ValueError, match=r"row 1 has \['m'\]"):
        table_from_rows([{"n": 1}, {"m": 1}])


def test_select_rows():
    table = {"method": ["HS", "SGOT", "SGOT"], "d": [1, 1, 5], "mean": [0.5, 0.9, 1.0]}
    assert select_rows(table, method="SGOT", d=5)["mean"].tolist() == [1.0]
    with pytest.raises(KeyError, match="no column 'n'"):
        select_rows(table, n=1)
    with pytest.raises(ValueError, match="expected some row with"):
        select_rows(table, method="OT")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.23456, "1.235"),
        (1e-9, "1e-09"),
        (7, "7"),
        (True, "yes"),
        (np.bool_(False), "no"),
        (float("nan"), "nan"),
        ("words", "words"),
        ([1, 2], "[1, 2]"),
        (range(20), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        (jnp.float32(0.5), "0.5"),
    ],
)
def test_format(value, text):
    assert format_value(value) == text


def test_values_show_the_digits_that_a_tolerance_tells_apart():
    assert format_value(0.39765432) == "0.3977"
    assert format_value(0.39765432, 1e-5) == "0.39765"
    assert format_value([1234.5678, 0.0], 1e-2) == "[1234.57, 0]"
    assert format_value(1e9, 1e-9) == "1000000000"
    assert format_value(float("inf"), 0.1) == "inf"
