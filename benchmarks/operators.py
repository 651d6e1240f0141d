"""Matrices of SGOT distances against POT, their growth, and their memory.

POT compares one pair a call, so that its users write the loops timed here. Loops over
many pairs are timed on some of them, drawn at random, and scaled up.
"""

import multiprocessing
import resource
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import ot as pot

from benchmarks._harness import Contender, compare, version
from jaxrepro import operators

POT = version("POT")
RANK, DIM = 10, 24


def systems(n_systems, weights="uniform"):
    """Atoms of random operators, with uniform or with random masses."""
    rng = np.random.default_rng(2)
    matrices = rng.normal(size=(n_systems, DIM, DIM)) / np.sqrt(DIM)
    atoms = jax.vmap(lambda m: operators.spectral_atoms(m, 0.1, rank=RANK))(matrices)
    # Live atoms only and simple masses, so that both sides do the same work.
    masses = rng.dirichlet(np.ones(RANK), n_systems) if weights == "given" else None
    return atoms._replace(weight=None if masses is None else jnp.asarray(masses))


@jax.jit
def distances(atoms):
    """All distances under the cost that POT has."""
    return operators.sgot_pairwise(atoms, eta=0.5, convention="pot", p=2)


def metric_loop(atoms, rows, columns):
    """Distances of pairs, one call of POT's ``sgot_metric`` each."""
    rates, right, left = (np.asarray(x) for x in atoms[:3])
    masses = None if atoms.weight is None else np.asarray(atoms.weight)

    def distance(i, j):
        return pot.sgot.sgot_metric(
            rates[i], right[i], left[i], rates[j], right[j], left[j],
            eta=0.5, p=2,
            Ws=None if masses is None else masses[i],
            Wt=None if masses is None else masses[j],
        )  # fmt: skip

    return lambda: np.array([distance(i, j) for i, j in zip(rows, columns)])


def small_matrix(weights, target, n_systems=50) -> bool:
    """Fifty systems, every pair by POT as well."""
    atoms = systems(n_systems, weights)
    pairs = np.triu_indices(n_systems, 1)
    return compare(
        f"SGOT matrix, N = {n_systems}, r = {RANK}, d = {DIM}, {weights} masses",
        Contender("operators.sgot_pairwise", lambda: distances(atoms)[pairs]),
        Contender(
            f"double loop over {POT} sgot_metric",
            metric_loop(atoms, *pairs),
            target,
            True,
        ),
        repeats=5,
    )


def large_matrix(target, n_systems=300, n_drawn=2000) -> bool:
    """Hundreds of systems; POT gets its costs ready-made, or computes them."""
    atoms = systems(n_systems)
    pairs = np.triu_indices(n_systems, 1)
    n_pairs = len(pairs[0])
    drawn = np.random.default_rng(0).choice(n_pairs, n_drawn, replace=False)
    rows, columns = (index[drawn] for index in pairs)
    pick = lambda index: jax.tree.map(lambda leaf: leaf[index], atoms)
    cost = lambda one, two: operators.ground_cost(
        one, two, eta=0.5, convention="pot", p=2
    )
    costs = np.asarray(jax.jit(jax.vmap(cost))(pick(rows), pick(columns)))
    uniform = np.full(RANK, 1 / RANK)
    exact_loop = lambda: [pot.emd2(uniform, uniform, c) for c in costs]
    with_costs = metric_loop(atoms, rows, columns)
    ours = np.asarray(distances(atoms))[rows, columns]
    np.testing.assert_allclose(np.array(exact_loop()) ** 0.25, ours, atol=1e-9)
    np.testing.assert_allclose(with_costs(), ours, atol=1e-9)
    part = n_pairs / n_drawn
    return compare(
        f"SGOT matrix, N = {n_systems}, r = {RANK}, d = {DIM}, uniform masses; "
        f"loops over {n_drawn} of {n_pairs} pairs, scaled up",
        Contender("operators.sgot_pairwise", lambda: distances(atoms)),
        Contender(f"loop over {POT} emd2, costs given", exact_loop, target, scale=part),
        Contender(f"loop over {POT} sgot_metric", with_costs, scale=part),
        repeats=5,
    )


def growth(limit=2.15, sizes=(50, 100, 200, 400), repeats=5) -> bool:
    """Whether time grows as the number of pairs, and no faster."""
    batches = [systems(n) for n in sizes]
    best = [float("inf")] * len(sizes)
    for repeat in range(repeats + 1):
        for i, atoms in enumerate(batches):
            start = time.perf_counter()
            distances(atoms).block_until_ready()
            if repeat:  # the first compiles
                best[i] = min(best[i], time.perf_counter() - start)
    slope = np.polyfit(np.log(sizes), np.log(best), 1)[0]
    print(f"\nSGOT matrix, r = {RANK}, d = {DIM}, growth with N")
    for n, seconds in zip(sizes, best):
        microseconds = 2e6 * seconds / (n * (n - 1))
        print(f"  N = {n:4}{1e3 * seconds:12.1f} ms{microseconds:9.2f} us a pair")
    met = bool(slope <= limit)
    print(f"  time ~ N^{slope:.2f}    <= {limit}  {'met' if met else 'MISSED'}")
    return met


def peak_mebibytes(n_systems) -> float:
    """Largest resident memory of this process, after the distances."""
    with jax.enable_x64(True):
        distances(systems(n_systems)).block_until_ready()
    status = Path("/proc/self/status")
    if status.exists():  # where the other number includes the parent's
        line = next(x for x in status.read_text().splitlines() if "VmHWM" in x)
        return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def memory(limit=1024, n_systems=300, large=2000) -> bool:
    """Memory of a process of its own, and of the program for many systems."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        peak = pool.apply(peak_mebibytes, (n_systems,))
    met = peak < limit
    print(f"\nSGOT matrix, r = {RANK}, d = {DIM}, memory")
    print(
        f"  N = {n_systems}, whole process at its peak{peak:13.0f} MiB"
        f"    < {limit}  {'met' if met else 'MISSED'}"
    )
    one = systems(1)
    for n in (n_systems, large):
        shapes = jax.tree.map(
            lambda leaf, n=n: jax.ShapeDtypeStruct((n, *leaf.shape[1:]), leaf.dtype),
            one,
        )
        usage = distances.lower(shapes).compile().memory_analysis()
        assert usage is not None, "this backend does not tell its memory"
        parts = {
            "systems": usage.argument_size_in_bytes,
            "distances": usage.output_size_in_bytes,
            "beside": usage.temp_size_in_bytes,
        }
        text = ", ".join(f"{k} {v / 2**20:.1f} MiB" for k, v in parts.items())
        print(f"  N = {n}, program: {text}")
    return met


def main() -> bool:
    """Run every comparison of this file."""
    with jax.enable_x64(True):
        return all(
            [
                small_matrix("uniform", 3.0),
                small_matrix("given", None),
                large_matrix(5.0),
                growth(),
                memory(),
            ]
        )
