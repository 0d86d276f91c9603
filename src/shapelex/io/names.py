"""What names in sheets and lists mean: ids and files of shapes, which may leave out folders and endings."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from posixpath import normpath

from shapelex.exceptions import ShapeInputError
from shapelex.shapes.identity import id_in_file

# Ends of the names of masks, after the name of the image that was segmented.
MASK_NAME = re.compile(r"(?i)(.+?)[-_ .](?:cp_)?(?:masks?|labels?|seg|segmentation)")
_ENDINGS = re.compile(r"(?<=.)(\.[a-zA-Z]\w*)+$")
_NUMBERS = re.compile(r"(?<=.)(:\d+)+$")


def tell_apart(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the shortest end of each path that no other path has, without the ending of the file if none needs it."""
    full = {path: path.absolute() for path in paths}
    n_same = Counter(path.with_suffix("") for path in full.values())
    bare = {path: one if n_same[one.with_suffix("")] > 1 else one.with_suffix("") for path, one in full.items()}
    waiting = {path: one.parts[1:] for path, one in bare.items()}
    every, told, n_parts = list(waiting.values()), {}, 0
    while waiting:
        n_parts += 1
        counts = Counter(parts[-n_parts:] for parts in every)
        for path, parts in list(waiting.items()):
            if counts[parts[-n_parts:]] == 1 or n_parts >= len(parts):
                told[path] = "/".join(parts[-n_parts:])
                del waiting[path]
    return {path: told[path] for path in full}


def id_in_full(name: str, path: Path) -> str:
    """Return an id of a file as a path, from which no other shape of any file has the same one."""
    last = name.rpartition("/")[2]
    is_made_of_path = id_in_file(last, path, "") is not None
    return f"{path.parent}/{last}" if is_made_of_path else f"{path.with_suffix('')}/{name}"


def without_numbers(name: str) -> str:
    """Return an id without the numbers that tell the shapes of one id, or of one file, apart."""
    return _NUMBERS.sub("", name)


class Names:
    """Finds which of some names an id or a file has, comparing them from the end: ``b/c`` fits ``a/b/c``.

    A name may leave out folders, or have more of them than what it names; names of files may leave out endings, and
    name the image that a mask was made of. Names that are neither ids nor files are compared as they are.

    Parameters
    ----------
    names : sequence of str
        The names, all different; empty ones fit nothing.
    kind : str
        What they name: ``"id"``, ``"file"``, or the name of another column.
    """

    def __init__(self, names: Sequence[str], kind: str) -> None:
        self.names, self._kind = names, kind
        self._exact: dict[tuple[str, ...], int] = {}
        self._longer: dict[tuple[str, ...], set[int]] = {}
        short: dict[tuple[str, ...], set[int]] = {}
        for number, name in enumerate(names):
            if name:
                folders, forms = self._split(name)
                self._exact[*folders, forms[0]] = number
                for form in forms:
                    short.setdefault((*folders, form), set()).add(number)
                    for n_left_out in range(1, len(folders) + 1):
                        self._longer.setdefault((*folders[n_left_out:], form), set()).add(number)
        # Without endings, several may be one.
        self._numbers = {key: min(numbers) for key, numbers in short.items() if len(numbers) == 1} | self._exact

    def find(self, told: str) -> int | None:
        """Return the number of the name that an id or a file has, the longest if there are several; None for none."""
        folders, forms = self._split(told)
        for n_left_out in range(len(folders) + 1):
            for form in forms:
                if (found := self._numbers.get((*folders[n_left_out:], form))) is not None:
                    return found
        longer = next((self._longer[key] for form in forms if (key := (*folders, form)) in self._longer), set())
        if len(longer) > 1:
            first, second = sorted(self.names[number] for number in longer)[:2]
            raise ShapeInputError(f"{told!r} may be {first!r} or {second!r}, so it is not known which is meant.")
        return min(longer, default=None)

    def _split(self, name: str) -> tuple[list[str], list[str]]:
        """Return the folders in a name, and the forms that its end may have."""
        if self._kind == "id":
            *folders, last = [part for part in name.split("/") if part] or [name]
            return folders, [last]
        if self._kind != "file":
            return [], [name]
        *folders, last = normpath(name.replace("\\", "/")).split("/")
        folders = [folder for folder in folders if folder not in ("", "..")]
        # In plate.12.png, 12 is not an ending.
        forms = [last, PurePath(last).stem, _ENDINGS.sub("", last)]
        if found := MASK_NAME.fullmatch(PurePath(last).stem):
            # The image that a mask was made of, which sheets name more often than the mask.
            forms += [found[1] + PurePath(last).suffix, found[1]]
        return folders, list(dict.fromkeys(forms))
