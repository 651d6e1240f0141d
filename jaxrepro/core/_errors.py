"""Exceptions that carry the way out in their message."""


class DataUnavailableError(RuntimeError):
    """A data set is not on this machine; the message holds the exact install line."""


class MissingExtraError(ImportError):
    """An optional dependency is absent; the message holds the exact install line.

    Parameters
    ----------
    package : str
        Name of the distribution that is missing.
    extra : str
        The extra of ``jaxrepro`` that brings it.
    needed_for : str
        What was asked for, in a few words.

    Examples
    --------
    >>> from jaxrepro.core import MissingExtraError
    >>> print(MissingExtraError("aeon", "data", "BasicMotions"))
    BasicMotions needs the package aeon. Install it with: pip install "jaxrepro[data]"
    """

    def __init__(self, package: str, extra: str, needed_for: str):
        self._arguments = package, extra, needed_for
        super().__init__(
            f"{needed_for} needs the package {package}. "
            f'Install it with: pip install "jaxrepro[{extra}]"'
        )

    def __reduce__(self):
        # By default an exception is made again from its message alone.
        return type(self), self._arguments
