import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jaxrepro.sweep import _bootstrap, bootstrap_ci

SAMPLE = np.random.default_rng(0).gamma(2.0, size=30)


def iqm(x, axis=-1):
    return scipy.stats.trim_mean(x, 0.25, axis=axis)


@pytest.mark.parametrize("m", [1, 3, 4, 30])
def test_interquartile_mean_equals_scipy(x64, m):
    value = bootstrap_ci(SAMPLE[:m], jax.random.key(0), n=1, statistic="iqm").value
    np.testing.assert_allclose(value, iqm(SAMPLE[:m]), rtol=1e-14)


@pytest.mark.parametrize(("statistic", "fn"), [("mean", np.mean), ("iqm", iqm)])
def test_interval_agrees_with_scipy(x64, statistic, fn):
    n, level = 10000, 0.9
    ours = bootstrap_ci(
        SAMPLE, jax.random.key(1), n=n, level=level, statistic=statistic
    )
    theirs = scipy.stats.bootstrap(
        (SAMPLE,),
        fn,
        n_resamples=n,
        confidence_level=level,
        method="percentile",
        random_state=0,
    )
    assert float(ours.value) == pytest.approx(fn(SAMPLE), rel=1e-12)
    # The quantile at p of n draws has the variance p (1 - p) / (n f^2), f the
    # density there, and we compare two such.
    draws = theirs.bootstrap_distribution
    spread, p = draws.std(), (1 - level) / 2
    density = scipy.stats.norm.pdf(scipy.stats.norm.ppf(p)) / spread
    error = np.sqrt(2 * p * (1 - p) / n) / density
    expected = theirs.confidence_interval
    assert abs(float(ours.low) - expected.low) < 5 * error
    assert abs(float(ours.high) - expected.high) < 5 * error
    assert 5 * error < 0.2 * spread  # the comparison means something


def test_large_samples_go_in_parts(monkeypatch):
    x, key = jnp.asarray(SAMPLE), jax.random.key(2)
    whole = bootstrap_ci(x, key, n=50)
    monkeypatch.setattr(_bootstrap, "_ELEMENTS", 7 * len(SAMPLE))
    np.testing.assert_allclose(bootstrap_ci(x, key, n=50), whole, rtol=1e-6)


def test_constant_sample():
    assert bootstrap_ci(jnp.full(5, 2.0), jax.random.key(0), n=10) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_nan_is_not_cut_off(statistic):
    x = jnp.array([1.0, 2.0, 3.0, jnp.nan])
    result = bootstrap_ci(x, jax.random.key(0), n=50, statistic=statistic)
    assert jnp.isnan(jnp.stack(result)).all()


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [(np.ones((2, 2)), {}, "x: expected shape"), (np.ones(0), {}, "x: expected")]
    + [(np.ones(2), {"n": 0}, "n: expected")]
    + [(np.ones(2), {"level": 1.0}, r"level: expected a value in \(0, 1\)")]
    + [(np.ones(2), {"statistic": "median"}, "statistic: expected one of 'mean'")],
)
def test_bad_arguments(plain_errors, x, options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_ci(x, jax.random.key(0), **options)


def test_traced_level_out_of_range():
    traced = jax.jit(
        lambda p: bootstrap_ci(jnp.arange(3.0), jax.random.key(0), level=p)
    )
    result = traced(1.0)
    assert result.value == 1.0
    assert jnp.isnan(result.low)
    assert jnp.isnan(result.high)
