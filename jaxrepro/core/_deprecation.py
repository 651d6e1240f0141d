"""One way to retire a public name."""

import functools
import warnings


def deprecated(since: str, use: str):
    """Mark a function as deprecated: it still works, and warns when called.

    Parameters
    ----------
    since : str
        Version in which the deprecation was announced.
    use : str
        What to call instead.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> import warnings
    >>> from jaxrepro.core import deprecated
    >>> old = deprecated("0.2", "jaxrepro.ot.emd")(abs)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = old(-1)
    >>> print(caught[0].message)
    abs is deprecated since jaxrepro 0.2; use jaxrepro.ot.emd
    """

    def wrap(fn):
        @functools.wraps(fn)
        def warn_and_call(*args, **kwargs):
            warnings.warn(
                f"{fn.__name__} is deprecated since jaxrepro {since}; use {use}",
                DeprecationWarning,
                stacklevel=2,
            )
            return fn(*args, **kwargs)

        return warn_and_call

    return wrap
