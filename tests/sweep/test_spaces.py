import functools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import qmc

from jaxrepro.sweep import (
    Choice,
    Grid,
    IntUniform,
    LogUniform,
    Points,
    Random,
    Sobol,
    Space,
    Static,
    Uniform,
    Zip,
)
from jaxrepro.sweep._distributions import from_unit
from jaxrepro.sweep._space import device_columns
from jaxrepro.sweep._spaces import sobol_unit


def table(space):
    """Columns side by side, a row a point."""
    return np.stack(list(space.columns.values()), axis=-1)


def test_grid_order(reference):
    stored = reference["grid_order"]
    space = Grid(**stored["axes"])
    assert table(space).tolist() == stored["points_lr_wd"]
    assert (space.dims, space.shape, space.n_points) == (("lr", "wd"), (2, 3), 6)


def test_sobol_points(reference):
    expected = reference["sobol_unscrambled_d3_n8"]
    assert sobol_unit(8, 3, 0, scramble=False).tolist() == expected
    unit = dict.fromkeys("abc", Uniform(0, 1))
    assert table(Sobol(8, 0, scramble=False, **unit)).tolist() == expected


def test_scrambled_sobol_is_that_of_scipy():
    space = Sobol(8, 3, a=Uniform(-1, 1), b=LogUniform(1e-3, 1.0))
    unit = qmc.Sobol(2, scramble=True, seed=np.random.default_rng(3)).random(8)
    np.testing.assert_allclose(space.columns["a"], 2 * unit[:, 0] - 1)
    np.testing.assert_allclose(space.columns["b"], 1e3 ** (unit[:, 1] - 1))


def test_sobol_warns_of_an_unbalanced_number():
    with pytest.warns(UserWarning, match="n: a Sobol sequence .* got 6"):
        Sobol(6, 0, a=Uniform(0, 1))


def test_distributions_map_unit_samples():
    unit = np.asarray([0.0, 0.25, 0.5, 1 - 2**-53])
    assert from_unit(Uniform(2, 4), unit)[:3].tolist() == [2, 2.5, 3]
    logs = from_unit(LogUniform(1e-4, 1.0), unit)
    np.testing.assert_allclose(logs, [1e-4, 1e-3, 1e-2, 1.0])
    assert from_unit(IntUniform(-1, 2), unit).tolist() == [-1, 0, 1, 2]
    assert from_unit(IntUniform(1000, 1000), unit).tolist() == [1000] * 4
    assert from_unit(Choice([5, 7]), unit).tolist() == [5, 5, 7, 7]
    assert logs.max() <= 1


def test_random_points_are_those_of_numpy():
    space = Random(5, seed=3, a=Uniform(0, 1), b=Choice([1.0, 2.0]))
    unit = np.random.default_rng(3).random((5, 2))
    np.testing.assert_array_equal(space.columns["a"], unit[:, 0])
    np.testing.assert_array_equal(space.columns["b"], np.floor(2 * unit[:, 1]) + 1)
    assert space.dims == ("point",)


def test_lists_of_many_kinds():
    for values in (range(3), np.arange(3), (x for x in range(3)), (0, 1, 2)):
        assert Grid(a=values).columns["a"].tolist() == [0, 1, 2]


def test_zip_and_points_are_rows():
    rows = [{"a": 1, "b": 0.5}, {"a": 2, "b": 0.25}]
    columns = {"a": [1, 2], "b": [0.5, 0.25]}
    frame = pd.DataFrame(rows)
    for space in (Zip(**columns), Points(rows), Points(frame), Zip(**dict(frame))):
        assert {k: x.tolist() for k, x in space.columns.items()} == columns
        assert space.columns["a"].dtype == np.int64
        assert (space.dims, space.shape) == (("point",), (2,))


def test_product_has_the_second_space_fastest():
    space = Zip(a=[1, 2], b=[3, 4]) * Grid(c=[0, 1, 2])
    assert table(space)[:4].tolist() == [[1, 3, 0], [1, 3, 1], [1, 3, 2], [2, 4, 0]]
    assert space.dims == ("point", "c")
    two = Zip(a=[1, 2]) * Zip(b=[3])
    assert two.dims == ("point_0", "point_1")


def test_static_options_are_groups_and_no_points():
    space = Static(s=["x", "y"], n=[1, 2]) * Grid(a=[0.0])
    assert space.n_points == 1
    assert space.groups == [
        {"s": s, "n": n} for s, n in [("x", 1), ("x", 2), ("y", 1), ("y", 2)]
    ]
    alone = Static(s=["x"])
    assert (alone.n_points, alone.shape, alone.columns) == (1, (), {})


def test_columns_have_the_default_dtypes(x64):
    space = Grid(a=[1, 2], b=[0.5], c=[True, False])
    kinds = {name: str(x.dtype) for name, x in device_columns(space).items()}
    assert kinds == {"a": "int64", "b": "float64", "c": "bool"}
    half = device_columns(Grid(dtype=np.float16, a=[1, 2]))
    assert half["a"].dtype == np.float16


def test_columns_without_64_bits():
    kinds = {k: str(x.dtype) for k, x in device_columns(Grid(a=[1], b=[0.5])).items()}
    assert kinds == {"a": "int32", "b": "float32"}
    for value in (2**31, 1e39):
        with pytest.raises(ValueError, match=r"a: expected numbers that .*32 holds"):
            device_columns(Grid(a=[value]))


bad = {
    "no axis": (lambda: Grid(), "space: expected at least one"),
    "empty axis": (lambda: Grid(a=[]), r"a: expected a non-empty list.*\(0,\)"),
    "scalar": (lambda: Grid(a=1.0), r"a: expected a non-empty list.*got shape \(\)"),
    "table": (lambda: Grid(a=[[1.0]]), r"a: .*got shape \(1, 1\)"),
    "nan": (lambda: Grid(a=[1.0, np.nan]), "a: expected finite numbers; got nan"),
    "inf": (lambda: Zip(a=[-np.inf]), "a: expected finite numbers; got -inf"),
    "reserved": (lambda: Grid(seed=[1]), "seed: expected another name"),
    "point": (lambda: Static(point=["a"]), "point: expected another name"),
    "numbered": (
        lambda: Grid(point_0=[1]) * Zip(a=[1]) * Zip(b=[1]),
        "point_0: expected another name",
    ),
    "twice": (lambda: Grid(a=[1]) * Zip(a=[2]), "a: expected names used once"),
    "two options": (lambda: Static(a=[1]) * Static(a=[2]), "a: expected names used"),
    "both kinds": (lambda: Static(a=[1]) * Grid(a=[2]), "a: expected names used once"),
    "lengths": (lambda: Zip(a=[1], b=[1, 2]), r"equal length; got \{'a': 1, 'b': 2\}"),
    "no rows": (lambda: Points([]), "space: expected at least one"),
    "rows": (lambda: Points([{"a": 1}, {"b": 1}]), r"table: row 1 has \['b'\]"),
    "no option": (lambda: Static(), "space: expected at least one option"),
    "empty option": (lambda: Static(a=[]), r"a: expected a non-empty list.*\[\]"),
    "text": (lambda: Static(a="ab"), "a: expected a non-empty list.*'ab'"),
    "integer": (lambda: Grid(dtype=int, a=[0.5]), "a: expected numbers that int64"),
    "overflow": (lambda: Grid(dtype=np.float16, a=[1e6]), "a: .* float16 holds"),
    "unsigned": (lambda: Grid(a=[2**63]), "a: expected numbers that int64 holds"),
    "no point": (lambda: Random(0, 0, a=Uniform(0, 1)), "n: expected .*; got 0"),
    "no distribution": (lambda: Random(2, 0), "distributions: expected at least one"),
    "order": (lambda: Random(1, 0, a=Uniform(1, 0)), "a: expected finite low <= high"),
    "log": (lambda: Random(1, 0, a=LogUniform(0, 1)), "a: expected low > 0"),
    "int": (lambda: Random(1, 0, a=IntUniform(0, 0.5)), "a: expected integers in Int"),
    "choice": (lambda: Sobol(1, 0, a=Choice([])), "a: expected at least one value"),
    "ends": (lambda: Sobol(1, 0, a=Uniform(0, np.inf)), "a: expected finite low"),
}


@pytest.mark.parametrize("case", bad)
def test_bad_spaces(case, plain_errors):
    make, message = bad[case]
    with pytest.raises(ValueError, match=message):
        make()


wrong = {
    "text": (lambda: Grid(a=["x"]), "a: expected numbers; got 'x'; .* Static"),
    "complex": (lambda: Grid(a=[1j]), "a: expected numbers; got 1j"),
    "none": (lambda: Grid(a=None), "a: expected numbers; got None"),
    "ragged": (lambda: Grid(a=[[1], [1, 2]]), r"a: expected numbers; got \[1\]"),
    "huge": (lambda: Grid(a=[2**70]), "a: expected numbers; got a number of no dtype"),
    "dist": (lambda: Random(1, 0, a=[1]), "a: expected Uniform, .*; got list"),
    "choice": (lambda: Random(1, 0, a=Choice(["x"])), "a: expected numbers; got .*x"),
}


@pytest.mark.parametrize("case", wrong)
def test_spaces_of_what_is_no_number(case, plain_errors):
    make, message = wrong[case]
    with pytest.raises(TypeError, match=message):
        make()


def test_a_product_is_with_a_space():
    with pytest.raises(TypeError, match="unsupported operand"):
        Grid(a=[1]) * 2  # pyright: ignore


def test_products_are_associative():
    spaces = Grid(a=[1, 2]), Zip(b=[3, 4]), Static(c=["x"])
    left = functools.reduce(Space.__mul__, spaces)
    right = spaces[0] * (spaces[1] * spaces[2])
    assert repr(left) == repr(right)
    assert table(left).tolist() == table(right).tolist()
