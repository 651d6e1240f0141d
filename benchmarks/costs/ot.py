"""Calls of ``jaxrepro.ot``."""

from functools import partial

import jax

from benchmarks.costs import array
from jaxrepro import ot

_WEIGHTED = (array(16, 16), array(16), array(16))
_CLOUDS = (array(512, 3), array(384, 3))
_KEY = jax.eval_shape(lambda: jax.random.key(0))


def _gradient(cost, a, b):
    return jax.grad(lambda c: ot.sinkhorn(c, a, b, eps=0.1).reg_value)(cost)


def _manhattan(x, y):
    return abs(x - y).sum()


CALLS = {
    "emd": (ot.emd, _WEIGHTED),
    "emd, batch of 256": (
        jax.vmap(ot.emd_value),
        tuple(array(256, *x.shape) for x in _WEIGHTED),
    ),
    "emd, assignments": (jax.vmap(ot.emd_value), (array(256, 16, 16),)),
    "sinkhorn": (partial(ot.sinkhorn, eps=0.1), _WEIGHTED),
    "sinkhorn, gradient": (_gradient, _WEIGHTED),
    "sinkhorn_divergence": (
        partial(ot.sinkhorn_divergence, eps=0.1),
        (array(16, 12), array(16, 16), array(12, 12)),
    ),
    "point_cloud_sinkhorn": (
        partial(ot.point_cloud_sinkhorn, eps=0.1, block=64),
        _CLOUDS,
    ),
    "low_rank_sinkhorn": (
        partial(ot.low_rank_sinkhorn, rank=8, eps=0.01),
        (_KEY, *_CLOUDS),
    ),
    "gromov_wasserstein": (
        partial(ot.gromov_wasserstein, eps=0.5),
        (array(24, 24), array(20, 20)),
    ),
    "balanced_assignment": (ot.balanced_assignment, (array(256, 32), array(16, 32))),
    "pairwise": (partial(ot.pairwise, _manhattan, block=64), (array(100, 8),)),
}
