"""Optimal transport: exact, entropic, pairwise, and adapters to ott-jax."""

from ._assignment import (
    AssignmentResult as AssignmentResult,
    PrototypeUsage as PrototypeUsage,
    balanced_assignment as balanced_assignment,
    prototype_usage as prototype_usage,
    softmax_assignment as softmax_assignment,
)
from ._divergence import sinkhorn_divergence as sinkhorn_divergence
from ._emd import emd as emd, emd_value as emd_value, wasserstein as wasserstein
from ._gromov import (
    GromovResult as GromovResult,
    gromov_wasserstein as gromov_wasserstein,
)
from ._low_rank import (
    LowRankResult as LowRankResult,
    low_rank_sinkhorn as low_rank_sinkhorn,
)
from ._pairwise import pairwise as pairwise
from ._plan import sinkhorn_plan as sinkhorn_plan
from ._point_cloud import (
    PointCloudResult as PointCloudResult,
    point_cloud_sinkhorn as point_cloud_sinkhorn,
)
from ._problem import check_problem as check_problem
from ._result import OTResult as OTResult
from ._scale import scale_eps as scale_eps
from ._sinkhorn import SinkhornResult as SinkhornResult, sinkhorn as sinkhorn

__all__ = [
    "AssignmentResult",
    "GromovResult",
    "LowRankResult",
    "OTResult",
    "PointCloudResult",
    "PrototypeUsage",
    "SinkhornResult",
    "balanced_assignment",
    "check_problem",
    "emd",
    "emd_value",
    "gromov_wasserstein",
    "low_rank_sinkhorn",
    "pairwise",
    "point_cloud_sinkhorn",
    "prototype_usage",
    "scale_eps",
    "sinkhorn",
    "sinkhorn_divergence",
    "sinkhorn_plan",
    "softmax_assignment",
    "wasserstein",
]
