r"""The spectral-Grassmann optimal-transport distance and its two limits."""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from .. import ot
from ..core import (
    check_choice,
    check_integer,
    check_interval,
    check_shape,
    paper,
    promote_floating,
)
from ._ground_cost import (
    check_traced,
    cost_options,
    ground_cost,
    jitted_cost,
    safe_power,
)
from ._measure import AtomClusters, KernelAtoms, SpectralAtoms, check_pair


@paper(
    "germain2026spectral",
    "definition of the spectral-Grassmann Wasserstein metric",
    uses=(ground_cost,),
)
def sgot(
    atoms1: SpectralAtoms | KernelAtoms | AtomClusters,
    atoms2: SpectralAtoms | KernelAtoms | AtomClusters,
    *,
    eta: Real[ArrayLike, ""],
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    eps: Real[ArrayLike, ""] | None = None,
    kernel: Callable | None = None,
    p: int | float | None = None,
    kind: str | None = None,
    convention: str = "paper",
    q: int | float = 1,
    r: int | float | None = None,
    stable: bool | None = None,
    solver: str = "exact",
    n_iter: int | None = None,
    return_plan: bool = False,
) -> Float[Array, ""] | tuple[Float[Array, ""], Float[Array, "r1 r2"]]:
    r"""Spectral-Grassmann optimal-transport distance between two operators.

    .. math:: d(T, T') = \Big( \min_{P \in \Pi(w, w')}
                         \sum_{ij} P_{ij}\, d_\eta(i, j)^p \Big)^{1/p}, \qquad
              d_\eta = \eta\,|\lambda_i - \lambda'_j|
                       + (1 - \eta)\, d_G(r_i l_i^*, r'_j l_j'^*),

    the Wasserstein distance between the two operators seen as measures on pairs
    of an eigenvalue and a spectral projector.

    Parameters
    ----------
    atoms1, atoms2 : SpectralAtoms, KernelAtoms or AtomClusters
        The two operators, from :func:`spectral_atoms`, or both from
        :func:`cluster_atoms`. Weights must have equal sums, which are not
        normalised: the cost grows with them. None means equal weights of the
        other's sum, or of sum 1.
    eta : float
        Share :math:`\eta \in [0, 1]` of the eigenvalues. 1 compares eigenvalues
        only (:func:`sot`), 0 subspaces only (:func:`got`): these two limits are
        pseudo-metrics. Try 0.2 with frequencies in Hz; see also
        :func:`eta_heuristic`.
    scaling : pair of floats, default (1.0, 1.0)
        Factors of the real and imaginary part of eigenvalue differences;
        ``(1, 1 / (2 * pi))`` gives frequencies in Hz.
    eps : float, optional
        Entropic regularisation relative to the mean cost, by default 0.05; for
        ``solver="sinkhorn"`` only.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``.
    p : float, optional
        Order of the Wasserstein distance, at least 1; by default 1 for the
        convention ``"paper"`` and 2 for the others.
    kind : str, optional
        Distance :math:`d_G` of projectors, see :func:`ground_cost`; by default
        ``"projector"``, ``"chordal"`` for the convention ``"pot"``, and
        ``"subspace"`` for ``AtomClusters``.
    convention : {"paper", "quad", "pot"}, default "paper"
        Which cost, see :func:`ground_cost`. ``"quad"`` returns the square root
        of the transport value, ``"pot"`` its power :math:`1/(pr)`.
    q : float, default 1
        Inner exponent of the convention ``"pot"``.
    r : float, optional
        Outer root of the convention ``"pot"``, by default 2.
    stable : bool, optional
        See :func:`ground_cost`.
    solver : {"exact", "sinkhorn"}, default "exact"
        Exact transport (the assignment solver if both weights are None and the
        numbers of atoms agree), or the cost of the entropic plan, which is
        larger.
    n_iter : int, optional
        Number of Sinkhorn iterations, by default 200.
    return_plan : bool, default False
        Whether to return the plan as well.

    Returns
    -------
    array of shape ()
        The distance. NaN if weights are negative, all 0 or of different sums, or
        if a traced ``eta`` is outside [0, 1].
    array of shape (r1, r2)
        The transport plan, if asked for.

    Raises
    ------
    ValueError
        If shapes disagree, the kernel is missing, an option is unknown or has no
        meaning beside the others, an exponent is out of range, or a concrete
        ``eta``, ``scaling`` or ``eps`` is out of range.
    TypeError
        If the atoms are of two types, or an exponent is traced.

    Notes
    -----
    With ``convention="paper"`` this is the paper's metric. It does not depend on
    the order of atoms, on the basis of features, nor, below the Nyquist
    frequency, on the sampling step. The convention ``"pot"`` with its defaults
    equals the fourth root of the paper's distance of chordal kind.

    Derivatives flow through eigenvalues and eigenvectors by the envelope rule
    of :func:`jaxrepro.ot.emd`; at distance 0 they are 0. Batches by ``vmap``, or
    :func:`sgot_pairwise`. Accuracy: distances of 1e-4 and more keep three
    digits in float32 (``SpectralAtoms``); ``KernelAtoms`` have a floor of about
    the square root of the machine epsilon. Cost :math:`O(d r_1 r_2)`, with
    kernels :math:`O(n n' (d + r))`, plus one transport problem.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> slow = operators.spectral_atoms(jnp.diag(jnp.array([0.9, 0.5])), dt=0.1)
    >>> fast = operators.spectral_atoms(jnp.diag(jnp.array([0.8, 0.5])), dt=0.1)
    >>> round(float(operators.sgot(slow, fast, eta=0.5)), 3)
    0.294
    """
    check_pair(("atoms1", "atoms2"), atoms1, atoms2, kernel, clusters=True)
    options = cost_options(
        atoms1, kind=kind, convention=convention, p=p, q=q, r=r, stable=stable
    )
    check_traced(eta, scaling)
    eps, n_iter = solver_options(solver, eps, n_iter)
    # Not jitted as a whole: eager calls with other options reuse the solver.
    cost = jitted_cost(atoms1, atoms2, eta, scaling, kernel, options=options)
    weights = atoms1.weight, atoms2.weight
    value, plan = transport(cost, weights, eps, solver=solver, n_iter=n_iter)
    value = safe_power(value, options.root)
    return (value, plan) if return_plan else value


@paper(
    "redman2024identifying",
    "Wasserstein distance between the spectra of Koopman operators",
    uses=(ground_cost,),
)
def sot(
    atoms1: SpectralAtoms | KernelAtoms | AtomClusters,
    atoms2: SpectralAtoms | KernelAtoms | AtomClusters,
    *,
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    p: int | float = 1,
) -> Float[Array, ""]:
    r"""Wasserstein distance between eigenvalues alone: ``sgot`` at ``eta=1``.

    .. math:: \Big( \min_{P} \sum_{ij} P_{ij} |\lambda_i - \lambda'_j|^p \Big)^{1/p}

    Parameters
    ----------
    atoms1, atoms2 : SpectralAtoms, KernelAtoms or AtomClusters
        The two operators; eigenvectors are not looked at, and no kernel is
        needed.
    scaling : pair of floats, default (1.0, 1.0)
        As in :func:`sgot`.
    p : float, default 1
        Order, at least 1.

    Returns
    -------
    array of shape ()
        The distance; 0 for operators with the same eigenvalues.

    Raises
    ------
    ValueError, TypeError
        As :func:`sgot`.

    References
    ----------
    [redman2024identifying], [germain2026spectral]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> slow = operators.spectral_atoms(jnp.diag(jnp.array([0.9, 0.5])), dt=0.1)
    >>> fast = operators.spectral_atoms(jnp.diag(jnp.array([0.8, 0.5])), dt=0.1)
    >>> round(float(operators.sot(slow, fast)), 3)
    0.589
    """
    bare = []
    for atoms in (atoms1, atoms2):
        (lam,) = promote_floating(atoms.lam)
        check_shape("lam", lam, ("r",))
        one = jnp.ones_like(lam)[None, :]
        bare.append(SpectralAtoms(lam, one, one, atoms.weight))
    return sgot(*bare, eta=1.0, scaling=scaling, p=p)  # pyright: ignore


@paper(
    "germain2026spectral",
    "subspace-only limit of the metric",
    uses=(ground_cost,),
)
def got(
    atoms1: SpectralAtoms | KernelAtoms | AtomClusters,
    atoms2: SpectralAtoms | KernelAtoms | AtomClusters,
    *,
    kernel: Callable | None = None,
    p: int | float = 1,
    kind: str | None = None,
) -> Float[Array, ""]:
    r"""Wasserstein distance between spectral projectors alone: ``sgot`` at ``eta=0``.

    .. math:: \Big( \min_{P} \sum_{ij} P_{ij}\, d_G(r_i l_i^*, r'_j l_j'^*)^p
              \Big)^{1/p}

    Parameters
    ----------
    atoms1, atoms2 : SpectralAtoms, KernelAtoms or AtomClusters
        The two operators.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``.
    p : float, default 1
        Order, at least 1.
    kind : str, optional
        Distance of projectors, as in :func:`ground_cost`.

    Returns
    -------
    array of shape ()
        The distance; 0 for operators with the same eigenvectors.

    Raises
    ------
    ValueError, TypeError
        As :func:`sgot`.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> slow = operators.spectral_atoms(jnp.diag(jnp.array([0.9, 0.5])), dt=0.1)
    >>> fast = operators.spectral_atoms(jnp.diag(jnp.array([0.8, 0.5])), dt=0.1)
    >>> float(operators.got(slow, fast))
    0.0
    """
    value = sgot(atoms1, atoms2, eta=0.0, kernel=kernel, p=p, kind=kind)
    return value  # pyright: ignore[reportReturnType]


@paper("germain2026spectral", "heuristic for the share of the eigenvalues")
def eta_heuristic(sampling_rate: Real[ArrayLike, ""]) -> Float[Array, ""]:
    r"""Share of the eigenvalues at which both parts of the cost weigh the same.

    .. math:: \tilde\eta = \frac{1}{1 + f_s / (2\sqrt 2)},

    where the largest gap of frequencies (the Nyquist frequency :math:`f_s/2`)
    and the largest distance of projectors (:math:`\sqrt 2`) contribute equally.

    Parameters
    ----------
    sampling_rate : float
        :math:`f_s = 1/dt` in Hz, positive.

    Returns
    -------
    array of shape ()
        :math:`\tilde\eta \in (0, 1)`, an upper end of the range in which to
        search. It presumes frequencies in Hz: ``scaling=(1, 1 / (2 * pi))``.
        NaN if a traced rate is not positive.

    Raises
    ------
    ValueError
        If a concrete rate is not positive, or not a scalar.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> from jaxrepro.operators import eta_heuristic
    >>> round(float(eta_heuristic(200.0)), 4)
    0.0139
    """
    check_shape("sampling_rate", sampling_rate, ())
    check_interval("sampling_rate", sampling_rate, 0.0, closed="neither")
    (rate,) = promote_floating(sampling_rate)
    return jnp.where(rate > 0, 1 / (1 + rate / 8**0.5), jnp.nan)


def solver_options(solver, eps, n_iter):
    """Fill in the options of the entropic solver, or raise if it is not in use."""
    check_choice("solver", solver, ("exact", "sinkhorn"))
    if solver == "exact":
        for name, value in (("eps", eps), ("n_iter", n_iter)):
            if value is not None:
                raise ValueError(f"{name}: expected None with solver 'exact'")
        return None, None
    eps = 0.05 if eps is None else eps
    check_shape("eps", eps, ())
    check_interval("eps", eps, 0.0, closed="neither")
    return eps, check_integer("n_iter", 200 if n_iter is None else n_iter)


def transport(cost, weights, eps, *, solver, n_iter):
    """Value and plan of a transport problem."""
    weights = tuple(None if w is None else jnp.asarray(w, cost.dtype) for w in weights)
    if solver == "exact":
        result = ot.emd(cost, *weights)
        return result.value, result.plan
    return _entropic_transport(cost, weights, eps, n_iter=n_iter)


@functools.partial(jax.jit, static_argnames="n_iter")
def _entropic_transport(cost, weights, eps, *, n_iter):
    # Under jit, since the regularisation comes from values that may be NaN.
    eps = ot.scale_eps(cost, *weights, rel=eps)
    # At cost 0 every plan is optimal, with any regularisation.
    eps = jnp.where(eps == 0, 1, eps)
    plan = ot.sinkhorn_plan(cost, *weights, eps=eps, n_iter=n_iter)
    return jnp.sum(cost * plan), plan
