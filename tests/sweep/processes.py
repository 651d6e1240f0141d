"""Sweeps in processes of their own, for the tests: ``processes.py COMMAND FOLDER``.

A command prints one line of JSON. Every sweep runs in a fork of this process, which
has imported everything but started no device, so that a process costs no imports.
"""

import hashlib
import json
import os
import random
import signal
import socket
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import xarray  # noqa: F401  imported once, before the forks

from jaxrepro.sweep import (
    Grid,
    LogUniform,
    OptunaSearch,
    RandomSearch,
    Uniform,
    load,
    search,
    status,
    sweep,
)

SPACE = Grid(lr=[1e-3, 0.01, 0.1, 0.3, 3.0], wd=[0.0, 0.1])


def train(key, params):
    """Train a small network; the largest rate diverges, and loops differ in length."""
    data, init = jax.random.split(key)
    x = jax.random.normal(data, (16, 3))
    y = jnp.sin(x.sum(-1))
    weights = {"a": jax.random.normal(init, (3, 8)) / 2, "b": jnp.zeros(8)}

    def loss(weights):
        return jnp.mean((jnp.tanh(x @ weights["a"]) @ weights["b"] - y) ** 2)

    def step(state, _):
        weights, velocity = state
        value, gradient = jax.value_and_grad(loss)(weights)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
        weights = jax.tree.map(
            lambda w, v: w - params["lr"] * (v + params["wd"] * w), weights, velocity
        )
        return (weights, velocity), value

    start = weights, jax.tree.map(jnp.zeros_like, weights)
    (weights, _), curve = jax.lax.scan(step, start, length=40)
    turns, rest = jax.lax.while_loop(
        lambda state: (state[0] < 300) & (state[1] > 1e-3),
        lambda state: (state[0] + 1, state[1] * (1 - params["lr"] / 4)),
        (0, jnp.float32(1.0)),
    )
    return {"curve": curve, "weights": weights, "turns": turns, "rest": rest}


def moments(key, params):
    """Numbers that are rounded otherwise in a program that shows one trial only."""
    x = jax.random.normal(key, (20,))
    y = params["lr"] * x * x + params["wd"] * x + x / params["lr"]
    mean = jnp.mean(y * x - y * params["lr"])
    return {"mean": mean, "norm": jnp.linalg.norm(y - x * params["wd"])}


def digest(result):
    """Hash of all bits of a result, the status included."""
    hashed = hashlib.sha256()
    for name in sorted(result.data_vars):
        hashed.update(name.encode() + result[name].values.tobytes())
    return hashed.hexdigest()


def fork(function, *args, **environ):
    """Start ``function`` in a process and return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.environ.update(environ)
        function(*args)
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def wait(*pids):
    """Wait for processes that must succeed."""
    codes = [os.waitpid(pid, 0)[1] for pid in pids]
    assert not any(codes), codes


def run(out, seeds, exact, batch, **options):
    """A sweep into a folder."""
    sweep(
        train,
        SPACE,
        seeds=seeds,
        exact=exact,
        batch_per_device=batch,
        out=out,
        **options,
    )


def table(folder, name, counts, batches):
    """Digests of all numbers of devices and batch sizes, on virtual devices."""
    names = {"exact": {}, "vmap": {}}
    for mode, digests in names.items():
        for batch in batches:
            for count in counts:
                result = sweep(
                    globals()[name],
                    SPACE,
                    seeds=3,
                    exact=mode == "exact",
                    batch_per_device=batch,
                    devices=jax.devices()[:count],
                )
                digests[f"{count} {batch}"] = digest(result)
    print(json.dumps(names))


def slowly():
    """Make every commit take its time, so that a kill may strike in the middle."""
    fsync = os.fsync

    def slow(handle):
        time.sleep(0.01)
        fsync(handle)

    os.fsync = slow


def killed(folder):
    """Kill sweeps with SIGKILL, resume with other batch sizes; compare."""
    generator = random.Random(int.from_bytes(os.urandom(4)))
    wait(fork(run, folder / "whole", 6, True, 7))
    slowly()
    out, kills, recomputed, seen = folder / "killed", 0, [], {}
    parts = out / "parts"

    def found():
        names = os.listdir(parts) if parts.is_dir() else []
        stats = {n: (parts / n).stat() for n in names if n.startswith("part")}
        return {n: (s.st_ino, s.st_mtime_ns) for n, s in stats.items()}

    for batch in (2, 3, 2, 5):
        pid = fork(run, out, 6, True, batch)
        wanted = len(seen) + generator.randint(1, 3)
        while len(found()) < wanted:
            time.sleep(0.001)
            assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        time.sleep(generator.random() * 0.02)
        os.kill(pid, signal.SIGKILL)
        kills += os.waitpid(pid, 0)[1] == signal.SIGKILL
        now = found()
        recomputed += [name for name in seen if now.get(name) != seen[name]]
        seen = now
    left = status(out).done
    wait(fork(run, out, 6, True, 4))
    now = found()
    recomputed += [name for name in seen if now.get(name) != seen[name]]
    held = sum(int(n[15:24]) - int(n[5:14]) for n in now)
    print(
        json.dumps(
            {
                "kills": kills,
                "left": left,
                "recomputed": recomputed,
                "twice": held - 60,
                "temporary": len([*parts.glob(".tmp-*"), *out.glob(".tmp-*")]),
                "equal": digest(load(out)) == digest(load(folder / "whole")),
            }
        )
    )


def sampler_of(name):
    """A sampler that depends on results, or on nothing but its seed."""
    space = {"lr": LogUniform(1e-3, 1.0), "wd": Uniform(0.0, 0.1)}
    return {"optuna": OptunaSearch, "random": RandomSearch}[name](7, **space)


def look(name, out):
    """A search of three rounds; its digest beside it."""
    result = search(
        lambda key, params: {"end": train(key, params)["curve"][-1]},
        sampler_of(name),
        n_rounds=3,
        batch=6,
        value="end",
        seeds=2,
        out=out,
        batch_per_device=2,
    )
    told = result.trials.drop_attrs()
    Path(f"{out}.json").write_text(json.dumps([digest(told), result.params]))


def searching(folder, name):
    """Kill a search with SIGKILL in each of its rounds and go on; compare."""
    wait(fork(look, name, folder / "whole"))
    slowly()
    out, kills, where = folder / "killed", 0, []

    def found():
        return len(list(out.glob("round-*/parts/part-*")))

    for wanted in (2, 8, 14):
        pid = fork(look, name, out)
        while found() < wanted:
            time.sleep(0.001)
            assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        os.kill(pid, signal.SIGKILL)
        kills += os.waitpid(pid, 0)[1] == signal.SIGKILL
        where.append(found())
    wait(fork(look, name, out))
    texts = [Path(f"{folder / x}.json").read_text() for x in ("whole", "killed")]
    answer = {"kills": kills, "where": where, "equal": texts[0] == texts[1]}
    print(json.dumps(answer))


def workers(folder):
    """Two workers in one folder at a time, against one."""
    equal = []
    for exact in (True, False):
        one, two = folder / f"one{exact}", folder / f"two{exact}"
        first = fork(run, one, 3, exact, 4)
        pids = [
            fork(run, two, 3, exact, 4, JAXREPRO_WORKER=f"{index}/2")
            for index in range(2)
        ]
        wait(first, *pids)
        equal.append(digest(load(one)) == digest(load(two)))
    names = os.listdir(folder / "twoTrue" / "parts")
    seen = status(folder / "twoTrue").workers
    print(json.dumps({"equal": equal, "parts": len(names), "seen": seen}))


def member(address, index, out):
    """A process of ``jax.distributed``, with two virtual devices."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, 2, index, initialization_timeout=60)
    assert len(jax.devices()) == 4
    run(out, 3, True, 2)
    run(f"{out}-vmap", 3, False, 2)
    jax.distributed.shutdown()


def distributed(folder):
    """Two processes under ``jax.distributed``, against one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    flags = "--xla_force_host_platform_device_count=2"
    pids = [
        fork(member, address, index, folder / "many", XLA_FLAGS=flags)
        for index in range(2)
    ]
    pids += [fork(run, folder / f"one{exact}", 3, exact, 2) for exact in (True, False)]
    wait(*pids)
    pairs = [("many", "oneTrue"), ("many-vmap", "oneFalse")]
    equal = [digest(load(folder / a)) == digest(load(folder / b)) for a, b in pairs]
    seen = status(folder / "many").workers
    print(json.dumps({"equal": equal, "seen": seen}))


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    globals()[command](Path(folder), *map(json.loads, rest))
