"""Results as a table with a row a trial."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import xarray


def tidy(dataset: "xarray.Dataset") -> "pandas.DataFrame":
    """A row a trial, a column a hyper-parameter, option, output, seed and status.

    Parameters
    ----------
    dataset : xarray.Dataset
        As :func:`sweep` returns it.
    """
    import pandas as pd

    outer = {name: dataset.sizes[name] for name in dataset["status"].dims}
    rows = math.prod(outer.values())
    columns: dict[str, Any] = {}
    for name in [*dataset.coords, *dataset.data_vars]:
        variable = dataset[name].variable
        inner = {k: n for k, n in variable.sizes.items() if k not in outer}
        if len(inner) == variable.ndim and name not in dataset.data_vars:
            continue  # a label of an output's own axis
        values = variable.set_dims(outer | inner).values
        values = values.reshape(rows, *inner.values())
        for key, part in _real_parts(str(name), values).items():
            if key in columns:
                raise ValueError(f"path: expected names of columns once; got {key!r}")
            columns[key] = part if part.ndim == 1 else part.tolist()
    return pd.DataFrame(columns)


def _real_parts(name, values):
    """A complex column, which few formats of tables know, as two real ones."""
    if values.dtype.kind != "c":
        return {name: values}
    return {f"{name}.real": values.real, f"{name}.imag": values.imag}
