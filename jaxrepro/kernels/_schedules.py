r"""How strongly each residual branch counts."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_shape,
    paper,
    promote_floating,
)

KINDS = ("constant", "depth_power", "layer_power", "explicit")


@paper("lai2026branch", "branch scaling by depth")
def branch_schedule(
    depth: int,
    kind: str = "depth_power",
    *,
    c: Real[ArrayLike, "..."] = 1.0,
    gamma: Real[ArrayLike, ""] = 0.5,
) -> Float[Array, " depth"]:
    r"""Scalings of the branches of a residual network.

    .. math:: \alpha_l = c, \qquad \alpha_l = c\, L^{-\gamma}, \qquad
              \alpha_l = c\, l^{-\gamma}, \qquad l = 1, \dots, L

    Parameters
    ----------
    depth : int
        Number of branches L.
    kind : {"constant", "depth_power", "layer_power", "explicit"}
        One of the three formulas, in their order, by default the second;
        "explicit" takes ``c`` as it is.
    c : float, or array of shape (depth,) if explicit
        Factor :math:`c \ge 0`, by default 1.
    gamma : float, default 0.5
        Exponent :math:`\gamma \ge 0` of the two powers. With powers of the depth, 1/2
        is critical: kernels of deep networks degenerate below it.

    Returns
    -------
    array of shape (depth,)
        The scalings. NaN for traced numbers out of range.

    Raises
    ------
    ValueError
        If ``depth`` is below 1, ``kind`` unknown, a number negative or not finite, or
        ``c`` has another shape.
    TypeError
        If ``depth`` is no integer.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import branch_schedule
    >>> print(np.round(np.asarray(branch_schedule(4, "layer_power", gamma=1.0)), 3))
    [1.    0.5   0.333 0.25 ]
    """
    depth = check_integer("depth", depth)
    check_choice("kind", kind, KINDS)
    check_shape("c", c, (depth,) if kind == "explicit" else ())
    check_shape("gamma", gamma, ())
    check_interval("c", c, 0.0, closed="left")
    check_interval("gamma", gamma, 0.0, closed="left")
    c, gamma = promote_floating(c, gamma)
    if kind == "explicit":
        good = (c >= 0) & (c < jnp.inf)
        return jnp.where(good, c, jnp.full_like(c, jnp.nan))
    good = (c >= 0) & (c < jnp.inf) & (gamma >= 0) & (gamma < jnp.inf)
    c = jnp.where(good, c, jnp.full_like(c, jnp.nan))
    if kind == "layer_power":
        layers = jnp.arange(1, depth + 1, dtype=c.dtype)
        return c * jnp.exp(-gamma * jnp.log(layers))
    scale = (
        1.0
        if kind == "constant"
        else jnp.exp(-gamma * jnp.log(float(depth)).astype(c.dtype))
    )
    return jnp.full(depth, c * scale)
