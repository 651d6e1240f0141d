"""Renormalised noise levels against SciPy's bracketing solver, and sampling maps."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from benchmarks._harness import Contender, compare
from jaxrepro import rmt

D = 3072
MIB = 2**20


def pairs():
    """10^4 pairs of a noise variance and a sample size."""
    lam, n = np.geomspace(1e-4, 100, 100), np.geomspace(10, 1e5, 100)
    return tuple(x.ravel() for x in np.meshgrid(lam, n))


def scipy_loop(lam, n, eigs):
    """The root of every pair by ``brentq`` in log kappa."""
    trace = eigs.sum()

    def root(lam, n):
        level = lambda y: np.log(
            np.sum(eigs / (eigs + np.exp(y))) / n + lam / np.exp(y)
        )
        ends = np.log(lam), np.log(lam + trace / n)
        found: Any = brentq(level, *ends, xtol=1e-13)
        return np.exp(found)

    return np.array([root(*pair) for pair in zip(lam, n)])


def temporary(lowered) -> int:
    """Bytes of a program beside its arguments and results."""
    memory: Any = lowered.compile().memory_analysis()
    return memory.temp_size_in_bytes


def many_pairs() -> bool:
    """One compiled call against a loop, agreement and memory."""
    eigs = np.arange(1.0, D + 1) ** -1.2
    lam, n = pairs()
    arrays = tuple(map(jnp.asarray, (lam, n, eigs)))
    methods = {
        "newton": {},
        "table, polished": {"method": "table"},
        "table": {"method": "table", "polish": False},
    }
    solvers = {
        name: jax.jit(lambda *x, options=options: rmt.solve_kappa(*x, **options))
        for name, options in methods.items()
    }
    targets = {"newton": 3, "table": 40}
    met = True
    want = scipy_loop(lam, n, eigs)
    for name, solver in solvers.items():
        met &= compare(
            f"10^4 pairs, {D} eigenvalues, {name}",
            Contender("solve_kappa", lambda solver=solver: solver(*arrays)),
            Contender(
                "loop over brentq", lambda: scipy_loop(lam, n, eigs), targets.get(name)
            ),
            repeats=3,
        )
        error = np.abs(np.asarray(solver(*arrays)) / want - 1).max()
        memory = temporary(solver.lower(*arrays))
        right = error < (1e-9 if name == "table" else 1e-10) and memory < 64 * MIB
        print(
            f"  largest relative difference {error:.0e}; {memory / MIB:.1f} MiB beside "
            f"arguments and results  < 64  {'met' if right else 'MISSED'}"
        )
        met &= right
    return met & gradient(*arrays)


def seconds(function, *arguments, repeats=5):
    """The shortest of several runs, compilation apart."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - start)
    return min(times)


def report(text, value, limit, unit="s") -> bool:
    """Print a figure beside its limit."""
    met = value <= limit
    print(f"  {text:48s}{value:8.2f} {unit}  <= {limit}  {'met' if met else 'MISSED'}")
    return met


def gradient(lam, n, eigs) -> bool:
    """Cost of the derivative with respect to all eigenvalues."""
    total = lambda eigs: jnp.sum(rmt.solve_kappa(lam, n, eigs))
    forward, backward = jax.jit(total), jax.jit(jax.grad(total))
    ratio = seconds(backward, eigs) / seconds(forward, eigs)
    return report("derivative of all roots, times the roots", ratio, 2, "times")


def sampling() -> bool:
    """Means for many sample sizes, variances for many noises."""
    print("\nSampling map, 3072 modes")
    eigs = jnp.arange(1.0, D + 1) ** -1.2
    sizes = jnp.geomspace(10, 1e5, 200)
    gain = jax.jit(lambda n, eigs: rmt.sampling_gain(n, eigs))
    met = report("gain, 200 sizes, 32 nodes", seconds(gain, sizes, eigs), 1.5)
    noises = jax.random.normal(jax.random.key(0), (64, D))
    variance = jax.jit(lambda z, eigs: rmt.sampling_variance(z, 300.0, eigs))
    met &= report("variance, 64 noises, 24 nodes", seconds(variance, noises, eigs), 5)
    memory = temporary(variance.lower(noises, eigs)) / MIB
    return met & report("its memory", memory, 1024, "MiB")


def main() -> bool:
    """Print all comparisons; whether every target was met."""
    with jax.enable_x64(True):
        return many_pairs() & sampling()
