"""Random-matrix theory of sample covariances and of linear diffusion models."""

from ._bures import (
    bures_cross_split as bures_cross_split,
    bures_equivalent as bures_equivalent,
)
from ._cross_split import (
    denoiser_cross_split as denoiser_cross_split,
    sampling_cross_split as sampling_cross_split,
)
from ._degrees import df1 as df1, df2 as df2, df2_cross as df2_cross
from ._denoiser import (
    GaussianFit as GaussianFit,
    denoiser_gain as denoiser_gain,
    fit_gaussian as fit_gaussian,
    linear_denoiser as linear_denoiser,
)
from ._denoiser_variance import (
    DiagPlusRank1 as DiagPlusRank1,
    denoiser_covariance as denoiser_covariance,
    denoiser_variance as denoiser_variance,
    denoiser_variance_moments as denoiser_variance_moments,
)
from ._density import (
    s_transform as s_transform,
    spectral_density as spectral_density,
    stieltjes as stieltjes,
)
from ._divergences import (
    gaussian_kl_equivalent as gaussian_kl_equivalent,
    logdet_equivalent as logdet_equivalent,
)
from ._edges import (
    Edges as Edges,
    support_edges as support_edges,
)
from ._equivalents import (
    resolvent_kernel as resolvent_kernel,
    resolvent_mean as resolvent_mean,
)
from ._estimate import (
    SpectrumEstimate as SpectrumEstimate,
    estimate_spectrum as estimate_spectrum,
)
from ._kappa import (
    KappaInfo as KappaInfo,
    kappa_info as kappa_info,
    solve_kappa as solve_kappa,
)
from ._kappa_closed import (
    kappa_isotropic as kappa_isotropic,
    lam_from_kappa as lam_from_kappa,
)
from ._kappa_complex import (
    ComplexKappa as ComplexKappa,
    solve_kappa_complex as solve_kappa_complex,
)
from ._kappa_product import solve_kappa_product as solve_kappa_product
from ._losses import (
    DenoisingLosses as DenoisingLosses,
    dsm_losses as dsm_losses,
)
from ._marchenko_pastur import (
    marchenko_pastur_atom as marchenko_pastur_atom,
    marchenko_pastur_cdf as marchenko_pastur_cdf,
    marchenko_pastur_pdf as marchenko_pastur_pdf,
    marchenko_pastur_support as marchenko_pastur_support,
)
from ._monte_carlo import (
    MonteCarloMoments as MonteCarloMoments,
    mc_moments as mc_moments,
)
from ._plan import (
    SamplePlan as SamplePlan,
    plan_samples as plan_samples,
)
from ._population import (
    Population as Population,
    effective_population as effective_population,
)
from ._quadrature import (
    contour_quadrature as contour_quadrature,
    sampling_quadrature as sampling_quadrature,
    sqrt_quadrature as sqrt_quadrature,
)
from ._ridge import (
    RidgeCurves as RidgeCurves,
    ridge_curves as ridge_curves,
)
from ._sampling import (
    consistency_coefficient as consistency_coefficient,
    sampling_gain as sampling_gain,
    sampling_second_moment as sampling_second_moment,
)
from ._sampling_covariance import sampling_covariance as sampling_covariance
from ._sampling_map import (
    discrete_sampler_factor as discrete_sampler_factor,
    linear_sampling_map as linear_sampling_map,
)
from ._sampling_variance import (
    sampling_variance as sampling_variance,
    sampling_variance_seed_average as sampling_variance_seed_average,
)
from ._spectral_function import (
    spectral_function_covariance as spectral_function_covariance,
    spectral_function_mean as spectral_function_mean,
    spectral_function_variance as spectral_function_variance,
)

__all__ = [
    "ComplexKappa",
    "DenoisingLosses",
    "DiagPlusRank1",
    "Edges",
    "GaussianFit",
    "KappaInfo",
    "MonteCarloMoments",
    "Population",
    "RidgeCurves",
    "SamplePlan",
    "SpectrumEstimate",
    "bures_cross_split",
    "bures_equivalent",
    "consistency_coefficient",
    "contour_quadrature",
    "denoiser_covariance",
    "denoiser_cross_split",
    "denoiser_gain",
    "denoiser_variance",
    "denoiser_variance_moments",
    "df1",
    "df2",
    "df2_cross",
    "discrete_sampler_factor",
    "dsm_losses",
    "effective_population",
    "estimate_spectrum",
    "fit_gaussian",
    "gaussian_kl_equivalent",
    "kappa_info",
    "kappa_isotropic",
    "lam_from_kappa",
    "linear_denoiser",
    "linear_sampling_map",
    "logdet_equivalent",
    "marchenko_pastur_atom",
    "marchenko_pastur_cdf",
    "marchenko_pastur_pdf",
    "marchenko_pastur_support",
    "mc_moments",
    "plan_samples",
    "resolvent_kernel",
    "resolvent_mean",
    "ridge_curves",
    "s_transform",
    "sampling_covariance",
    "sampling_cross_split",
    "sampling_gain",
    "sampling_quadrature",
    "sampling_second_moment",
    "sampling_variance",
    "sampling_variance_seed_average",
    "solve_kappa",
    "solve_kappa_complex",
    "solve_kappa_product",
    "spectral_density",
    "spectral_function_covariance",
    "spectral_function_mean",
    "spectral_function_variance",
    "sqrt_quadrature",
    "stieltjes",
    "support_edges",
]
