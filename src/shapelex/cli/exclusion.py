"""Shapes that a command leaves out or mirrors, by their ids, or a list of ids or files such as the page exports."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shapelex.cli.errors import CommandError

if TYPE_CHECKING:
    from shapelex._typing import BoolArray
    from shapelex.shapes import ShapeSet

_NAMED = 5


@dataclass
class Exclusion:
    """A list of shapes to leave out or to mirror, and what has been found of it.

    An entry has an id, a file, or both: then both must be those of the shape. Both are compared from the end, so that
    folders may be left out; an entry that several shapes or files fit in this way is refused.
    """

    path: Path
    entries: list[dict[str, str]]
    n_excluded: int = 0
    _found: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def keeps(self, shapes: "ShapeSet") -> "BoolArray":
        """Tell which shapes of a set, or of a part of it, are not in the list."""
        import numpy as np

        columns = {"id": shapes.ids.tolist()}
        if "file" in shapes.metadata:
            columns["file"] = shapes.metadata["file"].tolist()
        elif not all("id" in entry for entry in self.entries):
            raise CommandError(
                f"{self.path} names files, but the shapes do not say which files they are from: add a column id."
            )
        fits = {name: self._which_fit(name, column) for name, column in columns.items()}
        is_kept = np.ones(len(shapes), dtype=bool)
        for number, entry in enumerate(self.entries):
            told = [name for name in columns if name in entry]
            in_full = tuple(entry[name] for name in told)
            for row in set.intersection(*(fits[name].get(number, set()) for name in told)):
                found = tuple(columns[name][row] for name in told)
                first = self._found.setdefault(number, found)
                if first == in_full != found:
                    continue
                if first != found:
                    raise CommandError(
                        f"{self._words(number)!r} in {self.path} may be {' of '.join(first)!r} or "
                        f"{' of '.join(found)!r}: write which."
                    )
                is_kept[row] = False
        self.n_excluded += int((~is_kept).sum())
        return is_kept

    def _which_fit(self, column: str, told: "list[str]") -> dict[int, set[int]]:
        """Return the rows of the shapes that each entry with this column fits."""
        from shapelex.io.names import Names

        entries: dict[str, list[int]] = {}
        for number, entry in enumerate(self.entries):
            if column in entry:
                entries.setdefault(entry[column], []).append(number)
        names, own_rows = Names(list(entries), column), dict[str, list[int]]()
        for row, name in enumerate(told):
            own_rows.setdefault(name, []).append(row)
        fits: dict[int, set[int]] = {}
        for name, rows in own_rows.items():
            place = names.find(name)
            # What is written in full is not meant by its end, too.
            if place is not None and ((written := names.names[place]) == name or written not in own_rows):
                for number in entries[written]:
                    fits.setdefault(number, set()).update(rows)
        return fits

    def _words(self, number: int) -> str:
        return " ".join(self.entries[number].values())

    @property
    def unmatched(self) -> list[str]:
        """The entries of the list that fit no shape."""
        return [self._words(number) for number in range(len(self.entries)) if number not in self._found]

    def note(self, n_all: int) -> str:
        """Return what was left out of so many shapes, and which entries of the list fit none."""
        words = f"{self.n_excluded} of {n_all} shapes were excluded by {self.path}"
        missed = self.unmatched
        if missed:
            more = f" and {len(missed) - _NAMED} more" if len(missed) > _NAMED else ""
            words += f"; {len(missed)} of its entries fit no shape: {', '.join(map(repr, missed[:_NAMED]))}{more}"
        return words


def read_exclusion(path: Path) -> Exclusion:
    """Read a list of shapes: ids, or a table with a column ``id``, a column ``file``, or both."""
    from shapelex.exceptions import ShapeFileError
    from shapelex.files.tables import TextRows, text_lines
    from shapelex.files.text_file import open_text

    if not path.exists() and path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        names = str(path).split(",")
        return Exclusion(path, [{"id": name.strip()} for name in names if name.strip()])
    if not path.is_file():
        raise CommandError(f"There is no file {path} to exclude shapes by.")
    text = open_text(path)
    head = next((line for _, line in text.lines()), "").strip()
    delimiter = next((mark for mark in "\t;," if mark in head), ",")
    try:
        names, *rows = list(TextRows(text_lines(text), delimiter, path)) or [[]]
    except ShapeFileError as error:
        raise CommandError(str(error)) from error
    wanted = [name for name in ("id", "file") if name in names]
    if not wanted:
        raise CommandError(
            f"{path} has no column id or file to find shapes by; its first line is {head[:60]!r}: begin it with a line "
            "that names the column, such as id."
        )
    cells = (dict(zip(names, row, strict=False)) for row in rows)
    entries: list[dict[str, str]] = [
        {name: cell for name in wanted if (cell := row.get(name, "").strip())} for row in cells
    ]
    return Exclusion(path, [entry for entry in entries if entry])


def select_shapes(shapes: "ShapeSet", keeps: "Callable[[ShapeSet], BoolArray]") -> "ShapeSet":
    """Return the shapes of a set that a function wants; a stored one is read into memory, parts on disk stay there."""
    from shapelex.io.parts import change_blocks

    kept = [keeps(block) for block in shapes.blocks()]
    if all(part.all() for part in kept):
        return shapes
    parts = iter(kept)
    return change_blocks(shapes, lambda block: block[next(parts)])


def exclude_shapes(shapes: "ShapeSet", exclusion: Exclusion) -> "ShapeSet":
    """Return a set without the shapes of a list."""
    n_all = len(shapes)
    shapes = select_shapes(shapes, exclusion.keeps)
    if exclusion.unmatched and not exclusion.n_excluded:
        named = ", ".join(map(repr, exclusion.unmatched[:_NAMED]))
        raise CommandError(
            f"--exclude {exclusion.path} names no shape of these: {named}; ids are such as {shapes.ids[0]}."
        )
    if not len(shapes):
        raise CommandError(f"{exclusion.path} excludes all {n_all} shapes: none is left.")
    return shapes.replace(notes=(*shapes.notes, exclusion.note(n_all)))


def flip_shapes(shapes: "ShapeSet", chosen: Exclusion) -> "ShapeSet":
    """Return a set in which the shapes of a list are mirrored; parts on disk stay there."""
    import numpy as np

    from shapelex.checks.remedies import flipped_set, mirror_images
    from shapelex.io.parts import change_blocks

    # A set in memory is one block, too.
    wanted = [(~chosen.keeps(block), block.ids) for block in shapes.blocks()]
    ids = [name for is_wanted, names in wanted for name in names[is_wanted].tolist()]
    if not ids:
        raise CommandError(f"--flip {chosen.path} names no shape of these.")
    places = iter(wanted)

    def change(block: "ShapeSet") -> "ShapeSet":
        is_wanted, _ = next(places)
        rows = np.array(block.configurations)
        rows[is_wanted] = mirror_images(rows[is_wanted], block.space)
        return block.replace(configurations=rows)

    flipped = flipped_set(change_blocks(shapes, change), ids)
    if chosen.unmatched:
        note = f"entries of --flip that fit no shape: {', '.join(map(repr, chosen.unmatched[:_NAMED]))}"
        flipped = flipped.replace(notes=(*flipped.notes, note))
    return flipped
