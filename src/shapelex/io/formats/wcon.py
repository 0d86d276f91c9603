"""WCON, the Worm tracker Commons Object Notation: a file comes in, one record for each worm and time goes out.

Spines are read, or perimeters on request: as points, or as a walk over pixels. Origins (``ox``, ``oy``) are added,
as the format asks; the centroid goes into the metadata. Coordinates are in the unit of x, to which those of y and
the origins are converted. Records are ordered by worm, each a sequence of its own, then by time. Times become frame
numbers by their usual step, from which the frame rate follows. Points that are null are missing (NaN); a curve without
any point is left out.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._messages import format_option
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_members
from shapelex.io.formats.regions import MAX_JSON, describe, number_array, parse_json, text_of
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.series import check_max_gap, number_sequences, rate_of_step, remark_gaps
from shapelex.shapes.columns import FPS

_MAX_WALK = 10**7
# Among the metadata of a record until its frame rate is known.
_TIME_UNIT = "unit of time"
_PREFIXES = {"": 1.0, "centi": 1e-2, "milli": 1e-3, "micro": 1e-6, "nano": 1e-9, "kilo": 1e3, "mega": 1e6, "giga": 1e9}
_SHORT = {"": 1.0, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "k": 1e3, "M": 1e6, "G": 1e9}
_LENGTHS = {"in": 0.0254, "micron": 1e-6, "microns": 1e-6, "inch": 0.0254, "inches": 0.0254}
_LENGTHS |= {f"{prefix}m": factor for prefix, factor in _SHORT.items()}
for _word in ("meter", "metre", "meters", "metres"):
    _LENGTHS |= {f"{prefix}{_word}": factor for prefix, factor in _PREFIXES.items()}


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
    check_choice(curve, ("spine", "perimeter"), format_option("curve"))
    check_max_gap(max_gap)
    worms: dict[str, dict[float, Record]] = {}
    n_repeats = n_times = n_left_out = n_sequences = n_uneven = 0
    for name, content in read_members(path, ".wcon", MAX_JSON):
        source = str(path) if name == path.name else f"{path}, {name}"
        for found in _moments(parse_json(content, source), source, curve):
            if isinstance(found, BadRecord):
                yield found
                continue
            first = worms.setdefault(found.metadata["worm"], {}).setdefault(found.metadata["t"], found)
            if np.array_equal(first.points, found.points, equal_nan=True):
                n_repeats += first is not found
            else:
                yield BadRecord(found.where, f"this worm has other points at this time in {first.where}.")
    for worm, moments in worms.items():
        frames, step = _frame_numbers(np.array(sorted(moments)))
        n_uneven += step is None and len(moments) > 1
        is_kept = [bool(np.isfinite(moments[t].points).any()) for t in sorted(moments)]
        kept = [moments[t] for t, is_there in zip(sorted(moments), is_kept, strict=True) if is_there]
        n_times += len(moments)
        n_left_out += len(moments) - len(kept)
        sequences = n_sequences + number_sequences(np.zeros(len(kept), dtype=int), frames[is_kept], max_gap)
        n_sequences = int(sequences[-1]) + 1 if kept else n_sequences
        for record, frame, sequence in zip(kept, frames[is_kept].tolist(), sequences.tolist(), strict=True):
            points, metadata = record.points.conj() if y_down else record.points, dict(record.metadata)
            rate = rate_of_step(step, metadata.pop(_TIME_UNIT))
            metadata |= {} if rate is None else {FPS: rate}
            if head_first and curve == "spine" and metadata.get("head") == "R":
                points, metadata["head"] = points[::-1], "L"
            name = f"{path.name.split('.')[0]}:{worm}:{metadata['t']:g}"
            yield replace(record, points=points, id=name, sequence=sequence, frame=frame, metadata=metadata)
    yield from remark_gaps(n_left_out, n_times)
    if n_uneven:
        yield Remark(
            f"{n_uneven} {'worm' if n_uneven == 1 else 'worms'}",
            "at times without a common step: frames are numbered in order of time, and no frame rate is known.",
        )
    if n_repeats:
        yield Remark(
            f"{n_repeats} {'time' if n_repeats == 1 else 'times'}",
            "left out, since the file has the same points of the same worm at the same time more than once.",
        )


def _moments(document: Any, source: str, curve: str) -> Iterator[Record | BadRecord]:
    """Yield a record for each worm and time, without id and place in a sequence."""
    units = document.get("units") if isinstance(document, dict) else None
    if not isinstance(units, dict) or "data" not in document:
        raise ShapeFileError(f"{source} is no WCON file: it must be an object with units and data.")
    if not isinstance(units.get("x"), str) or not isinstance(units.get("y"), str):
        raise ShapeFileError(f"{source} is no WCON file: the units of x and y must be given as text.")
    scales: dict[str, float] = {}
    for name in ("x", "y", "ox", "oy", "cx", "cy", "px", "py"):
        try:
            scales[name] = _unit_ratio(units.get(name, units["x"]), units["x"])
        except ValueError as error:
            raise ShapeFileError(f"{source}: the unit of {name} cannot be converted to that of x: {error}.") from error
    strain = document["metadata"].get("strain") if isinstance(document.get("metadata"), dict) else None
    common = {"units": text_of(units["x"]), _TIME_UNIT: units.get("t")} | (
        {"strain": text_of(strain)} if text_of(strain) else {}
    )
    data = document["data"] if isinstance(document["data"], list) else [document["data"]]
    for number, entry in enumerate(data, start=1):
        where = f"data record {number}"
        try:
            if not isinstance(entry, dict):
                raise ValueError(f"it must be an object, got {describe(entry)}")
            worm, t = text_of(entry.get("id")), entry.get("t")
            if not worm:
                raise ValueError(f"its id must be text, got {describe(entry.get('id'))}")
            times = number_array([t] if isinstance(t, int | float) else t, "t").tolist()
        except ValueError as error:
            yield BadRecord(where, f"{error}.")
            continue
        for index, t in enumerate(times):
            place = f"{where}, worm {worm!r}, time {t:g}"
            metadata: dict[str, Any] = {"worm": worm, "t": t, **common}
            for name in ("head", "ventral", "ptail"):
                value = entry.get(name)
                if isinstance(value, list):
                    value = value[index] if len(value) == len(times) else None
                if text_of(value):
                    metadata[name] = value if isinstance(value, int | float) else text_of(value)
            at = partial(_at, entry, index, len(times))
            try:
                origin = _position(entry, at, ("ox", "oy"), scales, 0j)
                points = _curve(entry, at, scales, curve) + origin
                if "cx" in entry or "cy" in entry:
                    centroid = _position(entry, at, ("cx", "cy"), scales, complex(np.nan, np.nan)) + origin
                    metadata |= {"cx": centroid.real, "cy": centroid.imag}
            except ValueError as error:
                yield BadRecord(place, f"{error}.")
                continue
            metadata |= {name: value for name, value in entry.items() if name.startswith("@") and text_of(value)}
            yield Record(points, id="", closed=curve == "perimeter", metadata=metadata, where=place)


def _at(entry: dict[str, Any], index: int, n_times: int, name: str) -> Any:
    """Return what a record has at one time; a lone curve or number counts for a lone time."""
    values = entry.get(name)
    if not isinstance(values, list):
        if n_times == 1 and values is not None:
            return values
        raise ValueError(f"its {name} must be a list with an entry for each time, got {describe(values)}")
    is_lone_curve = n_times == 1 and len(values) != 1 and not any(isinstance(value, list) for value in values)
    if not is_lone_curve and len(values) != n_times:
        raise ValueError(f"its {name} has {len(values)} entries for {n_times} times")
    return values if is_lone_curve else values[index]


def _position(
    entry: dict[str, Any], at: Callable[[str], Any], names: tuple[str, str], scales: dict[str, float], default: complex
) -> complex:
    """Return a single point, or `default` where the record has none or it is missing."""
    n_there = sum(name in entry for name in names)
    if n_there == 1:
        raise ValueError(f"{names[0]} and {names[1]} must be given together")
    if not n_there:
        return default
    x, y = (float(number_array([at(name)], name, allow_null=True)[0]) * scales[name] for name in names)
    return complex(x, y) if np.isfinite([x, y]).all() else default


def _curve(entry: dict[str, Any], at: Callable[[str], Any], scales: dict[str, float], curve: str) -> ComplexArray:
    """Return the points of a spine or perimeter in the unit of x; a point that lacks x or y is missing."""
    names = ("px", "py") if curve == "perimeter" else ("x", "y")
    if curve == "perimeter" and "px" not in entry:
        if "walk" not in entry:
            raise ValueError("it has no perimeter")
        columns = _walk(at("walk"))
    else:
        columns = []
        for name in names:
            values = at(name)
            if not isinstance(values, list):
                raise ValueError(f"its {name} is {describe(values)} where a curve was expected: a position is no shape")
            columns.append(number_array(values, name, allow_null=True))
        n_x, n_y = map(len, columns)
        if n_x != n_y:
            raise ValueError(f"its {names[0]} has {n_x} points, its {names[1]} {n_y}")
        if n_x < 2:
            raise ValueError(f"its {curve} has {n_x} points: a position is no shape")
    points = np.empty(len(columns[0]), dtype=np.complex128)
    with np.errstate(over="ignore", invalid="ignore"):
        points.real, points.imag = (column * scales[name] for column, name in zip(columns, names, strict=True))
    if np.isinf(points).any():
        raise ValueError(f"its {names[0]} and {names[1]} are too large")
    points[np.isnan(points)] = complex(np.nan, np.nan)
    is_repeated = curve == "perimeter" and len(points) > 3 and points[0] == points[-1]
    return points[:-1] if is_repeated else points


def _walk(walk: Any) -> list[FloatArray]:
    """Return x and y of the pixels of a walk: a start, a step, and two bits for each of the steps."""
    if not isinstance(walk, dict):
        raise ValueError(f"its walk must be an object, got {describe(walk)}")
    start = number_array(walk.get("px"), "px of its walk")
    n_steps, code = walk.get("n"), walk.get("4")
    n_steps = n_steps[0] if isinstance(n_steps, list) and n_steps else n_steps
    if len(start) != 3 or type(n_steps) is not int or not 0 < n_steps <= _MAX_WALK or not isinstance(code, str):
        raise ValueError("its walk must have px (x, y, step), n (number of steps) and 4 (the steps)")
    try:
        # Writers use either alphabet of base64, and leave out the padding.
        packed = base64.b64decode(code.replace("-", "+").replace("_", "/") + "=" * (-len(code) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the steps of its walk are not base64 ({error})") from error
    bits = np.frombuffer(packed, dtype=np.uint8)
    steps = np.stack([bits & 3, (bits >> 2) & 3, (bits >> 4) & 3, bits >> 6], axis=1).ravel()
    if len(steps) < n_steps:
        raise ValueError(f"its walk has {len(steps)} steps where {n_steps} were declared")
    path = np.concatenate([[0], np.cumsum(np.array([-1, 1, -1j, 1j])[steps[:n_steps]])])
    with np.errstate(over="ignore", invalid="ignore"):
        return [start[0] + start[2] * path.real, start[1] + start[2] * path.imag]


def _frame_numbers(times: FloatArray) -> tuple[Any, float | None]:
    """Return whole numbers from 0 in proportion to increasing times, and the time from one to the next.

    Where times have no common step, their ranks are returned, and None.
    """
    ranks = np.arange(len(times))
    if len(times) < 2:
        return ranks, None
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = np.diff(times)
        # The lower median is a step that occurs, whatever the number of gaps. It may be rounded in the file, so gaps
        # are counted one by one, and once more with the mean step that follows: rounding does not add up.
        step = np.sort(gaps)[(len(gaps) - 1) // 2]
        for _ in range(2):
            counts = np.rint(gaps / step)
            if not (counts.sum() < 2**53 and (counts > 0).all()):
                return ranks, None
            step = (times[-1] - times[0]) / counts.sum()
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), float(step)


def _unit_ratio(unit: object, reference: str) -> float:
    """Return how many `reference` units one `unit` is, such as 1000 for "m" in "mm".

    Equal units have ratio 1 even where they are unknown, such as pixels; others must be lengths such as ``"mm"``,
    ``"12*in"`` or ``"in/72"``, or a ValueError is raised.
    """
    if unit == reference:
        return 1.0
    lengths = []
    for text in (unit, reference):
        if not isinstance(text, str) or len(text) > 100:
            raise ValueError("a unit must be a short text")
        length, n_lengths = 1.0, 0
        for operator, word in re.findall(r"([*/])([^*/]*)", f"*{text}"):
            is_length = word.strip() in _LENGTHS
            is_number = re.fullmatch(r"\s*\d+(\.\d*)?(e[+-]?\d{1,3})?\s*", word, re.IGNORECASE | re.ASCII) is not None
            factor = _LENGTHS[word.strip()] if is_length else float(word) if is_number else 0.0
            # What is no factor, and a length in a denominator, make the whole no length.
            length *= factor if operator == "*" else 0.0 if is_length or not factor else 1 / factor
            n_lengths += is_length
        if n_lengths != 1 or not 0 < length < np.inf:
            raise ValueError(f"{text!r} is no unit of length")
        lengths.append(length)
    # 0.001 / 1e-3 and the like should not leave rounding in coordinates.
    return float(f"{lengths[0] / lengths[1]:.12g}")
