"""The sampler, against a solver of SciPy and the closed form of linear denoisers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jaxrepro.diffusion import karras_levels, probability_flow
from jaxrepro.rmt import discrete_sampler_factor, linear_sampling_map


def two_points(params, x, sigma):
    """The best denoiser of data that are +params or -params."""
    return params * jnp.tanh(params * x / sigma**2)


def shrink(variances, x, sigma):
    return variances / (variances + sigma**2) * x


@pytest.mark.parametrize(("sampler", "order"), [("euler", 1), ("heun", 2)])
def test_order_of_convergence(sampler, order):
    x = np.array([-3.0, -0.4, 0.2, 5.0])
    exact = solve_ivp(
        lambda s, x: (x - np.asarray(two_points(1.0, x, s))) / s,
        (4.0, 0.2),
        x,
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
    ).y[:, -1]
    errors = []
    for n in (60, 120, 240):
        sigmas = np.geomspace(4.0, 0.2, n + 1)
        found = probability_flow(1.0, x, sigmas, apply=two_points, sampler=sampler)
        errors.append(np.abs(found - exact).max())
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(rates, order, atol=0.25)


@pytest.mark.parametrize("sampler", ["euler", "heun"])
def test_linear_denoisers_have_factors(sampler):
    variances = np.array([4.0, 1.0, 0.1, 0.0])
    x = np.random.default_rng(0).normal(size=(3, 4)) * 80
    sigmas = karras_levels(18)
    found = probability_flow(
        jnp.asarray(variances), x, sigmas, apply=shrink, sampler=sampler
    )
    factor = discrete_sampler_factor(variances, sigmas, kind=sampler)
    np.testing.assert_allclose(found, factor * x, rtol=1e-12, atol=1e-13)
    mapped = linear_sampling_map(
        x, np.zeros(4), variances, np.eye(4),
        sigma_0=0.0, sigma_T=80.0, sampler=sampler, sigmas=sigmas,
    )  # fmt: skip
    np.testing.assert_allclose(found, mapped, rtol=1e-12, atol=1e-13)


def test_two_points_are_reached():
    x = 80 * np.random.default_rng(1).normal(size=50)
    found = probability_flow(0.5, x, karras_levels(18), apply=two_points)
    # Steps of finite size stop short of the last part of the way.
    np.testing.assert_allclose(found, 0.5 * np.sign(x), atol=0.02)


def test_derivatives_are_finite_with_a_last_level_of_zero():
    def end(x):
        return probability_flow(1.0, x, karras_levels(5), apply=two_points).sum()

    assert np.isfinite(jax.grad(end)(jnp.array([-3.0, 0.0, 3.0]))).all()


@pytest.mark.usefixtures("plain_errors")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sigmas": np.array([1.0, 2.0])}, ValueError, "sigmas: .*descending"),
        ({"sigmas": np.array([1.0, 1.0])}, ValueError, "sigmas: "),
        ({"sigmas": np.array([2.0, 0.0, -1.0])}, ValueError, "sigmas: "),
        ({"sigmas": np.array([1.0])}, ValueError, "sigmas: .*two"),
        ({"sampler": "rk4"}, ValueError, "sampler: "),
        ({"apply": "tanh"}, TypeError, "apply: "),
        ({"x": np.ones(2, complex)}, TypeError, "x: "),
        ({"x": np.ones(2, np.float16)}, TypeError, "x: "),
    ],
)
def test_errors(change, error, message):
    arguments = {"x": np.ones(2), "sigmas": np.array([2.0, 1.0]), "apply": two_points}
    arguments |= change
    with pytest.raises(error, match=message):
        probability_flow(1.0, **arguments)


def test_traced_levels_that_ascend_give_nan():
    flow = jax.jit(lambda s: probability_flow(1.0, jnp.ones(2), s, apply=two_points))
    assert np.isnan(flow(jnp.array([1.0, 2.0]))).all()
