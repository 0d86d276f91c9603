"""States of behavior: what a frame of a recording is counted as."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from shapelex._messages import parameter
from shapelex._typing import FloatArray, IntArray
from shapelex._validation import check_choice, check_count
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.sequences.postures import PostureMap
from shapelex.sequences.result import SequenceCodes

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("support", "cluster", "hmm")

_VARIANCE_KEPT = 0.95
_MOST_FEATURES = 8


@dataclass(frozen=True, eq=False, repr=False)
class BehaviorStates:
    """The state of each frame, and the rule for other recordings.

    Parameters
    ----------
    labels : ndarray of int, shape (n_shapes,)
        Number of the state of each frame; −1 for frames that could not be coded.
    names : list of str
        Names of the states: the atoms that they use, or their numbers, the most frequent first.
    centers : ndarray of float, shape (n_states, n_entries)
        Mean posture of each state, see the theory page.
    explanation : str
        How the states were found, in words.
    predict : callable
        Returns the labels of the frames of another :class:`~shapelex.sequences.SequenceCodes` over the same dictionary.
    source : SequenceCodes
        The recording that the states were found in.
    selection : mapping of str to ndarray
        Held-out log-likelihoods of the numbers of states and dwell times that were tried.
    """

    labels: IntArray
    names: list[str]
    centers: FloatArray
    explanation: str
    predict: Callable[[SequenceCodes], IntArray]
    source: SequenceCodes
    selection: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"BehaviorStates({len(self.names)} states of {len(self.labels)} frames: {self.explanation})"

    def similarity(self) -> "pd.DataFrame":
        """How alike the mean postures of the states are.

        Returns
        -------
        pandas.DataFrame
            ``1 / (1 + d)`` for each pair of states, where ``d`` is the distance of their mean postures, divided by the
            root mean squared distance of all mean postures from their center: 1 for equal postures.
        """
        import pandas as pd

        differences = self.centers[:, None] - self.centers[None]
        distances = np.sqrt((differences**2).sum(axis=2))
        spread = np.sqrt(((self.centers - self.centers.mean(axis=0)) ** 2).sum(axis=1).mean())
        alike = 1 / (1 + distances / (spread if spread > 0 else 1))
        return pd.DataFrame(alike, index=self.names, columns=self.names)


def find_states(
    result: SequenceCodes,
    method: str = "support",
    *,
    n_states: int | None = None,
    random_state: int | None = 0,
) -> BehaviorStates:
    """Divide the frames of recordings into states of behavior.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.
    method : {"support", "cluster", "hmm"}, default "support"
        What a state is.

        - ``"support"``: a set of atoms.
        - ``"cluster"``: a cluster of the reconstructed postures, by k-means.
        - ``"hmm"``: a state of a hidden Markov model of the reconstructed postures, with Gaussian emissions and one
          mean dwell time for all states. Needs ``hmmlearn``, the extra ``sequences``.
    n_states : int, optional
        Number of states, for ``"cluster"`` and ``"hmm"``. By default it is chosen: for ``"cluster"`` from 2 to 10 by
        the largest silhouette, for ``"hmm"`` from 1 to 8, together with the dwell time, by held-out likelihood: the
        largest number whose last state adds at least 15 % of the gain in log-likelihood of the best number over one
        state. A Gaussian is a poor model of most states, so that the likelihood rises slowly with more states for long.
    random_state : int, default 0
        Seed of the first clusters.

    Returns
    -------
    BehaviorStates
        States, the most frequent first, with a rule for other recordings.

    Raises
    ------
    ParameterError
        If there are fewer frames than states.
    ImportError
        If hmmlearn is needed and not installed.

    Examples
    --------
    >>> import shapelex as sx
    >>> shapes = sx.datasets.make_behavior(300, 1, n_states=3, random_state=0)
    >>> model = sx.ShapeDictionary(3, 1, random_state=0).fit(shapes)
    >>> result = sx.sequences.encode_sequence(shapes, model, switch_cost=0.05)
    >>> states = sx.sequences.find_states(result)
    >>> len(states.names)
    3
    """
    if not isinstance(result, SequenceCodes):
        raise ParameterTypeError(
            f"{parameter('result')} must be what encode_sequence returns, got {type(result).__name__}."
        )
    check_choice(method, METHODS, "method")
    if method == "support":
        return _by_support(result)
    if n_states is not None and check_count(n_states, 1, "n_states") > len(result.time_order.order):
        raise ParameterError(
            f"{parameter('n_states')} must be at most the number of coded frames, {len(result.time_order.order)}, got "
            f"{n_states}."
        )
    features = PostureFeatures(result)
    # Threads of k-means wait for each other longer than they compute, for so few rows.
    with threadpool_limits(1):
        if method == "cluster":
            return _by_cluster(result, features, n_states, random_state)
        from shapelex.sequences.hidden_markov import fit_hidden_markov

        return fit_hidden_markov(result, features, n_states, random_state)


class PostureFeatures:
    """Few numbers per frame: coordinates of its posture along the main directions of the postures of a recording."""

    def __init__(self, result: SequenceCodes) -> None:
        shapes = result.reconstruct()[result.time_order.order]
        self.map = PostureMap(shapes, result.space, by_angles=False)
        postures = self.map(shapes)
        _, values, directions = np.linalg.svd(postures, full_matrices=False)
        held = np.cumsum(values**2) / max(float((values**2).sum()), np.finfo(float).tiny)
        self.n_features = min(int(np.searchsorted(held, _VARIANCE_KEPT)) + 1, _MOST_FEATURES, len(values))
        self.directions = directions[: self.n_features]

    def __call__(self, result: SequenceCodes) -> FloatArray:
        """Return the coordinates of all coded frames, in the order of time."""
        shapes = result.reconstruct()[result.time_order.order]
        return np.asarray(self.map(shapes) @ self.directions.T)


def by_frequency(labels: IntArray, n_states: int) -> IntArray:
    """Return the new number of each state such that the most frequent comes first."""
    counts = np.bincount(labels, minlength=n_states)
    rank = np.empty(n_states, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(n_states)
    return rank


def in_rows(result: SequenceCodes, ordered: IntArray) -> IntArray:
    """Return labels of coded frames in the order of the rows, −1 for frames that could not be coded."""
    labels: IntArray = np.full(len(result), -1, dtype=np.int64)
    labels[result.time_order.order] = ordered
    return labels


def state_centers(result: SequenceCodes, ordered: IntArray, n_states: int) -> FloatArray:
    """Return the mean posture of each state, 0 for states without frames."""
    shapes = result.reconstruct()[result.time_order.order]
    postures = PostureMap(shapes, result.space, by_angles=False)(shapes)
    sums = np.zeros((n_states, postures.shape[1]))
    np.add.at(sums, ordered, postures)
    return np.asarray(sums / np.maximum(np.bincount(ordered, minlength=n_states), 1)[:, None])


def _by_support(result: SequenceCodes) -> BehaviorStates:
    ordered = result.codes.support[result.time_order.order]
    sets, numbers = np.unique(_padded_last(ordered), axis=0, return_inverse=True)
    rank = by_frequency(numbers.reshape(-1), len(sets))
    known = {tuple(one): int(rank[place]) for place, one in enumerate(sets.tolist())}
    names = [""] * len(sets)
    for one, place in known.items():
        names[place] = "+".join(f"a{atom}" for atom in one if atom < result.codes.n_atoms) or "none"

    def predict(other: SequenceCodes) -> IntArray:
        rows = _padded_last(other.codes.support[other.time_order.order]).tolist()
        # Sets that did not occur before have no state.
        return in_rows(other, np.array([known.get(tuple(row), -1) for row in rows], dtype=np.int64))

    states = rank[numbers.reshape(-1)]
    return BehaviorStates(
        in_rows(result, states),
        names,
        state_centers(result, states, len(sets)),
        f"a state is a set of atoms; {len(sets)} sets occur",
        predict,
        result,
    )


def _padded_last(support: IntArray) -> IntArray:
    """Return supports in ascending order, with a number above all atoms in place of −1."""
    return np.sort(np.where(support < 0, np.iinfo(np.int32).max, support), axis=1)


def _by_cluster(
    result: SequenceCodes, features: PostureFeatures, n_states: int | None, random_state: int | None
) -> BehaviorStates:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    rows = features(result)
    tried = [n_states] if n_states is not None else [n for n in range(2, 11) if n < len(rows)]
    fits = [KMeans(n or 1, n_init=10, random_state=random_state).fit(rows) for n in tried]
    scores = [
        silhouette_score(rows, fit.labels_, sample_size=min(len(rows), 5000), random_state=0) if len(fits) > 1 else 1.0
        for fit in fits
    ]
    best = fits[int(np.argmax(scores))] if fits else KMeans(1, n_init=1).fit(rows)
    count = best.n_clusters
    rank = by_frequency(best.labels_, count)

    def predict(other: SequenceCodes) -> IntArray:
        return in_rows(other, rank[best.predict(features(other))])

    chosen = "" if n_states is not None else ", the number from 2 to 10 of largest silhouette"
    labels = rank[best.labels_]
    return BehaviorStates(
        in_rows(result, labels),
        [f"s{number}" for number in range(count)],
        state_centers(result, labels, count),
        f"{count} clusters of postures by k-means{chosen}",
        predict,
        result,
        {"n_states": np.array(tried), "silhouette": np.array(scores)} if n_states is None else {},
    )
