import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh

from jaxrepro.core import check_mesh, replicate


def test_axes_become_automatic_outside_a_mesh_in_force():
    explicit = jax.make_mesh((1,), ("a",), axis_types=(AxisType.Explicit,))
    mesh = check_mesh("mesh", explicit)
    assert isinstance(mesh, Mesh)
    assert mesh.axis_types == (AxisType.Auto,)
    assert mesh.shape == explicit.shape
    with jax.set_mesh(explicit):
        assert check_mesh("mesh", explicit) is explicit
    assert check_mesh("mesh", None) is None


def test_arrays_are_copied_and_other_leaves_kept():
    mesh = check_mesh("mesh", jax.make_mesh((1,), ("a",)))
    tree = {"x": jnp.arange(2.0), "n": np.arange(3), "f": abs, "none": None, "one": 1.0}
    copy = replicate(tree, mesh)
    assert copy["x"].sharding.mesh == copy["n"].sharding.mesh == mesh
    np.testing.assert_array_equal(copy["n"], np.arange(3))
    assert (copy["f"], copy["none"], copy["one"]) == (abs, None, 1.0)
    assert replicate(tree, None) is tree


def test_errors():
    with pytest.raises(TypeError, match=r"mesh: expected a jax.sharding.Mesh or None"):
        check_mesh("mesh", 4)
    with pytest.raises(ValueError, match="mesh: expected at least one axis; got Mesh"):
        check_mesh("mesh", Mesh(np.array(jax.devices()[0]), ()))
