"""``shapelex info`` and ``replay``: what a file holds, the command that made it, and whether its inputs changed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.command import command
from shapelex.cli.errors import CommandError
from shapelex.cli.outputs import FIGURE_SUFFIXES, output_paths
from shapelex.cli.run import Run
from shapelex.cli.shapes import open_or_read
from shapelex.exceptions import ShapeFileError

if TYPE_CHECKING:
    from shapelex._typing import FloatArray
    from shapelex.files.model_file import Model

# What commands draw, by the end of its name; an image may hold masks, too.
_DRAWINGS = {".html": "page", ".htm": "page", **dict.fromkeys(FIGURE_SUFFIXES, "figure")}
_IMAGES = (".png", ".tif", ".tiff")


@command()
def info(run: Run, file: str) -> dict[str, Any]:
    """Describe a file (shapes of any kind, a model, codes, a page or a figure) and how it was made.

    Example: shapelex info model.npz

    Options
    -------
    file : Shapes, a model, codes, a page or a figure.
    """
    from shapelex.files.archive import read_header
    from shapelex.files.atomic import recover
    from shapelex.files.provenance import read_run, zarr_attributes

    path = Path(file)
    recover(path)
    run.reads(path)
    header = read_header(path) if path.is_file() else zarr_attributes(path)
    describe = {"shapelex model": _describe_model, "shapelex codes": _describe_codes}.get(
        str(header.get("format", "")), _describe_shapes
    )
    try:
        record: dict[str, Any] = read_run(path) if path.exists() else {}
    except ShapeFileError:
        record = {}
    lines, facts = _describe_drawing(path, record) or _describe_table(path) or describe(run, file)
    run.say("\n".join(lines))
    if record:
        run.say(f"made by: {record['command']}")
    return {**facts, "command": record.get("command")}


def _describe_drawing(path: Path, record: dict[str, Any]) -> tuple[list[str], dict[str, Any]] | None:
    """Describe a page or a figure of ours; None where the file is something else, such as an image of masks."""
    kind = _DRAWINGS.get(path.suffix.lower())
    if kind is None or not path.is_file():
        return None
    if record:
        lines = [f"{kind} for the eye, no shapes", *(f"made before it: {earlier}" for earlier in record["earlier"])]
        return lines, {"holds": kind, "earlier": record["earlier"]}
    if path.suffix.lower() in _IMAGES:
        return None
    raise CommandError(
        f"{path} is a {kind}, but no record of a shapelex command was found for it: info tells what shapes, models, "
        "codes, and pages and figures of shapelex are."
    )


def _describe_model(_: Run, file: str) -> tuple[list[str], dict[str, Any]]:
    """Describe a model by its file alone: the estimator itself would need scikit-learn and numba."""
    from shapelex.exceptions import ModelFileError, reason_of
    from shapelex.files.archive import preparation_of_header
    from shapelex.files.model_file import read_model

    model = read_model(file)
    lines = [f"{model.kind} in {model.space!r}"]
    try:
        preparation = preparation_of_header(model.results, model.space.n_coordinates)
        told, facts = _describe_fit(model)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{file} is damaged: {reason_of(error)}.") from error
    if preparation is not None and (model.space.closed or preparation.is_registered):
        told.append(f"its shapes: {preparation}")
    prepared = None if preparation is None else str(preparation)
    own = {"holds": "model", "method": model.kind, "space": repr(model.space), "preparation": prepared}
    return lines + told, own | facts


def _describe_fit(model: "Model") -> tuple[list[str], dict[str, Any]]:
    """Describe what a model learned; nothing for methods that have nothing to count."""
    from shapelex.files.schema import Fields

    fields = Fields(model.space, dict(model.arrays), {**model.parameters, **model.results})
    if model.kind == "ShapeDictionary":
        n_atoms, usage = len(fields.take_array("atoms_")), fields.take_array("usage_")
        facts = {"n_atoms": n_atoms, "n_nonzero": fields.result("n_nonzero"), "rmse": float(fields.result("rmse_")),
                 "n_iter": fields.result("n_iter_"), "usage": usage.tolist(),
                 "seed": fields.result("random_state"), "stability": None}  # fmt: skip
        lines = [
            f"{n_atoms} atoms, at most {facts['n_nonzero']} per shape, coder {fields.result('coder')}",
            f"RMSE {100 * facts['rmse']:.2f} % of the shapes it was learned from, {facts['n_iter']} updates",
            f"atoms are used by {100 * usage.min():.0f} to {100 * usage.max():.0f} % of the shapes",
        ]
        if "stability_distances" in fields.arrays:
            from shapelex.geometry.matching import DictionaryStability

            arrays: list[Any] = [fields.take_array(f"stability_{name}") for name in ("distances", "chance")]
            numbers = ("between_halves", "chance_between_halves", "n_shapes")
            found = DictionaryStability(*arrays, *(fields.result(f"stability_{name}") for name in numbers))
            facts["stability"] = found.to_json()
            lines.append(found.summary())
        return lines, facts
    if model.kind == "ShapeDictionaryClassifier":
        classes = fields.take_array("classes_").tolist()
        sizes = [len(fields.take_array(f"class{number}_atoms_")) for number in range(len(classes))]
        facts = {"classes": classes, "n_atoms": sizes, "n_nonzero": fields.result("n_nonzero")}
        return [f"{len(sizes)} classes, {min(sizes)} to {max(sizes)} atoms each"], facts
    if model.kind == "ProcrustesKernel":
        facts = {"n_shapes": fields.result("n_samples_fit_"), "gamma": float(fields.result("gamma_"))}
        return [f"{facts['n_shapes']} shapes, gamma {facts['gamma']:.4g}"], facts
    return [], {}


def _describe_codes(_: Run, file: str) -> tuple[list[str], dict[str, Any]]:
    from shapelex.files.code_files import describe_codes

    shape, n_atoms, errors = describe_codes(Path(file))
    facts = {"n_atoms": n_atoms, "n_nonzero": shape[1]}
    return _tell_codes(errors, f"over {n_atoms} atoms, at most {shape[1]} per shape", facts)


def _tell_codes(errors: "FloatArray", words: str, facts: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    lines, rmse = [f"codes of {errors.size} shapes {words}"], None
    if errors.size:
        rmse = float((errors**2).mean() ** 0.5)
        lines.append(f"RMSE {100 * rmse:.2f} %, worst {100 * errors.max():.2f} %")
    return lines, {"holds": "codes", "n_shapes": errors.size, **facts, "rmse": rmse}


def _describe_table(path: Path) -> tuple[list[str], dict[str, Any]] | None:
    """Describe codes in a table; None where the file is something else."""
    from shapelex.files.table_file import TABLE_SUFFIXES

    if path.suffix.lower() not in TABLE_SUFFIXES:
        return None
    from shapelex.files.code_files import read_code_errors

    errors = read_code_errors(path)
    return None if errors is None else _tell_codes(errors, "as a table", {})


def _describe_shapes(run: Run, file: str) -> tuple[list[str], dict[str, Any]]:
    from shapelex.shapes.summary import Summary

    shapes = open_or_read(run, file)
    summary = Summary(shapes)
    labels = sorted(summary.labels) if summary.labels else None
    facts = {"holds": "shapes", "n_shapes": len(shapes), "space": repr(shapes.space), "closed": shapes.closed,
             "preparation": None if shapes.preparation is None else str(shapes.preparation)}  # fmt: skip
    return str(summary).splitlines(), {**facts, "labels": labels}


@command()
def replay(run: Run, file: Path, *, all: bool = False) -> dict[str, Any]:  # noqa: A002 -- named like the option
    """Print the command that made a file, and whether the inputs of that command are unchanged.

    Paths are recorded as they were typed, so run replay in the folder where the command was typed. Inputs are compared
    by size and SHA-256; in Zarr folders, the metadata and the names and sizes of the chunks are compared. With --all,
    the inputs of the earlier commands are compared too, where the files that they wrote still exist.

    Example: shapelex replay model.npz

    Options
    -------
    file : Any file that a command of shapelex wrote.
    all : Also print the commands before it, in order.
    """
    from shapelex.files.provenance import read_run

    run.reads(file)
    record = read_run(file)
    states = _states(record)
    all_states = _with_earlier(states) if all else states
    for words in [*(record["earlier"] if all else []), record["command"]]:
        run.say(words)
    for path, state in all_states.items():
        how = " in metadata, names and sizes" if state == "unchanged" and path.rstrip("/").endswith(".zarr") else ""
        run.say(f"# input {path if path.isprintable() else repr(path)}: {state}{how}")
    if "inputs" not in record:
        run.say("# inputs: not recorded")
    facts = {**record, "inputs": [{**one, "state": states[one["path"]]} for one in record.get("inputs", [])]}
    if all:
        facts["earlier_inputs"] = {path: state for path, state in all_states.items() if path not in states}
    return facts


def _states(run: dict[str, Any]) -> dict[str, str]:
    from shapelex.files.provenance import state_of_input

    written = output_paths(run["command"])
    return {one["path"]: state_of_input(one, written) for one in run.get("inputs", [])}


def _with_earlier(states: dict[str, str]) -> dict[str, str]:
    """Return the states of inputs with those of the inputs of the commands that made them, where these are recorded."""
    from shapelex.exceptions import ShapeFileError
    from shapelex.files.provenance import read_run

    found, pending = dict(states), list(states)
    while pending:
        try:
            run = read_run(Path(pending.pop(0)))
        except (ShapeFileError, OSError):
            # Data as it was measured, or a file that is gone.
            continue
        earlier = _states(run)
        pending += [path for path in earlier if path not in found]
        found = earlier | found
    return found
