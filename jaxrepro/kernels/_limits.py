r"""What becomes of the kernel of a residual network as its depth grows."""

from typing import Any, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_interval,
    check_precision,
    check_real,
    check_shape,
    paper,
    promote_floating,
)
from ._arc_cosine import excess, ramp, step
from ._weights import branches, check_alphas

KINDS = ("one_hidden", "critical", "degenerate")


@paper("lai2026branch", "limits of the residual tangent kernel in depth")
def limit_dual(
    kind: str, delta: Real[ArrayLike, "*shape"], *, T: Real[ArrayLike, ""] = 1.0
) -> Float[Array, "*shape"]:
    r"""Limit of the normalised tangent kernel of ever deeper residual networks.

    With scalings :math:`\alpha_l = c\, L^{-\gamma}`:

    .. math:: \gamma > \tfrac12: &\quad r = \tfrac12 (\kappa_1 + \rho\, \kappa_0) \\
              \gamma = \tfrac12: &\quad r = \tfrac{S(T)}{2 T}, \quad
              \delta' = -g(\delta), \quad
              S' = (\kappa_0 - 1) S + \kappa_1 + \rho\, \kappa_0, \quad T = c^2 \\
              \gamma < \tfrac12: &\quad r = \tfrac14 \text{ for } \delta > 0,
              \quad r = 1 \text{ for } \delta = 0

    Parameters
    ----------
    kind : {"one_hidden", "critical", "degenerate"}
        The three limits, in this order.
    delta : array
        One minus the cosine of the angle between two inputs, in [0, 2].
    T : float, default 1
        Effective depth :math:`T > 0` of the critical limit.

    Returns
    -------
    array in the shape of ``delta``
        The limit.

    Raises
    ------
    ValueError
        If ``kind`` is unknown, or ``delta`` or ``T`` out of range.
    TypeError
        If ``delta`` is not real or in half precision.

    Notes
    -----
    The critical limit is a differential equation, solved by diffrax to a relative
    error of 1e-10 in float64 and 1e-6 in float32.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import limit_dual
    >>> [round(float(limit_dual(kind, np.array(1.0))), 3)
    ...  for kind in ("one_hidden", "critical", "degenerate")]
    [0.159, 0.193, 0.25]
    """
    check_choice("kind", kind, KINDS)
    check_real("delta", delta)
    check_precision("delta", delta)
    check_interval("delta", delta, 0.0, 2.0)
    check_shape("T", T, ())
    check_interval("T", T, 0.0, closed="neither")
    (delta,) = promote_floating(delta)
    if kind == "one_hidden":
        return (ramp(delta) + (1 - delta) * step(delta)) / 2
    if kind == "degenerate":
        quarter = jnp.full_like(delta, 0.25)
        return jnp.where(delta > 0, quarter, jnp.ones_like(delta))
    return _critical(delta, T)


@jax.jit
def _critical(delta, T):
    import diffrax  # loading it takes a second

    T = jnp.asarray(T, delta.dtype)
    T = jnp.where(T > 0, T, jnp.full_like(T, jnp.nan))

    def field(t, state, T):
        delta, total = state
        # Steps may overshoot the ends by a rounding error.
        delta = jnp.clip(delta, 0, 2)
        slope = step(delta)
        source = ramp(delta) + (1 - delta) * slope
        return -T * excess(delta), T * ((slope - 1) * total + source)

    accuracy = 1e-10 if delta.dtype == jnp.float64 else 1e-6
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Dopri8(),
        t0=jnp.zeros((), delta.dtype),
        t1=jnp.ones((), delta.dtype),
        dt0=None,
        y0=(delta, jnp.zeros_like(delta)),
        args=T,
        stepsize_controller=diffrax.PIDController(rtol=accuracy, atol=accuracy),
        # Differentiable in both modes; a few dozen steps are enough.
        adjoint=diffrax.DirectAdjoint(),
        max_steps=512,
        throw=False,
    )
    _, total = cast(Any, solution.ys)
    return total[0] / (2 * T)


@paper("lai2026branch", "residual neural tangent kernel; its cusp is ours")
def cusp_slope(alphas: Real[ArrayLike, " L"]) -> Float[Array, ""]:
    r"""Slope of the normalised tangent kernel at equal inputs, in the angle.

    .. math:: r = 1 - c_L\, \theta + O(\theta^2), \qquad
              c_L = \frac{e_L}{2 \pi \sum_l a_l}, \qquad
              e_l = e_{l-1} + 2 a_l \sum_{j < l} a_j + a_l

    Parameters
    ----------
    alphas : array of shape (L,)
        Scaling of each branch, not negative.

    Returns
    -------
    array of shape ()
        The slope :math:`c_L`; :math:`1 / 2\pi` for a network of one branch.

    Raises
    ------
    ValueError
        If ``alphas`` is empty or negative.

    Notes
    -----
    The larger it is, the narrower the spike of the kernel: deep networks with constant
    scalings tell all inputs apart and generalise from none.

    References
    ----------
    [lai2026branch]

    Examples
    --------
    >>> import numpy as np
    >>> from jaxrepro.kernels import cusp_slope
    >>> [round(float(cusp_slope(np.ones(depth))), 2) for depth in (1, 10, 100)]
    [0.16, 0.88, 8.04]
    """
    check_alphas(alphas)
    dtype = promote_floating(alphas)[0].dtype
    schedule = branches(alphas, dtype)
    # e_L is (sum a)^2 - sum a^2 + sum a: a pair of branches counts twice.
    total, share = schedule.depth, schedule.share
    alive = total > 0
    safe = jnp.where(alive, total, 1)
    ratio = total + 1 - jnp.sum(share**2) / safe
    return jnp.where(alive, ratio, jnp.ones_like(ratio)) / (2 * jnp.pi)
