"""WCON, the Worm tracker Commons Object Notation: a file comes in, one record for each worm and time goes out.

Spines are read, or perimeters on request: as points, or as a walk over pixels. Origins (``ox``, ``oy``) are added,
as the format asks; the centroid goes into the metadata. Coordinates are in the unit of x, to which those of y and
the origins are converted. Records are ordered by worm, each a sequence of its own, then by time. Times become frame
numbers by their usual step. Points that are null are missing (NaN); a curve without any point is left out.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import read_members
from shapelex.io.formats.regions import MAX_JSON, describe, number_array, parse_json, text_of
from shapelex.io.formats.time_series import check_max_gap, number_sequences, remark_gaps
from shapelex.io.formats.wcon_units import unit_ratio
from shapelex.io.records import BadRecord, Record, Remark

_MAX_WALK = 10**7


@dataclass
class _Moment:
    """One worm at one time."""

    worm: str
    t: float
    points: Any
    where: str
    metadata: dict[str, Any] = field(default_factory=dict)


def read_records(
    path: Path,
    *,
    curve: str = "spine",
    max_gap: int | None = None,
    head_first: bool = False,
    y_down: bool = False,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each worm and time, and remarks on times that were left out.

    Parameters
    ----------
    path : Path
        A ``.wcon`` file, or a zip archive of the pieces of one recording.
    curve : {"spine", "perimeter"}, default: "spine"
        What to read of a worm.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps each worm in one sequence.
    head_first : bool, default: False
        Whether spines whose head is said to be last are reversed.
    y_down : bool, default: False
        Whether y points down in the file; it is then negated. WCON does not say.
    """
    check_choice(curve, ("spine", "perimeter"), "curve")
    check_max_gap(max_gap)
    moments: dict[str, list[_Moment]] = {}
    for name, content in read_members(path, ".wcon", MAX_JSON):
        source = str(path) if name == path.name else f"{path}, {name}"
        for found in _moments(parse_json(content, source), source, curve):
            if isinstance(found, BadRecord):
                yield found
            else:
                moments.setdefault(found.worm, []).append(found)
    n_times = n_left_out = n_repeats = n_sequences = 0
    for series in moments.values():
        n_told = len(series)
        bad, series = _sort_out_repeats(series)
        yield from bad
        n_times += len(series)
        n_repeats += n_told - len(series) - len(bad)
        frames = _frame_numbers(np.array([moment.t for moment in series]))
        is_kept = [bool(np.isfinite(moment.points).any()) for moment in series]
        kept, frames = [moment for moment, is_there in zip(series, is_kept, strict=True) if is_there], frames[is_kept]
        n_left_out += len(series) - len(kept)
        sequences = n_sequences + number_sequences(np.zeros(len(kept), dtype=int), frames, max_gap)
        n_sequences = int(sequences[-1]) + 1 if len(kept) else n_sequences
        for moment, frame, sequence in zip(kept, frames, sequences, strict=True):
            points = moment.points.conj() if y_down else moment.points
            if head_first and curve == "spine" and moment.metadata.get("head") == "R":
                points = points[::-1]
                moment.metadata["head"] = "L"
            yield Record(
                points=points,
                id=f"{path.name.split('.')[0]}:{moment.worm}:{moment.t:g}",
                closed=curve == "perimeter",
                sequence=int(sequence),
                frame=int(frame),
                metadata={"worm": moment.worm, "t": moment.t, **moment.metadata},
                where=moment.where,
            )
    yield from remark_gaps(n_left_out, n_times)
    if n_repeats:
        yield Remark(
            f"{n_repeats} {'time' if n_repeats == 1 else 'times'}",
            "left out, since the file has the same points of the same worm at the same time more than once.",
        )


def _moments(document: Any, source: str, curve: str) -> Iterator[_Moment | BadRecord]:
    if not isinstance(document, dict) or not isinstance(document.get("units"), dict) or "data" not in document:
        raise ShapeFileError(f"{source} is no WCON file: it must be an object with units and data.")
    scales = _scales(document["units"], source)
    data = document["data"] if isinstance(document["data"], list) else [document["data"]]
    unit = text_of(document["units"].get("x"))
    strain = document.get("metadata", {}).get("strain") if isinstance(document.get("metadata"), dict) else None
    common = {"units": unit, **({"strain": text_of(strain)} if text_of(strain) else {})}
    for number, entry in enumerate(data, start=1):
        where = f"data record {number}"
        try:
            worm, times = _worm_and_times(entry)
        except ValueError as error:
            yield BadRecord(where, f"{error}.")
            continue
        for index, t in enumerate(times):
            place = f"{where}, worm {worm!r}, time {t:g}"
            try:
                points = _curve_at(entry, index, len(times), scales, curve)
                metadata = {**common, **_facts_at(entry, index, len(times), scales)}
            except ValueError as error:
                yield BadRecord(place, f"{error}.")
            else:
                yield _Moment(worm, float(t), points, place, metadata)


def _scales(units: dict[str, Any], source: str) -> dict[str, float]:
    """Return the factor of each coordinate to the unit of x."""
    reference = units.get("x")
    if not isinstance(reference, str) or not isinstance(units.get("y"), str):
        raise ShapeFileError(f"{source} is no WCON file: the units of x and y must be given as text.")
    scales = {}
    for name in ("x", "y", "ox", "oy", "cx", "cy", "px", "py"):
        unit = units.get(name, reference)
        try:
            scales[name] = unit_ratio(unit, reference)
        except ValueError as error:
            raise ShapeFileError(f"{source}: the unit of {name} cannot be converted to that of x: {error}.") from error
    return scales


def _worm_and_times(entry: Any) -> tuple[str, FloatArray]:
    if not isinstance(entry, dict):
        raise ValueError(f"it must be an object, got {describe(entry)}")
    worm = text_of(entry.get("id"))
    if not worm:
        raise ValueError(f"its id must be text, got {describe(entry.get('id'))}")
    times = entry.get("t")
    return worm, number_array([times] if isinstance(times, int | float) else times, "t")


def _curve_at(entry: dict[str, Any], index: int, n_times: int, scales: dict[str, float], curve: str) -> Any:
    origin = _pair_at(entry, "ox", "oy", index, n_times, scales)
    if curve == "perimeter" and "px" not in entry:
        if "walk" not in entry:
            raise ValueError("it has no perimeter")
        return _walk(_at(entry["walk"], index, n_times, "walk"), scales) + origin
    names = ("px", "py") if curve == "perimeter" else ("x", "y")
    columns = []
    for name in names:
        values = _at(entry.get(name), index, n_times, name)
        if not isinstance(values, list):
            raise ValueError(f"its {name} is {describe(values)} where a curve was expected: a position is no shape")
        columns.append(number_array(values, name, allow_null=True))
    if len(columns[0]) != len(columns[1]):
        raise ValueError(f"its {names[0]} has {len(columns[0])} points, its {names[1]} {len(columns[1])}")
    if len(columns[0]) < 2:
        raise ValueError(f"its {curve} has {len(columns[0])} points: a position is no shape")
    points = _joined(columns[0], columns[1], names, scales)
    if curve == "perimeter" and len(points) > 3 and points[0] == points[-1]:
        points = points[:-1]
    return points + origin


def _at(values: Any, index: int, n_times: int, name: str) -> Any:
    """Return the entry of one time; a lone curve or number counts for a lone time."""
    if not isinstance(values, list):
        if n_times == 1 and values is not None:
            return values
        raise ValueError(f"its {name} must be a list with an entry for each time, got {describe(values)}")
    is_lone_curve = n_times == 1 and len(values) != 1 and not any(isinstance(value, list) for value in values)
    if is_lone_curve:
        return values
    if len(values) != n_times:
        raise ValueError(f"its {name} has {len(values)} entries for {n_times} times")
    return values[index]


def _pair_at(
    entry: dict[str, Any], x: str, y: str, index: int, n_times: int, scales: dict[str, float], default: complex = 0j
) -> complex:
    if x not in entry and y not in entry:
        return default
    if x not in entry or y not in entry:
        raise ValueError(f"{x} and {y} must be given together")
    values = []
    for name in (x, y):
        value = _at(entry[name], index, n_times, name)
        values.append(float(number_array([value], name, allow_null=True)[0]) * scales[name])
    pair = complex(*values)
    return pair if np.isfinite(pair) else default


def _facts_at(entry: dict[str, Any], index: int, n_times: int, scales: dict[str, float]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name in ("head", "ventral", "ptail"):
        value = entry.get(name)
        if isinstance(value, list):
            value = value[index] if len(value) == n_times else None
        if text_of(value):
            facts[name] = value if isinstance(value, int | float) else text_of(value)
    if "cx" in entry or "cy" in entry:
        centroid = _pair_at(entry, "cx", "cy", index, n_times, scales, complex(np.nan, np.nan))
        centroid += _pair_at(entry, "ox", "oy", index, n_times, scales)
        facts.update(cx=centroid.real, cy=centroid.imag)
    for name, value in entry.items():
        if name.startswith("@") and text_of(value):
            facts[name] = value
    return facts


def _walk(walk: Any, scales: dict[str, float]) -> Any:
    """Return the pixels of a walk: a start, a step, and two bits for each of the steps."""
    if not isinstance(walk, dict):
        raise ValueError(f"its walk must be an object, got {describe(walk)}")
    start = number_array(walk.get("px"), "px of its walk")
    n_steps = walk.get("n")
    n_steps = n_steps[0] if isinstance(n_steps, list) and n_steps else n_steps
    code = walk.get("4")
    if len(start) != 3 or type(n_steps) is not int or not 0 < n_steps <= _MAX_WALK or not isinstance(code, str):
        raise ValueError("its walk must have px (x, y, step), n (number of steps) and 4 (the steps)")
    try:
        # Writers use either alphabet of base64, and leave out the padding.
        packed = base64.b64decode(code.replace("-", "+").replace("_", "/") + "=" * (-len(code) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the steps of its walk are no base64 ({error})") from error
    bits = np.frombuffer(packed, dtype=np.uint8)
    steps = np.stack([bits & 3, (bits >> 2) & 3, (bits >> 4) & 3, bits >> 6], axis=1).ravel()
    if len(steps) < n_steps:
        raise ValueError(f"its walk has {len(steps)} steps where {n_steps} were declared")
    moves = np.array([-1, 1, -1j, 1j])[steps[:n_steps]]
    path = np.concatenate([[0], np.cumsum(moves)])
    path = path[:-1] if len(path) > 3 and path[-1] == 0 else path
    with np.errstate(over="ignore", invalid="ignore"):
        x, y = start[0] + start[2] * path.real, start[1] + start[2] * path.imag
    return _joined(x, y, ("px", "py"), scales)


def _joined(x: FloatArray, y: FloatArray, names: tuple[str, str], scales: dict[str, float]) -> ComplexArray:
    """Return x + iy in the unit of x; a point that lacks one of them is missing."""
    points = np.empty(len(x), dtype=np.complex128)
    with np.errstate(over="ignore"):
        points.real, points.imag = x * scales[names[0]], y * scales[names[1]]
    if np.isinf(points).any():
        raise ValueError(f"its {names[0]} and {names[1]} are too large")
    points[np.isnan(points)] = complex(np.nan, np.nan)
    return points


def _sort_out_repeats(series: list[_Moment]) -> tuple[list[BadRecord], list[_Moment]]:
    """Return a worm's moments in order of time; one that comes again with the same points is dropped, else bad."""
    kept: dict[float, _Moment] = {}
    bad = []
    for moment in series:
        first = kept.setdefault(moment.t, moment)
        if first is not moment and not np.array_equal(first.points, moment.points, equal_nan=True):
            bad.append(BadRecord(moment.where, f"this worm has other points at this time in {first.where}."))
    return bad, sorted(kept.values(), key=lambda moment: moment.t)


def _frame_numbers(times: FloatArray) -> Any:
    """Return whole numbers from 0 in proportion to increasing times, or their ranks where they have no common step."""
    if len(times) < 2:
        return np.zeros(len(times), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = np.diff(times)
        # The lower median is a step that occurs, whatever the number of gaps.
        frames = np.rint((times - times[0]) / np.sort(gaps)[(len(gaps) - 1) // 2])
    if not (frames[-1] < 2**53 and (np.diff(frames) > 0).all()):
        return np.arange(len(times))
    return frames.astype(np.int64)
