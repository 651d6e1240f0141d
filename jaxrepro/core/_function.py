"""A check of arguments that are functions."""


def check_function(name: str, function) -> None:
    """Raise unless an argument is a function that can be a static option.

    Parameters
    ----------
    name : str
        Name of the argument.
    function : callable
        The function; its hash finds the program that was compiled for it.

    Raises
    ------
    TypeError
        If it is no function, or has no hash.

    Examples
    --------
    >>> from jaxrepro.core import check_function
    >>> check_function("loss", abs)
    >>> check_function("loss", "abs")
    Traceback (most recent call last):
    ...
    TypeError: loss: expected a function; got str
    """
    if not callable(function):
        got = "None" if function is None else type(function).__name__
        raise TypeError(f"{name}: expected a function; got {got}")
    try:
        hash(function)
    except TypeError:
        raise TypeError(
            f"{name}: expected a function with a hash, by which its compiled program "
            f"is found; got {type(function).__name__} without one"
        ) from None
