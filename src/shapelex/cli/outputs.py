"""What a command writes: made beside its place, and put in place with all the rest when the command has succeeded.

No input of the command is replaced, and nothing that shapelex did not write; what it wrote is replaced by ``--force``.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from shapelex.cli.errors import CommandError, refuse
from shapelex.exceptions import ShapeFileError, ShapelexError

OUTPUT_OPTIONS = (
    "-o", "--out", "--table", "--figure", "--checkpoint", "--movie", "--bouts", "--transitions", "--tested",
    "--misclassified",
)  # fmt: skip
FIGURE_SUFFIXES = (".png", ".svg", ".pdf", ".eps", ".tif", ".tiff")
_JOINED = re.compile(rf"({'|'.join(OUTPUT_OPTIONS[1:])})=(.*)|(-o)(.+)", re.DOTALL)
# Files that have a place for the record of what made them; others have it beside them.
_WITH_RECORD = (".npz", ".parquet", ".html", ".htm", ".zarr")
# How a line of a log begins: with its time.
_LOG_LINE = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")
_LEFT_BEHIND = re.compile(r"\..+\.partial")


@dataclass(frozen=True)
class _Claim:
    """A place for a file, or for the results in a folder, and the folder in which they are made."""

    path: Path
    place: Path
    work: Path
    option: str
    names: tuple[str, ...] = ()

    def target_of(self, made: Path) -> Path:
        """Return where something that was made goes; a link stays a link, to what is new."""
        from shapelex.files.atomic import real_path

        return real_path(self.path) if made.name == self.path.name and not self.names else self.place / made.name


class Outputs:
    """All that one command writes, given the words that were typed; `force` replaces what shapelex wrote."""

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        self.words, self.force = words, False
        self.stack = ExitStack()
        self._claims: list[_Claim] = []
        self._targets: dict[Path, str] = {}
        self._inputs: dict[str, bool] = {}

    def claim(self, path: Path, option: str, kind: str) -> None:
        """Make a place for a file that goes to `path` in the end; refuse a path that must stay as it is."""
        from shapelex.files.atomic import work_folder

        if kind == "checkpoint":
            # The library writes it.
            self.reserve(path, option)
            return
        _check_kind(path, option, kind)
        _check_place(path, option)
        self._check_free(path, option)
        self.reserve(path, option)
        work = self.stack.enter_context(work_folder(path))
        self._claims.append(_Claim(path, path.parent, work, option))

    def claim_folder(self, path: Path, option: str, names: Iterable[str] = ()) -> None:
        """Make a place for the files of a folder; refuse one that holds something, unless `force`.

        Files of `names` replace those of an earlier run as a whole; other files in the folder stay. Without names, the
        folder is made at once, for commands that each write into it.
        """
        from shapelex.files.atomic import work_folder

        if path.exists() and not path.is_dir():
            raise CommandError(f"{path} is a file, not a folder: choose another {option}.")
        # What a killed command left goes when the next one writes.
        if path.is_dir() and not self.force and not all(_LEFT_BEHIND.fullmatch(one.name) for one in path.iterdir()):
            raise CommandError(
                f"{path} is not empty: choose another {option}, or pass --force to replace what is there."
            )
        if not names:
            path.mkdir(parents=True, exist_ok=True)
            return
        for name in names:
            if (path / name).is_dir():
                raise CommandError(
                    f"{path / name} is a folder, where a result would go: rename it, or choose another {option}."
                )
            self.reserve(path / name, option)
        if not path.exists():
            path.mkdir(parents=True)
            # It stays where it holds something.
            self.stack.callback(_remove_empty, path)
        # Inside, because the folder may be on another disk than the one above it.
        place = path / ".shapelex"
        self.stack.enter_context(_told_of(path, place))
        self._claims.append(_Claim(path, path, self.stack.enter_context(work_folder(place)), option, tuple(names)))

    def reserve(self, path: Path, option: str) -> None:
        """Refuse a path that is that of another output, or that the command reads."""
        from shapelex.files.atomic import real_path

        target = real_path(path.expanduser())
        other = self._targets.get(target)
        refuse(other, option, f"{path} is the path of {other}, too: name another file.")
        self._targets[target] = option
        for name, leaves_out in self._inputs.items():
            _check_not_input(name, target, leaves_out, option)

    def reserve_log(self, path: Path) -> None:
        """Refuse a file for the log that holds something else: lines would be added to it."""
        if path.is_file() and path.stat().st_size:
            with path.open("rb") as stream:
                is_log = _LOG_LINE.match(stream.read(32)) is not None
            refuse(not is_log, "--log", f"{path} holds something else than a log of shapelex: choose another file.")
        self.reserve(path, "--log")

    def note_inputs(self, paths: Iterable[str | Path], *, leaves_out: bool = False) -> None:
        """Refuse to read what the command would replace; `leaves_out` says that a folder is read without outputs."""
        for name in map(str, paths):
            known = self._inputs.setdefault(name, leaves_out)
            for target, option in self._targets.items():
                _check_not_input(name, target, known, option)

    def place(self, path: Path) -> Path:
        """Return where to make a file, or the files of a folder, that was claimed."""
        for claim in self._claims:
            if claim.path == path:
                return claim.work if claim.names else claim.work / path.name
        return path

    def shown(self, text: str) -> str:
        """Return a text with the places of files where it names the folders in which they are made."""
        for claim in self._claims:
            place = "" if claim.place == Path() else f"{claim.place}{os.sep}"
            text = text.replace(f"{claim.work}{os.sep}", place)
        return text

    def put_in_place(self) -> list[Path]:
        """Put all that was made where it goes, and return that; where it fails, everything is as it was before."""
        made = [(one, claim) for claim in self._claims for one in _made_in(claim.work)]
        undo: list[tuple[Path, Path | None]] = []
        try:
            for one, claim in made:
                # Something may have come there since.
                self._check_free(claim.target_of(one), claim.option)
            for number, (target, new, claim) in enumerate(self._moves(made)):
                _exchange(new, target, claim.work / f".old-{number}", undo)
        except BaseException:
            for target, old in reversed(undo):
                _bring_back(target, old)
            raise
        names = {one.name for one, _ in made}
        written = [one.place / name for one in self._claims for name in one.names or [one.path.name] if name in names]
        self._claims = [] if written else self._claims
        return written

    def _moves(self, made: list[tuple[Path, _Claim]]) -> Iterator[tuple[Path, Path | None, _Claim]]:
        """Yield targets and what goes there: None for earlier results, and for records that no longer hold."""
        from shapelex.files.sidecar import has_sidecar, sidecar_path

        targets = {claim.target_of(one) for one, claim in made}
        for claim in {owner.work: owner for _, owner in made}.values():
            if not claim.names and has_sidecar(claim.path) and sidecar_path(claim.path) not in targets:
                yield sidecar_path(claim.path), None, claim
            # Before any new result, so that results of two runs are never mixed; a result never without its record.
            for path in (claim.place / name for name in claim.names):
                if path in targets or self._is_of_same_command(path):
                    yield from ((one, None, claim) for one in (path, sidecar_path(path)) if one.is_file())
        # Records first: a file without one would be taken for a file of the user.
        for one, claim in sorted(made, key=lambda pair: pair[0].suffix != ".json"):
            yield claim.target_of(one), one, claim

    def _check_free(self, path: Path, option: str) -> None:
        from shapelex.files.sidecar import has_sidecar, sidecar_path

        sidecar = sidecar_path(path)
        if path.exists():
            is_record = path.suffix == ".json" and has_sidecar(path.with_suffix(""))
            if not (is_record or is_ours(path)):
                raise CommandError(f"{path} exists, and shapelex did not write it: choose another {option}.")
            if not (self.force or is_record):
                raise CommandError(f"{path} exists: choose another {option}, or pass --force to replace it.")
        elif path.suffix.lower() not in _WITH_RECORD and sidecar.exists() and not has_sidecar(path):
            raise CommandError(f"{sidecar} exists, where the record of {path.name} goes: choose another {option}.")

    def _is_of_same_command(self, path: Path) -> bool:
        """Tell whether a result in a folder is of an earlier run of the command that runs."""
        from shapelex.files.sidecar import read_sidecar

        try:
            return shlex.split(read_sidecar(path)["command"])[:2] == ["shapelex", *self.words[:1]]
        except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return False  # no record, or none of ours


def _check_kind(path: Path, option: str, kind: str) -> None:
    """Refuse a name that is none of a kind of file, and what cannot be written here, before the work begins."""
    from shapelex._extras import load_library, load_zarr
    from shapelex.files.table_file import TABLE_SUFFIXES, check_table_path

    suffixes: dict[str, tuple[str, ...]] = {
        "model": (".npz",),
        "page": (".html", ".htm"),
        "table": TABLE_SUFFIXES,
        "codes": (*TABLE_SUFFIXES, ".npz", ".zarr"),
        "figure": FIGURE_SUFFIXES,
        "movie": (".gif", ".mp4"),
    }
    suffix = path.suffix.lower()
    allowed = suffixes.get(kind, (suffix,))
    refuse(suffix not in allowed, option, f"{path.name} must end in {' or '.join(allowed)}.")
    if kind in ("table", "codes") and suffix in TABLE_SUFFIXES:
        check_table_path(path)
    if kind == "shapes":
        from shapelex.io.write import find_writable

        try:
            find_writable(path)
        except ShapeFileError as error:
            refuse(True, option, str(error).replace("; or give format=", ""))
    if kind in ("shapes", "codes") and suffix == ".zarr":
        load_zarr()
    if suffix == ".mp4":
        load_library("imageio_ffmpeg", "imageio-ffmpeg", "Writing an MP4", extra="sequences")


def is_ours(path: Path) -> bool:
    """Tell whether shapelex wrote a file or a Zarr folder: it has a record, or is of a format of shapelex."""
    from shapelex.files.archive import read_header
    from shapelex.files.provenance import read_run, zarr_attributes

    with suppress(ShapelexError, OSError, ValueError, KeyError):
        header = zarr_attributes(path) if path.is_dir() else read_header(path)
        if str(header.get("format", "")).startswith("shapelex "):
            return True
    with suppress(ShapelexError, OSError, ImportError):
        read_run(path)
        return True
    return False


def words_of(command: str) -> list[str]:
    """Return the words of a recorded command, options that name outputs apart from their values, as in ``-o FILE``.

    There are none where it is not a command line.
    """
    apart: list[str] = []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    for word in words:
        # As in -qo FILE.
        word = re.sub(r"^-q+o", "-o", word)
        joined = _JOINED.fullmatch(word)
        apart += [word] if joined is None else [part for part in joined.groups() if part is not None]
    return apart


def output_paths(command: str) -> set[Path]:
    """Return the absolute paths that a recorded command writes, with those of the records beside them."""
    from shapelex.files.sidecar import sidecar_path

    named = {Path(value).absolute() for option, value in pairwise(words_of(command)) if option in OUTPUT_OPTIONS}
    return named | {sidecar_path(path) for path in named if path.name}


def _check_place(path: Path, option: str) -> None:
    from shapelex.files.atomic import is_zarr_folder

    if path.is_dir() and not is_zarr_folder(path):
        raise CommandError(f"{path} is a folder: name a file in it.")
    if path.suffix.lower() == ".zarr" and path.is_file():
        raise CommandError(f"{path} is a file, where a Zarr folder would go: remove it, or choose another {option}.")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise CommandError(f"{path} is not a regular file: choose another {option}.")
    if not path.parent.is_dir():
        raise CommandError(f"there is no folder {path.parent} to write {path.name} to: make it first.")


def _check_not_input(name: str, target: Path, leaves_out: bool, option: str) -> None:
    """Refuse an output that is an input of the command, its record, or among the files of an input."""
    from shapelex.files.atomic import is_zarr_folder, real_path
    from shapelex.files.sidecar import sidecar_path

    path = Path(name).expanduser()
    real = real_path(path)
    if real in (target, sidecar_path(target)):
        where = "" if real == target else f", where the record of {target.name} would go"
        raise CommandError(f"{name} is an input of this command{where}: choose another {option}.")
    if target.exists() and not path.is_file():
        is_within = real in target.parents
        if (is_within and is_zarr_folder(real)) or (not leaves_out and (is_within or _matches(path, target))):
            raise CommandError(f"{target.name} is among the files of {name}, an input of this command: choose another "
                               f"{option}.")  # fmt: skip


def _matches(pattern: Path, target: Path) -> bool:
    """Tell whether a pattern finds a file."""
    import glob

    from shapelex.files.atomic import real_path

    is_pattern = glob.has_magic(str(pattern))
    return is_pattern and any(real_path(Path(one)) == target for one in glob.iglob(str(pattern), recursive=True))  # noqa: PTH207


def _made_in(work: Path) -> list[Path]:
    return sorted(one for one in work.iterdir() if not _LEFT_BEHIND.fullmatch(one.name))


def _exchange(made: Path | None, target: Path, old: Path, undo: list[tuple[Path, Path | None]]) -> None:
    """Put what was made, if anything, in place of a target, which is kept as `old`."""
    if target.is_dir():
        # By this name, a folder comes back after a process was killed here.
        old = old.with_name("old")
        target.rename(old)
    elif target.exists():
        try:
            os.link(target, old)
        except OSError:
            # A disk without hard links, or another disk.
            shutil.copy2(target, old)
    else:
        old = target
    undo.append((target, None if old == target else old))
    if made is None:
        target.unlink()
    else:
        shutil.move(made, target)


def _bring_back(target: Path, old: Path | None) -> None:
    from shapelex.files.atomic import remove

    if old is None or target.is_dir():
        remove(target)
    if old is not None:
        shutil.move(old, target)


@contextmanager
def _told_of(folder: Path, place: Path) -> Iterator[None]:
    """Name the folder in errors of the system that name a place in it."""
    try:
        yield
    except OSError as error:
        if error.filename != str(place):
            raise
        raise type(error)(error.errno, error.strerror, str(folder)) from error


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
