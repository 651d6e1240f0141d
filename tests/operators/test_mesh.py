"""Matrices of distances on four devices: the same as on one."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxrepro import operators, ot

jax.config.update("jax_enable_x64", True)
assert jax.device_count() == 4
line = jax.make_mesh((4,), ("devices",))
grid = Mesh(np.array(jax.devices()).reshape(2, 2), ("rows", "columns"))
rng = np.random.default_rng(0)
xs, ys = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))  # 21 and 35 pairs


def distance(x, y):  # a loop that starts from what belongs to no device
    return jax.lax.fori_loop(0, 3, lambda i, s: s + jnp.abs(x[i] - y[i]) ** 3, 0.0)


def total(scale, xs, weights, mesh, other):
    fn = lambda x, y: scale * distance(x, y)
    return jnp.sum(weights * ot.pairwise(fn, xs, other, block=2, mesh=mesh))


for other in (None, ys):
    second = xs if other is None else other
    expected = np.sum(np.abs(xs[:, None] - second[None]) ** 3, axis=2)
    on_device = jax.device_put(xs, jax.devices()[1])
    for mesh, data in ((line, xs), (grid, on_device)):
        got = ot.pairwise(distance, data, other, block=2, mesh=mesh)
        assert got.sharding.is_fully_replicated
        assert got.sharding.device_set == set(jax.devices())
        np.testing.assert_allclose(got, expected, atol=1e-13)
    weights = rng.normal(size=expected.shape)
    gradient = jax.jit(jax.grad(total, (0, 1)), static_argnums=3)
    got, whole = (gradient(2.0, xs, weights, mesh, other) for mesh in (grid, None))
    for g, w in zip(got, whole):
        np.testing.assert_allclose(g, w, atol=1e-12)

sharded = jax.device_put(np.ones((8, 3)), NamedSharding(line, PartitionSpec("devices")))
with jax.set_mesh(line):
    assert not np.any(ot.pairwise(distance, sharded, mesh=line))

shapes = (5, 2), (5, 3, 2), (5, 3, 2)
fields = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in shapes)
atoms = operators.SpectralAtoms(*map(jnp.array, fields))
for distances, options in (
    (operators.sgot_pairwise, {"eta": 0.3}),
    (operators.hs_pairwise, {"dt": jnp.linspace(0.1, 0.5, 5)}),
):
    got, whole = (distances(atoms, mesh=mesh, **options) for mesh in (line, None))
    np.testing.assert_allclose(got, whole, atol=1e-13)
print("equal")
"""


@pytest.mark.distributed
def test_four_devices_equal_one():
    flags = "--xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "equal\n"
