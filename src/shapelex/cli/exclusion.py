"""Shapes that a command leaves out, by a list of their ids or files, such as the explorer page exports."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.errors import CommandError

if TYPE_CHECKING:
    from shapelex._typing import BoolArray
    from shapelex.shapes import ShapeSet

ExcludeOption = Annotated[
    Path | None,
    typer.Option(
        "--exclude",
        help="Leave out the shapes in this list, a .csv or .tsv file with a column id or file.",
        show_default=False,
    ),
]

_NAMED = 5


@dataclass
class Exclusion:
    """A list of shapes to leave out, and what has been found of it.

    An entry has an id, a file, or both: then both must be those of the shape. Files are found by their path or name.
    """

    path: Path
    entries: list[dict[str, str]]
    n_excluded: int = 0
    _found: set[int] = field(default_factory=set)

    def keeps(self, shapes: "ShapeSet") -> "BoolArray":
        """Tell which shapes of a set, or of a part of it, are not in the list."""
        import numpy as np

        from shapelex.shapes.sheet import keys_of

        needs_file = any("file" in entry for entry in self.entries)
        if needs_file and "file" not in shapes.metadata:
            if not all("id" in entry for entry in self.entries):
                raise CommandError(
                    f"{self.path} names files, but the shapes do not say which files they are from: add a column id."
                )
            needs_file = False
        ids = shapes.ids.tolist()
        files = [keys_of(file, "file") for file in shapes.metadata["file"].tolist()] if needs_file else [[]] * len(ids)
        by_id: dict[str, list[int]] = {}
        by_file: dict[str, list[int]] = {}
        for row, (name, keys) in enumerate(zip(ids, files, strict=True)):
            by_id.setdefault(name, []).append(row)
            for key in keys:
                by_file.setdefault(key, []).append(row)
        is_kept = np.ones(len(ids), dtype=bool)
        for number, entry in enumerate(self.entries):
            rows = set(by_id.get(entry["id"], ())) if "id" in entry else None
            if "file" in entry and needs_file:
                of_file = {row for key in keys_of(entry["file"], "file")[:2] for row in by_file.get(key, ())}
                rows = of_file if rows is None else rows & of_file
            if rows:
                is_kept[list(rows)] = False
                self._found.add(number)
        self.n_excluded += int((~is_kept).sum())
        return is_kept

    @property
    def unmatched(self) -> list[str]:
        """The entries of the list that fit no shape."""
        return [" ".join(entry.values()) for number, entry in enumerate(self.entries) if number not in self._found]

    def note(self, n_all: int) -> str:
        """Return what was left out of so many shapes, and which entries of the list fit none."""
        words = f"{self.n_excluded} of {n_all} shapes were excluded by {self.path}"
        missed = self.unmatched
        if missed:
            more = f" and {len(missed) - _NAMED} more" if len(missed) > _NAMED else ""
            words += f"; {len(missed)} of its entries fit no shape: {', '.join(map(repr, missed[:_NAMED]))}{more}"
        return words


def read_exclusion(path: Path) -> Exclusion:
    """Read a list of shapes: a table with a column ``id``, a column ``file``, or both."""
    from shapelex.io.text_file import open_text

    if not path.is_file():
        raise CommandError(f"There is no file {path} to exclude shapes by.")
    text = "".join(open_text(path).blocks(keeps_line_ends=True))
    head = text.partition("\n")[0].strip()
    delimiter = next((mark for mark in "\t;," if mark in head), ",")
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    wanted = [name for name in ("id", "file") if name in (rows.fieldnames or ())]
    if not wanted:
        raise CommandError(
            f"{path} has no column id or file to find shapes by; its first line is {head[:60]!r}: begin it with a line "
            "that names the column, such as id."
        )
    try:
        entries = [{name: text for name in wanted if (text := (row[name] or "").strip())} for row in rows]
    except csv.Error as error:
        raise CommandError(f"{path}, line {rows.line_num + 1}: it cannot be split into columns ({error}).") from error
    return Exclusion(path, [entry for entry in entries if entry])


def select_shapes(shapes: Any, keeps: "Callable[[ShapeSet], BoolArray]") -> Any:
    """Return the shapes of a set that a function wants; a stored one is read into memory, parts on disk stay there."""
    import numpy as np

    from shapelex.io.parts import AssembledShapes

    if isinstance(shapes, AssembledShapes):
        shapes.select(keeps)
        return shapes
    is_kept = np.concatenate([keeps(block) for block in shapes.blocks()])
    return shapes if is_kept.all() else shapes[is_kept]


def exclude_shapes(shapes: Any, exclusion: Exclusion) -> Any:
    """Return a set without the shapes of a list."""
    n_all = shapes.shape[0]
    shapes = select_shapes(shapes, exclusion.keeps)
    if not shapes.shape[0]:
        raise CommandError(f"{exclusion.path} excludes all {n_all} shapes: none is left.")
    return shapes.replace(notes=(*shapes.notes, exclusion.note(n_all)))
