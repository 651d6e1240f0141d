"""Meshes of devices: which are accepted, and data on all of their devices."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree


def check_mesh(name: str, mesh) -> Mesh | None:
    """Return a mesh whose axes the compiler may use as it likes, or raise.

    Parameters
    ----------
    name : str
        Name of the argument.
    mesh : jax.sharding.Mesh or None
        The mesh that was given. None means a single device.

    Returns
    -------
    jax.sharding.Mesh or None
        The same devices under the same names of axes. Explicit axes, which
        :func:`jax.make_mesh` makes, become automatic ones, unless the call is
        within :func:`jax.set_mesh`, where the mesh in force must be used as it is.

    Raises
    ------
    TypeError
        If ``mesh`` is no mesh of devices.
    ValueError
        If it has no axis.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import check_mesh
    >>> check_mesh("mesh", jax.make_mesh((1,), ("devices",))).shape
    OrderedDict({'devices': 1})
    >>> check_mesh("mesh", 4)
    Traceback (most recent call last):
    ...
    TypeError: mesh: expected a jax.sharding.Mesh or None; got int
    """
    if mesh is None:
        return None
    if not isinstance(mesh, Mesh):
        raise TypeError(
            f"{name}: expected a jax.sharding.Mesh or None; got {type(mesh).__name__}"
        )
    if not mesh.axis_names:
        raise ValueError(f"{name}: expected at least one axis; got {mesh}")
    if not jax.sharding.get_abstract_mesh().empty:
        return mesh
    return Mesh(mesh.devices, mesh.axis_names)


def replicate(tree: PyTree, mesh: Mesh | None) -> PyTree:
    """Copy the arrays of a pytree to every device of a mesh.

    Parameters
    ----------
    tree : pytree
        Anything; leaves that are no arrays stay as they are.
    mesh : jax.sharding.Mesh or None
        From :func:`check_mesh`; None returns ``tree``.

    Returns
    -------
    pytree
        The same values. Under ``jit`` this tells the compiler where to keep them.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jaxrepro.core import check_mesh, replicate
    >>> mesh = check_mesh("mesh", jax.make_mesh((1,), ("devices",)))
    >>> replicate(jnp.arange(3), mesh).is_fully_replicated
    True
    """
    if mesh is None:
        return tree
    sharding = NamedSharding(mesh, PartitionSpec())

    def put(leaf):
        is_array = isinstance(leaf, jax.Array | np.ndarray)
        return jax.device_put(leaf, sharding) if is_array else leaf

    return jax.tree.map(put, tree)
