"""The result as a labelled data set."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._engine import NOT_RUN, blank
from ._outputs import Output

if TYPE_CHECKING:
    import xarray


# What a result says of its origin.
_ATTRIBUTES = (
    "fn",
    "base_seed",
    "keys",
    "exact",
    "batch_per_device",
    "created",
    "elapsed_seconds",
    "versions",
    "git_commit",
    "citations",
)


class Table:
    """Results of all trials in host memory, filled launch by launch.

    Its ``outputs`` are what the specification lists, its ``values`` and ``status``
    hold a row a trial.

    Parameters
    ----------
    spec : mapping
        The specification.
    order : numpy array or None
        Trial number at each execution position.
    """

    def __init__(self, spec: Mapping[str, Any], order: np.ndarray | None):
        self._spec, self._order = spec, order
        n = spec["trials"]
        self.outputs = [
            Output(x["name"], tuple(x["shape"]), x["dtype"]) for x in spec["outputs"]
        ]
        try:
            self.values = {x.name: blank(x, n) for x in self.outputs}
        except MemoryError as error:
            shapes = ", ".join(f"{x.name} {list(x.shape)}" for x in self.outputs)
            raise MemoryError(
                f"fn: {n} trials with outputs {shapes} do not fit the memory of the "
                f"host ({error}); return less, or run fewer trials at a time"
            ) from error
        self.status = np.full(n, NOT_RUN, np.int8)

    def fill(
        self, start: int, results: Mapping[str, np.ndarray], status: np.ndarray
    ) -> None:
        """Keep the results of the positions from ``start`` on."""
        trials = self._trials(np.arange(start, start + len(status)))
        self.status[trials] = status
        for name, values in results.items():
            self.values[name][trials] = values

    def at(self, positions: np.ndarray, name: str) -> np.ndarray:
        """An output, or ``status``, at execution positions."""
        values = self.status if name == "status" else self.values[name]
        return values[self._trials(positions)]

    def _trials(self, positions):
        return positions if self._order is None else self._order[positions]

    def dataset(self, attrs: Mapping[str, Any]) -> "xarray.Dataset":
        """The labelled data set."""
        import xarray

        spec = self._spec
        dims, shape = tuple(spec["dims"]), tuple(spec["shape"])
        labels = spec["labels"]
        variables: dict[str, Any] = {"status": (dims, self.status.reshape(shape))}
        for output in self.outputs:
            inner = axis_names(output, labels["dims"])
            values = self.values[output.name].reshape(shape + output.shape)
            variables[output.name] = (dims + inner, values)
        return xarray.Dataset(
            variables, _coordinates(spec), {**attrs, **labels["attrs"]}
        )


def axis_names(output: Output, dims: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of an output's own axes, those given or ``<name>_dim_<j>``."""
    given = tuple(dims.get(output.name, ()))
    rest = range(len(given), len(output.shape))
    return given + tuple(f"{output.name}_dim_{j}" for j in rest)


def make_labels(
    dims: Mapping[str, Any] | None,
    coords: Mapping[str, Any] | None,
    attrs: Mapping[str, Any] | None,
    outputs: list[Output],
    taken: Sequence[str],
) -> dict[str, Any]:
    """``dims``, ``coords`` and ``attrs`` of the result, if they fit the outputs."""
    for kind, given in (("dims", dims), ("coords", coords), ("attrs", attrs)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{kind}: expected a dict; got {given!r}")
    labels = {
        "dims": {name: _axes(name, axes) for name, axes in (dims or {}).items()},
        "coords": {name: _ticks(name, x) for name, x in (coords or {}).items()},
        "attrs": {name: _attribute(name, x) for name, x in (attrs or {}).items()},
    }
    _check_labels(labels, outputs, [*taken, "point", "status"])
    return labels


def _axes(name, axes):
    if isinstance(axes, str) or not isinstance(axes, Iterable):
        raise TypeError(f"dims: expected a tuple of names for {name!r}; got {axes!r}")
    return tuple(axes)


def _ticks(name, values):
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "biufU":
        raise TypeError(
            f"coords: expected a list of numbers or texts for {name!r}; got {values!r}"
        )
    return array.tolist()


def _attribute(name, value):
    """An attribute that netCDF can hold."""
    if name in _ATTRIBUTES:
        raise ValueError(
            f"attrs: expected names other than {', '.join(_ATTRIBUTES)}; got {name!r}"
        )
    if not isinstance(name, str) or np.asarray(value).dtype.kind not in "biufU":
        raise TypeError(f"attrs: expected texts and numbers; got {name!r}: {value!r}")
    return value


def _check_labels(labels, outputs, taken):
    by_name = {output.name: output for output in outputs}
    sizes: dict[str, int] = {}
    for name in labels["dims"]:
        if name not in by_name:
            raise ValueError(
                f"dims: expected names of outputs, {', '.join(by_name)}; got {name!r}"
            )
        if len(labels["dims"][name]) > len(by_name[name].shape):
            raise ValueError(
                f"dims: expected at most {len(by_name[name].shape)} names for "
                f"{name!r}; got {labels['dims'][name]}"
            )
    for output in outputs:
        for axis, size in zip(axis_names(output, labels["dims"]), output.shape):
            if axis in taken or axis in by_name:
                raise ValueError(f"dims: expected a name that is free; got {axis!r}")
            if sizes.setdefault(axis, size) != size:
                raise ValueError(
                    f"dims: expected axes {axis!r} of one length; got {sizes[axis]} "
                    f"and {size}"
                )
    for name, values in labels["coords"].items():
        if name not in sizes or len(values) != sizes[name]:
            wanted = f"length {sizes[name]}" if name in sizes else f"one of {[*sizes]}"
            raise ValueError(
                f"coords: expected {wanted} for {name!r}; got length {len(values)}"
            )


def _coordinates(spec):
    coordinates: dict[str, Any] = {"seed": np.asarray(spec["seeds"], np.int64)}
    for name, values in spec["options"].items():
        coordinates[name] = (name, _label_array(values))
    for axis in spec["axes"]:
        for name, column in axis["columns"].items():
            values = np.asarray(column["values"], column["dtype"])
            coordinates[name] = (axis["dim"], values)
        if axis["dim"] not in axis["columns"]:
            coordinates[axis["dim"]] = np.arange(len(values))
    return coordinates | dict(spec["labels"]["coords"])


def _label_array(values):
    """Labels of one type; NumPy would make a string of every number beside one."""
    kinds = {type(value) for value in values}
    plain = len(kinds) == 1 and kinds <= {str, bool, int, float}
    return np.asarray(values if plain else [str(value) for value in values])


def attributes(
    spec: Mapping[str, Any], start: Mapping[str, Any] | None, elapsed: float
) -> dict[str, Any]:
    """What the result says of its origin, in texts and numbers, as netCDF holds them.

    Parameters
    ----------
    spec : mapping
        The specification.
    start : mapping or None
        What :func:`invocation` noted at the first start, if that is known.
    elapsed : float
        Seconds from there to the last result.
    """
    attrs = {
        "fn": spec["fn"],
        "base_seed": spec["base_seed"],
        "keys": spec["keys"],
        "exact": int(spec["exact"]),
        "batch_per_device": spec["batch"],
    }
    if start is None:
        return attrs
    return attrs | {
        "created": start["time"],
        "elapsed_seconds": round(elapsed, 3),
        "versions": json.dumps(start["versions"]),
        "git_commit": start["git"]["commit"],
        "citations": " ".join(start["citations"]),
    }
