"""Look for what may be wrong with a set of shapes."""

import shlex
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._messages import on_one_line
from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.checks.remedies import has_no_mirror
from shapelex.exceptions import NonUniqueMeanWarning, ParameterError
from shapelex.geometry import distance, mean_shape, measure, register
from shapelex.geometry.measures import unit_lengths
from shapelex.sequences import register_sequence
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import Column
from shapelex.shapes.set import as_set
from shapelex.spaces import Landmarks, Space
from shapelex.statistics import outliers

# Shapes of larger sets that are compared with each other; those of a mean, and the fewest that say what is usual.
_MOST_COMPARED, _MOST_OF_MEAN, _FEWEST = 10_000, 300, 5
# In larger sets repeated shapes are not searched for, as the hashes of all shapes would take too much memory.
_MAX_HASHED = 2_000_000
_NAMED = 6
# A shape fits clearly better where that halves its distance to the mean, if it does so, one way or the other, for most.
_CLEARLY, _MOST = 0.5, 0.75
# Start points are arbitrary where registration gains this part of what it gains over random ones, if that is much.
_ARBITRARY, _LEAST_GAIN = 0.5, 0.05
# Interquartile ranges above the upper quartile, from where a shape is more likely an error than unusual.
_FAR_OUT = 5.0
# Numbers that stand for missing values, beside 0 and negative ones.
_MARKS = (99, 999, 9999, 99999)
# Objects are taken to be merged from this multiple of the median area on, where they are this much less convex.
_LARGE, _LESS_SOLID = 1.5, 0.06
# Holes and lost parts of a smaller share of the area are specks.
_SPECK = 0.02
# Shapes smaller than this multiple of what rounding makes of their place have no size.
_ROUNDING = 64

_LEAVE_OUT = "shapes[~np.isin(shapes.ids, {ids})]", "shapelex import SHAPES -o checked.npz --exclude {ids}"
_REGISTER = "shapelex register SHAPES -o registered.npz"
_FOLLOW = "shapelex import SHAPES -o registered.npz --register"


@dataclass(frozen=True)
class Finding:
    """What may be wrong with a set of shapes, and what to do about it.

    Parameters
    ----------
    kind : str
        What it is: ``"mirrored"``, ``"outliers"``, ….
    ids : tuple of str
        Shapes that it is about; empty where it is about the set.
    text : str
        What was found, in one sentence.
    remedy : str
        What to do about it, as a call in Python, in which the set is called ``shapes``.
    command : str
        The same on the command line, where SHAPES stands for the file of the shapes.
    """

    kind: str
    ids: tuple[str, ...]
    text: str
    remedy: str
    command: str

    def __str__(self) -> str:
        return f"{self.text}. Remedy: {self.remedy}"


@np.errstate(over="ignore", invalid="ignore")
def check(X: Any, space: Space | None = None) -> list[Finding]:
    """Look for what may be wrong with a set of shapes before drawing conclusions from it.

    Nothing is changed. A finding is a question, not a verdict: look at the shapes before you follow its remedy. The
    kinds of findings are described in the guide, see "Check a set".

    Parameters
    ----------
    X : ShapeSet or array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        The shapes. Of sets of more than 10,000, so many, spread evenly, are compared with each other; findings say so.
    space : Space, optional
        Their space; by default that of the set, else open landmarks.

    Returns
    -------
    list of Finding
        The findings, each with ``kind``, ``ids``, ``text`` and ``remedy``; an empty list where nothing was found.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> wings = np.array([0, 4, 5 + 1j, 1 + 2j]) + 0.1 * np.random.default_rng(0).normal(size=(20, 4, 2)) @ [1, 1j]
    >>> wings[[3, 8]] = wings[[3, 8]].conj()
    >>> for finding in sx.check(wings):
    ...     print(finding.kind, finding.ids, finding.remedy)
    mirrored ('3', '8') sx.flip(shapes, ['3', '8'])
    """
    shapes = as_set(X, space)
    is_usable, found = _look_at_rows(shapes)
    step = -(-len(shapes) // _MOST_COMPARED)
    compared = shapes[np.flatnonzero(is_usable)[::step]]
    with warnings.catch_warnings():
        # Any of several means will do.
        warnings.simplefilter("ignore", NonUniqueMeanWarning)
        if len(compared) >= _FEWEST:
            words = f" (among {len(compared)} shapes spread evenly over the set)" if step > 1 else ""
            fits, rows = _look_at_fits(compared)
            far = np.sort(outliers(ShapeSet(rows, shapes.space), factor=_FAR_OUT).rows).astype(np.int64)
            remedies = f"sx.statistics.outliers(shapes).plot(), then {_LEAVE_OUT[0]}", _LEAVE_OUT[1]
            fits += _about("outliers", compared.ids[far], "unusually far from the mean shape", *remedies)
            found += [replace(one, text=one.text + words) for one in fits]
        if shapes.sequence is not None and not shapes.closed:
            followed = shapes[np.flatnonzero(is_usable)[:_MOST_COMPARED]]
            words = f" (among the first {len(followed)} shapes)" if step > 1 else ""
            found += [replace(one, text=one.text + words) for one in _look_at_time(followed)]
    return [*found, *_look_at_objects(shapes), *_look_at_groups(shapes), *_look_at_units(shapes)]


def _look_at_rows(shapes: ShapeSet) -> tuple[BoolArray, list[Finding]]:
    """Return which shapes can be compared, and what is found by looking at each alone, or by looking for the same."""
    repeated, flat, joined = list[str](), list[str](), list[str]()
    marks: dict[float, list[str]] = defaultdict(list)
    seen: set[int] = set()
    space, usable = shapes.space, [np.zeros(0, dtype=bool)]
    for block in shapes.blocks():
        points, ids = block.configurations, block.ids
        if len(shapes) <= _MAX_HASHED:
            for name, row in zip(ids.tolist(), points, strict=True):
                number = hash(row.tobytes())
                repeated += [name] * (number in seen)
                seen.add(number)
        is_whole = ~np.isnan(points).any(axis=1)
        extents = np.abs(np.nan_to_num(points)).max(axis=1, initial=0) * np.sqrt(space.n_coordinates)
        precision = np.finfo(points.dtype)
        sizes = space.norm(space.centered(np.nan_to_num(points)))
        is_flat = is_whole & ~(sizes > _ROUNDING * precision.eps * extents + precision.tiny)
        is_usable = is_whole & ~is_flat
        flat += ids[is_flat].tolist()
        if isinstance(space, Landmarks):
            if not space.closed and points.shape[1] > 2:
                joined += ids[is_usable & (points[:, 0] == points[:, -1])].tolist()
            for value, is_there in _find_marks(points):
                marks[value] += ids[is_there].tolist()
                is_usable &= ~is_there
        usable.append(is_usable)
    found = [*_about("repeated", repeated, "exact repeats of another shape", *_LEAVE_OUT)]
    found += _about("no_size", flat, "no size, as all points coincide", *_LEAVE_OUT)
    for value, names in marks.items():
        if len(names) > 1:
            mark = f"{value:g}"
            words = f"landmarks at exactly ({mark}, {mark}), which may be missing ones"
            command = f"shapelex import SHAPES -o marked.npz --missing-mark {mark}"
            found += _about("missing_as_number", names, words, f"sx.mark_missing(shapes, {mark})", command)
    is_comparable = np.concatenate(usable)
    if joined and len(joined) == is_comparable.sum():
        text = "the first and the last point of every shape coincide: closed outlines that were read as open curves?"
        call = "sx.ShapeSet(shapes.configurations[:, :-1], sx.Landmarks(shapes.space.n_points - 1, closed=True))"
        found.append(Finding("joined", (), text, call, "shapelex import FILES -o closed.npz --closed"))
    return is_comparable, found


def _find_marks(points: ComplexArray) -> Iterator[tuple[float, BoolArray]]:
    """Yield numbers that stand for missing landmarks, with the shapes that have one outside of their other points."""
    is_even = points.real == points.imag
    # Negative coordinates that are no marks show that these are measured from within the shapes.
    is_positive = (is_even | ((points.real >= 0) & (points.imag >= 0))).all(axis=1, keepdims=True)
    is_even &= np.isin(points.real, _MARKS) | ((points.real <= 0) & is_positive)
    for value in np.unique(points.real[is_even]).tolist():
        is_mark = is_even & (points.real == value)
        # In coordinates relative to a landmark, this one is (0, 0) in all shapes.
        is_mark &= is_mark.mean(axis=0) <= 0.5
        rows = np.flatnonzero(is_mark.any(axis=1))
        others = np.where(is_mark[rows], complex(np.nan, np.nan), points[rows])
        least = np.fmin.reduce(np.fmin(others.real, others.imag), axis=1)
        greatest = np.fmax.reduce(np.fmax(others.real, others.imag), axis=1)
        is_outside = np.zeros(len(points), dtype=bool)
        is_outside[rows] = (least > max(value, -1e-9)) if value <= 0 else (np.maximum(greatest, -least) < value / 2)
        if is_outside.any():
            yield value, is_outside


def _look_at_fits(shapes: ShapeSet) -> tuple[list[Finding], ComplexArray]:
    """Compare complete shapes with their mean, mirrored, reversed or started elsewhere; return them as they fit."""
    space, rows, found = shapes.space, np.asarray(shapes.configurations), list[Finding]()
    trial = rows[:: -(-len(rows) // _MOST_OF_MEAN)]
    if space.coordinates_per_point is not None and not has_no_mirror(space):
        ways = {"start": space.closed, "direction": space.closed}
        target = register(trial, space, **ways, reflection=True).target
        mirror = register(rows.conj(), space, to=target, **ways)
        ways["direction"] = False
        own, back = (register(one, space, to=target, **ways) for one in (rows, space.reverse_rows(rows)))
        as_is, mirrored, turned = own.distance_after, mirror.distance_after, back.distance_after
        if shapes.sequence is not None and not space.closed:
            # Ends that swap are looked for along time.
            turned = as_is
        is_mirrored = _fits_better(np.minimum(as_is, turned), mirrored)
        is_turned = _fits_better(as_is, turned) & (turned <= mirrored)
        flip = f"shapelex import SHAPES -o flipped.npz{' --register' if space.closed else ''} --flip {{ids}}"
        words = "clearly closer to the mean when mirrored"
        found += _about("mirrored", shapes.ids[is_mirrored], words, "sx.flip(shapes, {ids})", flip)
        words = "clearly closer to the mean with the points in the reverse order"
        call = f"sx.register(shapes{'' if space.closed else ', start=False'})"
        found += _about("reversed", shapes.ids[is_turned], words, call, _REGISTER)
        if space.closed and (shapes.preparation is None or not shapes.preparation.is_registered):
            is_moved = (own.shift > 0) & ~is_mirrored & ~is_turned
            found += _look_at_starts(shapes, trial, as_is, is_moved)
        rows = np.where(is_turned[:, None], back.configurations, own.configurations)
        rows = np.where(is_mirrored[:, None], mirror.configurations, rows)
    return found, rows


def _fits_better(as_is: FloatArray, changed: FloatArray) -> BoolArray:
    """Return which shapes fit clearly better when changed; none where the change makes little difference to most."""
    is_clear = np.minimum(as_is, changed) < _CLEARLY * np.maximum(as_is, changed)
    return np.asarray(is_clear & (changed < as_is) & (is_clear.mean() >= _MOST))


def _look_at_starts(shapes: ShapeSet, trial: ComplexArray, after: FloatArray, is_moved: BoolArray) -> Iterator[Finding]:
    """Tell whether start points are as good as random ones, or some shapes fit only when they start elsewhere."""
    space = shapes.space
    n_points = space.n_coordinates // int(space.coordinates_per_point or 1)
    drawn = np.random.default_rng(0).integers(n_points, size=len(trial))
    rolled = space.roll_rows(trial, drawn)
    before = distance(shapes, mean_shape(trial, space=space), space=space)
    random = distance(rolled, mean_shape(rolled, space=space), space=space)
    as_it_is, registered, at_random = (float(np.sqrt(np.mean(one**2))) for one in (before, after, random))
    lower, upper = np.quantile(before, [0.25, 0.75])
    is_odd = is_moved & (before > upper + _FAR_OUT * (upper - lower)) & (after < _CLEARLY * before)
    remedy = "sx.register(shapes)", _REGISTER
    if shapes.sequence is not None:
        remedy = "sx.sequences.register_sequence(shapes)", _FOLLOW
    if as_it_is - registered > _ARBITRARY * (at_random - registered) > _LEAST_GAIN * registered:
        text = (
            "the start points of outlines do not correspond: the distance from the mean is "
            f"{as_it_is:.3f}, {at_random:.3f} with random start points, and {registered:.3f} once they are registered"
        )
        yield Finding("start_points", (), text, *remedy)
    else:
        words = "clearly closer to the mean when the outline starts elsewhere"
        yield from _about("start_points", shapes.ids[is_odd], words, *remedy)


def _look_at_time(shapes: ShapeSet) -> Iterator[Finding]:
    """Look for curves whose ends are exchanged between two frames."""
    if shapes.space.coordinates_per_point is None or len(shapes) < 2:
        return
    try:
        is_reversed = register_sequence(shapes).is_reversed
    except ParameterError as error:
        # Frames repeat, or are not known.
        yield Finding("time", (), f"the order in time is not known: {error}", "shapes.replace(metadata=...)",
                      "shapelex import FILES -o shapes.npz --join SHEET")  # fmt: skip
        return
    words = "run the other way, as the ends of the curve swap along time"
    yield from _about("swapped_ends", shapes.ids[is_reversed], words, "sx.sequences.register_sequence(shapes)", _FOLLOW)


def _look_at_objects(shapes: ShapeSet) -> Iterator[Finding]:
    """Look at what was noted of the objects of masks."""
    columns, ids = shapes.metadata, shapes.ids
    names = ("area", "hole_area", "lost_area", "touches_border")
    if not set(names) <= set(columns) or any(columns[name].dtype.kind not in "biuf" for name in names):
        return
    area, holes, lost, touches = (np.asarray(columns[name], dtype=np.float64) for name in names)
    call, command = 'sx.read(files, {}="drop")', "shapelex import FILES -o shapes.npz --option {}=drop"
    for kind, flags, words in (
        ("border", touches > 0, "cut off by the border of the image"),
        ("holes", holes > _SPECK * area, "with holes, which are not part of the outlines"),
    ):
        yield from _about(kind, ids[flags], words, call.format(kind), command.format(kind))
    words = "in several parts, of which only the largest is outlined"
    yield from _about("in_parts", ids[lost > _SPECK * area], words, *_LEAVE_OUT)
    import pandas as pd

    # Lobed leaves are less convex than those of other species, so that objects are compared within their group.
    groups = np.zeros(len(ids)) if shapes.labels is None else shapes.labels
    is_large = area > _LARGE * pd.Series(area).groupby(groups).transform("median").to_numpy()
    if shapes.closed and is_large.any() and len(shapes) >= _FEWEST:
        solidity = measure(shapes)["solidity"]
        usual = solidity.reset_index(drop=True).groupby(groups).transform("median").to_numpy()
        is_merged = is_large & (solidity.to_numpy() < usual - _LESS_SOLID)
        yield from _about("merged", ids[is_merged], "large and not convex, perhaps several objects in one", *_LEAVE_OUT)


def _look_at_groups(shapes: ShapeSet) -> Iterator[Finding]:
    """Look for groups whose names differ only by case or spaces."""
    for name, column in shapes.columns.described().items():
        if name == "id" or column.dtype.kind != "U":
            continue
        values = np.unique(column)
        if len(values) > len(column) / 2:
            continue
        alike: dict[str, list[str]] = defaultdict(list)
        for value in values.tolist():
            alike["".join(value.split()).casefold()].append(value)
        for spellings in alike.values():
            if len(spellings) > 1:
                text = f"groups of {name} differ only by case or spaces: {', '.join(map(repr, spellings))}"
                wanted = f"np.where(np.isin(shapes.{{}}, {spellings}), {spellings[0]!r}, shapes.{{}})"
                part = "labels" if name == "label" else f"metadata[{name!r}]"
                whole = wanted.format(part, part)
                mended = f"labels={whole}" if name == "label" else f"metadata={{**shapes.metadata, {name!r}: {whole}}}"
                yield Finding("similar_groups", (), text, f"shapes.replace({mended})",
                              "shapelex import FILES -o shapes.npz --join CORRECTED_SHEET")  # fmt: skip


def _look_at_units(shapes: ShapeSet) -> Iterator[Finding]:
    """Tell where sizes cannot be compared: shapes of files that may have a scale, without one."""
    lengths, unit, _ = unit_lengths(shapes)
    is_unknown = np.isnan(lengths)
    formats = {"image", "tps"} & set(_formats_of(shapes.provenance))
    call, command = "shapes.replace(metadata={**shapes.metadata, 'scale': ...})", "shapelex import FILES -o shapes.npz"
    if is_unknown.any():
        words = "without a scale, so that sizes cannot be compared"
        yield from _about("no_scale", shapes.ids[is_unknown], words, call, f"{command} --join SHEET_WITH_SCALES")
    elif unit == "coordinates" and formats:
        what = "pixels" if formats == {"image"} else "the unit of the files"
        text = f"no scale is known: sizes are in {what}"
        option = "--option pixel_size=SIZE" if formats == {"image"} else "--join SHEET_WITH_SCALES"
        yield Finding("no_scale", (), text, call, f"{command} {option}")


def _formats_of(provenance: Any) -> Iterator[str]:
    """Yield the formats of the files that a set was read from, at first and later."""
    while isinstance(provenance, Mapping):
        formats = provenance.get("formats")
        yield from map(str, formats if isinstance(formats, list | tuple) else ())
        provenance = provenance.get("source")


def _about(kind: str, ids: Sequence[str] | Column, words: str, call: str, command: str) -> Iterator[Finding]:
    """Yield a finding on some shapes, if there are any; ``{ids}`` in the remedies stands for their ids."""
    names = list(map(str, ids))
    if not names:
        return
    named = ", ".join(map(on_one_line, names[:_NAMED])) + ", …" * (len(names) > _NAMED)
    text = f"{words}: {len(names)} shape{'s' * (len(names) != 1)} ({named})"
    typed = shlex.quote(",".join(names))
    if "{ids}" in command and (len(names) > _NAMED or any("," in one or one != on_one_line(one) for one in names)):
        # Many are written to a list, and so are those that cannot be typed.
        command, typed = f"shapelex check SHAPES --kind {kind} -o {kind}.csv; {command}", f"{kind}.csv"
    yield Finding(kind, tuple(names), text, call.replace("{ids}", str(names)), command.replace("{ids}", typed))
