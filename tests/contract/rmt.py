"""Contract cases of ``jaxrepro.rmt``."""

import jax
import jax.numpy as jnp

from jaxrepro import rmt
from jaxrepro.testing import Case


def spectrum(dtype, d=6):
    return jnp.asarray([4.0, 2.0, 1.0, 0.5, 0.25, 0.1][:d], dtype)


def problem(key, dtype):
    """Shifts, numbers of samples, eigenvalues."""
    lam = jax.random.uniform(key, (3,), dtype, 0.1, 1.0)
    return lam, jnp.asarray([4.0, 9.0, 30.0], dtype), spectrum(dtype)


def no_shift(key, dtype):
    """No shift, up to, at and above the rank; an eigenvalue of zero."""
    n = jnp.asarray([2.0, 5.0, 9.0], dtype)
    return jnp.zeros(3, dtype), n, spectrum(dtype).at[-1].set(0)


def complex_problem(key, dtype):
    lam, n, eigs = problem(key, dtype)
    return jax.lax.complex(lam - 0.5, lam), n, eigs


def product_problem(key, dtype):
    lam, n, eigs = problem(key, dtype)
    return lam, n[1:], eigs


def isotropic(key, dtype):
    lam, n, _ = problem(key, dtype)
    return lam, n, jnp.full((), 6.0, dtype)


def resolution(key, dtype):
    kappa, _, eigs = problem(key, dtype)
    return kappa, eigs


def two_resolutions(key, dtype):
    kappa, eigs = resolution(key, dtype)
    return kappa, kappa[::-1], eigs


def pair_of_shifts(key, dtype):
    lam, n, eigs = problem(key, dtype)
    return lam, lam[::-1], n, eigs


def samples(key, dtype):
    return (jax.random.normal(key, (9, 6), dtype),)


def inputs(key, dtype):
    """Coordinates, noise level, number of samples, eigenvalues."""
    y = jax.random.normal(key, (2, 6), dtype)
    return y, jnp.asarray(0.4, dtype), jnp.asarray(9.0, dtype), spectrum(dtype)


def at_the_rank(key, dtype):
    """No noise, as many degrees of freedom as directions, one of them without data."""
    y, _, _, eigs = inputs(key, dtype)
    return y, jnp.zeros((), dtype), jnp.asarray(6.0, dtype), eigs.at[-1].set(0)


def inputs_with_data(key, dtype):
    y, sigma, n, eigs = inputs(key, dtype)
    z = jax.random.normal(jax.random.fold_in(key, 1), (20, 6), dtype)
    return y, jnp.sqrt(eigs)[None] * z, sigma, n, eigs


def denoising(key, dtype):
    _, *rest = inputs(key, dtype)
    return tuple(rest)


def gaussian(key, dtype):
    y, sigma, _, eigs = inputs(key, dtype)
    vectors, _ = jnp.linalg.qr(
        jax.random.normal(jax.random.fold_in(key, 2), (6, 6), dtype)
    )
    return y, sigma, y[0], eigs, vectors


def noise(key, dtype):
    y, _, n, eigs = inputs(key, dtype)
    return y, n, eigs


def sizes(key, dtype):
    return jnp.asarray([4.0, 9.0, 30.0], dtype), spectrum(dtype)


def size(key, dtype):
    return jnp.asarray(9.0, dtype), spectrum(dtype)


def two_sizes(key, dtype):
    n, eigs = sizes(key, dtype)
    return n, n[::-1], eigs


def points(key, dtype):
    x = jax.random.uniform(key, (3,), dtype, 0.5, 2.0)
    return x, jnp.asarray(9.0, dtype), spectrum(dtype)


def complex_points(key, dtype):
    x, n, eigs = points(key, dtype)
    return jax.lax.complex(x, x), n, eigs


def law(key, dtype):
    x, _, _ = points(key, dtype)
    return x, jnp.asarray(0.5, dtype)


def interval(key, dtype):
    return jnp.asarray(0.1, dtype), jnp.asarray(5.0, dtype)


def map_interval(key, dtype):
    numbers = (0.1, 25.0, 0.0, 5.0)
    return tuple(jnp.asarray(x, dtype) for x in numbers)


def modes_and_levels(key, dtype):
    return spectrum(dtype), jnp.asarray([5.0, 2.0, 0.5, 0.0], dtype)


def regression(key, dtype):
    lam, n, eigs = problem(key, dtype)
    return lam, n, eigs, jax.random.normal(key, (6,), dtype)


def monte_carlo(key, dtype):
    return jax.random.key(0), spectrum(dtype)


def root(s):
    return jnp.sqrt(s + jnp.ones_like(s))


def share_of_directions(key, dtype):
    return jnp.full(2, 0.3, dtype), spectrum(dtype)


def inverse_resolvent(covariance):
    return jnp.linalg.inv(covariance + jnp.eye(6, dtype=covariance.dtype))


@jax.jit
def function_mean(n, eigs):
    return rmt.spectral_function_mean(root, n, eigs, a=jnp.ones_like(n), num_nodes=12)


@jax.jit
def function_variance(coords, n, eigs):
    return rmt.spectral_function_variance(
        root, coords, n, eigs, a=jnp.ones_like(n), num_nodes=12
    )


def two_noises(key, dtype):
    y, n, eigs = noise(key, dtype)
    return y[0], y[1], n, eigs


def function_covariance(coords, other, n, eigs):
    return rmt.spectral_function_covariance(
        root, coords, n, eigs, a=jnp.ones_like(n), other=other, num_nodes=8
    )


def two_inputs(key, dtype):
    y, *rest = inputs(key, dtype)
    return y, y[::-1], *rest


NODES = {"num_nodes": 8}
CASES = [
    Case(rmt.df1, resolution),
    Case(rmt.df2, resolution),
    Case(rmt.df2_cross, two_resolutions),
    Case(rmt.solve_kappa, problem),
    Case(rmt.solve_kappa, no_shift, edge=True, name="solve_kappa[no shift]"),
    Case(
        rmt.solve_kappa,
        problem,
        static={"method": "table", "table_size": 32},
        name="solve_kappa[table]",
    ),
    Case(
        rmt.kappa_info,
        problem,
        differentiable=("kappa", "df1", "df2", "kappa_prime", "ratio"),
    ),
    Case(rmt.kappa_isotropic, isotropic, traced={"scale": 2.0}),
    Case(rmt.lam_from_kappa, problem),
    Case(rmt.solve_kappa_complex, complex_problem, differentiable=lambda r: r.kappa),
    Case(rmt.solve_kappa_product, product_problem),
    Case(
        lambda eigs, n: rmt.effective_population(eigs, n),
        lambda key, dtype: problem(key, dtype)[:0:-1],
        name="effective_population",
    ),
    Case(rmt.resolvent_mean, problem, static={"order": 1}),
    Case(rmt.resolvent_kernel, pair_of_shifts),
    Case(rmt.fit_gaussian, samples, differentiable=("mean", "eigs")),
    Case(rmt.linear_denoiser, gaussian),
    Case(rmt.denoiser_gain, denoising, static={"order": 1}),
    Case(rmt.denoiser_variance, inputs, static={"reduce": "modes"}),
    Case(
        rmt.denoiser_variance, at_the_rank, edge=True, name="denoiser_variance[at rank]"
    ),
    Case(rmt.denoiser_covariance, inputs),
    Case(
        lambda y, other, *rest: rmt.denoiser_covariance(y, *rest, other=other),
        two_inputs,
        name="denoiser_covariance[two inputs]",
    ),
    Case(rmt.denoiser_variance_moments, inputs_with_data),
    Case(
        lambda key, eigs: rmt.mc_moments(key, inverse_resolvent, 4, eigs, trials=3),
        monte_carlo,
        name="mc_moments",
        key_argument=0,
        differentiable=("mean",),
        wrt=(1,),
    ),
    Case(rmt.dsm_losses, denoising, traced={"rho": 0.1}),
    Case(rmt.logdet_equivalent, problem, static={"order": 1}),
    Case(rmt.gaussian_kl_equivalent, problem, static={"order": 1}),
    Case(
        rmt.gaussian_kl_equivalent,
        problem,
        static={"direction": "reverse"},
        name="gaussian_kl_equivalent[reverse]",
    ),
    Case(rmt.support_edges, sizes),
    Case(rmt.stieltjes, complex_points),
    Case(rmt.spectral_density, points, tol32=1e-2),
    Case(
        rmt.s_transform, lambda key, dtype: (jnp.full(2, 0.3, dtype), spectrum(dtype))
    ),
    Case(rmt.marchenko_pastur_pdf, law, traced={"scale": 2.0}),
    Case(rmt.marchenko_pastur_cdf, law, traced={"scale": 2.0}),
    Case(rmt.marchenko_pastur_support, lambda key, dtype: law(key, dtype)[1:]),
    Case(rmt.marchenko_pastur_atom, lambda key, dtype: (jnp.asarray(2.0, dtype),)),
    Case(rmt.ridge_curves, regression, traced={"noise_var": 0.3}),
    Case(rmt.sqrt_quadrature, interval, static={"n_nodes": 5}),
    Case(rmt.sampling_quadrature, map_interval, static={"n_nodes": 5}),
    Case(rmt.contour_quadrature, interval, static={"n_nodes": 5}),
    Case(
        rmt.sampling_gain,
        sizes,
        traced={"sigma_0": 0.1, "sigma_T": 5.0},
        static=NODES | {"order": 1},
    ),
    Case(rmt.sampling_second_moment, sizes, traced={"sigma_0": 0.1, "sigma_T": 5.0}),
    Case(rmt.consistency_coefficient, sizes, static={"num_nodes": 24}),
    Case(
        rmt.sampling_variance,
        noise,
        traced={"sigma_0": 0.1, "sigma_T": 5.0},
        static=NODES,
    ),
    Case(
        lambda y, other, n, eigs: rmt.sampling_covariance(
            y, n, eigs, other=other, **NODES
        ),
        two_noises,
        name="sampling_covariance",
    ),
    Case(function_covariance, two_noises, name="spectral_function_covariance"),
    Case(rmt.sampling_variance_seed_average, size, static={"num_nodes": 24}),
    # The last step is another where the level is 0.
    Case(rmt.discrete_sampler_factor, modes_and_levels, wrt=(0,)),
    Case(
        lambda x, sigma, *fit: rmt.linear_sampling_map(
            x, *fit, sigma_0=sigma, sigma_T=5 * sigma
        ),
        gaussian,
        name="linear_sampling_map",
    ),
    Case(function_mean, size, name="spectral_function_mean"),
    Case(function_variance, noise, name="spectral_function_variance"),
    Case(rmt.bures_equivalent, sizes, static={"num_nodes": 24}),
    Case(rmt.bures_cross_split, two_sizes),
    Case(
        lambda coords, sigma, n, eigs: rmt.denoiser_cross_split(
            coords, sigma, n, 2 * n, eigs
        ),
        inputs,
        name="denoiser_cross_split",
    ),
    Case(
        lambda n, eigs: rmt.sampling_cross_split(None, n, 2 * n, eigs, num_nodes=24),
        size,
        name="sampling_cross_split",
    ),
]
EXEMPT = {
    "estimate_spectrum": "on the host: non-negative least squares of SciPy",
    "plan_samples": "on the host: bisection over whole numbers",
}
# Larger programs, made of parts that other cases execute.
SLOW = {
    "bures_cross_split",
    "bures_equivalent",
    "consistency_coefficient",
    "denoiser_covariance[two inputs]",
    "denoiser_cross_split",
    "denoiser_variance[at rank]",
    "denoiser_variance_moments",
    "gaussian_kl_equivalent[reverse]",
    "resolvent_kernel",
    "sampling_cross_split",
    "sampling_quadrature",
    "sampling_covariance",
    "sampling_variance",
    "sampling_variance_seed_average",
    "solve_kappa[table]",
    "spectral_density",
    "spectral_function_covariance",
    "spectral_function_variance",
    "stieltjes",
}
