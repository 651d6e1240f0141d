import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import (
    GaussianKernel,
    KernelAtoms,
    KernelOperatorFit,
    sgot,
    sgot_pairwise,
    spectral_atoms,
)

pytestmark = pytest.mark.usefixtures("x64")


def stack(atoms):
    return jax.tree.map(lambda *z: jnp.stack(z), *atoms)


def loop(one, two, **options):
    return np.array([[sgot(a, b, **options) for b in two] for a in one])


@pytest.fixture
def systems(stable_matrices):
    return [spectral_atoms(a, 0.5) for a in stable_matrices(7, 4)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"convention": "pot", "kind": "geodesic", "p": 2, "scaling": (1.0, 0.2)},
        pytest.param(
            {"solver": "sinkhorn", "eps": 0.1, "n_iter": 50}, marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_equals_a_loop(systems, options):
    one, two = systems[:4], systems[4:]
    got = sgot_pairwise(stack(one), stack(two), eta=0.3, **options)
    expected = loop(one, two, eta=0.3, **options)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    if not options:
        square = sgot_pairwise(stack(systems), eta=0.3)
        np.testing.assert_array_equal(jnp.diag(square), 0)
        np.testing.assert_array_equal(square, square.T)
        np.testing.assert_allclose(square[:4, 4:], expected, atol=1e-12)


@pytest.mark.parametrize("block", [1, 4, 21, 1000])
def test_block_does_not_matter(systems, block):
    batch = stack(systems)
    expected = sgot_pairwise(batch, eta=0.3)
    got = sgot_pairwise(batch, eta=0.3, block=block)
    np.testing.assert_allclose(got, expected, atol=1e-13)


def test_equal_weights_use_assignment(systems):
    batch = stack(systems)
    weighted = sgot_pairwise(batch, eta=0.3)
    plain = sgot_pairwise(batch._replace(weight=None), eta=0.3)
    np.testing.assert_allclose(plain, weighted, atol=1e-12)
    program = jax.make_jaxpr(lambda b: sgot_pairwise(b, eta=0.3))
    # The simplex carries its basis as unsigned bitsets; the assignment has none.
    assert "u32" in str(program(batch))
    assert "u32" not in str(program(batch._replace(weight=None)))


def test_padded_systems(systems, stable_matrices):
    small = [spectral_atoms(a, 0.5, rank=2) for a in stable_matrices(3, 4, seed=9)]

    def pad(z):
        width = [(0, 0)] * (z.ndim - 1) + [(0, 2)]
        return jnp.pad(z, width, constant_values=jnp.nan)

    padded = [
        a._replace(
            lam=pad(a.lam), right=pad(a.right), left=pad(a.left),
            weight=jnp.pad(a.weight, (0, 2)),
        )
        for a in small
    ]  # fmt: skip
    got = sgot_pairwise(stack(padded), stack(systems), eta=0.3)
    expected = loop(small, systems, eta=0.3)
    np.testing.assert_allclose(got, expected, atol=1e-12)

    def total(batch):
        return jnp.sum(sgot_pairwise(batch, stack(systems), eta=0.3))

    for g in jax.tree.leaves(jax.grad(total)(stack(padded))):
        assert np.all(np.isfinite(g))


def kernel_systems(n_systems=4, n=9, d=3, r=3):
    kernel, atoms = GaussianKernel(2.0), []
    for seed in range(n_systems):
        rng = np.random.default_rng(seed)
        u, v = rng.normal(size=(2, n, r))
        x, y = rng.normal(size=(2, n, d))
        mask = np.arange(n) < n - seed  # every system has its own length
        for z in (u, v, x, y):
            z[~mask] = np.nan
        fields = map(jnp.array, (u, v, x, y, mask, np.ones(r)))
        fit = KernelOperatorFit(*fields)
        atoms.append(spectral_atoms(fit, 0.5, kernel=kernel, mag_floor=0.0))
    return kernel, atoms


@pytest.mark.slow
def test_kernel_systems_of_unequal_length():
    kernel, atoms = kernel_systems()
    batch = stack(atoms)
    assert isinstance(batch, KernelAtoms)
    got = sgot_pairwise(batch, eta=0.3, kernel=kernel, block=4)
    expected = loop(atoms, atoms, eta=0.3, kernel=kernel)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_array_equal(got, sgot_pairwise(batch, eta=0.3, kernel=kernel))


@pytest.mark.slow
def test_derivative_in_the_systems(systems):
    batch, other = stack(systems[:2]), stack(systems[2:4])

    def total(lam):
        return jnp.sum(sgot_pairwise(batch._replace(lam=lam), other, eta=0.3) ** 2)

    def by_loop(lam):
        one = [a._replace(lam=z) for a, z in zip(systems[:2], lam)]
        pairs = [(a, b) for a in one for b in systems[2:4]]
        return sum(sgot(a, b, eta=0.3) ** 2 for a, b in pairs)

    np.testing.assert_allclose(
        jax.grad(total)(batch.lam), jax.grad(by_loop)(batch.lam), atol=1e-12
    )


def test_hyperparameters_trace_once(systems):
    batch, n_traces = stack(systems), 0

    @jax.jit
    def matrix(eta):
        nonlocal n_traces
        n_traces += 1
        return sgot_pairwise(batch, eta=eta)

    both = jax.vmap(matrix)(jnp.array([0.2, 0.7]))
    np.testing.assert_allclose(both[1], matrix(0.7), atol=1e-12)
    assert np.all(np.isnan(matrix(1.5)))
    assert n_traces <= 2  # once under vmap, once without


def test_memory_grows_with_the_block_and_not_with_the_batch(systems):
    def temporary(n, block):
        batch = stack((systems * 40)[:n])
        run = jax.jit(lambda b: sgot_pairwise(b, batch, eta=0.3, block=block))
        compiled = run.lower(batch).compile()
        return compiled.memory_analysis().temp_size_in_bytes - 8 * 2 * n**2

    small, large, wide = temporary(60, 256), temporary(240, 256), temporary(60, 1024)
    assert large < 1.5 * small
    assert wide > 2 * small


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named(systems):
    batch = stack(systems)
    _, kernel_atoms = kernel_systems()
    with pytest.raises(TypeError, match="batch2: expected SpectralAtoms, as batch1 is"):
        sgot_pairwise(batch, stack(kernel_atoms), eta=0.3, kernel=GaussianKernel(1.0))
    with pytest.raises(ValueError, match="kernel: expected the kernel"):
        sgot_pairwise(stack(kernel_atoms), eta=0.3)
    with pytest.raises(ValueError, match=r"batch1.lam: expected shape \(N, r\); got"):
        sgot_pairwise(systems[0], eta=0.3)
    empty = jax.tree.map(lambda z: z[:0], batch)
    with pytest.raises(ValueError, match="batch1.lam: expected at least one element"):
        sgot_pairwise(empty, eta=0.3)
    with pytest.raises(ValueError, match="block: expected an integer >= 1; got 0"):
        sgot_pairwise(batch, eta=0.3, block=0)
    with pytest.raises(ValueError, match=r"eta: expected a value in \[0, 1\]; got 2"):
        sgot_pairwise(batch, eta=2)
    wide = batch._replace(
        right=jnp.concatenate([batch.right, batch.right], axis=1),
        left=jnp.concatenate([batch.left, batch.left], axis=1),
    )
    with pytest.raises(ValueError, match="batch2: expected features of dimension 4"):
        sgot_pairwise(batch, wide, eta=0.3)
