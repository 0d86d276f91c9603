"""``shapelex classify``: learns to tell classes of shapes apart, tests it by folds, and predicts new shapes."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shapelex.cli.command import Table, command
from shapelex.cli.errors import CommandError, refuse
from shapelex.cli.run import Run
from shapelex.cli.shapes import load_model, read_shapes, read_shapes_for, refuse_incomplete, say_units
from shapelex.exceptions import ShapelexError

if TYPE_CHECKING:
    import numpy as np

    from shapelex.shapes import ShapeSet

    Columns = dict[str, np.ndarray[Any, Any]]

_MOST_PRINTED = 12
_FOLDS = 5


@command("raw_cells", "figure")
def classify(
    run: Run,
    shapes: str,
    new: str | None = None,
    *,
    out: Path | None = None,
    by: str | None = None,
    unit: str | None = None,
    cv: int = _FOLDS,
    test: bool = True,
    tested: Table | None = None,
    misclassified: Table | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Learn to tell classes of shapes apart, test it on held-out shapes, and predict the classes of new shapes.

    The test holds out one fold after the other, with its share of every class, and prints accuracy and confusion
    matrix. Shapes that are not independent, such as those of one individual, are held out together (--unit). --figure
    draws the confusion matrix. Tables end in .csv, .tsv, .xlsx or .parquet.

    Example: shapelex classify shapes.npz --by species --unit individual -o classifier.npz --misclassified wrong.csv

    Example: shapelex classify classifier.npz new.npz -o predictions.csv

    Options
    -------
    shapes : Shapes to learn from; or a classifier that this command wrote, with NEW.
    new : New shapes: predict their classes.
    out : Classifier to write, .npz; with NEW, the table of predictions.
    by : Column with the class of each shape. [default: label]
    cv : Number of folds of the test.
    test : Test by folds before learning from all shapes.
    tested : Table to write: prediction of each shape while it was held out.
    misclassified : Table to write: the shapes that were given another class in the test.
    """
    if new is not None:
        given: dict[str, Any] = {"by": by, "unit": unit, "tested": tested, "misclassified": misclassified}
        given |= {"cv": cv - _FOLDS or None, "no-test": not test or None, "random-state": random_state or None}
        for name, value in given.items():
            refuse(value is not None, f"--{name}", "works without NEW only, when a classifier learns.")
        refuse(run.figure, "--figure", "draws the confusion matrix of a test: leave out NEW.")
        return _predict(run, Path(shapes), new, out)
    is_for_test = tested or misclassified or run.figure
    refuse(not test and is_for_test, "--no-test", "leaves nothing for --tested, --misclassified and --figure.")
    refuse(not (test or out), "--no-test", "needs -o, or there is nothing to do.")
    _check_not_classifier(Path(shapes))
    if out is not None:
        run.outputs.claim(out, "-o", "model")
    found, labels = _read_classes(run, shapes, by)
    import shapelex as sx

    by = found.study["group"]
    found = say_units(run, found, unit)
    units = found.units()
    noun = "shapes" if units is None else units.noun
    found, labels = _large_classes(run, found, labels, cv if test else 2, noun)
    results: dict[str, Any] = {"n_shapes": len(found), "classes": sorted(set(labels.tolist()))}
    facts = {"n_shapes": len(found), "n_classes": len(results["classes"]), "by": by}
    facts["units"] = None if units is None else noun
    run.make_record(random_state, shapes, facts=facts)
    if test:
        outcome = _test(run, found, labels, cv, random_state)
        told, counts = _tell_outcome(run, outcome)
        facts |= told
        results |= {**told, "confusion": counts}
        columns, is_wrong = {"id": found.ids, **outcome}, outcome["class"] != outcome["predicted"]
        if tested is not None:
            run.write_table(tested, columns)
        if misclassified is not None:
            run.write_table(misclassified, {title: column[is_wrong] for title, column in columns.items()})
        aspect = min(0.35 + 0.04 * len(results["classes"]), 1.0)
        run.draw(lambda ax: sx.plotting.plot_confusion(outcome["class"], outcome["predicted"], ax=ax), aspect)
    if out is not None:
        with run.progress("learning from all shapes"):
            model = sx.ShapeClassifier(space=found.space, random_state=random_state).fit(found, labels)
        results["methods"] = facts["methods"] = dict(zip(model.candidates_, model.weights_.tolist(), strict=True))
        model.save(run.outputs.place(out), overwrite=True, run=run.record)
        used = ", ".join(f"{name} {exponent:.2f}" for name, exponent in results["methods"].items())
        run.say(f"methods, and the exponents of their probabilities in the product: {used}")
    return results


def _check_not_classifier(path: Path) -> None:
    """Refuse to learn from a classifier: new shapes were forgotten."""
    from shapelex.files.archive import read_header

    # What else is wrong with a file is told by what reads the shapes.
    with suppress(ShapelexError, OSError, ValueError, KeyError):
        is_model = path.suffix.lower() == ".npz" and read_header(path).get("format") == "shapelex model"
        told = (
            f"{path} is a model, and the shapes whose classes it is to predict are missing: shapelex classify {path} "
        )
        refuse(is_model, "NEW", told + "new.npz -o predictions.csv")


def _read_classes(run: Run, path: str, by: str | None) -> "tuple[ShapeSet, np.ndarray[Any, Any]]":
    """Read shapes that have a class, and their classes."""
    import numpy as np

    found = read_shapes(run, path)
    refuse_incomplete(found, path, "a classifier takes complete shapes only")
    by = by or found.study.get("group", "label")
    found = found.replace(roles={**found.roles, "group": by})
    labels = np.asarray(found.columns.described()[by])
    labels = labels.astype(str) if labels.dtype.kind in "OT" else labels
    has_class = np.array([value == value and str(value) != "" for value in labels.tolist()])
    if not has_class.any():
        raise CommandError(f"--by {by}: no shape of {path} has a value in this column.")
    if not has_class.all():
        run.note(f"{np.count_nonzero(~has_class)} of {len(found)} shapes have no {by}, and are left out.")
        found, labels = found[has_class], labels[has_class]
    if labels.dtype.kind == "f":
        raise CommandError(f"--by {by} has fractional numbers, no classes: choose a column of text or whole numbers.")
    return found, labels


def _large_classes(run: Run, found: "ShapeSet", labels: Any, n_least: int, unit: str) -> tuple[Any, Any]:
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
    run.note(f"{len(small)} classes with fewer than {n_least} {unit} are left out: {named}.")
    kept = ~np.isin(labels, small)
    return found[kept], labels[kept]


def _test(run: Run, found: "ShapeSet", labels: Any, folds: int, seed: int) -> "Columns":
    """Learn the classes without each fold in turn, and predict the shapes of that fold; folds are counted from 1."""
    import numpy as np

    from shapelex.estimators import ShapeClassifier
    from shapelex.estimators.folds import make_folds
    from shapelex.shapes.set import fold_groups

    classes, numbers = np.unique(labels, return_inverse=True)
    predicted = np.empty(len(labels), dtype=classes.dtype)
    probability, fold = np.empty(len(labels)), np.empty(len(labels), dtype=np.int64)
    groups = fold_groups(found, None, labels)
    with run.progress("testing") as tell:
        for number, (kept, held) in enumerate(make_folds(folds, len(labels), groups, classes=numbers, seed=seed)):
            tell(number / folds, f"testing, fold {number + 1} of {folds}")
            model = ShapeClassifier(space=found.space, random_state=seed)
            model.fit(found[kept], labels[kept], None if groups is None else groups[kept])
            scores = model.predict_proba(found[held])
            predicted[held], probability[held] = model.classes_[scores.argmax(axis=1)], scores.max(axis=1)
            fold[held] = number + 1
    return {"class": labels, "predicted": predicted, "probability": probability, "fold": fold}


def _tell_outcome(run: Run, tested: "Columns") -> tuple[dict[str, Any], list[list[int]]]:
    """Print accuracy and confusion matrix, and return them."""
    import numpy as np
    import pandas as pd
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(tested["class"], tested["predicted"])
    is_right = pd.Series(tested["class"] == tested["predicted"])
    accuracy, n_wrong, n_folds = float(is_right.mean()), int((~is_right).sum()), int(tested["fold"].max())
    standard_error = float(is_right.groupby(tested["fold"]).mean().sem())
    run.say(
        f"{len(is_right)} shapes of {len(counts)} classes, {n_folds} folds: accuracy "
        f"{accuracy:.3f} ± {standard_error:.3f} (standard error), {n_wrong} misclassified"
    )
    if len(counts) <= _MOST_PRINTED:
        names = np.unique(tested["class"]).astype(str)
        table = pd.DataFrame(counts, index=names, columns=names).rename_axis(columns="class")
        run.say(table.to_string())
    return {
        "n_folds": n_folds,
        "accuracy": accuracy,
        "standard_error": standard_error,
        "n_misclassified": n_wrong,
    }, counts.tolist()


def _predict(run: Run, path: Path, new: str, out: Path | None) -> dict[str, Any]:
    """Write the predicted classes of new shapes."""
    import shapelex as sx

    if out is None:
        raise typer.BadParameter("NEW needs a table to write the predictions to.", param_hint="-o")
    run.outputs.claim(out, "-o", "table")
    model = load_model(run, path, sx.ShapeClassifier, "classifier", "classify")
    found = read_shapes_for(run, model, new)
    refuse_incomplete(found, new, "a classifier takes complete shapes only")
    with run.progress("predicting"):
        probabilities = model.predict_proba(found)
    predicted, greatest = model.classes_[probabilities.argmax(axis=1)], probabilities.max(axis=1)
    run.make_record(model.random_state, new, path, facts={"n_shapes": len(found), "n_classes": len(model.classes_)})
    columns = {f"p {name}": probabilities[:, place] for place, name in enumerate(model.classes_.tolist())}
    run.write_table(out, {"id": found.ids, "predicted": predicted, "probability": greatest, **columns})
    counts = {str(name): int((predicted == name).sum()) for name in model.classes_}
    run.say(f"{len(found)} shapes: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
    return {"n_shapes": len(found), "counts": counts, "mean_probability": float(greatest.mean())}
