"""The checker passes sound functions and catches every planted fault."""

import dataclasses
import functools
import pickle
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import pytest

from jaxrepro.testing import Case, ContractError, check_contract

# Sound functions, of every kind of argument and result.


class Result(NamedTuple):
    value: jax.Array
    spectrum: jax.Array
    count: jax.Array
    converged: jax.Array
    nothing: None


class Kernel(eqx.Module):
    scale: jax.Array
    power: int = eqx.field(static=True)

    def __call__(self, x):
        return (x / self.scale) ** self.power


def vector(key, dtype):
    return (jax.random.uniform(key, (5,), dtype, 0.5, 2.0),)


def sound(x, w=None, *, eps=0.1, mode="mean"):
    w = jnp.ones_like(x) if w is None else w
    value = jnp.sum(jnp.log(x) * w) * eps
    spectrum = jnp.fft.fft(x * w)
    count = jnp.sum(x > 1, dtype=jnp.int32)
    return Result(value, spectrum, count, value > 0, None)


def draw(key, x):
    first, second = jax.random.split(key)
    noise = jax.random.normal(first, x.shape, x.dtype)
    return x + noise * jax.random.uniform(second, x.shape, x.dtype)


def complex_product(key, dtype):
    a, b, c, d = jax.random.normal(key, (4, 3), dtype)
    return jax.lax.complex(a, b), jax.lax.complex(c, d)


def kernel_and_points(key, dtype):
    return Kernel(jnp.asarray(2.0, dtype), 3), *vector(key, dtype)


def tree_of_points(key, dtype):
    (x,) = vector(key, dtype)
    return {"a": x, "b": (x[:2], None)}, lambda y: y**2


@jax.jit
def newton_root(x):
    """An iterative solver whose diagnosis carries no derivative."""
    u = jax.lax.fori_loop(0, 30, lambda _, u: u - (u**2 - x) / (2 * u), x)
    error = jax.lax.stop_gradient(jnp.max(jnp.abs(u**2 - x)))
    return u, error


SOUND = {
    "results": Case(sound, vector, traced={"eps": 0.3}, static={"mode": "sum"}),
    "optional argument": Case(sound, lambda k, d: (*vector(k, d), None)),
    "fields": Case(sound, vector, differentiable=("value", "spectrum")),
    "random": Case(draw, lambda k, d: (k, *vector(k, d)), key_argument=0),
    "complex": Case(lambda a, b: a * b.conj(), complex_product, name="multiply"),
    "module": Case(lambda k, x: k(x), kernel_and_points, name="kernel"),
    "pytree": Case(
        lambda tree, fn: jax.tree.map(fn, tree), tree_of_points, name="tree_map"
    ),
    "integers": Case(jnp.argsort, vector, differentiable=False),
    "part": Case(newton_root, vector, differentiable=lambda out: out[0]),
    "numpy": Case(jnp.sin, lambda k, d: (np.asarray(vector(k, d)[0]),), name="sin"),
    "python floats": Case(jnp.add, lambda k, d: (*vector(k, d), 2.0)),
    "infinite entries": Case(
        lambda x: jnp.where(x > 1.2, jnp.log(x), -jnp.inf), vector, name="masked_log"
    ),
    "library": Case(
        lambda x: x + np.float32(1) * jnp.ones((1, 5), x.dtype),
        vector,
        strict=False,
        reason="stands for a library that promotes",
        name="promotes",
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_functions_pass(name):
    case = SOUND[name]
    done = check_contract(case)
    assert len(done) == (
        16 + (case.differentiable is not False) + (case.key_argument is not None)
    )


def test_float64_inside_a_library_is_not_asked():
    def solver(x):
        return x + jnp.zeros(5).sum().astype(x.dtype)

    with pytest.raises(ContractError, match="works on float64"):
        check_contract(Case(solver, vector))
    assert check_contract(Case(solver, vector, strict=False, reason="a library"))


# Planted faults: function, name of the check that must fail, part of the message.


def hard_coded_float32(x):
    return jnp.sum(x.astype(jnp.float32) ** 2)


def makes_float64(x):
    return x + jnp.zeros(5).sum().astype(x.dtype)


def returns_float64(x):
    return jnp.arange(5.0) + x.astype(jnp.result_type(float))


def numpy_constant(x):
    return (np.linspace(0.0, 1.0, 5) * x).astype(x.dtype)


def prints(x):
    jax.debug.print("sum {}", jnp.sum(x))
    return x


def calls_back(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(np.sin, shape, x, vmap_method="sequential")


def branches_on_a_value(x):
    return x if x[0] > 0 else -x


def needs_a_concrete_value(x):
    return x * float(np.sum(x))


def nan_gradient(x):
    return jnp.where(x > 1, jnp.sqrt(x - 1), 0)


def nan_gradient_of_a_norm(x):
    return jnp.linalg.norm(x - x)


def implicit_rank_promotion(x):
    return x + jnp.ones((2, 5), x.dtype)


def implicit_dtype_promotion(x):
    return x * jnp.ones(5, jnp.float16)


def lapack_only(x):
    return jax.scipy.linalg.schur(jnp.outer(x, x))[0]


def no_kernel_on_tpus(x):
    return jnp.linalg.eigvals(jnp.outer(x, x)).real


def weak_output(x):
    return jnp.sum(x), jnp.asarray(1.0)


def python_output(x):
    return jnp.sum(x), 1.0


def mixes_the_batch(x):
    """Normalise by the batch: a custom batching rule is the way to get it wrong."""
    return _centred(x)


@jax.custom_batching.custom_vmap
def _centred(x):
    return x - jnp.mean(x)


@_centred.def_vmap
def _centred_batch(size, batched, x):
    return x - jnp.mean(x), True


def wrong_derivative(x):
    return _cubed(x)


@jax.custom_jvp
def _cubed(x):
    return x**3


_cubed.defjvp(lambda primals, tangents: (_cubed(*primals), 2 * tangents[0]))


def holomorphic_mistake(a, b):
    return _product(a, b)


@jax.custom_jvp
def _product(a, b):
    return a * b.conj()


@_product.defjvp
def _product_jvp(primals, tangents):
    a, b = primals
    da, db = tangents
    return _product(a, b), da * b.conj() + a * db


@jax.jit
def forward_only(x):
    return jax.lax.while_loop(lambda u: jnp.sum(u) < 100, lambda u: 2 * u, x)


def reverse_only(x):
    return _squared(x)


@jax.custom_vjp
def _squared(x):
    return x**2


_squared.defvjp(lambda x: (x**2, x), lambda x, g: (2 * x * g,))


def recompiles_a_loop(x):
    return jax.lax.fori_loop(0, 3, lambda _, u: u * x, x)


def recompiles_a_closure(x):
    return jax.jit(lambda u: u * 2)(x)


@functools.partial(jax.jit, static_argnames="eps")
def static_hyperparameter(x, *, eps):
    return x * eps


def jit_changes_it(x):
    return x * 2 if isinstance(x, jax.core.Tracer) else x


def jit_changes_the_shape(x):
    return x[1:] if isinstance(x, jax.core.Tracer) else x


def jit_changes_the_structure(x):
    return (x,) if isinstance(x, jax.core.Tracer) else x


def weak_under_jit_only(x):
    return jnp.asarray(1.0) if isinstance(x, jax.core.Tracer) else x[0]


FAULTS = [
    (hard_coded_float32, "dtype, float64", "float32 for float64 inputs"),
    (makes_float64, "jaxpr, mixed", "works on float64.* although every input"),
    (returns_float64, "dtype, mixed", "float64 for float32 inputs"),
    (prints, "jaxpr, float32", "calls back to the host"),
    (calls_back, "jaxpr, float32", "pure_callback"),
    (branches_on_a_value, "jit, float32", "TracerBoolConversionError"),
    (needs_a_concrete_value, "jit, float32", "ConcretizationTypeError"),
    (nan_gradient, "grad, float64", "gradient in argument 0 is not finite"),
    (nan_gradient_of_a_norm, "grad, float64", "gradient in argument 0 is not"),
    (implicit_rank_promotion, "dtype, float32", "numpy_rank_promotion"),
    (implicit_dtype_promotion, "dtype, float32", "TypePromotionError"),
    (lapack_only, "lower, float32", "does not lower for cuda"),
    (no_kernel_on_tpus, "lower, float32", "does not lower for tpu"),
    (weak_output, "dtype, float32", r"output\[1\] is weakly"),
    (python_output, "dtype, float32", r"output\[1\] is a float, not an array"),
    (mixes_the_batch, "vmap, float64", "differ in member"),
    (wrong_derivative, "grad, float64", "derivative and finite difference differ"),
    (forward_only, "grad, float64", "Reverse-mode"),
    (reverse_only, "grad, float64", "forward-mode"),
    (recompiles_a_loop, "compiles, float32", "compiles 1 programs again"),
    (recompiles_a_closure, "compiles, float32", "compiles 1 programs again"),
    (jit_changes_it, "jit, float64", "jitted and eager calls differ"),
    (jit_changes_the_shape, "jit, float32", "of the jitted call is float32"),
    (jit_changes_the_structure, "jit, float32", "structure .* of the jitted call"),
    (weak_under_jit_only, "jit, float32", "of the jitted call is weakly typed"),
    (numpy_constant, "dtype, mixed", "TypePromotionError"),
]


@pytest.mark.parametrize(
    ("fn", "check", "message"), FAULTS, ids=[fn.__name__ for fn, *_ in FAULTS]
)
def test_planted_faults_are_caught(fn, check, message):
    with pytest.raises(ContractError, match=message) as caught:
        check_contract(Case(fn, vector))
    assert caught.value.function == fn.__name__
    assert caught.value.check == check
    assert fn.__name__ in str(caught.value)


@pytest.mark.parametrize(
    ("fn", "check", "message"),
    [
        (branches_on_a_value, "dtype, mixed", "TracerBoolConversionError"),
        (prints, "jaxpr, mixed", "calls back to the host"),
        (lapack_only, "lower, mixed", "does not lower for cuda"),
        (weak_output, "dtype, mixed", r"output\[1\] is weakly"),
        (numpy_constant, "dtype, mixed", "TypePromotionError"),
        (makes_float64, "jaxpr, mixed", "works on float64"),
    ],
)
def test_faults_that_show_without_execution(fn, check, message):
    with pytest.raises(ContractError, match=message) as caught:
        check_contract(Case(fn, vector), execute=False)
    assert caught.value.check == check


def test_without_execution_nothing_is_compiled():
    def fn(x):
        assert isinstance(x, jax.core.Tracer)
        return x

    assert len(check_contract(Case(fn, vector), execute=False)) == 5


def test_a_static_hyperparameter_is_caught():
    with pytest.raises(ContractError, match="[Nn]on-hashable|unhashable") as caught:
        check_contract(Case(static_hyperparameter, vector, traced={"eps": 0.5}))
    assert caught.value.check == "dtype, float32"


def test_a_wrong_complex_derivative_is_caught():
    with pytest.raises(ContractError, match="finite difference") as caught:
        check_contract(Case(holomorphic_mistake, complex_product))
    assert caught.value.check == "grad, float64"


def reuses_its_key(key, x):
    return x + jax.random.normal(key, (5,), x.dtype) * jax.random.normal(
        key, (5,), x.dtype
    )


def ignores_its_key(key, x):
    return x


CALLS = iter(range(1000))


def counts_its_calls(key, x):
    return x + jax.random.normal(key, (5,), x.dtype) + next(CALLS)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (reuses_its_key, "KeyReuseError"),
        (jax.jit(reuses_its_key), "KeyReuseError"),
        (ignores_its_key, "two keys give the same result"),
    ],
)
def test_faults_with_keys_are_caught(fn, message):
    def keyed(key, dtype):
        return (key, *vector(key, dtype))

    with pytest.raises(ContractError, match=message) as caught:
        check_contract(Case(fn, keyed, key_argument=0))
    assert caught.value.check == "keys, float32"


def test_a_hidden_state_is_caught():
    def keyed(key, dtype):
        return (key, *vector(key, dtype))

    with pytest.raises(ContractError, match="the same key gives two results"):
        check_contract(Case(counts_its_calls, keyed, key_argument=0))


# Mistakes in the case itself.


@pytest.mark.parametrize(
    ("make_args", "message"),
    [
        (lambda key, dtype: (key, *vector(key, dtype)), "set key_argument=0"),
        (lambda key, dtype: vector(key, jnp.float32), "gave argument 0 in float32"),
        (lambda key, dtype: (jnp.asarray(1.0),), "weak dtype"),
        (lambda key, dtype: vector(key, dtype)[0], "not a tuple"),
        (lambda key, dtype: (None,), "gives no array"),
        (
            lambda key, dtype: (jnp.ones(2 + jax.random.key_data(key)[1] % 3, dtype),),
            "other shapes or dtypes",
        ),
        (lambda key, dtype: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_bad_arguments_are_named(make_args, message):
    with pytest.raises(ContractError, match=message) as caught:
        check_contract(Case(lambda *args: args[-1], make_args, name="identity"))
    assert caught.value.check.startswith("args")


def test_nothing_to_differentiate_is_said():
    with pytest.raises(ContractError, match="no float output .* differentiable=False"):
        check_contract(Case(jnp.argsort, vector))
    with pytest.raises(ContractError, match="no float argument"):
        check_contract(
            Case(
                lambda n: n.astype(jnp.result_type(float)),
                lambda key, dtype: (jnp.arange(3),),
                name="as_float",
            )
        )


def test_wrt_leaves_arguments_out():
    def stopped(x, y, *, factor):
        return x * jax.lax.stop_gradient(y) * jax.lax.stop_gradient(factor)

    def make_args(key, dtype):
        return tuple(jax.random.uniform(key, (2, 3), dtype, 0.5, 2.0))

    case = Case(stopped, make_args, traced={"factor": 2.0})
    for wrt in (None, (0, 1), (0, "factor")):
        with pytest.raises(ContractError, match="finite difference"):
            check_contract(dataclasses.replace(case, wrt=wrt))
    assert check_contract(dataclasses.replace(case, wrt=(0,)))


def test_edge_asks_for_finite_derivatives_only():
    def at_zero(key, dtype):
        return (jnp.zeros(3, dtype),)

    def guarded(x):
        return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0)

    with pytest.raises(ContractError, match="finite difference"):
        check_contract(Case(guarded, at_zero))
    assert check_contract(Case(guarded, at_zero, edge=True))
    with pytest.raises(ContractError, match="not finite"):
        check_contract(Case(jnp.sqrt, at_zero, edge=True))


def test_case_checks_itself():
    with pytest.raises(ValueError, match="reason: expected why strict is False"):
        Case(jnp.sin, vector, strict=False)
    with pytest.raises(ValueError, match="name: expected the name of a public"):
        Case(lambda x: x, vector)
    case = Case(jnp.sin, vector, name="sin[small]")
    assert (case.label, case.function) == ("sin[small]", "sin")
    with pytest.raises(AttributeError):
        case.tol32 = 1.0


def test_a_broken_contract_crosses_processes():
    error = ContractError("emd", "jit, float32", "output is nan, not 1.0")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.check) == (str(error), error.check)
