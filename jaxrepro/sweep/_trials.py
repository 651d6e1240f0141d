"""Numbers of trials, and the key of each.

A trial is a group (combination of static options), a point and a seed, numbered by

    trial = (group * n_points + point) * n_seeds + seed_index.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer, Key

from ..core import check_choice
from ._space import Space

KEYS = ("common", "independent")
_LARGEST = 2**32


class Trials(NamedTuple):
    """All trials of a sweep.

    Attributes
    ----------
    space : Space
        Points and static options.
    seeds : numpy array
        Seeds, uint32.
    base_seed : int
        Seed of the base key.
    common : bool
        Whether the key of a trial depends on its seed only.
    """

    space: Space
    seeds: np.ndarray
    base_seed: int
    common: bool

    @property
    def group_size(self) -> int:
        """Number of trials of a group."""
        return self.space.n_points * len(self.seeds)

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return len(self.space.groups) * self.group_size

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the leading axes of the result."""
        options = [len(values) for values in self.space.options.values()]
        return (*options, *self.space.shape, len(self.seeds))

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the leading axes of the result."""
        return (*self.space.options, *self.space.dims, "seed")

    def split(self, trial: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Group, point and seed of trial numbers."""
        rest, seed = np.divmod(trial, len(self.seeds))
        group, point = np.divmod(rest, self.space.n_points)
        return group, point, self.seeds[seed]


def seed_array(seeds: int | Sequence[int] | np.ndarray) -> np.ndarray:
    """Seeds 0 to n - 1, or the given ones."""
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        if seeds < 1:
            raise ValueError(f"seeds: expected at least 1; got {seeds}")
        return np.arange(seeds, dtype=np.uint32)
    values = np.asarray(seeds)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise ValueError(
            f"seeds: expected a number, or a non-empty list of integers; got {seeds!r}"
        )
    if values.min() < 0 or values.max() >= _LARGEST:
        raise ValueError(f"seeds: expected integers in [0, 2**32); got {seeds!r}")
    if len(np.unique(values)) < len(values):
        raise ValueError(f"seeds: expected each once; got {seeds!r}")
    return values.astype(np.uint32)


def trial_key(
    base_seed: int,
    seed: Integer[Array, ""] | Any,
    point: Integer[Array, ""] | Any,
    *,
    keys: str = "common",
) -> Key[Array, ""]:
    """Key of a trial, to repeat it outside the sweep.

    With common keys it is ``fold_in(key(base_seed), seed)``: a seed means the same
    random numbers at every point. With independent ones it is
    ``fold_in(fold_in(key(base_seed), seed), point + 1)``.

    Parameters
    ----------
    base_seed : int
        As given to :func:`sweep`.
    seed : int
        The seed, in [0, 2**32).
    point : int
        Number of the point among those of all static groups,
        group * n_points + point.
    keys : {"common", "independent"}, default "common"
        As given to :func:`sweep`.

    Returns
    -------
    key
        A typed key.

    Raises
    ------
    ValueError
        If ``keys`` is neither of the two.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.sweep import trial_key
    >>> jax.random.key_data(trial_key(7, 2, 1)).tolist()
    [966301609, 1948237315]
    """
    check_choice("keys", keys, KEYS)
    key = jax.random.fold_in(jax.random.key(base_seed), jnp.uint32(seed))
    if keys == "independent":
        key = jax.random.fold_in(key, jnp.uint32(point) + jnp.uint32(1))
    return key
