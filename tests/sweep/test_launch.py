"""Workers in other processes give together what one process gives."""

import functools
import importlib
import importlib.util
import os
import signal
import sys
import threading
import time

import jax
import numpy as np
import pytest
import xarray

from jaxrepro.core import MissingExtraError
from jaxrepro.sweep import Grid, Static, WorkerError, launch, load, status, sweep
from jaxrepro.sweep._handles import Workers
from jaxrepro.sweep._task import Task, check_task, to_bytes

# Workers import it; what a trial does to its process is in its hyper-parameters.
MODULE = """
import functools, os, pathlib, signal, time
import jax

def trial(key, params, activation=jax.nn.relu):
    noise = jax.random.normal(key, (5,))
    return {"y": activation(params["x"] + noise).sum(), "noise": noise}

@functools.partial(jax.jit, static_argnames="activation")
def jitted(key, params, activation=jax.nn.relu):
    return trial(key, params, activation)

on_host = functools.partial(jax.pure_callback, vmap_method="sequential")

def _once(x, mark):
    # The worker that comes here first ends as if the power had gone.
    if x == 5.0 and mark and not pathlib.Path(mark).exists():
        pathlib.Path(mark).touch()
        print("the last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return x

def fragile(key, params, mark=""):
    shape = jax.ShapeDtypeStruct((), params["x"].dtype)
    x = on_host(lambda x: _once(x, mark), shape, params["x"])
    return {"y": x + jax.random.normal(key)}

def endless(key, params, mark=""):
    shape = jax.ShapeDtypeStruct((), params["x"].dtype)
    def stay(x):
        pathlib.Path(mark + str(os.getpid())).touch()
        time.sleep(100)
        return x
    return on_host(stay, shape, params["x"])
"""
SPACE = Grid(x=[0.0, 1.0, 2.0, 3.0])
BATCH = {"batch_per_device": 1}
SIX = Grid(x=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])  # the second of two workers dies at 5


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """A module that processes started from here can import."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "remote_trials.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder))
        yield importlib.import_module("remote_trials")
        sys.modules.pop("remote_trials")


def _assert_same(result, expected):
    xarray.testing.assert_equal(result, expected)  # NaN equals NaN, no tolerance
    assert {k: x.dtype for k, x in result.variables.items()} == {
        k: x.dtype for k, x in expected.variables.items()
    }


def test_a_task_travels_with_functions_that_jax_has_wrapped(remote):
    import pickle

    for fn in (remote.trial, remote.jitted, jax.nn.relu, jax.numpy.tanh):
        assert pickle.loads(to_bytes(fn)) is fn
    partial = pickle.loads(to_bytes(functools.partial(remote.jitted, activation=1)))
    assert partial.func is remote.jitted
    space = Static(activation=[jax.nn.relu, jax.numpy.tanh]) * Grid(x=[1.0, 2.0])
    task = Task(remote.trial, space, {"seeds": 2}, (0, 2), False)
    check_task(task)
    again = pickle.loads(to_bytes(task))
    assert again.space.options == space.options
    np.testing.assert_array_equal(again.space.columns["x"], [1.0, 2.0])


def test_functions_that_cannot_travel(tmp_path, remote):
    def inner(key, params):
        return params["x"]

    options = {"out": tmp_path / "run", "n_workers": 2}
    advice = r"fn: expected a function that other .*; got .*(inner|lambda).*with def"
    for fn in (inner, lambda key, p: p["x"], functools.partial(inner)):
        with pytest.raises(ValueError, match=advice):
            launch(fn, SPACE, **options)
    with pytest.raises(ValueError, match="cost: expected a value that other processes"):
        launch(remote.trial, SPACE, cost=lambda columns: columns["x"], **options)
    space = Static(activation=[lambda x: x]) * SPACE
    with pytest.raises(ValueError, match="space: expected a value that other"):
        launch(remote.trial, space, **options)
    assert not (tmp_path / "run").exists()


def test_wrong_arguments(tmp_path, remote, plain_errors):
    call = functools.partial(launch, remote.trial, SPACE, out=tmp_path / "run")
    with pytest.raises(ValueError, match="n_workers: expected .*; got 0"):
        call(n_workers=0)
    with pytest.raises(ValueError, match="launcher: expected .*; got 'dask'"):
        call(n_workers=1, launcher="dask")
    with pytest.raises(TypeError, match="worker: expected n_workers"):
        call(n_workers=1, worker=(0, 2))
    with pytest.raises(TypeError, match="'seed'"):
        call(n_workers=1, seed=3)
    with pytest.raises(ValueError, match=r"environment: expected one .* 2; got 3"):
        call(n_workers=2, launcher_options={"environment": [{}, {}, {}]})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("launcher", ["submitit", "ray"])
def test_a_missing_package_is_named(tmp_path, remote, monkeypatch, launcher):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=rf"{launcher}.*jaxrepro\[launch\]"):
        launch(remote.trial, SPACE, out=tmp_path, n_workers=1, launcher=launcher)


def test_resume_false_refuses_a_folder_that_holds_a_sweep(tmp_path, remote):
    sweep(remote.trial, SPACE, out=tmp_path)
    with pytest.raises(FileExistsError, match="holds a sweep"):
        launch(remote.trial, SPACE, out=tmp_path, n_workers=1, resume=False)


class _Fake:
    """A worker that ends at the n-th look."""

    def __init__(self, looks, reason=None):
        self.looks, self.reason, self.cancelled = looks, reason, False

    def done(self):
        self.looks -= 1
        return self.cancelled or self.looks <= 0

    def failure(self):
        return self.reason

    def cancel(self):
        self.cancelled = True


def test_all_are_waited_for_before_a_failure_is_told(tmp_path):
    handles, closed = [_Fake(0, "code 3"), _Fake(3), _Fake(2, "lost")], []
    workers = Workers(tmp_path, handles, lambda: closed.append(1))
    with pytest.raises(WorkerError) as caught:
        workers.wait()
    text = str(caught.value)
    assert "2 of 3 workers failed" in text
    assert "worker 0/3: code 3" in text
    assert "worker 2/3: lost" in text
    assert handles[1].looks <= 0
    assert closed == [1]
    workers.cancel()
    assert closed == [1]
    assert not any(handle.cancelled for handle in handles)


def test_an_interruption_ends_the_workers(tmp_path, monkeypatch):
    handles = [_Fake(10**6), _Fake(0)]

    def interrupt(seconds):
        raise KeyboardInterrupt

    workers = Workers(tmp_path, handles)
    with monkeypatch.context() as patch:
        patch.setattr(time, "sleep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            workers.wait()
    assert [handle.cancelled for handle in handles] == [True, False]


@pytest.mark.distributed
def test_two_processes_in_double_precision(tmp_path, remote, x64):
    # Nothing but the caller's context says that the numbers are double.
    space = Static(activation=[jax.nn.relu, jax.numpy.tanh]) * SPACE
    options = {"seeds": 3, "batch_per_device": 2, "resume": False}
    result = launch(remote.jitted, space, out=tmp_path / "a", n_workers=2, **options)
    _assert_same(result, sweep(remote.jitted, space, out=tmp_path / "b", **options))
    assert result["y"].dtype == np.float64
    workers = [text.split()[0] for text in status(tmp_path / "a").workers]
    assert workers == ["0/2", "1/2"]


@pytest.mark.distributed
def test_a_worker_that_dies_is_told_and_what_it_did_is_kept(tmp_path, remote):
    space = Static(mark=[str(tmp_path / "mark")]) * SIX
    call = functools.partial(launch, remote.fragile, space, out=tmp_path / "run")
    with pytest.raises(WorkerError) as caught:
        call(n_workers=2, **BATCH)
    text = str(caught.value)
    assert "1 of 2 workers failed" in text
    assert "worker 1/2: ended by SIGKILL, log " in text
    assert text.endswith("the last words")
    partial = load(tmp_path / "run", partial=True)
    done = partial["status"].values.ravel()
    # The trial at 3 was in flight when that at 5 began.
    assert done[[0, 1, 2, 4, 5]].tolist() == [1, 1, 1, 1, 0]
    result = call(n_workers=1, **BATCH)
    _assert_same(result, sweep(remote.fragile, space, **BATCH))
    xarray.testing.assert_equal(result.isel(x=done == 1), partial.isel(x=done == 1))


@pytest.mark.distributed
@pytest.mark.parametrize("interrupted", [True, False])
def test_workers_are_ended(tmp_path, remote, interrupted):
    space = Static(mark=[str(tmp_path / "pid-")]) * SPACE
    workers = launch(
        remote.endless, space, out=tmp_path / "run", n_workers=1, wait=False, **BATCH
    )
    assert not workers.done()
    while not (pids := list(tmp_path.glob("pid-*"))):
        assert not workers.done()
        time.sleep(0.05)
    if interrupted:
        # As Ctrl-C does, while the main thread waits. Test processes ignore it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            with pytest.raises(KeyboardInterrupt):
                workers.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    else:
        workers.cancel()
    assert workers.done()
    pid = int(pids[0].name.removeprefix("pid-"))
    with pytest.raises(ProcessLookupError):  # a zombie would still be there
        os.kill(pid, 0)
    with pytest.raises(WorkerError, match="ended by SIGTERM"):
        workers.wait()


@pytest.mark.distributed
def test_an_error_in_a_worker_is_told_with_its_log(tmp_path, remote):
    sweep(remote.trial, SPACE, out=tmp_path, seeds=2)
    message = r"(?s)code 1, log .*worker-0-of-1\.log.*SweepMismatchError.*seeds"
    with pytest.raises(WorkerError, match=message):
        launch(remote.trial, SPACE, out=tmp_path, seeds=3, n_workers=1)


@pytest.mark.distributed
def test_submitit(tmp_path, remote, monkeypatch):
    submitit = pytest.importorskip("submitit")
    # How long it waits for the result of a job that left none.
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 0.1)
    from jaxrepro.sweep._launch_submitit import ResumableTask

    space = Static(mark=[str(tmp_path / "mark")]) * SIX
    call = functools.partial(
        launch,
        remote.fragile,
        space,
        out=tmp_path / "run",
        launcher="submitit",
        launcher_options={"cluster": "local", "timeout_min": 2},
        **BATCH,
    )
    with pytest.raises(WorkerError, match=r"1 of 2 workers(?s:.*)worker 1/2: job \d+"):
        call(n_workers=2)
    assert 4 <= status(tmp_path / "run").done <= 5
    _assert_same(call(n_workers=1), sweep(remote.fragile, space, **BATCH))
    task = ResumableTask(remote.fragile, space, {}, (0, 1), False)
    assert task.checkpoint().function is task


@pytest.mark.distributed
def test_ray_runs_a_killed_task_again(tmp_path, remote):
    ray = pytest.importorskip("ray", reason="ray is in the extra launch")
    space = Static(mark=[str(tmp_path / "mark")]) * SIX
    result = launch(
        remote.fragile,
        space,
        out=tmp_path / "run",
        n_workers=2,
        launcher="ray",
        launcher_options={"init": {"num_cpus": 2}},
        **BATCH,
    )
    assert (tmp_path / "mark").exists()
    starts = (tmp_path / "run" / "invocations.jsonl").read_text().splitlines()
    assert len(starts) == 3  # two workers, and one of them anew
    _assert_same(result, sweep(remote.fragile, space, **BATCH))
    assert not ray.is_initialized()
