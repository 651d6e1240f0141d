"""Contract cases of ``jaxrepro.operators``."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxrepro import operators as op
from jaxrepro.testing import Case, numpy_generator

KERNEL = op.GaussianKernel(1.5)
# The eigenproblem of a general matrix has no kernel on TPUs; the docstrings of these
# functions say how to run them there.
EIG = ("cuda",)
ADAM = {"strict": False, "reason": "optax.adam promotes its step count"}


def real(rng, shape, dtype):
    return rng.normal(size=shape).astype(dtype)


def complex_(rng, shape, dtype):
    return real(rng, shape, dtype) + 1j * real(rng, shape, dtype)


def normal(*shape):
    return lambda key, dtype: (real(numpy_generator(key), shape, dtype),)


# From recordings to operators.


def pairs(key, dtype):
    rng = numpy_generator(key)
    x = real(rng, (12, 3), dtype)
    return x, np.sin(x @ real(rng, (3, 3), dtype))


def with_lengthscale(key, dtype):
    return (*pairs(key, dtype), np.ones((), dtype))


def recording(rng, n, dtype):
    """Two damped oscillations with random phases, and some noise."""
    t = np.arange(n)[:, None] / 10
    phase = rng.uniform(0, 6, size=(1, 2))
    waves = np.exp(-t / 10) * np.sin(t * np.array([[3.0, 5.0]]) + phase)
    return (waves + rng.normal(size=(n, 2)) / 10).astype(dtype)


def one_recording(key, dtype):
    return recording(numpy_generator(key), 30, dtype), np.asarray(0.1, dtype)


def two_recordings(key, dtype):
    rng = numpy_generator(key)
    return [recording(rng, n, dtype) for n in (30, 27)], np.full(2, 0.1, dtype)


def on_features(fit):
    return fit.V @ fit.W.T


def on_functions(fit):
    return fit.U @ fit.V.T


MASK = np.arange(12) % 4 != 0
WINDOWS = {"n_delays": 3, "rank": 4}

RECORDINGS = [
    Case(op.delay_embed, normal(9, 2), static={"n_delays": 3, "stride": 2}),
    Case(op.snapshot_pairs, normal(9, 2), static={"lag": 2}),
    Case(
        op.median_lengthscale,
        lambda key, dtype: (key, *normal(9, 2)(key, dtype)),
        static={"m": 6},
        key_argument=0,
    ),
    Case(
        lambda x, y, scale: op.PolynomialKernel(3, scale, scale)(x, y),
        with_lengthscale,
        name="PolynomialKernel",
    ),
    Case(
        lambda x, y, scale: op.GaussianKernel(scale)(x, y),
        with_lengthscale,
        name="GaussianKernel",
    ),
    Case(
        lambda x, y, scale: op.MaternKernel(scale, 0.5)(x, y),
        with_lengthscale,
        name="MaternKernel",
    ),
    Case(
        lambda x, y, scale: op.MaternKernel(scale, 0.5)(x, x),
        with_lengthscale,
        name="MaternKernel[equal points]",
        edge=True,
    ),
    *(
        Case(
            fn,
            pairs,
            static=rank | {"kernel": kernel, "gamma_rel": kernel is None, "mask": mask},
            traced={"gamma": 0.1},
            differentiable=on_features if kernel is None else on_functions,
            name=f"{fn.__name__}[{variant}]",
        )
        for fn, rank in [
            (op.ridge_regression, {}),
            (op.principal_component_regression, {"rank": 2}),
            (op.reduced_rank_regression, {"rank": 2}),
        ]
        for variant, kernel, mask in [
            ("features", None, None),
            ("kernel, masked", KERNEL, MASK),
        ]
    ),
    Case(
        op.sgot_from_trajectory,
        one_recording,
        static=WINDOWS,
        traced={"gamma": 0.1},
        differentiable=("lam",),
        platforms=EIG,
    ),
    Case(
        op.sgot_from_trajectory,
        one_recording,
        static=WINDOWS | {"kernel": KERNEL},
        traced={"gamma": 0.1},
        differentiable=("lam",),
        platforms=EIG,
        name="sgot_from_trajectory[kernel]",
    ),
    Case(
        op.sgot_from_trajectories,
        two_recordings,
        static=WINDOWS,
        traced={"gamma": 0.1},
        differentiable=("lam",),
        platforms=EIG,
    ),
    Case(
        op.distance_matrix,
        two_recordings,
        static=WINDOWS,
        traced={"gamma": 0.1, "eta": 0.4},
        platforms=EIG,
        differentiable=False,  # a slow case has it
    ),
]


# From operators to distances.


def spectral(rng, dtype, d=5, r=3, batch=()):
    shapes = (*batch, r), (*batch, d, r), (*batch, d, r)
    return op.SpectralAtoms(*(complex_(rng, shape, dtype) for shape in shapes))


def in_kernel_space(rng, dtype, n=6, d=2, r=3, batch=()):
    lam = complex_(rng, (*batch, r), dtype)
    beta, alpha = (complex_(rng, (*batch, n, r), dtype) for _ in range(2))
    x, y = (real(rng, (*batch, n, d), dtype) for _ in range(2))
    mask = np.broadcast_to(np.arange(n) < n - 1, (*batch, n))
    return op.KernelAtoms(lam, beta, alpha, x, y, mask=mask)


def two(make, **options):
    def make_args(key, dtype):
        rng = numpy_generator(key)
        return tuple(make(rng, dtype, **options) for _ in range(2))

    return make_args


def unequal(make, **options):
    """Two systems of three and of two atoms, without weights."""

    def make_args(key, dtype):
        rng = numpy_generator(key)
        return make(rng, dtype, **options), make(rng, dtype, r=2, **options)

    return make_args


def one(make, **options):
    return lambda key, dtype: (make(numpy_generator(key), dtype, **options),)


def weighted(make, **options):
    """Two systems whose last atom is padding that holds NaN, and their weights."""

    def make_args(key, dtype):
        rng = numpy_generator(key)
        first, second = (make(rng, dtype, **options) for _ in range(2))
        lam = np.concatenate([first.lam[..., :-1], np.nan * first.lam[..., -1:]], -1)
        weight = np.array([0.25, 0.75, 0.0], dtype)
        other = np.array([0.2, 0.3, 0.5], dtype)
        weights = (np.broadcast_to(w, lam.shape) for w in (weight, other))
        return first._replace(lam=lam), second, *weights

    return make_args


def matrix(rng, dtype, d=4):
    """A real matrix with two real eigenvalues and a pair, well apart."""
    block = np.array(
        [[0.9, 0.0, 0.0, 0.0], [0.0, -0.3, 0.0, 0.0], [0.0, 0.0, 0.4, 0.5],
         [0.0, 0.0, -0.5, 0.4]],
    )  # fmt: skip
    p = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    return (p @ block @ np.linalg.inv(p)).astype(dtype)


def with_step(make):
    return lambda key, dtype: (make(numpy_generator(key), dtype), 0.5)


def linear_fit(rng, dtype, d=5):
    """Factors of a matrix with the eigenvalues of ``matrix``, and one that is 0."""
    mixed = np.pad(matrix(rng, dtype), ((0, 1), (0, 1)))
    w = (np.eye(5) + 0.2 * rng.normal(size=(d, 5))).astype(dtype)
    return op.LinearOperatorFit(np.linalg.inv(w).T @ mixed, w, np.ones(5, dtype))


def kernel_fit(rng, dtype, n=6, d=2, r=2):
    u, v = (real(rng, (n, r), dtype) for _ in range(2))
    x, y = (real(rng, (n, d), dtype) for _ in range(2))
    return op.KernelOperatorFit(u, v, x, y, np.arange(n) < n - 1, np.ones(r, dtype))


def matrices(rng, dtype):
    return np.stack([matrix(rng, dtype) for _ in range(3)])


def kernel_fits(rng, dtype):
    fits = [kernel_fit(rng, dtype) for _ in range(2)]
    return op.KernelOperatorFit(*map(np.stack, zip(*fits)))


def distances(rng, dtype, n=6):
    x = real(rng, (n, 3), dtype)
    gap = x[:, None, :] - x[None, :, :]
    return np.sqrt(np.sum(gap**2, axis=-1) + np.asarray(1e-6, dtype))


def labelled(rng, dtype):
    return distances(rng, dtype, n=24), np.arange(24, dtype=np.int32) % 3


def without_phase(atoms):
    if isinstance(atoms, op.SpectralAtoms):
        projectors = jnp.einsum("ir,jr->rij", atoms.right, atoms.left.conj())
    else:
        projectors = jnp.einsum("ir,jr->rij", atoms.beta, atoms.alpha.conj())
    return atoms.lam, projectors, atoms.condition


def atoms_case(name, make, **options):
    def fn(operator, dt):
        return op.spectral_atoms(operator, dt, **options)

    return Case(
        fn, with_step(make), differentiable=without_phase, platforms=EIG,
        name=f"spectral_atoms[{name}]", wrt=(0, 1), tol32=2e-3, grad_tol=1e-4,
    )  # fmt: skip


def with_weights(fn, **options):
    def call(atoms1, atoms2, weight1, weight2):
        return fn(
            atoms1._replace(weight=weight1), atoms2._replace(weight=weight2), **options
        )

    return call


DISTANCES = [
    atoms_case("matrix", matrix),
    atoms_case("cut", matrix, rank=3),
    atoms_case("factors", linear_fit),
    atoms_case("kernel", kernel_fit, kernel=KERNEL),
    Case(op.biorthonormalize, one(spectral), tol32=1e-3),
    Case(
        lambda atoms: op.biorthonormalize(atoms, kernel=KERNEL),
        one(in_kernel_space),
        name="biorthonormalize[kernel]",
        tol32=1e-3,
    ),
    Case(op.overlap, two(spectral)),
    Case(
        lambda a, b: op.overlap(a, b, kernel=KERNEL),
        two(in_kernel_space),
        name="overlap[kernel]",
    ),
    Case(op.ground_cost, two(spectral), traced={"eta": 0.4}),
    Case(
        op.ground_cost,
        two(spectral),
        {"kind": "martin", "p": 3},
        traced={"eta": 0.4},
        name="ground_cost[martin]",
    ),
    Case(
        op.ground_cost,
        two(spectral),
        {"convention": "quad", "kind": "geodesic"},
        traced={"eta": 0.4},
        name="ground_cost[quad]",
    ),
    Case(
        op.ground_cost,
        two(spectral),
        {"convention": "pot", "kind": "procrustes", "p": 3, "q": 0.5},
        traced={"eta": 0.4},
        name="ground_cost[pot]",
    ),
    Case(
        lambda a, b, scaling: op.ground_cost(
            a, b, eta=0.4, scaling=scaling, kernel=KERNEL
        ),
        lambda key, dtype: (
            *two(in_kernel_space)(key, dtype),
            np.array([1.0, 0.2], dtype),
        ),
        name="ground_cost[kernel]",
    ),
    Case(op.sgot, unequal(spectral), traced={"eta": 0.4}),
    Case(
        with_weights(op.sgot, eta=0.4, p=2),
        weighted(spectral),
        name="sgot[weighted, padded]",
        wrt=(0, 1),
    ),
    Case(
        with_weights(op.sgot, eta=0.4, convention="pot", kernel=KERNEL),
        weighted(in_kernel_space),
        name="sgot[kernel]",
        wrt=(0, 1),
    ),
    Case(
        with_weights(op.sgot, eta=0.4, solver="sinkhorn", return_plan=True),
        weighted(spectral),
        name="sgot[sinkhorn]",
        wrt=(0, 1),
        tol32=1e-3,
    ),
    Case(
        lambda a, b, w, v: op.sgot(a._replace(weight=w), a._replace(weight=w), eta=0.4),
        weighted(spectral),
        name="sgot[equal]",
        wrt=(0,),
        edge=True,
    ),
    Case(op.sot, unequal(spectral)),
    Case(op.got, unequal(spectral)),
    Case(
        op.eta_heuristic,
        lambda key, dtype: (np.asarray(numpy_generator(key).uniform(1, 2), dtype),),
    ),
    Case(
        with_weights(op.sgot_pairwise, eta=0.4, block=3),
        weighted(spectral, batch=(2,)),
        name="sgot_pairwise[weighted, padded]",
        wrt=(0, 1),
    ),
    Case(
        lambda a, b: op.sgot_pairwise(a, b, eta=0.4, kernel=KERNEL),
        unequal(in_kernel_space, batch=(2,)),
        name="sgot_pairwise[kernel]",
    ),
    Case(op.hs_distance, two(matrix)),
    Case(op.hs_distance, two(spectral), traced={"dt": 0.5}, name="hs_distance[atoms]"),
    Case(
        lambda a, b: op.hs_distance(a, b, kernel=KERNEL),
        two(kernel_fit),
        name="hs_distance[kernel]",
    ),
    Case(op.hs_pairwise, one(matrices)),
    Case(
        op.hs_pairwise,
        unequal(spectral, batch=(2,)),
        traced={"dt": 0.5, "dt2": 0.3},
        name="hs_pairwise[atoms]",
    ),
    Case(
        lambda fits: op.hs_pairwise(fits, kernel=KERNEL),
        one(kernel_fits),
        name="hs_pairwise[kernel]",
    ),
    Case(op.operator_norm_pairwise, one(matrices)),
    Case(op.operator_norm_distance, two(matrix)),
    Case(
        op.operator_norm_distance,
        two(spectral),
        traced={"dt": 0.5, "dt2": 0.3},
        name="operator_norm_distance[atoms]",
    ),
    Case(
        lambda a, b: op.operator_norm_distance(a, b, kernel=KERNEL),
        two(kernel_fit),
        name="operator_norm_distance[kernel]",
    ),
    Case(
        op.martin_distance,
        lambda key, dtype: tuple(0.3 * complex_(numpy_generator(key), (2, 3), dtype)),
        differentiable=("value",),
    ),
    Case(
        op.martin_distance,
        two(spectral),
        traced={"dt": 0.5},
        differentiable=("value",),
        name="martin_distance[atoms]",
    ),
    Case(
        op.knn_predict,
        lambda key, dtype: labelled(numpy_generator(key), dtype),
        {"k": 3},
        differentiable=False,
    ),
    Case(
        op.monte_carlo_cv,
        lambda key, dtype: (key, *labelled(numpy_generator(key), dtype)),
        {"n_splits": 4},
        differentiable=False,
        key_argument=0,
        traced={"train_frac": 0.5},
    ),
    Case(op.classical_mds, one(distances)),
    Case(op.distance_correlation, two(distances)),
]


def state_space(key, dtype, d=3, q=2):
    """Two stable models, each with an initial state."""
    rng = numpy_generator(key)
    models = []
    for _ in range(2):
        a = rng.normal(size=(d, d))
        a = 0.7 * a / np.abs(np.linalg.eigvals(a)).max()
        models.append((a.astype(dtype), real(rng, (q, d), dtype), real(rng, d, dtype)))
    return models


def mean_of_two(key, dtype):
    """Two real operators with two real eigenvalues and a pair, and their weights."""
    rng = numpy_generator(key)
    dtype_of_atoms = np.result_type(dtype, np.complex64)
    systems = []
    for _ in range(2):
        values, right = np.linalg.eig(matrix(rng, np.float64))
        left = np.linalg.inv(right).conj().T
        lam = np.log(values.astype(complex))
        systems.append([z.astype(dtype_of_atoms) for z in (lam, right, left)])
    weight = np.full((2, 4), 0.25, dtype)
    batch = op.SpectralAtoms(*(np.stack(field) for field in zip(*systems)), weight)
    return batch, np.asarray([0.3, 0.7], dtype)


def mean_of_two_unweighted(key, dtype):
    """The same without masses, which a finite difference cannot move."""
    batch, weights = mean_of_two(key, dtype)
    return batch._replace(weight=None), weights


def on_the_way(batch, ts):
    first, second = (op.SpectralAtoms(*(x[k] for x in batch[:4])) for k in (0, 1))
    return op.interpolate(first, second, ts, eta=0.3, n_iter=3)


DERIVATIVES = [
    Case(
        op.distance_matrix,
        two_recordings,
        static=WINDOWS,
        traced={"gamma": 0.1, "eta": 0.4},
        platforms=EIG,
        name="distance_matrix[derivative]",
    ),
    Case(
        # Finite differences leave the real operators, so the mean must be free to.
        op.operator_barycenter,
        mean_of_two_unweighted,
        {"n_starts": 2, "real": False},
        traced={"eta": 0.3},
        differentiable=("objective",),
        name="operator_barycenter[derivative]",
        tol32=2e-3,
        **ADAM,
    ),
    Case(
        op.measure_barycenter,
        mean_of_two_unweighted,
        traced={"eta": 0.3},
        differentiable=("objective",),
        name="measure_barycenter[derivative]",
        tol32=2e-3,
        strict=False,
        reason="optax's Hungarian solver promotes integers",
    ),
]

MEANS = [
    Case(
        op.operator_barycenter,
        mean_of_two,
        {"n_iter": 3, "n_starts": 2},
        traced={"eta": 0.3, "lr": 0.03},
        differentiable=False,
        tol32=2e-3,
        **ADAM,
    ),
    Case(
        op.measure_barycenter,
        mean_of_two,
        {"n_iter": 3},
        traced={"eta": 0.3},
        differentiable=False,
        tol32=2e-3,
    ),
    Case(
        on_the_way,
        mean_of_two,
        name="interpolate",
        differentiable=False,
        tol32=2e-3,
        **ADAM,
    ),
    Case(
        op.operator_from_atoms,
        lambda key, dtype: (
            spectral(numpy_generator(key), dtype),
            np.asarray(0.3, dtype),
        ),
    ),
    Case(
        op.observability_angles,
        lambda key, dtype: tuple(x for m in state_space(key, dtype) for x in m[:2]),
        tol32=2e-3,
    ),
    Case(
        op.binet_cauchy_trace,
        lambda key, dtype: tuple(x for m in state_space(key, dtype) for x in m),
        traced={"discount": 0.3},
    ),
    Case(
        op.spectral_w2,
        # Of unequal number: the assignment of equal ones promotes integers.
        lambda key, dtype: tuple(
            complex_(numpy_generator(key), n, dtype) for n in (3, 4)
        ),
    ),
    Case(
        op.dsa,
        lambda key, dtype: (key, *real(numpy_generator(key), (2, 3, 3), dtype)),
        {"n_starts": 2, "n_iter": 3},
        traced={"lr": 0.05},
        differentiable=False,
        key_argument=0,
        **ADAM,
    ),
]

# Repeated eigenvalues, and few centres instead of many samples.


def bases(clusters):
    return clusters.lam, clusters.weight, clusters.basis.right, clusters.basis.left


def of_clusters(fn, **options):
    def call(atoms1, atoms2):
        clusters = (op.cluster_atoms(atoms, tol=1.5) for atoms in (atoms1, atoms2))
        return fn(*clusters, **options)

    return call


CLUSTERS = [
    Case(
        op.cluster_atoms,
        one(spectral),
        traced={"tol": 1.5},
        differentiable=bases,
        wrt=(0,),
    ),
    Case(
        lambda atoms: op.cluster_atoms(atoms, tol=1.5, kernel=KERNEL),
        one(in_kernel_space),
        differentiable=False,
        name="cluster_atoms[kernel]",
    ),
    Case(
        of_clusters(op.ground_cost, eta=0.4),
        unequal(spectral),
        name="ground_cost[clusters]",
    ),
    Case(
        lambda x, centres, scale: op.nystrom_features(
            centres, kernel=op.GaussianKernel(scale)
        )(x),
        with_lengthscale,
        name="nystrom_features",
    ),
    Case(
        op.sample_centres,
        lambda key, dtype: (key, *normal(9, 2)(key, dtype)),
        static={"m": 4},
        key_argument=0,
    ),
]

# Learned features.


def one_layer(params, x):
    """A feature map in one line, which computes in the precision of its data."""
    return jnp.tanh(x @ params["w"] + params["b"][None])


def weights(key, d=3, m=4):
    rng = numpy_generator(key)
    return {"w": rng.normal(size=(d, m)) / 2, "b": rng.normal(size=m) / 2}


def one_layer_init(key):
    return {"w": jax.random.normal(key, (3, 4)), "b": jnp.zeros(4)}


def feature_args(batch, *more):
    """Parameters, recordings of three channels, and what comes after them."""

    def make_args(key, dtype):
        rng = numpy_generator(key)
        params = {name: w.astype(dtype) for name, w in weights(key).items()}
        t = np.arange(14)[:, None] / 3
        phase = rng.uniform(0, 6, size=(*batch, 1, 3))
        noise = rng.normal(size=(*batch, 14, 3)) / 5
        z = np.sin(t * np.array([1.0, 1.0, 2.3]) + phase) + noise
        return params, z.astype(dtype), *(m(rng, dtype) for m in more)

    return make_args


def a_step(rng, dtype):
    return np.asarray(0.5, dtype)


def two_eigenvalues(rng, dtype):
    return complex_(rng, 2, dtype)


def of_two_atoms(rng, dtype):
    return spectral(rng, dtype, d=4, r=2, batch=(2,))


def of_one_atom(rng, dtype):
    """Targets to which all mass goes, so that no transport problem is solved."""
    return spectral(rng, dtype, d=4, r=1, batch=(2,))


def three_features(key, dtype):
    rng = numpy_generator(key)
    return real(rng, (9, 3), dtype), real(rng, (9, 3), dtype)


def network(params, x):
    return op.koopman_features(3, (4,), 2).apply(params, x)


def network_args(key, dtype):
    params = op.koopman_features(3, (4,), 2).init(key)
    x = real(numpy_generator(key), (5, 3), dtype)
    return jax.tree.map(lambda w: w.astype(dtype), params), x


FEATURES = [
    Case(network, network_args, name="koopman_features"),
    Case(op.vamp2_loss, three_features, traced={"gamma": 0.1}),
    Case(
        op.vamp2_loss,
        lambda key, dtype: (three_features(key, dtype)[0] * 0,) * 2,
        name="vamp2_loss[constant features]",
        edge=True,
    ),
    Case(
        op.spectral_contrastive_loss,
        lambda key, dtype: (
            *three_features(key, dtype),
            real(numpy_generator(key), (3, 3), dtype),
        ),
    ),
    *(
        Case(
            op.train_features,
            lambda key, dtype: (key, *pairs(key, dtype)),
            {
                "features": op.FeatureMap(one_layer_init, one_layer),
                "loss": loss,
                "n_steps": 3,
                "batch_size": batch_size,
            },
            traced={"lr": 0.01} | gamma,
            key_argument=0,
            differentiable=False,
            name=f"train_features[{loss}]",
            **ADAM,
        )
        for loss, batch_size, gamma in [
            ("vamp2", 8, {"gamma": 0.1}),
            ("contrastive", None, {}),
        ]
    ),
    Case(
        op.feature_atoms,
        feature_args((), a_step),
        {"apply": one_layer, "rank": 3},
        traced={"gamma": 0.1},
        platforms=EIG,
        differentiable=False,  # as part of sgot_loss
        tol32=2e-3,
    ),
    *(
        Case(
            op.sgot_loss,
            feature_args((2,), target, a_step),
            {"apply": one_layer, "rank": 3},
            traced={"gamma": 0.1} | eta,
            platforms=EIG,
            differentiable=differentiable,
            name=f"sgot_loss{variant}",
            tol32=2e-3,
        )
        for variant, target, eta, differentiable in [
            ("", of_one_atom, {"eta": 0.4}, False),
            ("[derivative]", of_two_atoms, {"eta": 0.4}, True),
            ("[eigenvalues]", two_eigenvalues, {}, True),
        ]
    ),
]

CASES = [*RECORDINGS, *DISTANCES, *MEANS, *CLUSTERS, *DERIVATIVES, *FEATURES]

SLOW = {
    *(case.label for case in DERIVATIVES),
    "biorthonormalize[kernel]",
    "cluster_atoms[kernel]",
    "distance_matrix",
    "dsa",
    "feature_atoms",
    "got",
    "ground_cost[clusters]",
    "ground_cost[kernel]",
    "ground_cost[martin]",
    "ground_cost[pot]",
    "ground_cost[quad]",
    "hs_distance[atoms]",
    "hs_pairwise[atoms]",
    "hs_pairwise[kernel]",
    "interpolate",
    "martin_distance[atoms]",
    "measure_barycenter",
    "operator_barycenter",
    "operator_norm_distance[atoms]",
    "operator_norm_distance[kernel]",
    "operator_norm_pairwise",
    "sgot[equal]",
    "sgot[kernel]",
    "sgot[sinkhorn]",
    "sgot[weighted, padded]",
    "sgot_from_trajectories",
    "sgot_from_trajectory",
    "sgot_from_trajectory[kernel]",
    "sgot_loss",
    "sgot_loss[derivative]",
    "sgot_loss[eigenvalues]",
    "sgot_pairwise[kernel]",
    "sgot_pairwise[weighted, padded]",
    "sot",
    "spectral_atoms[cut]",
    "spectral_atoms[factors]",
    "spectral_w2",
    "train_features[contrastive]",
    "train_features[vamp2]",
    "vamp2_loss[constant features]",
}

EXEMPT = {"load_atoms": "reads a file", "save_atoms": "writes a file"}
