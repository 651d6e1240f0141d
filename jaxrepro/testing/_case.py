"""One checked function: how to call it, and what it promises."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax


@dataclasses.dataclass(frozen=True)
class Case:
    """A public function with everything that :func:`check_contract` needs to call it.

    Attributes
    ----------
    fn : callable
        The function. A function that takes a callable is given as a jitted
        wrapper that fixes the callable, with ``name`` set.
    make_args : callable
        ``make_args(key, dtype) -> tuple`` of positional arguments. Float arrays
        have the given dtype; other keys give other values of the same shapes.
        Arguments may be any pytrees, ``None`` included; leaves that are no
        arrays (callables, strings, ints) stay as they are.
    static : mapping, default {}
        Static keyword options.
    differentiable : bool, tuple of str, or callable, default True
        Whether derivatives are compared with finite differences. A tuple names
        the fields of the result to differentiate; a callable maps the result to
        the pytree to differentiate (for instance to what does not depend on
        the phase of an eigenvector). Outputs without a derivative, such as
        ``error``, must be left out.
    tol32, tol64 : float, default 2e-4 and 1e-9
        Allowed difference between two ways to compute one output, relative to
        its largest entry and at least to 1.
    platforms : tuple of str, default ("cuda", "tpu")
        Platforms for which the function must lower.
    key_argument : int, optional
        Position of the argument that is a random key.
    strict : bool, default True
        Whether to run under strict dtype and rank promotion, and to forbid
        float64 on the way from float32 to float32. False is for functions that
        call a library which does not allow that.
    reason : str, default ""
        Why not, if ``strict`` is False.
    name : str, optional
        Name of the public function, by default ``fn.__name__``; a variant is
        marked by brackets, as in ``"emd[weighted]"``.
    traced : mapping of str to float, default {}
        Traced keyword hyper-parameters. They are cast to the dtype of the
        case, varied downwards by a few per cent, batched and differentiated.
    wrt : tuple of int and str, optional
        Positions and traced names to differentiate, by default all. Leave out
        what a finite difference cannot move, such as weights of fixed mass.
    grad_tol : float, default 1e-5
        Allowed difference between a derivative and its finite difference.
    edge : bool, default False
        Whether the arguments sit where a finite difference means nothing, such
        as a norm at 0: then derivatives need only be finite.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import safe_log
    >>> from jaxrepro.testing import Case
    >>> case = Case(
    ...     safe_log, lambda key, dtype: (jax.random.uniform(key, (3,), dtype),)
    ... )
    >>> case.label
    'safe_log'
    """

    fn: Callable
    make_args: Callable[[jax.Array, Any], tuple]
    static: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    differentiable: bool | tuple[str, ...] | Callable = True
    tol32: float = 2e-4
    tol64: float = 1e-9
    platforms: tuple[str, ...] = ("cuda", "tpu")
    key_argument: int | None = None
    strict: bool = True
    reason: str = ""
    name: str | None = None
    traced: Mapping[str, float] = dataclasses.field(default_factory=dict)
    wrt: tuple[int | str, ...] | None = None
    grad_tol: float = 1e-5
    edge: bool = False

    def __post_init__(self):
        if not self.strict and not self.reason:
            raise ValueError("reason: expected why strict is False; got nothing")
        if not self.label.split("[")[0].isidentifier():
            raise ValueError(
                f"name: expected the name of a public function; got {self.label!r}"
            )

    @property
    def label(self) -> str:
        """Name that messages and test ids show."""
        return self.name or getattr(self.fn, "__name__", type(self.fn).__name__)

    @property
    def function(self) -> str:
        """Name of the public function, without the mark of a variant."""
        return self.label.split("[")[0]
