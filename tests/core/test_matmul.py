"""Products in full precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.core import matmul


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (4, 5)),
    ],
)
@pytest.mark.parametrize("kind", [float, complex])
def test_against_numpy(x64, left, right, kind):
    rng = np.random.default_rng(0)
    a = rng.normal(size=left).astype(kind)
    b = rng.normal(size=right).astype(kind)
    np.testing.assert_allclose(matmul(a, b), a @ b, rtol=1e-13)


@pytest.mark.parametrize("precision", ["highest", "default"])
def test_precision_reaches_the_program(precision):
    x = jnp.ones((2, 2))
    jaxpr = jax.make_jaxpr(lambda a: matmul(a, a, precision=precision))(x)
    (product,) = [e for e in jaxpr.eqns if e.primitive.name == "dot_general"]
    wanted = jax.lax.Precision(precision)
    assert product.params["precision"] in (wanted, (wanted, wanted))
    plain = jax.make_jaxpr(matmul)(x, x).eqns[-1].params["precision"]
    highest = jax.lax.Precision.HIGHEST
    assert plain in (highest, (highest, highest))
