"""Run in a clean environment: the installed wheel is complete and computes."""

import os

import numpy as np

import jaxrepro
from jaxrepro import cite, operators

assert "site-packages" in jaxrepro.__file__, jaxrepro.__file__
assert os.path.exists(os.path.join(os.path.dirname(jaxrepro.__file__), "py.typed"))
assert "germain2026spectral" in cite(operators.sgot)

t = np.arange(400) * 0.05
recordings = [np.sin(2 * np.pi * hz * t)[:, None] for hz in (0.5, 0.5, 1.0)]
distances = operators.distance_matrix(
    recordings, 0.05, n_delays=20, rank=2, gamma=1e-4, eta=0.5
)
assert distances[0, 1] < 1e-2 < distances[0, 2], distances
print(f"jaxrepro {jaxrepro.__version__}: distances\n{np.asarray(distances)}")
