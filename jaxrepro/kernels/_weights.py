r"""Shares of the branches, from their scalings."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import (
    check_interval,
    check_nonempty,
    check_real,
    check_shape,
    is_concrete,
    promote_floating,
)

GROUPS = ("V", "W", "A", "v")


class Branches(NamedTuple):
    r"""What the recursions need of a schedule.

    Attributes
    ----------
    share : array of shape (L,)
        :math:`a_l = \alpha_l^2 / (1 + \alpha_l^2)`.
    weight : array of shape (L,)
        :math:`w_l = a_l / \sum_{j \le l} a_j`, the step of a running mean.
    depth : array of shape ()
        Effective depth :math:`\sum_l a_l`.
    log_scale : array of shape ()
        :math:`\log \prod_l (1 + \alpha_l^2)`.
    """

    share: Float[Array, " L"]
    weight: Float[Array, " L"]
    depth: Float[Array, ""]
    log_scale: Float[Array, ""]


def check_alphas(alphas) -> None:
    """Raise unless ``alphas`` are scalings of one branch or more."""
    check_shape("alphas", alphas, ("L",))
    check_nonempty("alphas", alphas)
    check_real("alphas", alphas)
    check_interval("alphas", alphas, 0.0, closed="left")


def check_train(train, groups=GROUPS) -> tuple[str, ...]:
    """The trained groups in a fixed order, each once."""
    given = tuple(train)
    unknown = [group for group in given if group not in groups]
    if unknown or not given:
        raise ValueError(
            f"train: expected one or more of {', '.join(map(repr, groups))}; got "
            f"{train!r}"
        )
    return tuple(group for group in groups if group in given)


def branches(alphas, dtype) -> Branches:
    """Shares of a schedule: summed in float64 on the host where values are known."""
    if is_concrete(alphas):
        squares = np.asarray(alphas, np.float64) ** 2
        module, cast = np, lambda x: jnp.asarray(x, dtype)
    else:
        (alphas,) = promote_floating(jnp.asarray(alphas))
        alphas = jnp.where(alphas >= 0, alphas, jnp.full_like(alphas, jnp.nan))
        squares = alphas**2
        module, cast = jnp, lambda x: x.astype(dtype)
    share = squares / (1 + squares)
    total = module.cumsum(share)
    # Leading zeros: branches that do nothing have no weight.
    weight = module.where(total > 0, share / module.where(total > 0, total, 1), 0)
    log_scale = module.sum(module.log1p(squares))
    return Branches(*map(cast, (share, weight, total[-1], log_scale)))
