import inspect

import numpy as np
import pytest

from jaxrepro.data import TsFormatError, read_ts

HEADER = """# A comment – über
%another
@problemName Test
@timeStamps false
@univariate false
@dimensions 2
@equalLength {equal}
@classLabel true up down
@data
"""


@pytest.fixture
def write(tmp_path):
    def file(text, **options):
        path = tmp_path / "file.ts"
        path.write_text(text, encoding="utf-8", **options)
        return path

    return file


def test_multivariate_and_unequal(write):
    rows = "1,2,3:-4,5e-1,6:up\n7, 8 :9,10: down \n\n"
    file = read_ts(write(HEADER.format(equal="false") + rows))
    assert file.labels == ("up", "down")
    assert file.label_names == ("up", "down")
    assert file.header["problemname"] == "Test"
    assert file.comments == "A comment – über\nanother"
    np.testing.assert_array_equal(file.series[0], [[1, -4], [2, 0.5], [3, 6]])
    np.testing.assert_array_equal(file.series[1], [[7, 9], [8, 10]])
    assert file.series[0].dtype == np.float64


def test_missing_values_and_no_labels(write):
    file = read_ts(write("@univariate true\n@classLabel false\n@data\n1,?,3\n?\n"))
    assert file.labels is None
    np.testing.assert_array_equal(file.series[0], [[1], [np.nan], [3]])
    np.testing.assert_array_equal(file.series[1], [[np.nan]])


def test_classes_that_the_header_leaves_out(write):
    file = read_ts(write("@classLabel true\n@data\n1:b\n2:a\n3:b\n"))
    assert file.labels == ("b", "a", "b")
    assert file.label_names == ("a", "b")


def test_mark_of_byte_order_and_line_ends(write):
    text = "\ufeff@classLabel true a\n@DATA\n1,2:a\n"
    file = read_ts(write(text, newline="\r\n"))
    assert file.series[0].shape == (2, 1)
    assert file.labels == ("a",)


def test_any_path(write):
    assert len(read_ts(str(write("@data\n1,2\n"))).series) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense\n", "line 1: expected a line with '@', '#' .* got 'nonsense'"),
        ("@data\n1,x,3\n", "line 2: channel 1: expected numbers or .* got 'x'"),
        ("@data\n1,,3\n", "line 2: channel 1: expected numbers or .* got ''"),
        ("@classLabel true a\n@data\n1:2:b\n", "line 3: expected a label among a; got"),
        ("@classLabel true a\n@data\n1,2\n", "line 3: expected values and a class"),
        ("@classLabel true\n@data\n1:2,3\n", "line 3: expected a class label .*'2,3'"),
        ("@classLabel true a\n@data\n1:\n", "line 3: expected a class .* got nothing"),
        ("@data\n1:2\n1\n", "line 3: expected 2 channels; got 1"),
        ("@dimensions 3\n@data\n1:2\n", "line 3: expected 3 channels; got 2"),
        ("@data\n1,2:3\n", r"line 2: expected channels of one length; got .*\[2, 1\]"),
        (
            "@equalLength true\n@seriesLength 3\n@data\n1,2\n",
            "line 4: expected 3 values a channel; got 2",
        ),
        ("@equalLength true\n@data\n1,2\n1\n", "line 4: expected 2 values a channel"),
        ("@timeStamps true\n@data\n(0,1)\n", "line 2: expected series without time"),
        ("@targetLabel true\n@data\n1:2\n", "line 2: expected class labels or none"),
        ("@dimensions two\n@data\n1\n", "line 3: .* after '@dimensions'; got 'two'"),
        (
            "@equalLength true\n@seriesLength x\n@data\n1\n",
            "line 4: expected an integer after '@seriesLength'; got 'x'",
        ),
        ("@data\n1_0\n", "line 2: channel 1: expected numbers or .* got '1_0'"),
        ("@data\n١\n", "line 2: channel 1: expected numbers or .* got '١'"),
        ("@data\n-1e999\n", "line 2: channel 1: expected .* range .* got '-1e999'"),
        (f"@data\n{'x' * 999}\n", "line 2: channel 1: .* got '" + "x" * 40 + "'$"),
        (
            f"@classLabel true a\n@data\n1:{'x' * 999}\n",
            "line 3: expected a label among a; got '" + "x" * 40 + "'$",
        ),
        ("@classLabel true a a\n@data\n1:a\n", "line 2: .* different names; got a, a"),
        ("@univariate true\n@data\n1:2\n", "line 3: expected 1 channels; got 2"),
        ("@dimension ١\n@data\n1\n", "line 3: expected an integer after .* got '١'"),
        (f"@dimension {'9' * 5000}\n@data\n1\n", f"line 3: .* got '{'9' * 40}'$"),
        ("@data\n", "expected a recording after '@data'; got the end of the file"),
        ("", "expected a line '@data'; got the end of the file"),
    ],
)
def test_errors_name_file_and_line(write, text, message):
    with pytest.raises(TsFormatError, match=r"file\.ts[,:] " + message):
        read_ts(write(text))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_ts(tmp_path / "absent.ts")


def test_numbers(write):
    file = read_ts(write("@data\n+1.,.5E1,-inf,Infinity,NaN,1e-999\n"))
    expected = [1, 5, -np.inf, np.inf, np.nan, 0]
    np.testing.assert_array_equal(file.series[0][:, 0], expected)


@pytest.mark.parametrize("path", [None, 3, b"file.ts"])
def test_what_is_no_path(path):
    with pytest.raises(TypeError, match="path: expected a str or Path; got"):
        inspect.unwrap(read_ts)(path)  # without the type checks of the tests


def test_path_with_a_null_character():
    with pytest.raises(ValueError, match="path: expected a path; got one with a null"):
        read_ts("a\0b")
