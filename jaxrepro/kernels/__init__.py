"""Kernels of infinitely wide residual networks, and regression with them."""

from ._arc_cosine import (
    kappa0 as kappa0,
    kappa1 as kappa1,
    kappa1_minus_rho as kappa1_minus_rho,
    theta_from_delta as theta_from_delta,
)
from ._delta import pairwise_delta as pairwise_delta
from ._limits import cusp_slope as cusp_slope, limit_dual as limit_dual
from ._mlp import PlainDual as PlainDual, mlp_ntk_dual as mlp_ntk_dual
from ._residual import (
    ResidualKernels as ResidualKernels,
    resnet_kernels as resnet_kernels,
    resnet_nngp as resnet_nngp,
    resnet_ntk as resnet_ntk,
)
from ._residual_dual import ResidualDual as ResidualDual, rntk_dual as rntk_dual
from ._schedules import branch_schedule as branch_schedule
from ._sphere import (
    gegenbauer as gegenbauer,
    multiplicity as multiplicity,
    sphere_eigenvalues as sphere_eigenvalues,
)

__all__ = [
    "PlainDual",
    "ResidualDual",
    "ResidualKernels",
    "branch_schedule",
    "cusp_slope",
    "gegenbauer",
    "kappa0",
    "kappa1",
    "kappa1_minus_rho",
    "limit_dual",
    "mlp_ntk_dual",
    "multiplicity",
    "pairwise_delta",
    "resnet_kernels",
    "resnet_nngp",
    "resnet_ntk",
    "rntk_dual",
    "sphere_eigenvalues",
    "theta_from_delta",
]
