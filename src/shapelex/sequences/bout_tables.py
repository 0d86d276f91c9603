"""Bouts: stretches of time in one state, how long they last, and what follows what."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, IntArray
from shapelex._validation import check_count
from shapelex.exceptions import ParameterError
from shapelex.sequences.result import SequenceCodes
from shapelex.sequences.states import METHODS, BehaviorStates, find_states

if TYPE_CHECKING:
    import pandas as pd

States = str | BehaviorStates | ArrayLike
"""A method of :func:`~shapelex.sequences.find_states`, what it returned, or a label for each frame."""


def bouts(result: SequenceCodes, states: States = "support", *, min_duration: int = 1) -> "pd.DataFrame":
    """Stretches of consecutive frames in one state.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.
    states : {"support", "cluster", "hmm"}, BehaviorStates or array_like of shape (n_shapes,), default "support"
        A method of :func:`~shapelex.sequences.find_states`, what it returned for this recording or its rule for another
        one, or one label per frame; −1 or empty text for none.
    min_duration : int, default 1
        Shorter bouts are joined to a neighboring one, the shortest first: to the longer neighbor, or the earlier one
        of equals.

    Returns
    -------
    pandas.DataFrame
        One row per bout, in order of time: ``sequence``, ``state``, ``first_frame``, ``last_frame``, ``n_frames``,
        ``duration`` (seconds where the frame rate is known, else steps of time; gaps count) and ``previous_state``,
        empty at the beginning of a series and after a gap. A bout ends at a gap.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(40, random_state=0)
    >>> model = sx.ShapeDictionary(4, 2, random_state=0).fit(worms)
    >>> result = sx.sequences.encode_sequence(worms, model, switch_cost=0.01)
    >>> table = sx.sequences.bouts(result, ["rest"] * 10 + ["crawl"] * 30)
    >>> table[["state", "first_frame", "last_frame", "n_frames"]]
       state  first_frame  last_frame  n_frames
    0   rest            0           9        10
    1  crawl           10          39        30
    """
    import pandas as pd

    shortest = check_count(min_duration, 1, "min_duration")
    names, labels = _labels(result, states)
    time = result.time_order
    ordered = labels[time.order]
    is_joined = np.zeros(len(ordered), dtype=bool)
    is_joined[1:] = time.is_next[1:]
    rows: list[dict[str, Any]] = []
    unit = 1.0 if result.fps is None else 1 / result.fps
    for first, last in _stretches(is_joined):
        parts = _merge_short(_runs(ordered[first:last]), shortest)
        previous = ""
        for state, start, stop in parts:
            begin, end = time.order[first + start], time.order[first + stop - 1]
            if state >= 0:
                rows.append(
                    {
                        "sequence": result.sequence[begin],
                        "state": names[state],
                        "first_frame": result.frames[begin],
                        "last_frame": result.frames[end],
                        "n_frames": stop - start,
                        "duration": float(stop - start) * unit,
                        "previous_state": previous,
                    }
                )
            previous = names[state] if state >= 0 else ""
    columns = ["sequence", "state", "first_frame", "last_frame", "n_frames", "duration", "previous_state"]
    return pd.DataFrame(rows, columns=columns)


def dwell(result: SequenceCodes, states: States = "support", *, min_duration: int = 1) -> "pd.DataFrame":
    """How long bouts of each state last.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.
    states, min_duration
        As in :func:`~shapelex.sequences.bouts`.

    Returns
    -------
    pandas.DataFrame
        One row per state, the one of longest total time first: ``state``, ``n_bouts``, ``mean``, ``median``,
        ``longest`` and ``total`` duration, in seconds where the frame rate is known, else in frames, and ``share`` of
        all time.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(40, random_state=0)
    >>> model = sx.ShapeDictionary(4, 2, random_state=0).fit(worms)
    >>> result = sx.sequences.encode_sequence(worms, model, switch_cost=0.01)
    >>> sx.sequences.dwell(result, ["rest"] * 10 + ["crawl"] * 30)[["state", "mean", "share"]]
       state  mean  share
    0  crawl  30.0   0.75
    1   rest  10.0   0.25
    """
    table = bouts(result, states, min_duration=min_duration)
    grouped = table.groupby("state", sort=True)["duration"]
    found = grouped.agg(n_bouts="count", mean="mean", median="median", longest="max", total="sum").reset_index()
    found["share"] = found["total"] / max(float(found["total"].sum()), np.finfo(float).tiny)
    return found.sort_values("total", ascending=False, kind="stable", ignore_index=True)


def transitions(result: SequenceCodes, states: States = "support", *, min_duration: int = 1) -> "pd.DataFrame":
    """How often one state follows another.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.
    states, min_duration
        As in :func:`~shapelex.sequences.bouts`. Transitions across gaps are not counted.

    Returns
    -------
    pandas.DataFrame
        One row per pair of states that follow each other: ``from_state``, ``to_state``, ``count``, ``probability``
        (of the next state, given the first one), ``rate`` (transitions per second in the first state, or per frame) and
        ``entropy`` of the next state in bits, the same for all rows of a first state. ``attrs["entropy"]`` is the
        entropy rate: the mean over all transitions. ``table.pivot(index="from_state", columns="to_state",
        values="probability")`` is the matrix.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(40, random_state=0)
    >>> model = sx.ShapeDictionary(4, 2, random_state=0).fit(worms)
    >>> result = sx.sequences.encode_sequence(worms, model, switch_cost=0.01)
    >>> sx.sequences.transitions(result, list("aabbbaaccc" * 4))[["from_state", "to_state", "count", "rate"]]
      from_state to_state  count      rate
    0          a        b      4  0.250000
    1          a        c      4  0.250000
    2          b        a      4  0.333333
    3          c        a      3  0.250000
    """
    table = bouts(result, states, min_duration=min_duration)
    followed = table[table["previous_state"] != ""]
    pairs = followed.groupby(["previous_state", "state"], sort=True).size().reset_index(name="count")
    pairs.columns = ["from_state", "to_state", "count"]
    leaving = pairs.groupby("from_state")["count"].transform("sum")
    pairs["probability"] = pairs["count"] / leaving
    times = table.groupby("state")["duration"].sum()
    pairs["rate"] = pairs["count"] / pairs["from_state"].map(times).astype(float)
    bits = -pairs["probability"] * np.log2(pairs["probability"])
    pairs["entropy"] = bits.groupby(pairs["from_state"]).transform("sum")
    total = int(pairs["count"].sum())
    pairs.attrs["entropy"] = float((pairs["count"] * pairs["entropy"]).sum() / total) if total else float("nan")
    return pairs


def ngrams(result: SequenceCodes, n: int = 3, states: States = "support", *, min_duration: int = 1) -> "pd.DataFrame":
    """How often bouts of some states follow each other in a given order.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.
    n : int, default 3
        Number of bouts in a row.
    states, min_duration
        As in :func:`~shapelex.sequences.bouts`. Runs of bouts do not cross gaps.

    Returns
    -------
    pandas.DataFrame
        One row per run of states, the most frequent first: ``ngram`` (the states, joined by " > "), ``state_1``,
        ``state_2``, …, ``count``, ``share`` of all runs of `n` bouts, and ``expected``: the count that the pairs of
        states would give if the next state depended on the last one alone.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(40, random_state=0)
    >>> model = sx.ShapeDictionary(4, 2, random_state=0).fit(worms)
    >>> result = sx.sequences.encode_sequence(worms, model, switch_cost=0.01)
    >>> sx.sequences.ngrams(result, 3, list("aabbbaaccc" * 4))[["ngram", "count"]]
           ngram  count
    0  a > b > a      4
    1  b > a > c      4
    2  a > c > a      3
    3  c > a > b      3
    """
    import pandas as pd

    length = check_count(n, 1, "n")
    table = bouts(result, states, min_duration=min_duration)
    runs: dict[tuple[str, ...], int] = {}
    singles: dict[str, int] = {}
    pairs: dict[tuple[str, str], int] = {}
    left: dict[str, int] = {}
    n_runs = 0
    for chain in _chains(table):
        for state in chain:
            singles[state] = singles.get(state, 0) + 1
        for one, other in pairwise(chain):
            pairs[one, other] = pairs.get((one, other), 0) + 1
            left[one] = left.get(one, 0) + 1
        for start in range(len(chain) - length + 1):
            run = tuple(chain[start : start + length])
            runs[run] = runs.get(run, 0) + 1
            n_runs += 1
    first: dict[str, int] = {}
    for run, count in runs.items():
        first[run[0]] = first.get(run[0], 0) + count
    rows = []
    for run, count in sorted(runs.items(), key=lambda item: (-item[1], item[0])):
        expected = float(first[run[0]])
        for one, other in pairwise(run):
            expected *= pairs[one, other] / left[one]
        named = {f"state_{place + 1}": state for place, state in enumerate(run)}
        rows.append({"ngram": " > ".join(run), **named, "count": count, "share": count / n_runs, "expected": expected})
    columns = ["ngram", *(f"state_{place + 1}" for place in range(length)), "count", "share", "expected"]
    return pd.DataFrame(rows, columns=columns)


def _labels(result: SequenceCodes, states: States) -> tuple[list[str], IntArray]:
    """Return the names of states, and the number of the state of each frame, −1 for none."""
    if isinstance(states, str):
        if states not in METHODS:
            raise ParameterError(
                f"{parameter('states')} must be one of {', '.join(METHODS)}, what find_states returned, or one label "
                f"per frame, got {states!r}."
            )
        states = find_states(result, states)
    if isinstance(states, BehaviorStates):
        return states.names, states.labels if states.source is result else states.predict(result)
    given = np.asarray(states)
    if given.shape != (len(result),):
        raise ParameterError(
            f"{parameter('states')} must have one label for each of {len(result)} frames, got shape {given.shape}."
        )
    is_none = (given == "") if given.dtype.kind == "U" else (given == -1)
    values, numbers = np.unique(given, return_inverse=True)
    labels = np.where(is_none | ~result.is_coded, -1, numbers.reshape(-1))
    return [str(value) for value in values.tolist()], labels


def _stretches(is_joined: "np.ndarray[Any, np.dtype[np.bool_]]") -> list[tuple[int, int]]:
    """Return the first and last places of stretches without gaps."""
    starts = np.flatnonzero(~is_joined).tolist()
    return list(zip(starts, [*starts[1:], len(is_joined)], strict=True))


def _runs(labels: IntArray) -> list[tuple[int, int, int]]:
    """Return runs of equal labels as (label, start, stop)."""
    bounds = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return [(int(labels[start]), start, stop) for start, stop in pairwise(bounds)]


def _merge_short(runs: list[tuple[int, int, int]], shortest: int) -> list[tuple[int, int, int]]:
    """Join runs that are too short to a neighbor, the shortest first."""
    runs = list(runs)
    while len(runs) > 1:
        lengths = [stop - start for _, start, stop in runs]
        place = int(np.argmin(lengths))
        if lengths[place] >= shortest:
            break
        before = lengths[place - 1] if place > 0 else -1
        after = lengths[place + 1] if place + 1 < len(runs) else -1
        label = runs[place - 1][0] if before >= after else runs[place + 1][0]
        runs[place] = (label, *runs[place][1:])
        joined: list[tuple[int, int, int]] = []
        for run in runs:
            if joined and joined[-1][0] == run[0]:
                joined[-1] = (run[0], joined[-1][1], run[2])
            else:
                joined.append(run)
        runs = joined
    return runs


def _chains(table: Any) -> list[list[str]]:
    """Return the states of bouts that follow each other without a gap."""
    chains: list[list[str]] = []
    for state, previous in zip(table["state"], table["previous_state"], strict=True):
        if previous == "":
            chains.append([])
        chains[-1].append(state)
    return chains
