"""Outcome codes of iterative solvers, stored as int32 arrays."""

import enum


class Status(enum.IntEnum):
    """Outcome of a numerical function, as an int32 code that lives inside ``jit``.

    Numerical functions never raise on values; they return one of these codes
    beside their result. The codes are ordered by severity, so the status of a
    batch is ``jnp.max(status)``.

    Examples
    --------
    >>> from jaxrepro.core import Status
    >>> int(Status.MAX_STEPS)
    1
    """

    OK = 0
    MAX_STEPS = 1
    NON_FINITE = 2
    SINGULAR = 3
    BAD_INPUT = 4


_MESSAGES = {
    Status.OK: "The computation succeeded.",
    Status.MAX_STEPS: (
        "The step limit was reached before convergence; "
        "raise the limit or loosen the tolerance."
    ),
    Status.NON_FINITE: "A NaN or an infinity appeared in the input or on the way.",
    Status.SINGULAR: "A matrix was singular to working precision.",
    Status.BAD_INPUT: (
        "An input value lies outside the domain given in the docstring."
    ),
}


def status_message(code) -> str:
    """Text of a status code, for use on the host.

    Parameters
    ----------
    code : int or int32 array of shape ()
        A concrete (not traced) status code.

    Returns
    -------
    str
        One sentence that says what happened and what may help.

    Raises
    ------
    ValueError
        If ``code`` is not one of the codes of :class:`Status`.

    Examples
    --------
    >>> from jaxrepro.core import status_message
    >>> status_message(0)
    'The computation succeeded.'
    """
    try:
        return _MESSAGES[Status(int(code))]
    except ValueError:
        allowed = ", ".join(f"{s.value} ({s.name})" for s in Status)
        raise ValueError(f"code: expected one of {allowed}; got {int(code)}") from None
