"""What the process that :func:`jaxrepro.testing.selftest` starts does.

It writes one JSON object a line, each before the next check starts, so that the
reader knows which check a crash belongs to.
"""

import json
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

SIZES = (7, 49, 50, 64, 1000)
# Seconds for a computation of a few milliseconds.
PATIENCE = 30

# Function, oracle, ends of the argument, allowed error in units of the last
# place. Intervals keep clear of zeros of the function, where that unit vanishes.
ELEMENTWISE = {
    "exp": (jnp.exp, np.exp, -20, 20, 16),
    "expm1": (jnp.expm1, np.expm1, -5, 5, 16),
    "log": (jnp.log, np.log, 1e-3, 50, 16),
    "log1p": (jnp.log1p, np.log1p, -0.9, 9, 200),
    "sin": (jnp.sin, np.sin, -3, 3, 16),
    "cos": (jnp.cos, np.cos, -1.5, 1.5, 16),
    "tan": (jnp.tan, np.tan, -1.5, 1.5, 16),
    "arcsin": (jnp.arcsin, np.arcsin, -0.99, 0.99, 16),
    "arccos": (jnp.arccos, np.arccos, -0.99, 0.9, 16),
    "arctan": (jnp.arctan, np.arctan, -9, 9, 16),
    "sinh": (jnp.sinh, np.sinh, -5, 5, 16),
    "cosh": (jnp.cosh, np.cosh, -5, 5, 16),
    "tanh": (jnp.tanh, np.tanh, -5, 5, 16),
    "arcsinh": (jnp.arcsinh, np.arcsinh, -9, 9, 16),
    "arccosh": (jnp.arccosh, np.arccosh, 1.1, 9, 16),
    "arctanh": (jnp.arctanh, np.arctanh, -0.99, 0.99, 200),
    "sqrt": (jnp.sqrt, np.sqrt, 0, 9, 16),
    "rsqrt": (jax.lax.rsqrt, lambda x: 1 / np.sqrt(x), 0.1, 9, 16),
    "cbrt": (jnp.cbrt, np.cbrt, -9, 9, 16),
    "expit": (jax.nn.sigmoid, scipy.special.expit, -9, 9, 16),
    "erf": (jax.scipy.special.erf, scipy.special.erf, -4, 4, 16),
    "erfc": (jax.scipy.special.erfc, scipy.special.erfc, -4, 4, 64),
    "erfinv": (jax.scipy.special.erfinv, scipy.special.erfinv, -0.99, 0.99, 64),
    "ndtr": (jax.scipy.special.ndtr, scipy.special.ndtr, -4, 4, 64),
    "gammaln": (jax.scipy.special.gammaln, scipy.special.gammaln, 2.5, 40, 200),
    "digamma": (jax.scipy.special.digamma, scipy.special.digamma, 1.6, 40, 200),
    "i0e": (jax.scipy.special.i0e, scipy.special.i0e, -9, 9, 16),
}


def large_batch():
    """Squared norms of 16385 rows; jaxlib 0.10.2 gets the last one wrong."""
    n = 16385
    rows = np.zeros((n, 3))
    rows[:, 0] = np.arange(n)
    eye = jnp.eye(3)
    fn = jax.jit(lambda x: jax.vmap(lambda row: jnp.sum((eye @ row) ** 2))(x))
    got = np.asarray(fn(jnp.asarray(rows)))
    wrong = int(np.sum(got != np.arange(n, dtype=float) ** 2))
    return wrong == 0, f"{wrong} of {n} rows wrong, last value {got[-1]:.0f}"


def reduction():
    """Sum over a middle axis; jaxlib 0.10.2 ends the process."""
    a = jnp.ones((3, 1, 2, 2, 8, 8, 8), jnp.float32)
    got = jax.jit(lambda a, b: jnp.sum(a * b, axis=3))(a, a)
    return bool(np.all(np.asarray(got) == 2.0)), f"every sum is {got.ravel()[0]}"


def elementwise(name):
    """Largest error of one function over all sizes and both precisions."""
    fn, oracle, low, high, limit = ELEMENTWISE[name]
    every_size = jax.jit(lambda xs: [fn(x) for x in xs])
    worst: dict[str, float] = {}
    for dtype in map(np.dtype, ("float32", "float64")):
        info = np.finfo(dtype)
        xs = [np.linspace(low, high, n).astype(dtype) for n in SIZES]
        x, got = (np.concatenate(each, dtype=float) for each in (xs, every_size(xs)))
        want = oracle(x)
        error = np.abs(got - want) / (info.eps * np.maximum(abs(want), info.tiny))
        worst[dtype.name] = error.max()
    passed = all(error <= limit for error in worst.values())
    seen = ", ".join(f"{error:.1f} in {dtype}" for dtype, error in worst.items())
    return passed, f"largest error in units of the last place: {seen}; limit {limit}"


def concurrent_solves():
    """Batches of linear systems side by side; jaxlib 0.10 may wait for ever."""
    systems = np.eye(16) + np.random.default_rng(0).uniform(0, 1e-2, (300, 16, 16))
    solve = lambda a: jnp.linalg.solve(a, a).sum()
    fn = jax.jit(lambda a: [solve(a + shift) for shift in range(4)])

    def repeat():
        for _ in range(10):
            jax.block_until_ready(fn(systems))

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    ended = not thread.is_alive()
    return ended, "they end" if ended else f"not done after {PATIENCE} s"


CHECKS = {
    "large batch under jit and vmap": large_batch,
    "sum over a middle axis": reduction,
    **{name: (lambda name=name: elementwise(name)) for name in ELEMENTWISE},
    # The last one, since nothing can be computed after it where it fails.
    "several batches of linear systems at once": concurrent_solves,
}


def main(*names):
    """Run the named checks and write one line of JSON for each."""
    with jax.enable_x64(True):
        for name in names:
            try:
                passed, detail = CHECKS[name]()
            except Exception as error:
                passed, detail = False, f"{type(error).__name__}: {error}"
            result = {"name": name, "passed": bool(passed), "detail": detail}
            sys.stdout.write(json.dumps(result) + "\n")
            sys.stdout.flush()
