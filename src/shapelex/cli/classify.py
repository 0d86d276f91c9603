"""``shapelex classify``: learns to tell classes of shapes apart, tests it by folds, and predicts new shapes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.errors import CommandError
from shapelex.cli.figures import FigureRequest, claim_figure, draw_figure, with_figure
from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, RawCellsOption, SeedOption
from shapelex.cli.outputs import claim_file, claim_table, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import count_incomplete, read_complete_shapes, read_shapes_for
from shapelex.cli.units import UnitOption, say_units
from shapelex.exceptions import ModelFileError, ShapelexError

if TYPE_CHECKING:
    import numpy as np

    from shapelex.estimators import ShapeClassifier
    from shapelex.shapes import ShapeSet

    Columns = dict[str, np.ndarray[Any, Any]]

_MOST_PRINTED = 12
_TRAINING_OPTIONS = {"by": "--by", "unit": "--unit", "tested": "--tested", "misclassified": "--misclassified"}


@with_figure
def classify(
    shapes: Annotated[
        str,
        typer.Argument(
            metavar="SHAPES|CLASSIFIER", help="Shapes to learn from; or a classifier that this command wrote, with NEW."
        ),
    ],
    new: Annotated[
        str | None, typer.Argument(metavar="NEW", help="New shapes: predict their classes.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Classifier to write, .npz; with NEW, the table of predictions.", show_default=False
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Column with the class of each shape.", show_default="label"),
    ] = None,
    unit: UnitOption = None,
    folds: Annotated[int, typer.Option("--cv", min=2, help="Number of folds of the test.")] = 5,
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Test by folds before learning from all shapes.")
    ] = True,
    tested: Annotated[
        Path | None,
        typer.Option(
            "--tested", help="Table to write: prediction of each shape while it was held out.", show_default=False
        ),
    ] = None,
    misclassified: Annotated[
        Path | None,
        typer.Option(
            "--misclassified",
            help="Table to write: the shapes that were given another class in the test.",
            show_default=False,
        ),
    ] = None,
    raw_cells: RawCellsOption = False,
    seed: SeedOption = 0,
    figure: FigureRequest = FigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn to tell classes of shapes apart, test it on held-out shapes, and predict the classes of new shapes.

    The test holds out one fold after the other, with its share of every class, and prints accuracy and confusion
    matrix. Shapes that are not independent, such as those of one individual, are held out together (--unit). --figure
    draws the confusion matrix. Tables end in .csv, .tsv, .xlsx or .parquet.

    Example: shapelex classify shapes.npz --by species --unit individual -o classifier.npz --misclassified wrong.csv

    Example: shapelex classify classifier.npz new.npz -o predictions.csv
    """
    screen = Screen(quiet, as_json)
    if new is not None:
        given = {"by": by, "unit": unit, "tested": tested, "misclassified": misclassified}
        for name, option in _TRAINING_OPTIONS.items():
            if given[name] is not None:
                raise typer.BadParameter("works without NEW only, when a classifier learns.", param_hint=option)
        if figure.figure is not None:
            raise typer.BadParameter("draws the confusion matrix of a test: leave out NEW.", param_hint="--figure")
        _predict(Path(shapes), new, out, force, screen, raw_cells)
        return
    if not test and (tested or misclassified or figure.figure):
        raise typer.BadParameter("leaves nothing for --tested, --misclassified and --figure.", param_hint="--no-test")
    if not test and out is None:
        raise typer.BadParameter("needs -o, or there is nothing to do.", param_hint="--no-test")
    _check_not_classifier(Path(shapes))
    target = None if out is None else _claim_classifier(out, force)
    tables = {
        name: None if path is None else claim_table(path, force, f"--{name}")
        for name, path in (("tested", tested), ("misclassified", misclassified))
    }
    picture = claim_figure(figure, force)
    found, labels = _read_classes(shapes, by, screen)
    by = found.study["group"]
    units = say_units(found, unit, screen)
    # Whatever is learned from this set, or from part of it, takes these units.
    found = found.replace(roles={**found.roles, "unit": None if units is None else units.column})
    noun = "shapes" if units is None else units.noun
    found, labels = _large_classes(found, labels, folds if test else 2, noun, screen)
    run = record_run(seed, (shapes,))
    results: dict[str, Any] = {"n_shapes": len(found), "classes": sorted(set(labels.tolist()))}
    facts = {
        "n_shapes": len(found),
        "n_classes": len(results["classes"]),
        "by": by,
        "units": None if units is None else noun,
    }
    run["facts"] = facts
    if test:
        outcome = _test(found, labels, folds, seed, screen)
        told = _tell_outcome(outcome, screen)
        results |= told
        facts |= {name: told[name] for name in ("n_folds", "accuracy", "standard_error", "n_misclassified")}
        _write_tables(outcome, found, tables, run, screen, raw_cells)
        if picture is not None:
            _draw(outcome, figure, run)
            screen.wrote(picture)
    if target is not None:
        import shapelex as sx

        with screen.progress("learning from all shapes"):
            model = sx.ShapeClassifier(space=found.space, random_state=seed).fit(found, labels)
        results["methods"] = facts["methods"] = dict(zip(model.candidates_, model.weights_.tolist(), strict=True))
        model.save(target, overwrite=force, run=run)
        used = ", ".join(f"{name} {exponent:.2f}" for name, exponent in results["methods"].items())
        screen.say(f"methods, and the exponents of their probabilities in the product: {used}")
        screen.wrote(target)
    screen.show(results)


def _check_not_classifier(path: Path) -> None:
    """Refuse to learn from a classifier: new shapes were forgotten."""
    from shapelex.files.archive import read_header

    if path.suffix.lower() != ".npz" or not path.is_file():
        return
    try:
        header = read_header(path)
    except (ShapelexError, OSError, ValueError, KeyError):
        return  # told by what reads the shapes
    if header.get("format") == "shapelex model":
        raise typer.BadParameter(
            f"{path} is a model, and the shapes whose classes it is to predict are missing: shapelex classify {path} "
            "new.npz -o predictions.csv",
            param_hint="NEW",
        )


def _claim_classifier(path: Path, force: bool) -> Path:
    if path.suffix.lower() != ".npz":
        raise typer.BadParameter(f"a classifier ends in .npz, got {path.name}.", param_hint="-o")
    return claim_file(path, force)


def _read_classes(path: str, by: str | None, screen: Screen) -> "tuple[ShapeSet, np.ndarray[Any, Any]]":
    """Read shapes that have a class, and their classes."""
    import numpy as np

    found = read_complete_shapes(path, screen)
    n_incomplete = count_incomplete(found)
    if n_incomplete:
        raise CommandError(
            f"{n_incomplete} of {len(found)} shapes of {path} have missing landmarks: fill them in first, by shapelex "
            f"impute {path} -o complete.npz"
        )
    by = by or found.study.get("group", "label")
    found = found.replace(roles={**found.roles, "group": by})
    labels = np.asarray(found.columns.described()[by])
    labels = labels.astype(str) if labels.dtype.kind in "OT" else labels
    has_class = np.array([value == value and str(value) != "" for value in labels.tolist()])
    if not has_class.any():
        raise CommandError(f"--by {by}: no shape of {path} has a value in this column.")
    if not has_class.all():
        note = f"{np.count_nonzero(~has_class)} of {len(found)} shapes have no {by}, and are left out."
        current_report().note_remarks([note])
        screen.say(f"note: {note}")
        found, labels = found[has_class], labels[has_class]
    if labels.dtype.kind == "f":
        raise CommandError(f"--by {by} has fractional numbers, no classes: choose a column of text or whole numbers.")
    return found, labels


def _large_classes(found: "ShapeSet", labels: Any, n_least: int, unit: str, screen: Screen) -> tuple[Any, Any]:
    """Leave out classes that have fewer shapes, or units, than folds."""
    import numpy as np

    units = found.units()
    numbers = np.arange(len(labels)) if units is None else units.numbers
    counts = {name: len(np.unique(numbers[labels == name])) for name in np.unique(labels).tolist()}
    small = [name for name, count in counts.items() if count < n_least]
    if not small:
        return found, labels
    if len(counts) - len(small) < 2:
        more = "" if unit == "shapes" else "; --unit none treats shapes as independent"
        raise CommandError(
            f"fewer than 2 classes have {n_least} {unit} or more: give fewer --cv, or more shapes{more}."
        )
    named = ", ".join(f"{name} ({counts[name]})" for name in small[:5]) + (", ..." if len(small) > 5 else "")
    note = f"{len(small)} classes with fewer than {n_least} {unit} are left out: {named}."
    current_report().note_remarks([note])
    screen.say(f"note: {note}")
    kept = ~np.isin(labels, small)
    return found[kept], labels[kept]


def _test(found: "ShapeSet", labels: Any, folds: int, seed: int, screen: Screen) -> "Columns":
    """Learn the classes without each fold in turn, and predict the shapes of that fold; folds are counted from 1."""
    import numpy as np

    from shapelex.estimators import ShapeClassifier
    from shapelex.estimators.folds import make_folds
    from shapelex.shapes.set import fold_groups

    classes, numbers = np.unique(labels, return_inverse=True)
    predicted = np.empty(len(labels), dtype=classes.dtype)
    probability, fold = np.empty(len(labels)), np.empty(len(labels), dtype=np.int64)
    groups = fold_groups(found, None, labels)
    with screen.progress("testing") as tell:
        for number, (kept, held) in enumerate(make_folds(folds, len(labels), groups, classes=numbers, seed=seed)):
            tell(number / folds, f"testing, fold {number + 1} of {folds}")
            model = ShapeClassifier(space=found.space, random_state=seed)
            model.fit(found[kept], labels[kept], None if groups is None else groups[kept])
            scores = model.predict_proba(found[held])
            predicted[held], probability[held] = model.classes_[scores.argmax(axis=1)], scores.max(axis=1)
            fold[held] = number + 1
    return {"class": labels, "predicted": predicted, "probability": probability, "fold": fold}


def _tell_outcome(tested: "Columns", screen: Screen) -> dict[str, Any]:
    """Print accuracy and confusion matrix, and return them for --json."""
    import numpy as np
    import pandas as pd
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(tested["class"], tested["predicted"])
    is_right = pd.Series(tested["class"] == tested["predicted"])
    accuracy, n_wrong, n_folds = float(is_right.mean()), int((~is_right).sum()), int(tested["fold"].max())
    standard_error = float(is_right.groupby(tested["fold"]).mean().sem())
    screen.say(
        f"{len(is_right)} shapes of {len(counts)} classes, {n_folds} folds: accuracy "
        f"{accuracy:.3f} ± {standard_error:.3f} (standard error), {n_wrong} misclassified"
    )
    if len(counts) <= _MOST_PRINTED:
        names = np.unique(tested["class"]).astype(str)
        table = pd.DataFrame(counts, index=names, columns=names).rename_axis(columns="class")
        screen.say(table.to_string())
    return {
        "n_folds": n_folds,
        "accuracy": accuracy,
        "standard_error": standard_error,
        "n_misclassified": n_wrong,
        "confusion": counts.tolist(),
    }


def _write_tables(
    tested: "Columns",
    shapes: "ShapeSet",
    tables: dict[str, Path | None],
    run: dict[str, Any],
    screen: Screen,
    raw_cells: bool,
) -> None:
    from shapelex.files.table_file import write_table

    columns = {"id": shapes.ids, **tested}
    rows: dict[str, Any] = {"tested": slice(None), "misclassified": tested["class"] != tested["predicted"]}
    for name, path in tables.items():
        if path is not None:
            cells = {title: column[rows[name]] for title, column in columns.items()}
            write_table(path, [cells], run, raw_cells=raw_cells)
            screen.wrote(path)


def _draw(tested: "Columns", figure: FigureRequest, run: dict[str, Any]) -> None:
    import shapelex as sx

    aspect = min(0.35 + 0.04 * len(set(tested["class"].tolist())), 1.0)
    draw_figure(figure, lambda ax: sx.plotting.plot_confusion(tested["class"], tested["predicted"], ax=ax), run, aspect)


def _predict(path: Path, new: str, out: Path | None, force: bool, screen: Screen, raw_cells: bool) -> None:
    """Write the predicted classes of new shapes."""
    from shapelex.files.table_file import write_table

    if out is None:
        raise typer.BadParameter("NEW needs a table to write the predictions to.", param_hint="-o")
    target = claim_table(out, force)
    model = _load_classifier(path)
    found: Any = read_shapes_for(model, new, screen)
    if count_incomplete(found):
        raise CommandError(f"{new} has missing landmarks: fill them in first, by shapelex impute {new} -o complete.npz")
    with screen.progress("predicting"):
        probabilities = model.predict_proba(found)
    predicted = model.classes_[probabilities.argmax(axis=1)]
    run = record_run(model.random_state, (new, path))
    run["facts"] = {"n_shapes": len(found), "n_classes": len(model.classes_)}
    columns = {"id": found.ids, "predicted": predicted, "probability": probabilities.max(axis=1)}
    columns |= {f"p {name}": probabilities[:, place] for place, name in enumerate(model.classes_.tolist())}
    write_table(target, [columns], run, raw_cells=raw_cells)
    counts = {str(name): int((predicted == name).sum()) for name in model.classes_}
    screen.say(f"{len(found)} shapes: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
    screen.wrote(target)
    screen.show({"n_shapes": len(found), "counts": counts, "mean_probability": float(probabilities.max(axis=1).mean())})


def _load_classifier(path: Path) -> "ShapeClassifier":
    import shapelex as sx

    current_report().note_inputs([path])
    try:
        model = sx.load(path)
    except ModelFileError as error:
        if "it is a set of shapes" not in str(error):
            raise
        raise CommandError(
            f"{path} is a set of shapes, no classifier: the classifier comes first, then the new shapes. Without new "
            "shapes, classify learns from this set."
        ) from error
    if not isinstance(model, sx.ShapeClassifier):
        raise CommandError(f"{path} holds a {type(model).__name__}: this command needs a classifier that it wrote.")
    return model
