"""Dynamical systems as operators, and distances between them.

Trajectories become windows (:func:`delay_embed`), windows an operator
(:func:`reduced_rank_regression`), the operator a measure on eigenvalues and
spectral projectors (:func:`spectral_atoms`), and measures are compared by
optimal transport (:func:`sgot`, :func:`sgot_pairwise`).
:func:`distance_matrix` makes all these steps in one call.
"""

from ._atoms import (
    KernelAtoms as KernelAtoms,
    SpectralAtoms as SpectralAtoms,
    biorthonormalize as biorthonormalize,
    spectral_atoms as spectral_atoms,
)
from ._barycenter import operator_barycenter as operator_barycenter
from ._clusters import AtomClusters as AtomClusters, cluster_atoms as cluster_atoms
from ._descent import BarycenterResult as BarycenterResult
from ._difference_pairwise import (
    hs_pairwise as hs_pairwise,
    operator_norm_pairwise as operator_norm_pairwise,
)
from ._distance_matrix import distance_matrix as distance_matrix
from ._dsa import DSAResult as DSAResult, dsa as dsa
from ._eigenvalue_distance import spectral_w2 as spectral_w2
from ._embedding import (
    SnapshotPairs as SnapshotPairs,
    delay_embed as delay_embed,
    snapshot_pairs as snapshot_pairs,
)
from ._feature_atoms import feature_atoms as feature_atoms
from ._feature_losses import (
    spectral_contrastive_loss as spectral_contrastive_loss,
    vamp2_loss as vamp2_loss,
)
from ._feature_map import (
    FeatureMap as FeatureMap,
    koopman_features as koopman_features,
)
from ._feature_training import (
    FeatureFit as FeatureFit,
    train_features as train_features,
)
from ._fit import (
    KernelOperatorFit as KernelOperatorFit,
    LinearOperatorFit as LinearOperatorFit,
)
from ._ground_cost import ground_cost as ground_cost
from ._hilbert_schmidt import hs_distance as hs_distance
from ._interpolate import interpolate as interpolate
from ._kernels import (
    GaussianKernel as GaussianKernel,
    LinearKernel as LinearKernel,
    MaternKernel as MaternKernel,
    PolynomialKernel as PolynomialKernel,
    median_lengthscale as median_lengthscale,
)
from ._knn import knn_predict as knn_predict, monte_carlo_cv as monte_carlo_cv
from ._martin import MartinResult as MartinResult, martin_distance as martin_distance
from ._mds import (
    classical_mds as classical_mds,
    distance_correlation as distance_correlation,
)
from ._measure_barycenter import measure_barycenter as measure_barycenter
from ._nystrom import (
    NystromFeatures as NystromFeatures,
    nystrom_features as nystrom_features,
    sample_centres as sample_centres,
)
from ._observability import (
    binet_cauchy_trace as binet_cauchy_trace,
    observability_angles as observability_angles,
)
from ._operator_norm import operator_norm_distance as operator_norm_distance
from ._overlap import overlap as overlap
from ._pairwise import sgot_pairwise as sgot_pairwise
from ._reconstruction import operator_from_atoms as operator_from_atoms
from ._regression import (
    principal_component_regression as principal_component_regression,
    reduced_rank_regression as reduced_rank_regression,
    ridge_regression as ridge_regression,
)
from ._sgot import (
    eta_heuristic as eta_heuristic,
    got as got,
    sgot as sgot,
    sot as sot,
)
from ._sgot_loss import sgot_loss as sgot_loss
from ._store import load_atoms as load_atoms, save_atoms as save_atoms
from ._trajectory import (
    sgot_from_trajectories as sgot_from_trajectories,
    sgot_from_trajectory as sgot_from_trajectory,
)

__all__ = [
    "AtomClusters",
    "BarycenterResult",
    "DSAResult",
    "FeatureFit",
    "FeatureMap",
    "GaussianKernel",
    "KernelAtoms",
    "KernelOperatorFit",
    "LinearKernel",
    "LinearOperatorFit",
    "MartinResult",
    "MaternKernel",
    "NystromFeatures",
    "PolynomialKernel",
    "SnapshotPairs",
    "SpectralAtoms",
    "binet_cauchy_trace",
    "biorthonormalize",
    "classical_mds",
    "cluster_atoms",
    "delay_embed",
    "distance_correlation",
    "distance_matrix",
    "dsa",
    "eta_heuristic",
    "feature_atoms",
    "got",
    "ground_cost",
    "hs_distance",
    "hs_pairwise",
    "interpolate",
    "knn_predict",
    "koopman_features",
    "load_atoms",
    "martin_distance",
    "measure_barycenter",
    "median_lengthscale",
    "monte_carlo_cv",
    "nystrom_features",
    "observability_angles",
    "operator_barycenter",
    "operator_from_atoms",
    "operator_norm_distance",
    "operator_norm_pairwise",
    "overlap",
    "principal_component_regression",
    "reduced_rank_regression",
    "ridge_regression",
    "sample_centres",
    "save_atoms",
    "sgot",
    "sgot_from_trajectories",
    "sgot_from_trajectory",
    "sgot_loss",
    "sgot_pairwise",
    "snapshot_pairs",
    "sot",
    "spectral_atoms",
    "spectral_contrastive_loss",
    "spectral_w2",
    "train_features",
    "vamp2_loss",
]
