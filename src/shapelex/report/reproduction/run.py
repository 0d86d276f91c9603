"""The whole reproduction: find the datasets, measure, draw, write the page.

In comes the folder of the data; out goes a folder with `reproduction.md`, `results.json` and `figures`. Everything is
written after each dataset, so that an interruption keeps what is finished.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from shapelex._validation import check_choice
from shapelex.exceptions import ShapelexError
from shapelex.io.atomic import write_atomically
from shapelex.io.provenance import describe_run
from shapelex.report.reproduction.figures import draw_curves, draw_set
from shapelex.report.reproduction.measure import QUICK_SHAPES, SetResult, Tell, measure_set, warm_up
from shapelex.report.reproduction.page import write_page
from shapelex.report.reproduction.paper_sets import PAPER_SETS, PaperSet

PAGE, RESULTS, FIGURES = "reproduction.md", "results.json", "figures"


class NoDatasetError(ShapelexError, FileNotFoundError):
    """None of the datasets is in the folder."""


@dataclass
class Reproduction:
    """What has been reproduced so far, and where it is.

    Attributes
    ----------
    page : Path
        The page.
    results : list of SetResult
        What was measured.
    missing : list of PaperSet
        Datasets whose files are not there.
    unfinished : list of PaperSet
        Datasets that are still to come.
    """

    page: Path
    results: list[SetResult] = field(default_factory=list)
    missing: list[PaperSet] = field(default_factory=list)
    unfinished: list[PaperSet] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Numbers alone, as JSON values."""
        return {
            "page": str(self.page),
            "datasets": [result.to_json() for result in self.results],
            "skipped": [paper_set.name for paper_set in self.missing],
            "unfinished": [paper_set.name for paper_set in self.unfinished],
        }


def reproduce(
    data: str | Path,
    out: str | Path,
    *,
    only: Iterable[str] | None = None,
    quick: bool = False,
    random_state: int = 0,
    command: str | None = None,
    tell: Tell | None = None,
    finished: Callable[[SetResult], None] | None = None,
) -> Reproduction:
    """Rerun the paper on every dataset that is there.

    Parameters
    ----------
    data : str or Path
        Folder of the data.
    out : str or Path
        Folder that the page goes to; made where it is not there. Files of an earlier run are replaced.
    only : iterable of str, optional
        Datasets to run, among ``"1"``, ``"2"``, ``"3"``, ``"4"``, ``"4b"`` and ``"5"``; all by default.
    quick : bool, default False
        Take few shapes and few updates, to see that everything works.
    random_state : int, default 0
        Seed of all that is random.
    command : str, optional
        What was typed, for the record.
    tell : callable, optional
        Called with the share that is done, between 0 and 1, and with what comes next.
    finished : callable, optional
        Called with the result of each dataset once it is written.

    Returns
    -------
    Reproduction
        What was found, and where the page is.

    Raises
    ------
    NoDatasetError
        If none of the datasets is in the folder.
    ShapeInputError
        If a file is damaged; nothing has been computed then.
    KeyboardInterrupt
        If interrupted; the page has what was finished.
    """
    folder, target = Path(data), Path(out)
    found, missing = find_sets(folder, only)
    # A damaged file must show before hours of work, not after.
    for paper_set in found:
        paper_set.load(folder, random_state, max_shapes=1)
    state = Reproduction(target / PAGE, missing=missing, unfinished=list(found))
    run = describe_run(command, random_state)
    (target / FIGURES).mkdir(parents=True, exist_ok=True)
    say = tell or (lambda done, text: None)  # noqa: ARG005
    say(0.0, "loading")
    warm_up()
    total, done = sum(paper_set.cost for paper_set in found), 0.0
    figures: dict[str, Mapping[str, str]] = {}
    for paper_set in found:
        shapes = paper_set.load(folder, random_state, max_shapes=QUICK_SHAPES if quick else None)
        tell_set = _share_of(say, done / total, paper_set.cost / total, paper_set)
        result = measure_set(paper_set, shapes, random_state=random_state, quick=quick, tell=tell_set)
        tell_set(0.97, "figures")
        figures[paper_set.name] = draw_set(result, target / FIGURES, run)
        state.results.append(result)
        state.unfinished.remove(paper_set)
        _write(state, figures, run, quick)
        done += paper_set.cost
        if finished is not None:
            finished(result)
    say(1.0, "done")
    return state


def find_sets(data: str | Path, only: Iterable[str] | None = None) -> tuple[list[PaperSet], list[PaperSet]]:
    """Look for the files of the datasets.

    Parameters
    ----------
    data : str or Path
        Folder of the data.
    only : iterable of str, optional
        Datasets to look for; all by default.

    Returns
    -------
    found, missing : list of PaperSet
        Those that are there, and those that are not.

    Raises
    ------
    NoDatasetError
        If none is there.
    """
    folder, wanted = Path(data), _choose(only)
    found = [paper_set for paper_set in wanted if paper_set.path(folder).is_file()]
    if not found:
        names = ", ".join(f"{paper_set.file}.npz" for paper_set in wanted)
        raise NoDatasetError(f"none of the datasets is in {folder}: expected at least one of {names}.")
    return found, [paper_set for paper_set in wanted if paper_set not in found]


def _choose(only: Iterable[str] | None) -> list[PaperSet]:
    if only is None:
        return list(PAPER_SETS)
    names = [str(name) for name in only]
    for name in names:
        check_choice(name, (paper_set.name for paper_set in PAPER_SETS), "only")
    return [paper_set for paper_set in PAPER_SETS if paper_set.name in names]


def _share_of(say: Tell, start: float, share: float, paper_set: PaperSet) -> Tell:
    """Return what tells of one dataset, as a part of the whole."""

    def tell(done: float, text: str) -> None:
        say(start + share * done, f"dataset {paper_set.name}, {text}")

    return tell


def _write(state: Reproduction, figures: Mapping[str, Mapping[str, str]], run: Mapping[str, Any], quick: bool) -> None:
    curves = draw_curves(state.results, state.page.parent / FIGURES, run)
    page = write_page(state.results, figures, curves, state.missing, state.unfinished, run, quick)
    numbers = json.dumps({"run": run, "quick": quick, **state.to_json()}, indent=2)
    _write_text(state.page, page)
    _write_text(state.page.with_name(RESULTS), numbers + "\n")


def _write_text(path: Path, text: str) -> None:
    def write(stream: BinaryIO) -> None:
        stream.write(text.encode())

    write_atomically(path, write)
