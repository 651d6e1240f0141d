"""Diffusion models trained on splits of data, to compare with the theory."""

from ._disagreement import (
    Disagreement as Disagreement,
    disagreement as disagreement,
)
from ._gain import fitted_kappa as fitted_kappa, mode_gain as mode_gain
from ._memorisation import (
    Memorisation as Memorisation,
    memorisation as memorisation,
)
from ._splits import (
    Strata as Strata,
    split_indices as split_indices,
    stratified_split as stratified_split,
)
from ._training import train_splits as train_splits

__all__ = [
    "Disagreement",
    "Memorisation",
    "Strata",
    "disagreement",
    "fitted_kappa",
    "memorisation",
    "mode_gain",
    "split_indices",
    "stratified_split",
    "train_splits",
]
