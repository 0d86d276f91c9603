"""Where a command may write: nothing is replaced unless ``--force`` says so; and what goes into all that it writes."""

import re
import shlex
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from shapelex.cli.errors import ARGUMENTS, CommandError
from shapelex.cli.json_report import current_report

# Files that have a place for the record of what made them; others have it beside them.
_WITH_RECORD = (".npz", ".parquet", ".html", ".htm", ".zarr")

OUTPUT_OPTIONS = (
    "-o", "--out", "--table", "--figure", "--checkpoint", "--movie", "--bouts", "--transitions", "--tested",
    "--misclassified",
)  # fmt: skip
_JOINED = re.compile(rf"({'|'.join(OUTPUT_OPTIONS[1:])})=(.*)|(-o)(.+)", re.DOTALL)


def claim_folder(path: Path, force: bool, *, make: bool = True) -> Path:
    """Make a folder to write to; refuse one that holds something, unless `force`.

    Without `make`, it is only checked: the command makes it once there is something to write.
    """
    if path.exists() and not path.is_dir():
        raise CommandError(f"{path} is a file, not a folder: choose another -o.")
    # What a killed command left goes when the next one writes.
    if path.is_dir() and not force and not all(re.fullmatch(r"\..+\.partial", one.name) for one in path.iterdir()):
        raise CommandError(f"{path} is not empty: choose another -o, or pass --force to replace what is there.")
    if make:
        path.mkdir(parents=True, exist_ok=True)
    return path


def claim_file(path: Path, force: bool, option: str = "-o") -> Path:
    """Return a path to write to; refuse one where a file is, unless `force`."""
    from shapelex.files.atomic import is_zarr_folder

    if path.is_dir() and not is_zarr_folder(path):
        raise CommandError(f"{path} is a folder: name a file in it.")
    if path.suffix.lower() == ".zarr" and path.is_file():
        raise CommandError(f"{path} is a file, where a Zarr folder would go: remove it, or choose another {option}.")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise CommandError(f"{path} is not a regular file: choose another {option}.")
    if path.exists() and not force:
        raise CommandError(f"{path} exists: choose another {option}, or pass --force to replace it.")
    if not path.parent.is_dir():
        raise CommandError(f"there is no folder {path.parent} to write {path.name} to: make it first.")
    if path.suffix.lower() not in _WITH_RECORD and not force:
        _check_sidecar(path, option)
    return path


def claim_table(path: Path, force: bool, option: str = "-o") -> Path:
    """Return a path to write a table to; a name that is none is wrong usage, a file that is there needs `force`.

    `option` is the one that names the table.
    """
    from shapelex.files.table_file import TABLE_SUFFIXES, check_table_path

    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise typer.BadParameter(f"{path.name} must end in {', '.join(TABLE_SUFFIXES)}.", param_hint=option)
    check_table_path(path)
    return claim_file(path, force, option)


def _check_sidecar(path: Path, option: str) -> None:
    """Refuse a path whose record would replace a file of others; that of an earlier run may go."""
    from shapelex.files.sidecar import has_sidecar, sidecar_path

    sidecar = sidecar_path(path)
    if sidecar.exists() and not has_sidecar(path):
        raise CommandError(
            f"{sidecar} exists, where the record of {path.name} goes: choose another {option}, or pass --force to "
            "replace it."
        )


def typed_command() -> str:
    """Return the command as it was typed, for the record of what it writes."""
    return shlex.join(["shapelex", *ARGUMENTS.get()])


def options_apart(words: Iterable[str]) -> list[str]:
    """Return the words of a command with the options that name outputs and their values apart, as in ``-o FILE``."""
    apart: list[str] = []
    for word in words:
        joined = _JOINED.fullmatch(word)
        apart += [word] if joined is None else [part for part in joined.groups() if part is not None]
    return apart


def output_paths(words: Iterable[str]) -> set[Path]:
    """Return the absolute paths that a command writes, with those of the records beside them."""
    from shapelex.files.sidecar import sidecar_path

    named = {Path(value).absolute() for option, value in pairwise(options_apart(words)) if option in OUTPUT_OPTIONS}
    return named | {sidecar_path(path) for path in named if path.name}


def check_outputs_differ(words: Iterable[str]) -> None:
    """Refuse a command that would write two of its outputs to the same path: one of them would be lost."""
    from shapelex.files.atomic import real_path

    seen: dict[Path, str] = {}
    for option, value in pairwise(options_apart(words)):
        if option in OUTPUT_OPTIONS and value:
            name = {"--out": "-o"}.get(option, option)
            other = seen.setdefault(real_path(Path(value).expanduser()), name)
            if other != name:
                raise typer.BadParameter(f"{value} is the path of {other}, too: name another file.", param_hint=name)


def record_run(seed: int | None = None, inputs: tuple[str | Path, ...] = ()) -> dict[str, Any]:
    """Return what makes the files of this command: its words, those before it, versions, seed and inputs."""
    from shapelex.files.provenance import make_run

    current_report().note_inputs(inputs)
    return make_run(typed_command(), seed, map(str, inputs), output_paths(ARGUMENTS.get()))
