"""Morphologika files: sections in brackets, the landmarks of all specimens under ``[rawpoints]``.

In comes a file; out go records. ``[names]`` gives ids, ``[groups]`` labels, ``[labels]`` and ``[labelvalues]``
metadata; wireframes and polygons are not read. Of the points, those of one specimen are held at a time.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import check_declared
from shapelex.io.numbers import parse_pairs
from shapelex.io.records import BadRecord, Record
from shapelex.io.text_file import TextFile, open_text

Lines = list[tuple[int, str]]

_HELD_SECTIONS = ("individuals", "landmarks", "dimensions", "names", "groups", "labels", "labelvalues")
_SECTION = re.compile(r"\[\s*([a-z ]{1,40}?)\s*\]", re.IGNORECASE)


def read_records(path: Path) -> Iterator[Record | BadRecord]:
    """Yield the specimens of a file."""
    text = open_text(path)
    sections, n_points, n_remarks, starts_with_remark = _look_through(text)
    n_specimens, n_landmarks, n_dimensions = (
        _read_count(sections, name, path) for name in ("individuals", "landmarks", "dimensions")
    )
    if n_dimensions != 2:
        raise ShapeFileError(f"{path} has {n_dimensions} dimensions, but shapes here are planar: project them first.")
    try:
        check_declared(n_specimens * max(n_landmarks, 1), sum(map(len, text.blocks())) // 4 + 1, "landmarks")
    except ShapeFileError as error:
        raise ShapeFileError(f"{path}: {error}") from error
    names = [line.strip() for _, line in sections.get("names", [])]
    if names and len(names) != n_specimens:
        raise ShapeFileError(f"{path} has {len(names)} names for {n_specimens} individuals.")
    groups = _read_groups(sections, n_specimens, path)
    columns, values = _read_values(sections, n_specimens, path)
    n_blocks = -(-n_points // max(n_landmarks, 1))
    if n_remarks:
        n_blocks = n_remarks + (not starts_with_remark)
    if n_blocks != n_specimens:
        raise ShapeFileError(f"{path} has the points of {n_blocks} individuals, but declares {n_specimens}.")
    lines = ((number, line) for name, number, line in _section_lines(text) if name == "rawpoints" and line)
    for row, block in enumerate(_split_points(lines, None if n_remarks else max(n_landmarks, 1))):
        where = f"record {row + 1}, line {block[0][0] if block else '?'}"
        if len(block) != n_landmarks:
            yield BadRecord(where, f"it has {len(block)} landmarks, but {n_landmarks} are declared.")
            continue
        points, bad = parse_pairs([re.sub(r"[,;\t]", " ", line) for _, line in block])
        if points is None:
            line_number, line = block[bad]
            reason = f"expected x and y of landmark {bad + 1}, found {line.strip()[:40]!r}."
            yield BadRecord(f"record {row + 1}, line {line_number}", reason)
            continue
        yield Record(
            points,
            id=names[row] if names else f"{path.stem}-{row + 1}",
            label=groups[row] if groups else "",
            metadata=dict(zip(columns, values[row], strict=True)) if values else {},
            where=where,
        )


def _section_lines(text: TextFile) -> Iterator[tuple[str, int, str]]:
    """Yield section, number and text of each line that is not blank; an empty text where a section begins."""
    name = ""
    seen: set[str] = set()
    lines = chain.from_iterable(block.removesuffix("\n").split("\n") for block in text.blocks())
    for number, line in enumerate(lines, start=1):
        match = _SECTION.fullmatch(line.strip()) if line.lstrip().startswith("[") else None
        if match is not None:
            name = match[1].lower().replace(" ", "")
            if name in seen:
                raise ShapeFileError(f"{text.path}, line {number}: the section [{name}] is there twice.")
            seen.add(name)
            yield name, number, ""
        elif line.strip():
            if not seen:
                raise ShapeFileError(f"{text.path}, line {number}: expected a section such as [individuals].")
            yield name, number, line


def _look_through(text: TextFile) -> tuple[dict[str, Lines], int, int, bool]:
    """Return the sections but for the points, and of these the numbers of lines and remarks, and what comes first."""
    sections: dict[str, Lines] = {}
    n_lines, n_remarks, starts_with_remark = 0, 0, False
    for name, number, line in _section_lines(text):
        if name == "rawpoints" and line:
            is_remark = line.lstrip().startswith("'")
            starts_with_remark |= is_remark and not n_lines
            n_remarks += is_remark
            n_lines += 1
        elif name in _HELD_SECTIONS and line:
            sections.setdefault(name, []).append((number, line))
    return sections, n_lines, n_remarks, starts_with_remark


def _read_count(sections: dict[str, Lines], name: str, path: Path) -> int:
    lines = sections.get(name)
    if not lines:
        raise ShapeFileError(f"{path} is no Morphologika file: it has no section [{name}].")
    number, line = lines[0]
    if not re.fullmatch(r"[0-9]{1,9}", line.strip()):
        raise ShapeFileError(f"{path}, line {number}: {line.strip()[:40]!r} is no number of {name}.")
    return int(line)


def _read_groups(sections: dict[str, Lines], n_specimens: int, path: Path) -> list[str]:
    """Return the group of each specimen, from names and sizes of groups one after the other."""
    words = [word for _, line in sections.get("groups", []) for word in line.split()]
    if not words:
        return []
    sizes = words[1::2]
    is_sound = len(words) % 2 == 0 and all(re.fullmatch(r"[0-9]{1,9}", size) for size in sizes)
    if not is_sound or sum(map(int, sizes)) != n_specimens:
        raise ShapeFileError(f"{path}: [groups] must be names and sizes that add up to {n_specimens} individuals.")
    return [name for name, size in zip(words[::2], sizes, strict=True) for _ in range(int(size))]


def _read_values(sections: dict[str, Lines], n_specimens: int, path: Path) -> tuple[list[str], list[list[str]]]:
    columns = [word for _, line in sections.get("labels", []) for word in line.split()]
    values = [line.split() for _, line in sections.get("labelvalues", [])]
    if not columns or not values:
        return [], []
    if len(columns) == 1:
        values = [[" ".join(row)] for row in values]
    if len(values) != n_specimens or any(len(row) != len(columns) for row in values):
        raise ShapeFileError(
            f"{path}: [labelvalues] must have {len(columns)} values for each of {n_specimens} individuals."
        )
    return columns, values


def _split_points(lines: Iterator[tuple[int, str]], n_lines: int | None) -> Iterator[Lines]:
    """Yield the lines of each specimen: so many, or with None those between remarks that start with a quote."""
    if n_lines is not None:
        while block := list(islice(lines, n_lines)):
            yield block
        return
    found: Lines | None = None
    for number, line in lines:
        if line.lstrip().startswith("'"):
            if found is not None:
                yield found
            found = []
        else:
            found = [] if found is None else found
            found.append((number, line))
    if found is not None:
        yield found
