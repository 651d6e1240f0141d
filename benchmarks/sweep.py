"""The sweep engine against a bare ``jit(vmap(fn))`` and against a loop over trials."""

import contextlib
import itertools
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._harness import Contender, compare
from jaxrepro.sweep import Grid, Random, Uniform, sweep, trial_key

# Layers, samples and steps: one of a few milliseconds, one of a tenth of a second.
SMALL = {"width": 32, "n_samples": 64, "n_steps": 40}
LARGE = {"width": 256, "n_samples": 512, "n_steps": 40}


def training(width, n_samples, n_steps):
    """A trial: gradient descent of a network with one hidden layer."""

    def fn(key, params):
        k_x, k_1, k_2 = jax.random.split(key, 3)
        x = jax.random.normal(k_x, (n_samples, 5))
        y = jnp.sin(x.sum(1))
        first = jax.random.normal(k_1, (5, width)) / jnp.sqrt(5.0)
        weights = first, jax.random.normal(k_2, (width,)) / width

        def loss(w):
            return jnp.mean((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2)

        def step(w, _):
            value, gradient = jax.value_and_grad(loss)(w)
            return jax.tree.map(lambda a, g: a - params["lr"] * g, w, gradient), value

        return {"loss": jax.lax.scan(step, weights, None, length=n_steps)[1]}

    return fn


def space(n):
    """Learning rates of n trials."""
    return Grid(lr=np.geomspace(1e-3, 1e-1, n))


def keys_of(n_seeds):
    """Keys of the seeds, as the engine makes them."""
    return jnp.stack([trial_key(0, seed, 0) for seed in range(n_seeds)])


def bare(fn, n_points, n_seeds):
    """What users write without the engine: one launch, results fetched."""
    keys = jnp.tile(keys_of(n_seeds), n_points)
    rates = np.repeat(space(n_points).columns["lr"].astype(np.float32), n_seeds)
    launch = jax.jit(jax.vmap(fn))
    return lambda: np.asarray(launch(keys, {"lr": rates})["loss"])


def loop(fn, n_points, n_seeds):
    """A Python loop over a jitted trial."""
    trial, rates = jax.jit(fn), space(n_points).columns["lr"].astype(np.float32)
    return lambda: np.stack(
        [
            np.asarray(trial(trial_key(0, seed, 0), {"lr": rate})["loss"])
            for rate in rates
            for seed in range(n_seeds)
        ]
    )


def engine(fn, n_points, n_seeds, **options):
    """The engine, and its table."""
    return lambda: sweep(fn, space(n_points), seeds=n_seeds, **options)["loss"].values


def against_a_launch() -> bool:
    """A launch of a second or more: what the engine adds, with results on disk."""
    fn, shape = training(**LARGE | {"n_steps": 100}), (8, 8)
    with tempfile.TemporaryDirectory() as folder:
        folders = (Path(folder) / str(i) for i in itertools.count())

        def ours():
            out = next(folders)
            return engine(fn, *shape, batch_per_device=64, out=out)()

        runs = {"engine": ours, "bare": bare(fn, *shape)}
        seconds = dict.fromkeys(runs, float("inf"))
        for turn in range(6):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                if turn:  # the first one compiles
                    elapsed = time.perf_counter() - start
                    seconds[name] = min(seconds[name], elapsed)
    ratio = seconds["engine"] / seconds["bare"]
    met = ratio <= 1.1
    print(
        f"\nOne launch of 64 large trials, results on disk\n"
        f"  jit(vmap(fn)) {seconds['bare']:.3f} s, engine {seconds['engine']:.3f} s: "
        f"{ratio:.3f} times  <= 1.1  {'met' if met else 'MISSED'}"
    )
    return met


def against_a_loop(name, sizes, n_points, n_seeds, target=None) -> bool:
    """A number of trials, one after the other or in launches."""
    fn, shape = training(**sizes), (n_points, n_seeds)
    return compare(
        f"{n_points * n_seeds} {name} training runs",
        Contender("sweep", engine(fn, *shape)),
        Contender("loop over a jitted trial", loop(fn, *shape), target),
        Contender("sweep, exact=True", engine(fn, *shape, exact=True)),
        Contender("jit(vmap(fn)) in one launch", bare(fn, *shape)),
        repeats=7 if n_points * n_seeds < 64 else 3,
    )


def many_cheap_trials() -> bool:
    """Ten thousand trials of next to nothing, with results on disk."""
    n_points, n_seeds = 1000, 10
    cheap = lambda key, params: {"y": params["x"] + jax.random.normal(key)}
    cheap_space = Random(n_points, 0, x=Uniform(0.0, 1.0))
    best, size = float("inf"), 0
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            start = time.perf_counter()
            sweep(cheap, cheap_space, seeds=n_seeds, out="run")
            best = min(best, time.perf_counter() - start)
            size = sum(f.stat().st_size for f in Path("run").rglob("*") if f.is_file())
    each = best / (n_points * n_seeds)
    met = each < 1e-3 and size < 5e6
    print(
        f"\n{n_points * n_seeds} cheap trials, results on disk\n"
        f"  {1e3 * each:.4f} ms a trial  < 1  folder {size / 1e6:.2f} MB  < 5  "
        f"{'met' if met else 'MISSED'}"
    )
    return met


def main() -> bool:
    """Print all comparisons; whether every target was met."""
    met = [against_a_launch(), against_a_loop("small", SMALL, 3, 10, 2.0)]
    for name, sizes in (("small", SMALL), ("large", LARGE)):
        for n_points, n_seeds in ((1, 1), (2, 4), (8, 8), (16, 32)):
            met.append(against_a_loop(name, sizes, n_points, n_seeds))
    return all([*met, many_cheap_trials()])
