import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrepro.operators import knn_predict, monte_carlo_cv


def random_distances(rng, n_test, n_train):
    return rng.uniform(size=(n_test, n_train))


@pytest.mark.peer
@pytest.mark.parametrize("k", [1, 3, 4, 7])
def test_equals_scikit_learn(k):
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(k)
    labels = rng.choice([-3, 2, 7], size=30)
    peer = neighbors.KNeighborsClassifier(k, metric="precomputed")
    peer.fit(np.zeros((30, 30)), labels)
    distances = random_distances(rng, 50, 30)
    # Votes are often tied for even k: the smaller label wins in both.
    np.testing.assert_array_equal(
        knn_predict(distances, labels, k=k), peer.predict(distances)
    )


def test_ties_and_missing_distances():
    labels = np.array([5, 1, 1, 3])
    equal = np.zeros((1, 4))
    assert knn_predict(equal, labels).tolist() == [5]
    assert knn_predict(equal, labels, k=2).tolist() == [1]
    distances = np.array([[np.nan, np.inf, 2.0, 1.0]])
    assert knn_predict(distances, labels).tolist() == [3]
    assert knn_predict(distances, labels, k=2).tolist() == [1]


def test_accuracy_by_hand(getkey):
    """Each split, repeated in NumPy from the shuffles that the key gives."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [4, 7, 10])
    distances = random_distances(rng, 21, 21)
    distances = distances + distances.T
    key = getkey()
    got = monte_carlo_cv(key, distances, labels, n_splits=5, train_frac=0.6)
    for i, accuracy in enumerate(got):
        u = np.asarray(jax.random.uniform(jax.random.fold_in(key, i), (21,)))
        train = np.zeros(21, bool)
        for c, n_train in ((0, 2), (1, 4), (2, 6)):
            members = np.flatnonzero(labels == c)
            train[members[np.argsort(u[members])[:n_train]]] = True
        nearest = np.flatnonzero(train)[np.argmin(distances[:, train], axis=1)]
        right = (labels[nearest] == labels)[~train]
        np.testing.assert_allclose(accuracy, right.mean(), rtol=1e-6)


def test_well_separated_classes_and_chance(getkey):
    labels = np.repeat([0, 1], 100)
    apart = (labels[:, None] != labels[None, :]) + 0.0
    np.testing.assert_array_equal(monte_carlo_cv(getkey(), apart, labels), 1)
    rng = np.random.default_rng(0)
    noise = random_distances(rng, 200, 200)
    accuracy = monte_carlo_cv(getkey(), noise, labels, n_splits=40)
    # 40 splits of 60 fair coins each; splits of one matrix are not independent, so
    # the deviation is taken for the 200 x 200 matrix: 200 independent nearest items.
    assert abs(float(accuracy.mean()) - 0.5) < 5 * 0.5 / np.sqrt(200)


def test_small_classes_have_both_sides(getkey):
    labels = np.array([0, 0, 1, 1, 2])
    distances = np.abs(np.arange(5.0)[:, None] - np.arange(5.0)[None, :]) ** 0
    for fraction in (0.01, 0.99):
        got = monte_carlo_cv(getkey(), distances, labels, train_frac=fraction)
        # One of each pair is tested, and the only item of class 2 never is.
        assert np.all(np.isin(np.round(np.asarray(got) * 2, 5), [0, 1, 2]))
    alone = monte_carlo_cv(getkey(), np.eye(3), np.arange(3), n_splits=2)
    assert np.all(np.isnan(alone))


def test_splits_do_not_depend_on_their_number(getkey):
    key, rng = getkey(), np.random.default_rng(0)
    labels, distances = rng.integers(0, 3, 20), random_distances(rng, 20, 20)
    few = monte_carlo_cv(key, distances, labels, n_splits=3)
    many = monte_carlo_cv(key, distances, labels, n_splits=6)
    np.testing.assert_array_equal(few, many[:3])
    other = monte_carlo_cv(getkey(), distances, labels, n_splits=6)
    assert np.any(np.asarray(many) != np.asarray(other))


def test_traced_fraction_out_of_range_gives_nan(getkey):
    labels, distances = np.array([0, 0, 1, 1]), np.ones((4, 4))
    run = jax.jit(lambda f: monte_carlo_cv(getkey(), distances, labels, train_frac=f))
    assert np.all(np.isnan(run(1.5)))


@pytest.mark.usefixtures("plain_errors")
def test_bad_input_is_named(getkey):
    labels, distances = np.array([0, 1]), np.ones((3, 2))
    with pytest.raises(ValueError, match=r"labels: expected shape \(2,\); got shape"):
        knn_predict(distances, np.zeros(3, int))
    with pytest.raises(TypeError, match="labels: expected integers; got float32"):
        knn_predict(distances, np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="labels: expected integers; got <U1; number"):
        knn_predict(np.ones((1, 2)), np.array(["a", "b"]))
    with pytest.raises(ValueError, match=r"k: expected an integer in \[1, 2\]; got 3"):
        knn_predict(distances, labels, k=3)
    with pytest.raises(ValueError, match=r"distances: expected shape \(n_test, n_t"):
        knn_predict(np.ones(3), labels)
    with pytest.raises(ValueError, match=r"distances: expected shape \(3, 3\); got sh"):
        monte_carlo_cv(getkey(), distances, labels)
    square = np.ones((2, 2))
    with pytest.raises(ValueError, match=r"train_frac: expected a value in \(0, 1\)"):
        monte_carlo_cv(getkey(), square, labels, train_frac=1.0)
    with pytest.raises(ValueError, match="n_splits: expected an integer >= 1; got 0"):
        monte_carlo_cv(getkey(), square, labels, n_splits=0)
    with pytest.raises(TypeError, match="key: expected a random key, .*; got None"):
        monte_carlo_cv(None, square, labels)
    assert jnp.shape(monte_carlo_cv(getkey(), square, labels)) == (10,)


def test_items_of_the_test_set_do_not_vote(getkey):
    # More neighbours than training items: the order of items must not matter.
    x = np.concatenate([np.full(5, 100.0), np.zeros(35)]) + 1e-3 * np.arange(40)
    labels = np.repeat([0, 1], [5, 35])
    key, order = getkey(), np.random.default_rng(0).permutation(40)

    def accuracy(x, labels):
        distances = np.abs(x[:, None] - x[None, :])
        options = {"train_frac": 0.1, "k": 9, "n_splits": 20}
        return monte_carlo_cv(key, distances, labels, **options)

    # One item of class 0 and four of class 1 vote: 1 wins everywhere.
    np.testing.assert_allclose(accuracy(x, labels), 31 / 35, rtol=1e-6)
    np.testing.assert_allclose(accuracy(x[order], labels[order]), 31 / 35, rtol=1e-6)
