"""What other tools read is what the sweep returned."""

import importlib.util
import json
import shutil
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray

from jaxrepro.core import MissingExtraError
from jaxrepro.sweep import Grid, Points, Static, export, load, sweep

SUFFIXES = [".nc", ".zarr", ".parquet", ".npz"]
PACKAGES = [("h5netcdf", ".nc"), ("h5py", ".nc"), ("zarr", ".zarr")]


class Inner(NamedTuple):
    z: jax.Array
    big: jax.Array


def trial(key, params, solver):
    noise = jax.random.normal(key, (3,))
    return {
        "loss": params["x"] + noise,
        "inner": Inner(params["x"] + 1j * noise[0], noise[0] > 0),
        "half": noise[:1].astype(jnp.float16),
        "count": jnp.uint32(7),
        "bad": 1 / params["x"],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    sweep(
        trial,
        Static(solver=["euler", "heün"]) * Grid(x=[0.0, 1.0]),
        seeds=[5, 2],
        out=out,
        dims={"loss": ("step",)},
        coords={"step": [10, 20, 30]},
        attrs={"note": "größer", "final": True, "scale": 0.5},
    )
    return out


@pytest.fixture(scope="module")
def result(folder):
    return load(folder)


def test_the_data_has_every_kind(result):
    kinds = {x.dtype.kind for x in result.variables.values()}
    assert kinds == set("ciufbU")


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_xarray_reads_what_was_written(folder, result, tmp_path, suffix):
    path = export(folder, tmp_path / "new" / f"result{suffix}")
    assert path == tmp_path / "new" / f"result{suffix}"
    read = xarray.load_dataset(path)
    xarray.testing.assert_equal(read, result)
    for name, variable in result.variables.items():
        assert read.variables[name].dtype == variable.dtype, name
        assert read.variables[name].dims == variable.dims, name
    assert read.attrs == result.attrs
    assert read.attrs["note"] == "größer"


def test_numpy_reads_what_was_written(folder, result, tmp_path):
    with np.load(export(str(folder), str(tmp_path / "result.npz"))) as archive:
        arrays = dict(archive)  # an archive with objects would be refused
    dims = json.loads(str(arrays.pop("__dims__")))
    assert json.loads(str(arrays.pop("__attrs__"))) == result.attrs
    assert arrays.keys() == set(result.variables)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, result[name].values)
        assert array.dtype == result[name].dtype
        assert tuple(dims[name]) == result[name].dims


def test_table_has_a_row_a_trial(folder, result, tmp_path):
    table = pd.read_parquet(export(folder, tmp_path / "result.parquet"))
    assert len(table) == 8
    assert set(table.columns) == {
        *["solver", "x", "seed", "status", "loss", "inner.z.real", "inner.z.imag"],
        *["inner.big", "half", "count", "bad"],
    }
    assert table.attrs["note"] == "größer"
    for _, row in table.iterrows():
        one = result.sel(solver=row["solver"], x=row["x"], seed=row["seed"])
        assert row["status"] == one["status"]
        assert row["count"] == 7
        assert row["bad"] == one["bad"]
        assert row["inner.big"] == one["inner.big"]
        z = complex(row["inner.z.real"], row["inner.z.imag"])
        assert z == complex(one["inner.z"])
        np.testing.assert_array_equal(row["loss"], one["loss"].values)
    assert table["inner.big"].dtype == bool
    assert table["count"].dtype == np.uint32


def test_table_of_points_has_all_their_columns(tmp_path):
    space = Points({"a": [1.0, 2.0, 2.0], "b": [3, 4, 4]})
    result = sweep(lambda key, p: p["a"] * p["b"], space, seeds=2)
    table = pd.read_parquet(export(result, tmp_path / "result.parquet"))
    np.testing.assert_array_equal(table["value"], table["a"] * table["b"])
    assert table["point"].tolist() == [0, 0, 1, 1, 2, 2]
    assert table["seed"].tolist() == [0, 1] * 3


def test_table_refuses_two_columns_of_one_name(result, tmp_path):
    clash = result.assign({"inner.z.real": result["bad"]})
    with pytest.raises(ValueError, match=r"names of columns once; got 'inner.z.real'"):
        export(clash, tmp_path / "result.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_old_file_is_replaced(result, tmp_path, suffix):
    path = tmp_path / f"result{suffix}"
    export(result, path)
    export(result.isel(seed=[0]), path)
    assert [x.name for x in tmp_path.iterdir()] == [path.name]
    if suffix in {".nc", ".zarr"}:
        assert xarray.load_dataset(path).sizes["seed"] == 1
    elif suffix == ".npz":
        assert np.load(path)["seed"].tolist() == [5]
    else:
        assert pd.read_parquet(path)["seed"].unique().tolist() == [5]


@pytest.mark.parametrize("suffix", [".nc", ".zarr", ".parquet"])
def test_a_failure_leaves_the_old_file(result, tmp_path, monkeypatch, suffix):
    path = export(result, tmp_path / f"result{suffix}")
    before = _content(path)
    method, owner = {
        ".nc": ("to_netcdf", xarray.Dataset),
        ".zarr": ("to_zarr", xarray.Dataset),
        ".parquet": ("to_parquet", pd.DataFrame),
    }[suffix]
    whole = getattr(owner, method)

    def broken(self, path, **options):
        whole(self, path, **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owner, method, broken)
    with pytest.raises(OSError, match="No space left"):
        export(result, path)
    assert [x.name for x in tmp_path.iterdir()] == [path.name]
    assert _content(path) == before


def _content(path):
    files = [path] if path.is_file() else [x for x in path.rglob("*") if x.is_file()]
    return {file: file.read_bytes() for file in files}


@pytest.mark.parametrize(("package", "suffix"), [*PACKAGES, ("pyarrow", ".parquet")])
def test_a_missing_package_is_named(result, tmp_path, monkeypatch, package, suffix):
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *args: None if name == package else known(name, *args),
    )
    message = rf'needs the package {package}. .*"jaxrepro\[sweep\]"'
    with pytest.raises(MissingExtraError, match=message):
        export(result, tmp_path / f"result{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["result", "result.csv", "result.npz.old"])
def test_unknown_suffix(result, tmp_path, name):
    with pytest.raises(ValueError, match=r"path: expected one of \.nc \(netCDF\)"):
        export(result, tmp_path / name)


def test_no_folder_and_missing_trials(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a sweep's folder"):
        export(tmp_path, tmp_path / "result.npz")
    shutil.copytree(folder, tmp_path / "run")
    next((tmp_path / "run" / "parts").iterdir()).unlink()
    with pytest.raises(ValueError, match="trials are missing"):
        export(tmp_path / "run", tmp_path / "result.npz")
