"""What counts as one random key."""

import jax
import jax.numpy as jnp


def check_key(name: str, key) -> None:
    """Raise unless ``key`` is one random key.

    Parameters
    ----------
    name : str
        Name of the argument.
    key : key
        A key from ``jax.random.key``, or an older one of ``jax.random.PRNGKey``;
        traced ones as well.

    Raises
    ------
    TypeError
        If it is no key, such as a bare seed.
    ValueError
        If it is an array of keys.

    Examples
    --------
    >>> import jax
    >>> from jaxrepro.core import check_key
    >>> check_key("key", jax.random.key(0))
    >>> check_key("key", 0)
    Traceback (most recent call last):
    ...
    TypeError: key: expected a random key, such as jax.random.key(0); got 0
    """
    dtype, shape = getattr(key, "dtype", None), getattr(key, "shape", ())
    typed = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    # Older keys are numbers: two of the default generator, four of others.
    if shape == () if typed else dtype == jnp.uint32 and shape in ((2,), (4,)):
        return
    if typed or (dtype == jnp.uint32 and shape[-1:] in ((2,), (4,))):
        raise ValueError(
            f"{name}: expected one random key; got an array of keys of shape "
            f"{shape if typed else shape[:-1]}, for jax.vmap to map over"
        )
    got = repr(key) if dtype is None else f"dtype {dtype} and shape {shape}"
    raise TypeError(
        f"{name}: expected a random key, such as jax.random.key(0); got {got}"
    )
