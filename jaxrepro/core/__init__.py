"""What every area shares: checks, status codes, safe helpers, eig, roots, citations."""

from ._checks import (
    check_choice as check_choice,
    check_integer as check_integer,
    check_interval as check_interval,
    check_nonempty as check_nonempty,
    check_precision as check_precision,
    check_real as check_real,
    check_shape as check_shape,
    is_concrete as is_concrete,
    promote_floating as promote_floating,
)
from ._citation import (
    Citation as Citation,
    bibtex_entries as bibtex_entries,
    citations as citations,
    cite as cite,
    paper as paper,
)
from ._deprecation import deprecated as deprecated
from ._eig import EigResult as EigResult, eig_biorthogonal as eig_biorthogonal
from ._eigh import EighResult as EighResult, safe_eigh as safe_eigh
from ._errors import (
    DataUnavailableError as DataUnavailableError,
    MissingExtraError as MissingExtraError,
)
from ._function import check_function as check_function
from ._key import check_key as check_key
from ._matmul import matmul as matmul
from ._mesh import check_mesh as check_mesh, replicate as replicate
from ._quadrature import (
    Quadrature as Quadrature,
    gauss_hermite as gauss_hermite,
    gauss_legendre as gauss_legendre,
)
from ._root import RootResult as RootResult, scalar_root as scalar_root
from ._safe import (
    logsumexp as logsumexp,
    safe_divide as safe_divide,
    safe_log as safe_log,
    safe_norm as safe_norm,
    safe_sqrt as safe_sqrt,
)
from ._status import Status as Status, status_message as status_message

__all__ = [
    "Citation",
    "DataUnavailableError",
    "EigResult",
    "EighResult",
    "MissingExtraError",
    "Quadrature",
    "RootResult",
    "Status",
    "bibtex_entries",
    "check_choice",
    "check_function",
    "check_integer",
    "check_interval",
    "check_key",
    "check_mesh",
    "check_nonempty",
    "check_precision",
    "check_real",
    "check_shape",
    "citations",
    "cite",
    "deprecated",
    "eig_biorthogonal",
    "gauss_hermite",
    "gauss_legendre",
    "is_concrete",
    "logsumexp",
    "matmul",
    "paper",
    "promote_floating",
    "replicate",
    "safe_divide",
    "safe_eigh",
    "safe_log",
    "safe_norm",
    "safe_sqrt",
    "scalar_root",
    "status_message",
]
