"""Contract cases of ``jaxrepro.core``."""

import jax
import jax.numpy as jnp

from jaxrepro import core
from jaxrepro.testing import Case


def normal(*shape):
    def make_args(key, dtype):
        return (jax.random.normal(key, shape, dtype),)

    return make_args


def complex_normal(*shape):
    def make_args(key, dtype):
        real, imaginary = jax.random.normal(key, (2, *shape), dtype)
        return (jax.lax.complex(real, imaginary),)

    return make_args


def with_absent_terms(key, dtype):
    x = jax.random.normal(key, (4, 5), dtype)
    return (x.at[1].set(-jnp.inf).at[2, 3].set(-jnp.inf),)


def with_zeros(key, dtype):
    x = jax.random.uniform(key, (6,), dtype, 0.5, 2.0)
    return (x.at[2].set(0.0),)


def quotient(key, dtype):
    numerator, denominator = jax.random.uniform(key, (2, 5), dtype, 0.5, 2.0)
    return numerator, denominator.at[1].set(0.0)


def factors(key, dtype):
    left, right = jax.random.split(key)
    return (
        jax.random.normal(left, (2, 3, 4), dtype),
        jax.random.normal(right, (2, 4, 5), dtype),
    )


def repeated_eigenvalues(key, dtype):
    q, _ = jnp.linalg.qr(jax.random.normal(key, (4, 4), dtype))
    return ((q * jnp.asarray([1.0, 1.0, 2.0, 3.0], dtype)[None, :]) @ q.T,)


def bracket(key, dtype):
    low, high = jnp.zeros((), dtype), jnp.full((), 9.0, dtype)
    return low, high, jax.random.uniform(key, (), dtype, 1.0, 8.0)


def without_bracket(key, dtype):
    _, high, target = bracket(key, dtype)
    return high, 2 * high, target


@jax.jit
def cube_root(low, high, target):
    return core.scalar_root(lambda u, c: u**3 - c, low, high, target)


def without_phase(pairs):
    projectors = jnp.einsum("ir,jr->rij", pairs.right, pairs.left.conj())
    return pairs.values, projectors


def without_sign(pairs):
    return pairs.values, jnp.einsum("ir,jr->rij", pairs.vectors, pairs.vectors.conj())


CASES = [
    Case(
        lambda x, w: core.promote_floating(x, None, w),
        lambda key, dtype: (*normal(3)(key, dtype), jnp.arange(2)),
        name="promote_floating",
    ),
    Case(core.safe_sqrt, normal(6)),
    Case(core.safe_sqrt, with_zeros, edge=True, name="safe_sqrt[zero]"),
    Case(core.safe_log, normal(6)),
    Case(core.safe_log, with_zeros, edge=True, name="safe_log[zero]"),
    Case(core.safe_divide, quotient, wrt=(0,)),
    Case(core.safe_divide, quotient, edge=True, name="safe_divide[zero]"),
    Case(core.safe_norm, normal(3, 4), static={"axis": 1, "keepdims": True}),
    Case(core.safe_norm, complex_normal(5), name="safe_norm[complex]"),
    Case(
        core.safe_norm,
        lambda key, dtype: (jnp.zeros((2, 3), dtype),),
        edge=True,
        name="safe_norm[zero]",
    ),
    Case(core.logsumexp, normal(3, 4), static={"axis": 0}),
    Case(
        core.logsumexp,
        with_absent_terms,
        static={"axis": 1},
        edge=True,
        name="logsumexp[absent]",
    ),
    Case(core.matmul, factors),
    Case(
        core.safe_eigh,
        normal(4, 4),
        traced={"gap_tol": 1e-6},
        differentiable=without_sign,
    ),
    Case(
        core.safe_eigh,
        complex_normal(3, 3),
        differentiable=without_sign,
        name="safe_eigh[complex]",
    ),
    Case(core.safe_eigh, repeated_eigenvalues, edge=True, name="safe_eigh[repeated]"),
    Case(
        core.eig_biorthogonal,
        normal(4, 4),
        traced={"gap_tol": 1e-6},
        platforms=("cuda",),
        differentiable=without_phase,
    ),
    Case(
        core.eig_biorthogonal,
        complex_normal(3, 3),
        platforms=("cuda",),
        differentiable=without_phase,
        name="eig_biorthogonal[complex]",
    ),
    # A function that takes a callable is checked inside a jitted one: a callable
    # made anew for every call could not be found in any cache.
    Case(cube_root, bracket, differentiable=("root",), name="scalar_root"),
    Case(
        cube_root,
        without_bracket,
        differentiable=("root",),
        edge=True,
        name="scalar_root[no sign change]",
    ),
    Case(
        lambda x: core.gauss_legendre(5, 0.0, 2.0, dtype=x.dtype),
        normal(),
        differentiable=False,
        name="gauss_legendre",
    ),
    Case(
        lambda x: core.gauss_hermite(5, dtype=x.dtype),
        normal(),
        differentiable=False,
        name="gauss_hermite",
    ),
]

ON_THE_HOST = "works on names, options and concrete values, and computes nothing"

EXEMPT = dict.fromkeys(
    [
        "bibtex_entries",
        "check_choice",
        "check_function",
        "check_integer",
        "check_interval",
        "check_key",
        "check_mesh",
        "check_nonempty",
        "check_precision",
        "check_real",
        "check_shape",
        "citations",
        "cite",
        "deprecated",
        "is_concrete",
        "paper",
        "replicate",
        "status_message",
    ],
    ON_THE_HOST,
)
