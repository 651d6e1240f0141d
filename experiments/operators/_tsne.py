"""Pictures by t-SNE, where scikit-learn is installed."""

import importlib.util

import numpy as np


def tsne(distances, seed: int, *, perplexity: float = 15.0) -> np.ndarray | None:
    """Points in the plane that keep neighbours together; None without scikit-learn.

    The perplexity, about the number of neighbours, is at most a third of all points.
    """
    if importlib.util.find_spec("sklearn") is None:
        return None
    from sklearn.manifold import TSNE

    method = TSNE(
        metric="precomputed",
        method="exact",
        init="random",
        perplexity=min(perplexity, (len(distances) - 1) / 3),
        random_state=seed,
    )
    return method.fit_transform(np.maximum(distances, 0))
