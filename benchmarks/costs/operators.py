"""Calls of ``jaxrepro.operators``."""

from functools import partial

import jax
import jax.numpy as jnp

from benchmarks.costs import array
from jaxrepro import operators as op

_KERNEL = op.GaussianKernel(1.0)
_KEY = jax.eval_shape(lambda: jax.random.key(0))
_PAIRS = (array(400, 60), array(400, 60))
_RECORDINGS = ([array(200, 6)] * 8, array())
_OPTIONS = {"gamma": 1e-3, "n_delays": 10, "rank": 8}


def _of(fn, *args, **options):
    """Shapes of a result, as arguments of the next call."""
    return jax.eval_shape(partial(fn, **options), *args)


_FIT = _of(op.reduced_rank_regression, *_PAIRS, gamma=1e-3, rank=10)
_KERNEL_FIT = _of(
    op.reduced_rank_regression, *_PAIRS, gamma=1e-3, rank=10, kernel=_KERNEL
)
_SYSTEMS = _of(
    jax.vmap(partial(op.spectral_atoms, rank=10)), array(50, 24, 24), array(50)
)
_KERNEL_SYSTEMS = _of(
    op.sgot_from_trajectories, *_RECORDINGS, **_OPTIONS, kernel=_KERNEL
)

CALLS = {
    "ridge_regression": (partial(op.ridge_regression, gamma=1e-3), _PAIRS),
    "principal_component_regression": (
        partial(op.principal_component_regression, gamma=1e-3, rank=10),
        _PAIRS,
    ),
    "reduced_rank_regression": (
        partial(op.reduced_rank_regression, gamma=1e-3, rank=10),
        _PAIRS,
    ),
    "reduced_rank_regression, kernel": (
        partial(op.reduced_rank_regression, gamma=1e-3, rank=10, kernel=_KERNEL),
        _PAIRS,
    ),
    "spectral_atoms": (op.spectral_atoms, (_FIT, array())),
    "spectral_atoms, kernel": (
        partial(op.spectral_atoms, kernel=_KERNEL),
        (_KERNEL_FIT, array()),
    ),
    "distance_matrix": (partial(op.distance_matrix, eta=0.2, **_OPTIONS), _RECORDINGS),
    "sgot_pairwise": (partial(op.sgot_pairwise, eta=0.2), (_SYSTEMS,)),
    "sgot_pairwise, kernel": (
        partial(op.sgot_pairwise, eta=0.2, kernel=_KERNEL),
        (_KERNEL_SYSTEMS,),
    ),
    "hs_distance, kernel": (
        partial(op.hs_distance, kernel=_KERNEL),
        (_KERNEL_FIT, _KERNEL_FIT),
    ),
    "operator_norm_distance, kernel": (
        partial(op.operator_norm_distance, kernel=_KERNEL),
        (_KERNEL_FIT, _KERNEL_FIT),
    ),
    "hs_pairwise, kernel": (
        partial(op.hs_pairwise, dt=1.0, kernel=_KERNEL),
        (_KERNEL_SYSTEMS,),
    ),
    "operator_norm_pairwise, kernel": (
        partial(op.operator_norm_pairwise, dt=1.0, kernel=_KERNEL),
        (_KERNEL_SYSTEMS,),
    ),
    "operator_barycenter": (partial(op.operator_barycenter, eta=0.2), (_SYSTEMS,)),
    "measure_barycenter": (partial(op.measure_barycenter, eta=0.2), (_SYSTEMS,)),
    "dsa": (op.dsa, (_KEY, array(16, 16), array(16, 16))),
    "monte_carlo_cv": (
        op.monte_carlo_cv,
        (_KEY, array(100, 100), array(100, dtype=jnp.int32)),
    ),
    "classical_mds": (op.classical_mds, (array(100, 100),)),
}
