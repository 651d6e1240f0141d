"""Optimal transport: exact, entropic, pairwise, and adapters to ott-jax."""

from ._emd import emd as emd, emd_value as emd_value, wasserstein as wasserstein
from ._problem import check_problem as check_problem
from ._result import OTResult as OTResult

__all__ = [
    "OTResult",
    "check_problem",
    "emd",
    "emd_value",
    "wasserstein",
]
