"""The whole reproduction: find the datasets, measure, draw, write the page.

Everything is written after each dataset, so that an interruption keeps what is finished.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from paper.figures import draw_curves, draw_set
from paper.measure import QUICK_SHAPES, SetResult, Tell, measure_set, warm_up
from paper.page import write_page
from paper.paper_sets import PAPER_SETS, PaperSet
from shapelex._validation import check_choice
from shapelex.exceptions import DatasetUnavailableError
from shapelex.files.atomic import write_atomically
from shapelex.files.provenance import describe_run
from shapelex.shapes import ShapeSet

PAGE, RESULTS, FIGURES = "reproduction.md", "results.json", "figures"


@dataclass(frozen=True)
class FoundSets:
    """The datasets that can be had, and why the others cannot.

    Attributes
    ----------
    found : list of tuple of PaperSet and ShapeSet
        Datasets with their shapes.
    missing : dict of str to str
        Why the other datasets that were asked for cannot be had, by their names.
    """

    found: list[tuple[PaperSet, ShapeSet]]
    missing: dict[str, str]


@dataclass
class Reproduction:
    """What has been reproduced so far, and where it is.

    Attributes
    ----------
    page : Path
        The page.
    results : list of SetResult
        What was measured.
    missing : dict of str to str
        Why other datasets could not be had, by their names.
    unfinished : list of PaperSet
        Datasets that are still to come.
    """

    page: Path
    results: list[SetResult] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    unfinished: list[PaperSet] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Numbers alone, as JSON values."""
        return {
            "page": str(self.page),
            "datasets": [result.to_json() for result in self.results],
            "skipped": self.missing,
            "unfinished": [paper_set.name for paper_set in self.unfinished],
        }


def reproduce(
    out: str | Path,
    sets: FoundSets | None = None,
    *,
    quick: bool = False,
    random_state: int = 0,
    command: str | None = None,
    tell: Tell | None = None,
    finished: Callable[[SetResult], None] | None = None,
) -> Reproduction:
    """Rerun the paper on every dataset that can be had.

    Parameters
    ----------
    out : str or Path
        Folder that the page goes to; made where it is not there. Files of an earlier run are replaced.
    sets : FoundSets, optional
        Datasets to run, from :func:`find_sets`; all by default, downloaded where needed.
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
    DatasetUnavailableError
        If none of the datasets can be had.
    ShapeFileError
        If a file is damaged; nothing has been computed then.
    KeyboardInterrupt
        If interrupted; the page has what was finished.
    """
    sets = find_sets() if sets is None else sets
    target = Path(out)
    state = Reproduction(target / PAGE, missing=sets.missing, unfinished=[paper_set for paper_set, _ in sets.found])
    run = describe_run(command, random_state)
    (target / FIGURES).mkdir(parents=True, exist_ok=True)
    say = tell or (lambda done, text: None)  # noqa: ARG005
    say(0.0, "loading")
    warm_up()
    total, done = sum(paper_set.cost for paper_set, _ in sets.found), 0.0
    figures: dict[str, Mapping[str, str]] = {}
    for paper_set, found in sets.found:
        shapes = paper_set.configurations(found, random_state, max_shapes=QUICK_SHAPES if quick else None)
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


def find_sets(folder: str | Path | None = None, only: Iterable[str] | None = None) -> FoundSets:
    """Look for the datasets, and download them where needed.

    Parameters
    ----------
    folder : str or Path, optional
        The only folder to look in. By default they come from the folder that ``SHAPELEX_DATA`` names, from the cache,
        or from their public address, as :func:`shapelex.datasets.fetch` gets them.
    only : iterable of str, optional
        Datasets to look for, among ``"1"``, ``"2"``, ``"3"``, ``"4"``, ``"4b"`` and ``"5"``; all by default.

    Returns
    -------
    FoundSets
        Those that can be had, and why the others cannot.

    Raises
    ------
    DatasetUnavailableError
        If none can be had.
    ShapeFileError
        If a file in the folder is damaged.
    """
    sets = FoundSets([], {})
    for paper_set in _choose(only):
        try:
            sets.found.append(paper_set.find(None if folder is None else Path(folder)))
        except DatasetUnavailableError as error:
            sets.missing[paper_set.name] = str(error)
    if not sets.found:
        name, reason = next(iter(sets.missing.items()))
        raise DatasetUnavailableError(
            f"none of the datasets {', '.join(sets.missing)} can be had. Dataset {name}: {reason}"
        )
    return sets


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
