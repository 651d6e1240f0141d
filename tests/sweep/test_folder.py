"""The folder of a sweep: what it holds, what damage says, who may go on."""

import errno
import functools
import json
import os
import shutil
import socket
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.core._files import RecordError, write_npz
from jaxrepro.sweep import Grid, Static, SweepMismatchError, load, status, sweep
from jaxrepro.sweep._spec import static_label
from jaxrepro.sweep._store import Store

SPACE = Grid(x=[1.0, 2.0, 3.0, 4.0])


def double(key, params):
    return {"y": 2 * params["x"], "n": jnp.int32(1)}


def run(out, **options):
    return sweep(double, SPACE, out=out, **{"batch_per_device": 1, **options})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with all four parts; tests copy it."""
    folder = tmp_path_factory.mktemp("sweep") / "out"
    run(folder)
    return folder


@pytest.fixture
def out(finished, tmp_path):
    """A copy of the finished folder."""
    return shutil.copytree(finished, tmp_path / "out")


def parts(out):
    return sorted((out / "parts").iterdir())


def test_what_a_folder_holds(out):
    assert sorted(os.listdir(out)) == ["invocations.jsonl", "parts", "spec.json"]
    names = [f"part-{i:09d}-{i + 1:09d}.npz" for i in range(4)]
    assert [part.name for part in parts(out)] == names
    with np.load(parts(out)[1]) as archive:
        assert {k: x.tolist() for k, x in archive.items()} == {
            "value/y": [4.0],
            "value/n": [1],
            "status": [1],
            "start": 1,
        }
    (start,) = map(json.loads, (out / "invocations.jsonl").read_text().splitlines())
    assert (start["pid"], start["worker"]) == (os.getpid(), [0, 1])
    assert start["host"] == socket.gethostname()
    assert {"time", "devices", "versions", "git", "argv", "flags"} <= set(start)


def test_results_of_a_folder_are_those_in_memory(out):
    memory = sweep(double, SPACE)
    assert load(out).equals(memory)
    assert memory["y"].dims == ("x", "seed")
    assert memory["y"].values.tolist() == [[2.0], [4.0], [6.0], [8.0]]
    attrs = load(out).attrs
    assert attrs["fn"].endswith("test_folder.double")
    assert (attrs["base_seed"], attrs["keys"], attrs["exact"]) == (0, "common", 0)
    assert attrs["elapsed_seconds"] >= 0


def test_part_of_a_sweep(out):
    parts(out)[2].unlink()
    assert status(out)[:5] == (4, 3, 3, 0, 0)
    assert status(out).workers == (f"0/1 on {socket.gethostname()}",)
    with pytest.raises(ValueError, match=r"out: 1 of 4 trials are missing.*again"):
        load(out)
    partial = load(out, partial=True)
    assert partial["status"].values[:, 0].tolist() == [1, 1, 0, 1]
    np.testing.assert_array_equal(partial["y"].values[:, 0], [2, 4, np.nan, 8])
    assert partial["n"].values[:, 0].tolist() == [1, 1, 0, 1]


def test_only_what_is_missing_runs(out):
    parts(out)[2].unlink()
    before = {path: path.stat().st_ino for path in parts(out)}
    run(out)
    assert len(parts(out)) == 4
    assert {path: path.stat().st_ino for path in before} == before


def test_no_sweep(tmp_path):
    for read in (load, status):
        with pytest.raises(FileNotFoundError, match="out: expected a sweep's folder"):
            read(tmp_path)


# Another sweep, another function


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"seeds": 2}, ["trials", "shape", "seeds"]),
        ({"base_seed": 1}, ["base_seed"]),
        ({"keys": "independent"}, ["keys"]),
        ({"exact": True}, ["exact"]),
        ({"cost": lambda columns: columns["x"]}, ["order_sha256"]),
    ],
)
def test_another_sweep_in_the_folder(options, fields, out):
    with pytest.raises(SweepMismatchError, match="holds another sweep") as caught:
        run(out, **options)
    lines = str(caught.value).splitlines()[1:]
    assert [line.split(":")[0].strip() for line in lines] == fields
    assert all(" there, " in line and line.endswith(" now") for line in lines)


def test_another_space_or_function(out):
    options = Static(s=["a"])
    with pytest.raises(SweepMismatchError) as caught:
        sweep(double, Grid(x=[1.0, 2.0, 3.0, 5.0]), out=out)
    names = [line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:]]
    assert names == ["axes", "columns_sha256"]
    with pytest.raises(SweepMismatchError, match="(?s)  fn: .*  outputs: "):
        sweep(lambda key, params: params["x"], SPACE, out=out)
    with pytest.raises(SweepMismatchError, match=r"  options: \{\} there, \{'s'"):
        sweep(lambda key, params, s: double(key, params), options * SPACE, out=out)


def test_changed_source(out, monkeypatch):
    changed = "0" * 64
    monkeypatch.setattr("jaxrepro.sweep._spec._source_hash", lambda fn: changed)
    with pytest.warns(UserWarning, match="the source of .*double has changed"):
        run(out)
    with pytest.raises(SweepMismatchError, match="the source of .* has changed"):
        run(out, resume="strict")


def test_resume_may_be_refused(out, tmp_path):
    with pytest.raises(FileExistsError, match="out: .* holds a sweep; choose another"):
        run(out, resume=False)
    run(tmp_path / "new", resume=False)


def test_another_batch(out):
    for part in parts(out)[1:]:
        part.unlink()
    with pytest.warns(UserWarning, match="begun with 1, now 4; rounding"):
        result = run(out, batch_per_device=4)
    assert [part.name[5:24] for part in parts(out)] == [
        "000000000-000000001",
        "000000001-000000004",
    ]
    assert result.equals(sweep(double, SPACE))
    run(out, batch_per_device="auto")  # that of the folder, without a warning


def test_labels_are_those_of_the_call(out):
    result = run(out, attrs={"note": "second"})
    assert result.attrs["note"] == "second"
    assert "note" not in load(out).attrs


def test_arrays_of_partial_functions_are_told_apart():
    big = np.arange(5000.0)
    labels = {
        static_label(functools.partial(double, data))
        for data in (big, big.copy(), np.where(big == 2500, 0, big), jax.random.key(0))
    }
    assert len(labels) == 3
    assert all(len(label) < 120 for label in labels)


# Damage


def test_any_damage_is_named(out):
    """Every byte of a part, changed: found, or without effect."""
    part, expected = parts(out)[1], load(out)
    whole = part.read_bytes()
    messages = []
    for position in range(0, len(whole), 3):
        data = bytearray(whole)
        data[position] ^= 0x55
        part.write_bytes(data)
        try:
            assert load(out).equals(expected)
        except RecordError as error:
            messages.append(str(error))
    assert len(messages) > len(whole) / 9
    assert all("damaged" in text and f"rm {part}" in text for text in messages)
    for length in range(0, len(whole), 40):
        part.write_bytes(whole[:length])
        for read in (load, status):
            with pytest.raises(RecordError, match=f"{part}: damaged"):
                read(out)
    with pytest.raises(RecordError, match="run the sweep again"):
        run(out)
    part.unlink()
    assert run(out).equals(expected)


@pytest.mark.parametrize(
    ("name", "arrays", "why"),
    [
        ("000000000-000000001", "no n", "value/n is not a file"),
        ("000000000-000000002", None, r"value/n is not int32 of shape \(2,\)"),
        ("000000003-000000005", {"start": 3}, "has positions 0 to 4"),
        ("000000003-000000002", {"start": 3}, "has positions 0 to 4"),
        ("000000000-000000001", "float64", "value/y is not float32"),
        ("000000003-000000004", None, "its trials start at 0"),
    ],
)
def test_parts_of_other_content(name, arrays, why, out):
    with np.load(parts(out)[0]) as archive:
        known = dict(archive)
    if arrays == "float64":
        known["value/y"] = known["value/y"].astype(float)
    elif arrays and "start" in arrays:
        known["start"] = np.asarray(arrays["start"])
    elif arrays == "no n":
        del known["value/n"]
    path = out / "parts" / f"part-{name}.npz"
    write_npz(path, known)
    with pytest.raises(RecordError, match=f"{path}: damaged .*{why}"):
        load(out)


def test_parts_that_overlap(out):
    first, second = parts(out)[:2]
    with np.load(first) as a, np.load(second) as b:
        both = {name: np.append(a[name], b[name], 0) for name in a if a[name].ndim}
    both["start"] = np.asarray(0)
    path = out / "parts" / "part-000000000-000000002.npz"
    write_npz(path, both)
    assert load(out).equals(sweep(double, SPACE))
    for name, value in [("value/y", 3.0), ("value/n", 5), ("status", 2)]:
        write_npz(path, both | {name: np.full_like(both[name], value)})
        message = rf"its '{name.split('/')[-1]}' differs(?s:.*)rm "
        with pytest.raises(RecordError, match=message):
            load(out)


def test_specifications_that_cannot_be_read(out):
    path = out / "spec.json"
    spec = json.loads(path.read_text())
    path.write_text(json.dumps(spec | {"format": 99}))
    with pytest.raises(RecordError, match="expected format 1; got 99"):
        load(out)
    for text in ("{", "{}"):
        path.write_text(text)
        with pytest.raises(RecordError, match=r"spec.json: expected"):
            run(out)


def test_order_that_is_lost_or_wrong(tmp_path):
    options = {"cost": lambda columns: columns["x"]}
    result = run(tmp_path, **options)
    path = tmp_path / "order.npy"
    for data in (b"", b"no array", None):
        if data is None:
            np.save(path, np.arange(4))
        else:
            path.write_bytes(data)
        with pytest.raises(RecordError, match=r"(?s)order.npy: expected.*rm -f"):
            load(tmp_path)
    path.unlink()
    with pytest.raises(RecordError, match="order.npy: expected"):
        load(tmp_path)
    assert run(tmp_path, **options).equals(result)


def test_notes_that_are_lost_or_cut_short(out):
    path = out / "invocations.jsonl"
    path.write_bytes(path.read_bytes() + b'{"time": "20')
    store = Store(out)
    store.note("invocations", {"host": "far", "pid": 1, "worker": [1, 2]})
    assert [x["worker"] for x in store.notes("invocations")] == [[0, 1], [1, 2]]
    path.unlink()
    assert load(out).equals(sweep(double, SPACE))
    assert status(out).workers == ()


# The file system


def test_a_folder_that_cannot_be_written(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for out in (file, file / "out"):
        with pytest.raises(OSError, match="out: expected a folder that can be written"):
            run(out)


def test_a_full_disk(tmp_path, monkeypatch):
    sync, left = os.fsync, iter(range(99))

    def full(handle):
        if next(left) > 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left on device") as caught:
            run(tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert "What was committed is intact" in str(caught.value)
    assert caught.value.filename == str(tmp_path)
    before = {path: path.stat().st_ino for path in parts(tmp_path)}
    assert 0 < len(before) < 4
    assert all(path.name.startswith("part-") for path in before)
    assert load(tmp_path, partial=True)["status"].values.sum() == len(before)
    assert run(tmp_path).equals(sweep(double, SPACE))
    assert {path: path.stat().st_ino for path in before} == before


def test_unfinished_files_are_removed(out):
    store, here = Store(out), socket.gethostname()
    gone = 2**22 + 1  # beyond the largest number of a process
    for host, pid in [(here, gone), ("far", 7), (here, 7), (here, os.getppid())]:
        store.note("invocations", {"host": host, "pid": pid, "worker": [0, 1]})
    removed = [out / f".tmp-{gone}-a-spec.json", out / f"parts/.tmp-{gone}-b"]
    old = out / f"parts/.tmp-{os.getpid()}-old"  # of a process before us
    kept = [
        out / "parts/.tmp-7-of-another-host",
        out / f"parts/.tmp-{os.getppid()}-alive",
        out / f"parts/.tmp-{gone + 1}-unknown",
        out / f"parts/.tmp-{os.getpid()}-of-a-thread",
        out / "parts/.tmp-strange",
    ]
    for path in [*removed, old, *kept]:
        path.write_text("")
    os.utime(old, (0, 0))
    store.sweep_up()
    assert [path for path in [*removed, old, *kept] if path.exists()] == kept


# Workers


def test_one_of_many_specifications_is_written(tmp_path):
    store, gate = Store(tmp_path / "out"), threading.Barrier(8)
    made = []

    def write(number):
        gate.wait()
        if store.write_spec({"number": number}):
            made.append(number)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert json.loads(store.spec_path.read_text()) == {"number": made[0]}


def test_a_worker_that_loses_the_race(tmp_path, monkeypatch):
    """Another worker writes the specification between our look and our write."""
    write = Store.write_spec

    def late(self, spec):
        write(self, spec | {"batch": 2, "block_size": 2})
        return write(self, spec)

    monkeypatch.setattr(Store, "write_spec", late)
    run(tmp_path / "a", worker=(1, 2), batch_per_device="auto")
    assert [x.name[5:24] for x in parts(tmp_path / "a")] == ["000000002-000000004"]
    with pytest.raises(FileExistsError, match="holds a sweep"):
        run(tmp_path / "b", resume=False)


@pytest.mark.parametrize("order", [[(0, 1)], [(1, 3), (0, 2), (1, 2)]])
def test_other_numbers_of_workers(order, tmp_path):
    result = run(tmp_path, worker=(0, 3))
    assert result["status"].values[:, 0].tolist() == [1, 0, 0, 1]
    before = {path: path.stat().st_ino for path in parts(tmp_path)}
    for worker in order:
        run(tmp_path, worker=worker)
    assert load(tmp_path).equals(sweep(double, SPACE))
    assert {path: path.stat().st_ino for path in before} == before
    assert len(status(tmp_path).workers) == 1 + len(order)


def test_the_automatic_batch_leaves_every_worker_something(tmp_path):
    for index in range(2):
        result = run(tmp_path, worker=(index, 2), batch_per_device="auto")
        assert result["status"].values.sum() == 2 * (index + 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x: x, lambda x: 100 * x),
        (lambda x, factor=1: factor * x, lambda x, factor=5: factor * x),
        ((lambda c: lambda x: c * x)(1), (lambda c: lambda x: c * x)(5)),
    ],
)
def test_static_functions_of_one_name_are_told_apart(tmp_path, first, second):
    trial = lambda key, params, *, a: a(params["x"])
    sweep(trial, Static(a=[first]) * Grid(x=[1.0]), out=tmp_path)
    with pytest.raises(SweepMismatchError, match="options_sha256"):
        sweep(trial, Static(a=[second]) * Grid(x=[1.0]), out=tmp_path)


def test_static_values_that_are_equal_or_long_are_told_apart(tmp_path):
    trial = lambda key, params, *, a: params["x"] * (2.0 if a is True else 7.0)
    sweep(trial, Static(a=[True]) * Grid(x=[1.0]), out=tmp_path / "bool")
    with pytest.raises(SweepMismatchError, match="options_sha256"):
        sweep(trial, Static(a=[1]) * Grid(x=[1.0]), out=tmp_path / "bool")
    long, other = np.arange(3000.0), np.arange(3000.0)
    other[1500] = 1e6
    total = lambda key, params, *, a: params["x"] * a.sum()
    sweep(total, Static(a=[long]) * Grid(x=[1.0]), out=tmp_path / "long")
    with pytest.raises(SweepMismatchError, match="options_sha256"):
        sweep(total, Static(a=[other]) * Grid(x=[1.0]), out=tmp_path / "long")
