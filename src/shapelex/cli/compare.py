"""``shapelex compare`` and ``suggest``: held-out errors of several methods, and of dictionaries of several sizes."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shapelex.cli.command import Table, command
from shapelex.cli.errors import refuse
from shapelex.cli.run import Run
from shapelex.cli.shapes import read_shapes, say_units
from shapelex.cli.terminal import Tell, echo

if TYPE_CHECKING:
    from shapelex.shapes import ShapeSet

LINE_SECONDS = 3.0
"""Seconds between lines of progress, where standard error is not a terminal."""
_MOST_NUMBERS = 10_000


@command("figure")
def compare(
    run: Run,
    shapes: str,
    *,
    out: Table | None = None,
    n_atoms: int = 10,
    n_nonzero: str = "1-5",
    methods: list[str] | None = None,
    cv: int | None = None,
    shuffle: bool = False,
    unit: str | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Compare the dictionary with align-first and principal component analyses, as the paper does.

    Shapes that are not independent, such as those of one recording or specimen, are held out together (--unit).

    Example: shapelex compare shapes.npz --n-atoms 10 --n-nonzero 1-5 --cv 3 --figure errors.png

    Options
    -------
    out : Table to write: .csv, .tsv or .parquet.
    n_nonzero : Maximum numbers of atoms per shape, such as 1-5 or 2,4.
    methods : Method to compare; can be repeated. All methods by default.
    cv : Number of folds: also compute the errors of held-out shapes.
    shuffle : Hold out shapes at random instead of consecutive blocks.
    unit : With --cv: column of what is independent, such as animal, or none. By default time series, else images or
        files.
    """
    sparsities = numbers_in(n_nonzero, "--n-nonzero")
    found = read_shapes(run, shapes)
    if cv is not None:
        found = _held_out(run, found, unit, shuffle)
    import shapelex as sx

    with run.progress("comparing") as tell:
        table = sx.compare(
            found,
            methods or None,
            sparsities,
            n_atoms=n_atoms,
            space=found.space,
            cv=_splitter(cv, shuffle, random_state),
            random_state=random_state,
            callback=lambda n_done, n_all, row: tell(n_done / n_all, row["method"]),
        )
    run.make_record(random_state, shapes)
    run.say(str(table))
    if out is not None:
        run.write_table(out, table)
    run.draw(lambda ax: sx.plotting.plot_rmse_curves(table, ax=ax))
    return {"rows": table.rows()}


@command("figure")
def suggest(
    run: Run,
    shapes: str,
    *,
    out: Table | None = None,
    n_atoms: str | None = None,
    n_nonzero: str | None = None,
    cv: int = 3,
    shuffle: bool = False,
    unit: str | None = None,
    max_shapes: int = 1500,
    stability: bool = True,
    random_state: int = 0,
) -> dict[str, Any]:
    """Suggest values of --n-atoms and --n-nonzero for learn, by errors of held-out shapes, with reasons.

    Shapes that are not independent, such as those of one recording or specimen, are held out together (--unit).
    Otherwise, a set that is sorted by label or file is shuffled. Progress is printed on standard error.

    Example: shapelex suggest shapes.npz --figure suggestion.png

    Options
    -------
    out : Table of the held-out errors to write.
    n_atoms : Numbers of atoms to try, such as 4-12; chosen automatically by default.
    n_nonzero : Maximum numbers of atoms per shape to try, such as 1-5.
    cv : Number of folds, each held out in turn.
    shuffle : Hold out shapes at random, even those of a recording.
    max_shapes : Maximum number of shapes to use.
    """
    sizes, sparsities = numbers_in(n_atoms, "--n-atoms"), numbers_in(n_nonzero, "--n-nonzero")
    found = _held_out(run, read_shapes(run, shapes), unit, shuffle)
    import shapelex as sx

    with run.progress("trying sizes") as tell:
        advice = sx.suggest(
            found,
            sizes,
            sparsities,
            space=found.space,
            cv=_splitter(cv, shuffle, random_state),
            max_shapes=max_shapes,
            stability=stability,
            random_state=random_state,
            callback=_progress(tell, writes_lines=run.talks and not sys.stderr.isatty()),
        )
    run.make_record(random_state, shapes)
    run.say(str(advice))
    run.say(f"\nNext: shapelex learn {shapes} -o model.npz --n-atoms {advice.n_atoms} --n-nonzero {advice.n_nonzero}")
    if out is not None:
        run.write_table(out, advice.surface)
    run.draw(lambda ax: sx.plotting.plot_suggestion(advice, ax=ax), 0.8)
    return {
        "n_atoms": advice.n_atoms,
        "n_nonzero": advice.n_nonzero,
        "rmse": float(advice.rmse),
        "reasons": advice.reasons,
    }


def _progress(tell: Tell, writes_lines: bool) -> Callable[[int, int, dict[str, Any]], None]:
    """Return a callback that moves the bar, or writes a line now and then."""
    last = time.monotonic()

    def report(n_done: int, n_most: int, row: dict[str, Any]) -> None:
        nonlocal last
        tell(min(n_done / n_most, 1.0), f"{row['n_atoms']} atoms")
        if writes_lines and time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            text = f"{n_done} of about {n_most} dictionaries, {row['n_atoms']} atoms, {row['n_nonzero']} per shape"
            echo(f"shapelex: trying sizes: {text}", err=True)

    return report


def numbers_in(text: str | None, option: str) -> list[int] | None:
    """Return the whole numbers of words such as ``1-5`` or ``2,4,8``."""
    if text is None:
        return None
    found = set[int]()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        is_wrong = not first.isdigit() or (dash and not last.isdigit())
        refuse(is_wrong, option, f"expected numbers such as 3, 1-5 or 2,4,8, got {text!r}.")
        numbers = range(int(first), int(last if dash else first) + 1)
        refuse(len(numbers) > _MOST_NUMBERS, option, f"at most {_MOST_NUMBERS} numbers are tried, got {part.strip()}.")
        found.update(numbers)
    return sorted(found)


def _held_out(run: Run, shapes: "ShapeSet", unit: str | None, shuffle: bool) -> "ShapeSet":
    """Return the set with the units that are held out as a whole, and say what they are."""
    advice = "holds out whole units, and --shuffle single shapes: leave one out."
    refuse(shuffle and unit not in (None, "none"), "--unit", advice)
    return shapes.replace(roles={**shapes.roles, "unit": None}) if shuffle else say_units(run, shapes, unit)


def _splitter(cv: int | None, shuffle: bool, seed: int) -> Any:
    """Return how to hold out shapes."""
    if cv is None or not shuffle:
        return cv
    from sklearn.model_selection import KFold

    return KFold(cv, shuffle=True, random_state=seed)
