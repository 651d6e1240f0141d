"""The contract of a public numerical function, checked as a whole."""

import jax
import jax.numpy as jnp

from ._case import Case
from ._gradient import check_grad
from ._inputs import make_inputs
from ._programs import (
    brief,
    check_callbacks,
    check_compiles,
    check_lower,
    check_precision,
    check_traces,
)
from ._values import (
    check_dtype,
    check_jit,
    check_jit_traces,
    check_keys,
    check_traced_dtype,
    check_vmap,
    check_vmap_traces,
)

_DOUBLE = {
    "dtype": check_dtype,
    "jit": check_jit,
    "vmap": check_vmap,
    "jaxpr": check_callbacks,
    "lower": check_lower,
    "traces": check_traces,
    "compiles": check_compiles,
}
# Values are compared in float64, where a mixture of the members of a batch cannot
# hide; here the function runs once, eagerly.
_SINGLE = _DOUBLE | {"jit": check_jit_traces, "vmap": check_vmap_traces}
_MIXED = {"dtype": check_traced_dtype, "jaxpr": check_precision}
# What needs no compiled program, in the mode that sees the most faults.
_TRACED = _MIXED | {
    "vmap": check_vmap_traces,
    "lower": check_lower,
    "traces": check_traces,
}


class ContractError(AssertionError):
    """A function breaks the contract; the message says how.

    Attributes
    ----------
    function : str
        Name of the function.
    check : str
        Name of the check and the mode, such as ``"vmap, float32"``.
    happened : str
        What was seen.

    Examples
    --------
    >>> from jaxrepro.testing import ContractError
    >>> print(ContractError("emd", "jit, float32", "output is nan, not 1.0"))
    emd breaks the contract (jit, float32): output is nan, not 1.0
    """

    def __init__(self, function: str, check: str, happened: str):
        super().__init__(f"{function} breaks the contract ({check}): {happened}")
        self.function = function
        self.check = check
        self.happened = happened

    def __reduce__(self):
        # An exception is rebuilt from its message otherwise, and this takes three.
        return type(self), (self.function, self.check, self.happened)


def check_contract(case: Case, *, execute: bool = True) -> tuple[str, ...]:
    """Check the rules that every public numerical function obeys.

    In float32 and in float64, under strict promotion of dtypes and ranks:

    - ``dtype``: outputs are arrays in the precision of the inputs, not weak;
    - ``jit``: a jitted call equals an eager one (float32: in shapes and dtypes);
    - ``vmap``: a batch of three equals three single calls, which also finds
      functions that mix the members of a batch (float32: in shapes and dtypes);
    - ``jaxpr``: no callbacks to the host;
    - ``lower``: the program lowers for the platforms of the case, on any machine;
    - ``traces``: new values trace once;
    - ``compiles``: new values compile nothing in an eager call;
    - ``grad`` (float64): derivatives are finite and equal finite differences,
      forward and reverse;
    - ``keys`` (float32): no key is used twice, and results depend on the key.

    In mixed mode, that is float32 inputs while x64 is on, ``dtype`` again and
    ``jaxpr``: no float64 on the way. Only this mode finds ``jnp.zeros(n)``.

    Parameters
    ----------
    case : Case
        The function and how to call it.
    execute : bool, default True
        Whether to compile and run the function. False makes only the checks of
        traced programs, in mixed mode: dtypes and shapes, also of a batch,
        callbacks, lowering, the number of traces. They take a tenth of the time.

    Returns
    -------
    tuple of str
        Names of the checks that were made, each with its mode.

    Raises
    ------
    ContractError
        At the first check that fails. It names the function, the check and
        what happened.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import safe_sqrt
    >>> from jaxrepro.testing import Case, check_contract
    >>> case = Case(
    ...     safe_sqrt, lambda key, dtype: (jax.random.uniform(key, (3,), dtype),)
    ... )
    >>> len(check_contract(case)), len(check_contract(case, execute=False))
    (17, 5)
    """
    if not execute:
        return tuple(_run(case, "mixed", jnp.float32, True, _TRACED))
    keys = {"keys": check_keys} if case.key_argument is not None else {}
    grad = {"grad": check_grad} if case.differentiable else {}
    return (
        *_run(case, "float32", jnp.float32, False, _SINGLE | keys),
        *_run(case, "float64", jnp.float64, True, _DOUBLE | grad),
        *_run(case, "mixed", jnp.float32, True, _MIXED),
    )


def _run(case, mode, dtype, x64, checks):
    """Run checks in one mode; exceptions of the function are failures, too."""
    tol = case.tol64 if mode == "float64" else case.tol32
    done = []
    with jax.enable_x64(x64):
        try:
            inputs = [make_inputs(case, dtype)]
            if checks is not _MIXED:
                inputs += [make_inputs(case, dtype, i, inputs[0]) for i in (1, 2)]
            if not inputs[0].leaves:
                raise ValueError("make_args gives no array")
        except Exception as error:
            raise ContractError(case.label, f"args, {mode}", brief(error)) from error
        for name, check in checks.items():
            where = f"{name}, {mode}"
            try:
                happened = check(case, inputs, tol)
            except Exception as error:
                raise ContractError(case.label, where, brief(error)) from error
            if happened:
                raise ContractError(case.label, where, happened)
            done.append(where)
    return done
