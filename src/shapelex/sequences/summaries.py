"""One row per time series: what to compare between groups of animals or tracks, which are the units of a test."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex.sequences.bout_tables import States, bouts
from shapelex.sequences.result import SequenceCodes
from shapelex.sequences.rhythm import phase_velocity, posture_speed
from shapelex.sequences.states import BehaviorStates, find_states

if TYPE_CHECKING:
    import pandas as pd


def series_summary(result: SequenceCodes, states: States = "support", *, min_duration: int = 1) -> "pd.DataFrame":
    """Summarize each time series by one row, for tests in which the animal or track is the unit.

    Frames of one animal are not independent. A test of groups therefore compares one number per animal, such as a
    column of this table.

    Parameters
    ----------
    result : SequenceCodes
        Codes over time.
    states, min_duration
        As in :func:`~shapelex.sequences.bouts`.

    Returns
    -------
    pandas.DataFrame
        One row per series: ``sequence``, ``n_frames`` (coded ones), ``rmse``, ``flicker``, ``speed`` (median of
        :func:`~shapelex.sequences.posture_speed`), ``phase_velocity`` (median), ``n_bouts``, ``bout_duration`` (mean),
        ``transition_rate`` (bouts that follow another one, divided by the time), and ``share_<state>`` of time of every
        state. Shapes of no series are left out. Rates are per second where the frame rate is known, else per frame.

    Examples
    --------
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(40, 3, random_state=0)
    >>> model = sx.ShapeDictionary(4, 2, random_state=0).fit(worms)
    >>> result = sx.sequences.encode_sequence(worms, model, switch_cost=0.01)
    >>> sx.sequences.series_summary(result)[["sequence", "n_frames"]]
       sequence  n_frames
    0         0        40
    1         1        40
    2         2        40
    """
    import pandas as pd

    found: Any = find_states(result, states) if isinstance(states, str) else states
    table = bouts(result, found, min_duration=min_duration)
    names = found.names if isinstance(found, BehaviorStates) else sorted(table["state"].unique())
    has_pair = len(result.atoms) > 1
    speed = posture_speed(result)
    velocity = phase_velocity(result) if has_pair else np.full(len(result), np.nan)
    series, rows = result.time_order.series, []
    is_next = np.zeros(len(result), dtype=bool)
    is_next[result.time_order.order] = result.time_order.is_next
    for number in range(result.n_series):
        members = (series == number) & result.is_coded
        if not members.any():
            continue
        name = result.sequence[np.flatnonzero(series == number)[0]]
        if name in (-1, ""):
            continue
        inside = table[table["sequence"] == name]
        total = float(inside["duration"].sum())
        n_pairs = int((is_next & members).sum())
        row = {
            "sequence": name,
            "n_frames": int(members.sum()),
            "rmse": float(np.sqrt(np.mean(result.errors[members] ** 2))),
            "flicker": float(result.is_switch[members].sum() / n_pairs) if n_pairs else np.nan,
            "speed": _median(speed[members]),
            "phase_velocity": _median(velocity[members]),
            "n_bouts": len(inside),
            "bout_duration": float(inside["duration"].mean()) if len(inside) else np.nan,
            "transition_rate": float((inside["previous_state"] != "").sum() / total) if total else np.nan,
        }
        times = inside.groupby("state")["duration"].sum()
        rows.append(
            row | {f"share_{state}": float(times.get(state, 0.0) / total) if total else np.nan for state in names}
        )
    return pd.DataFrame(rows)


def _median(values: "np.ndarray[Any, np.dtype[np.floating[Any]]]") -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")
