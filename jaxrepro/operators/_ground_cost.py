r"""Cost between spectral atoms: eigenvalue gap and distance of projectors, mixed."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ..core import (
    check_choice,
    check_interval,
    check_shape,
    is_concrete,
    paper,
    safe_sqrt,
)
from ._measure import (
    AtomClusters,
    KernelAtoms,
    SpectralAtoms,
    basis_of,
    check_pair,
    live_atoms,
)
from ._overlap import overlap, projector_overlap, square, unit_atoms
from ._subspace import subspace_overlap

KINDS = ("projector", "subspace", "chordal", "geodesic", "procrustes", "martin")
CONVENTIONS = ("paper", "quad", "pot")


class CostOptions(NamedTuple):
    """Static options of the cost, resolved and checked."""

    kind: str
    convention: str
    p: float
    q: float
    r: float
    stable: bool

    @property
    def root(self) -> float:
        """Exponent that turns the transport value into the distance."""
        return 1 / (self.p * self.r)


@paper(
    "germain2026spectral",
    "ground metric on pairs of an eigenvalue and a spectral projector",
    uses=(overlap,),
)
def ground_cost(
    atoms1: SpectralAtoms | KernelAtoms | AtomClusters,
    atoms2: SpectralAtoms | KernelAtoms | AtomClusters,
    *,
    eta: Real[ArrayLike, ""],
    scaling: Real[ArrayLike, "2"] | Sequence[Real[ArrayLike, ""]] = (1.0, 1.0),
    kernel: Callable | None = None,
    p: int | float | None = None,
    kind: str | None = None,
    convention: str = "paper",
    q: int | float = 1,
    stable: bool | None = None,
) -> Float[Array, "r1 r2"]:
    r"""Cost matrix between the spectral atoms of two operators.

    With :math:`\Delta_{ij} = \big((s_r \operatorname{Re}(\lambda_i -
    \lambda'_j))^2 + (s_i \operatorname{Im}(\lambda_i - \lambda'_j))^2\big)^{1/2}`
    and a distance :math:`d_G` of spectral projectors,

    .. math::
        C_{ij} = \begin{cases}
        \big(\eta\, \Delta_{ij} + (1-\eta)\, d_{G,ij}\big)^p & \text{paper} \\
        \eta\, \Delta_{ij}^2 + (1-\eta)\, d_{G,ij}^2 & \text{quad} \\
        \big(\eta\, \Delta_{ij}^q + (1-\eta)\, d_{G,ij}^q\big)^{p/2} & \text{pot}
        \end{cases}

    Parameters
    ----------
    atoms1, atoms2 : SpectralAtoms, KernelAtoms or AtomClusters
        Atoms of the two operators, of one type.
    eta : float
        Share :math:`\eta \in [0, 1]` of the eigenvalues: 1 compares eigenvalues
        only, 0 subspaces only.
    scaling : pair of floats, default (1.0, 1.0)
        Non-negative factors :math:`(s_r, s_i)` of the real and the imaginary
        part; ``(1, 1 / (2 * pi))`` gives frequencies in Hz.
    kernel : equinox.Module, optional
        Kernel of ``KernelAtoms``.
    p : float, optional
        Exponent, at least 1. By default 1 for ``"paper"`` and 2 for the others;
        ``"quad"`` admits 2 only.
    kind : str, optional
        Distance of projectors; with the overlap :math:`s` of :func:`overlap`:

        - ``"projector"``: :math:`\sqrt{2 - 2\operatorname{Re} s}`, the
          Hilbert-Schmidt distance of normalised spectral projectors (the
          default, except for ``"pot"``);
        - ``"subspace"``: :math:`\sqrt{2 - 2|s|^2}`, the distance of the
          projections onto the lines that they span. The only one, and the
          default, for :func:`cluster_atoms`: with bases :math:`Q_R, Q_L` of the
          two spaces of a cluster of :math:`m` atoms it is :math:`\sqrt{m^2 + m'^2
          - 2\,\|Q_R^* Q'_R\|_F^2\,\|Q_L^* Q'_L\|_F^2}`;
        - ``"chordal"``: :math:`\sqrt{1 - |s|^2}` (the default for ``"pot"``);
        - ``"geodesic"``: :math:`\arccos |s|`;
        - ``"procrustes"``: :math:`\sqrt{2 - 2|s|}`;
        - ``"martin"``: :math:`\sqrt{-\log\max(|s|^2, 10^{-12})}`, which need
          not obey the triangle inequality.
    convention : {"paper", "quad", "pot"}, default "paper"
        Which formula: the paper's, its smooth quadratic variant, or the one of
        the POT library.
    q : float, default 1
        Inner exponent of ``"pot"``, positive.
    stable : bool, optional
        Whether to evaluate :math:`1 - |s|^2` without cancellation; by default
        always for ``SpectralAtoms``. ``KernelAtoms`` have no such form.

    Returns
    -------
    array of shape (r1, r2)
        The cost; 0 in the cells of padded atoms, whatever they hold. NaN
        elsewhere if a traced ``eta`` lies outside [0, 1] or an entry of a traced
        ``scaling`` is negative.

    Raises
    ------
    ValueError
        If shapes disagree, the kernel is missing, an option is unknown, the kind
        for clusters is not ``"subspace"``, an exponent is out of range or has no
        meaning for the convention, or a concrete ``eta`` or ``scaling`` is out of
        range.
    TypeError
        If the atoms are of two types, or an exponent is traced.

    Notes
    -----
    The first formula with ``"projector"`` is the paper's for simple
    eigenvalues, ``"subspace"`` its definition in words; ``"quad"`` is ours. All
    kinds but ``"martin"`` make the paper's cost with ``p=1`` a metric on atoms
    for :math:`0 < \eta < 1`.

    The stable form resolves distances down to 64 machine epsilons, below which
    they count as 0; the other one only to the square root of 8 machine epsilons.
    Square roots have derivative 0 at 0.

    References
    ----------
    [germain2026spectral]

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from jaxrepro import operators
    >>> slow = operators.spectral_atoms(jnp.diag(jnp.array([0.9, 0.5])), dt=1.0)
    >>> fast = operators.spectral_atoms(jnp.diag(jnp.array([0.8, 0.5])), dt=1.0)
    >>> print(jnp.array_str(operators.ground_cost(slow, fast, eta=0.5), precision=3))
    [[0.059 1.001]
     [0.942 0.   ]]
    """
    check_pair(("atoms1", "atoms2"), atoms1, atoms2, kernel, clusters=True)
    options = cost_options(
        atoms1, kind=kind, convention=convention, p=p, q=q, stable=stable
    )
    check_traced(eta, scaling)
    return jitted_cost(atoms1, atoms2, eta, scaling, kernel, options=options)


@functools.partial(jax.jit, static_argnames="options")
def jitted_cost(atoms1, atoms2, eta, scaling, kernel, *, options: CostOptions):
    """Cost matrix of checked arguments."""
    unit1, unit2 = unit_atoms(atoms1, kernel), unit_atoms(atoms2, kernel)
    return unit_cost(unit1, unit2, eta, scaling, kernel, options)


def cost_options(
    atoms, *, kind=None, convention="paper", p=None, q=1.0, r=None, stable=None
) -> CostOptions:
    """Fill in the defaults of a convention, and raise on what it does not know."""
    check_choice("convention", convention, CONVENTIONS)
    if isinstance(atoms, AtomClusters):
        kind = kind or "subspace"
        if kind != "subspace":
            raise ValueError(
                f"kind: expected 'subspace' for AtomClusters; got {kind!r}"
            )
    kind = kind or ("chordal" if convention == "pot" else "projector")
    check_choice("kind", kind, KINDS)
    p = _exponent("p", (1 if convention == "paper" else 2) if p is None else p, 1)
    if convention == "quad" and p != 2:
        raise ValueError(f"p: expected 2 with convention 'quad'; got {p:g}")
    q = _exponent("q", q, 0)
    r = _exponent("r", (2 if convention == "pot" else 1) if r is None else r, 0)
    for name, value in (("q", q), ("r", r)):
        if convention != "pot" and value != 1:
            raise ValueError(
                f"{name}: expected 1 with convention {convention!r}; got {value:g}"
            )
    is_kernel = isinstance(basis_of(atoms), KernelAtoms)
    if is_kernel and stable:
        raise ValueError("stable: expected None or False for KernelAtoms; got True")
    stable = not is_kernel if stable is None else bool(stable)
    return CostOptions(kind, convention, p, q, r, stable)


def check_traced(eta, scaling) -> None:
    """Raise on hyper-parameters of the wrong shape, or concrete and out of range."""
    check_shape("eta", eta, ())
    check_interval("eta", eta, 0.0, 1.0)
    if isinstance(scaling, tuple | list):
        for s in scaling:
            check_shape("scaling entry", s, ())
            check_interval("scaling entry", s, 0.0)
        if len(scaling) != 2:
            raise ValueError(f"scaling: expected 2 factors; got {len(scaling)}")
    else:
        check_shape("scaling", scaling, (2,))
        check_interval("scaling", scaling, 0.0)


def unit_cost(
    unit1, unit2, eta, scaling, kernel: Any, options: CostOptions
) -> jax.Array:
    """Cost matrix of atoms that :func:`unit_atoms` has prepared."""
    between = projector_overlap
    if isinstance(unit1, AtomClusters):
        between = subspace_overlap
    s, line = between(unit1, unit2, kernel, stable=options.stable)
    gap = eigenvalue_gap(unit1.lam, unit2.lam, scaling)
    grassmann = _squared_distance(options.kind, s, line)
    eps = jnp.finfo(line.dtype).eps
    grassmann = _flush(grassmann, (64 * eps) ** 2 if options.stable else 8 * eps)
    eta = jnp.asarray(eta, gap.dtype)
    eta = jnp.where((eta >= 0) & (eta <= 1), eta, jnp.nan)
    if options.convention == "quad":
        cost = eta * gap + (1 - eta) * grassmann
    elif options.convention == "paper":
        cost = eta * safe_sqrt(gap) + (1 - eta) * safe_sqrt(grassmann)
        cost = safe_power(cost, options.p)
    else:
        half = options.q / 2
        cost = eta * safe_power(gap, half) + (1 - eta) * safe_power(grassmann, half)
        cost = safe_power(cost, options.p / 2)
    live = live_atoms(unit1)[:, None] & live_atoms(unit2)[None, :]
    return jnp.where(live, cost, 0)


def eigenvalue_gap(lam1, lam2, scaling) -> jax.Array:
    """Squared scaled distances between eigenvalues."""
    if not isinstance(scaling, tuple | list):
        scaling = jnp.asarray(scaling)
    factors = (jnp.asarray(s, lam1.real.dtype) for s in scaling)
    sr, si = (jnp.where(s >= 0, s, jnp.nan) for s in factors)
    gap = lam1[:, None] - lam2[None, :]
    return (sr * gap.real) ** 2 + (si * gap.imag) ** 2


def safe_power(x, exponent: float):
    """``x ** exponent`` with value and derivative 0 wherever ``x <= 0``."""
    if exponent == 1:
        return x
    if exponent == 0.5:
        return safe_sqrt(x)
    edge = x <= 0
    return jnp.where(edge, 0, jnp.where(edge, 1, x) ** exponent)


def _squared_distance(kind, s, line):
    """Squared distance of projectors from the overlap and ``1 - |s|^2``."""
    if kind == "projector":
        return (1 - s.real) ** 2 + s.imag**2 + line
    if kind == "subspace":
        return 2 * line
    if kind == "chordal":
        return line
    if kind == "procrustes":
        return 2 * line / (1 + safe_sqrt(square(s)))
    if kind == "geodesic":
        return jnp.arctan2(safe_sqrt(line), safe_sqrt(square(s))) ** 2
    near = line < 0.5
    far_log = jnp.log(jnp.maximum(jnp.where(near, 1, square(s)), 1e-12))
    return -jnp.where(near, jnp.log1p(-jnp.where(near, line, 0)), far_log)


def _flush(squared, floor):
    """Squared distances at rounding level count as 0, with derivative 0."""
    return jnp.where(squared <= floor, 0, squared)


def _exponent(name, value, minimum):
    """A static exponent as a float, or raise."""
    if not is_concrete(value):
        raise TypeError(f"{name}: expected a Python number; got a traced value")
    value = float(value)
    fits = value >= minimum if minimum else value > 0
    if not (fits and math.isfinite(value)):
        limit = f">= {minimum}" if minimum else "> 0"
        raise ValueError(f"{name}: expected a finite number {limit}; got {value:g}")
    return value
