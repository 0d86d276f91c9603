"""Morphologika files: sections in brackets, the landmarks of all specimens under ``[rawpoints]``.

``[names]`` gives ids, ``[groups]`` labels, ``[labels]`` and ``[labelvalues]`` metadata; wireframes and polygons are not
read. Of the points, those of one specimen are held at a time.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from shapelex.exceptions import ShapeFileError
from shapelex.files.numbers import parse_pairs
from shapelex.files.text_file import TextFile, open_text
from shapelex.io.records import BadRecord, Record

Lines = list[tuple[int, str]]

_COUNTS = ("individuals", "landmarks", "dimensions")
_HELD_SECTIONS = (*_COUNTS, "names", "groups", "labels", "labelvalues")
_SECTION = re.compile(r"\[\s*([a-z ]{1,40}?)\s*\]", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,9}")


def read_records(path: Path) -> Iterator[Record | BadRecord]:
    """Yield the specimens of a file."""
    text = open_text(path)
    sections: dict[str, Lines] = {}
    n_lines = n_remarks = 0
    starts_with_remark = False
    for name, number, line in _section_lines(text):
        if name == "rawpoints":
            is_remark = line.startswith("'")
            starts_with_remark |= is_remark and not n_lines
            n_remarks += is_remark
            n_lines += 1
        elif name in _HELD_SECTIONS:
            sections.setdefault(name, []).append((number, line))
    counts = []
    for name in _COUNTS:
        if name not in sections:
            raise ShapeFileError(f"{path} is no Morphologika file: it has no section [{name}].")
        number, line = sections[name][0]
        if not _COUNT.fullmatch(line):
            raise ShapeFileError(f"{path}, line {number}: {line[:40]!r} is no number of {name}.")
        counts.append(int(line))
    n_specimens, n_landmarks, n_dimensions = counts
    if n_dimensions != 2:
        raise ShapeFileError(f"{path} has {n_dimensions} dimensions, but shapes here are planar: project them first.")
    n_blocks = n_remarks + (not starts_with_remark) if n_remarks else -(-n_lines // max(n_landmarks, 1))
    if n_blocks != n_specimens:
        raise ShapeFileError(f"{path} has the points of {n_blocks} individuals, but declares {n_specimens}.")
    names = [line for _, line in sections.get("names", [])]
    if names and len(names) != n_specimens:
        raise ShapeFileError(f"{path} has {len(names)} names for {n_specimens} individuals.")
    # Names and sizes of groups, one after the other.
    words = [word for _, line in sections.get("groups", []) for word in line.split()]
    sizes = [int(word) if _COUNT.fullmatch(word) else -1 for word in words[1::2]]
    if words and (len(words) % 2 or min(sizes) < 0 or sum(sizes) != n_specimens):
        raise ShapeFileError(f"{path}: [groups] must be names and sizes that add up to {n_specimens} individuals.")
    groups = [name for name, size in zip(words[::2], sizes, strict=True) for _ in range(size)]
    columns = [word for _, line in sections.get("labels", []) for word in line.split()]
    rows = [line for _, line in sections.get("labelvalues", []) if columns]
    values = [[line] if len(columns) == 1 else line.split() for line in rows]
    if values and (len(values) != n_specimens or any(len(row) != len(columns) for row in values)):
        what = f"{len(columns)} values for each of {n_specimens} individuals"
        raise ShapeFileError(f"{path}: [labelvalues] must have {what}.")
    lines = ((number, line) for name, number, line in _section_lines(text) if name == "rawpoints")
    for row, block in enumerate(_split_points(lines, None if n_remarks else max(n_landmarks, 1))):
        where = f"record {row + 1}, line {block[0][0] if block else '?'}"
        if len(block) != n_landmarks:
            yield BadRecord(where, f"it has {len(block)} landmarks, but {n_landmarks} are declared.")
            continue
        points, bad = parse_pairs([re.sub(r"[,;\t]", " ", line) for _, line in block])
        if points is None:
            reason = f"expected x and y of landmark {bad + 1}, found {block[bad][1][:40]!r}."
            yield BadRecord(f"record {row + 1}, line {block[bad][0]}", reason)
            continue
        yield Record(
            points,
            id=names[row] if names else f"{path.stem}-{row + 1}",
            label=groups[row] if groups else "",
            metadata=dict(zip(columns, values[row], strict=True)) if values else {},
            where=where,
        )


def _section_lines(text: TextFile) -> Iterator[tuple[str, int, str]]:
    """Yield section, number and text of each line that is not blank and does not begin a section."""
    name = ""
    seen: set[str] = set()
    for number, raw in text.lines():
        line = raw.strip()
        match = _SECTION.fullmatch(line) if line.startswith("[") else None
        if match is not None:
            name = match[1].lower().replace(" ", "")
            if name in seen:
                raise ShapeFileError(f"{text.path}, line {number}: the section [{name}] is there twice.")
            seen.add(name)
        elif line and not seen:
            raise ShapeFileError(f"{text.path}, line {number}: expected a section such as [individuals].")
        elif line:
            yield name, number, line


def _split_points(lines: Iterator[tuple[int, str]], n_lines: int | None) -> Iterator[Lines]:
    """Yield the lines of each specimen: so many, or with None those between remarks that start with a quote."""
    block: Lines | None = None
    for number, line in lines:
        is_remark = line.startswith("'")
        if block is not None and (is_remark or len(block) == n_lines):
            yield block
            block = None
        block = [] if block is None else block
        if not is_remark:
            block.append((number, line))
    if block is not None:
        yield block
