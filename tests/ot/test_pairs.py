"""Numbers of pairs: every pair once, in 32 bits."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.ot._pairs import count_pairs, matrix_of, pair_of


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_every_pair_has_one_number(n):
    for m, symmetric in ((n, True), (n, False), (5, False)):
        count = count_pairs(n, m, symmetric)
        i, j = pair_of(jnp.arange(count, dtype=jnp.int32), n, m, symmetric)
        got = set(zip(i.tolist(), j.tolist()))
        pairs = [(i, j) for i in range(n) for j in range(m) if i < j or not symmetric]
        assert got == set(pairs)
        assert count == len(pairs)
        matrix = np.asarray(matrix_of(jnp.arange(1, count + 1), n, m, symmetric))
        np.testing.assert_array_equal(matrix[i, j], np.arange(1, count + 1))
        if symmetric:
            np.testing.assert_array_equal(matrix, matrix.T)
            np.testing.assert_array_equal(np.diag(matrix), 0)


@pytest.mark.parametrize("n", [46340, 46341])
def test_numbers_of_many_pairs_do_not_overflow(n):
    count = count_pairs(n, n, True)
    assert 2**29 < count < 2**30
    rng = np.random.default_rng(0)
    numbers = np.unique(rng.integers(0, count, 5000, dtype=np.int32))
    i, j = pair_of(jnp.asarray(numbers), n, n, True)
    assert np.all((0 <= i) & (i < j) & (j < n))
    # Row k of the triangle is followed by row last - k, in reversed order of k.
    i, j = (np.asarray(z, np.int64) for z in (i, j))
    last = n - 1 - n % 2
    first = np.minimum(i, last - i)
    before = first * (2 * n - 2 - last) + (i > first) * (n - 1 - first)
    np.testing.assert_array_equal(before + j - i - 1, numbers)
