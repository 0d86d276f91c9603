"""``shapelex info``: what a file holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.errors import CommandError
from shapelex.cli.options import JsonOption
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import read_complete_shapes
from shapelex.cli.stored import open_if_large
from shapelex.exceptions import ShapeFileError

# What commands draw, by the end of its name; an image may hold masks, too.
_DRAWINGS = {".html": "page", ".htm": "page", ".png": "figure", ".svg": "figure", ".pdf": "figure"}


def info(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Shapes, a model, codes, a page or figure.")],
    as_json: JsonOption = False,
) -> None:
    """Say what a file holds: shapes of any kind, a model, codes, a page or a figure; and what made it.

    Example: shapelex info model.npz
    """
    from shapelex.store.run_records import npz_header, read_run, zarr_attributes

    screen = Screen(as_json=as_json)
    path = Path(file)
    header = npz_header(path) if path.is_file() else zarr_attributes(path)
    describe = {"shapelex model": _describe_model, "shapelex codes": _describe_codes}.get(
        str(header.get("format", "")), _describe_shapes
    )
    try:
        run: dict[str, Any] = read_run(path) if path.exists() else {}
    except ShapeFileError:
        run = {}
    lines, facts = _describe_drawing(path, run) or _describe_table(path) or describe(file, screen)
    screen.say("\n".join(lines))
    if run:
        screen.say(f"made by: {run['command']}")
    screen.show({**facts, "command": run.get("command")})


def _describe_drawing(path: Path, run: dict[str, Any]) -> tuple[list[str], dict[str, Any]] | None:
    """Describe a page or a figure of ours; None where the file is something else, such as an image of masks."""
    kind = _DRAWINGS.get(path.suffix.lower())
    if kind is None or not path.is_file():
        return None
    if run:
        lines = [f"{kind} for the eye, no shapes", *(f"made before it: {command}" for command in run["earlier"])]
        return lines, {"holds": kind, "earlier": run["earlier"]}
    if path.suffix.lower() == ".png":
        return None
    raise CommandError(
        f"{path} is a {kind}, but has no record of a shapelex command in it: info tells what shapes, models, codes, "
        "and pages and figures of shapelex are."
    )


def _describe_model(file: str, _: Screen) -> tuple[list[str], dict[str, Any]]:
    import shapelex as sx

    model = sx.load(file)
    facts: dict[str, Any] = {"holds": "model", "method": type(model).__name__, "space": repr(model.space_)}
    prepared = None if model.preparation_ is None else str(model.preparation_)
    facts["preparation"] = prepared
    lines = [f"{type(model).__name__} in {model.space_!r}"]
    if isinstance(model, sx.ShapeDictionary):
        facts |= {
            "n_atoms": len(model.atoms_),
            "n_nonzero": model.n_nonzero,
            "rmse": float(model.rmse_),
            "n_iter": model.n_iter_,
            "usage": model.usage_.tolist(),
            "seed": model.random_state,
        }
        lines += [
            f"{len(model.atoms_)} atoms, at most {model.n_nonzero} per shape, coder {model.coder}",
            f"RMSE {100 * model.rmse_:.2f} % of the shapes it was learned from, {model.n_iter_} updates",
            f"atoms are used by {100 * model.usage_.min():.0f} to {100 * model.usage_.max():.0f} % of the shapes",
        ]
    elif isinstance(model, sx.ShapeDictionaryClassifier):
        sizes = [len(dictionary.atoms_) for dictionary in model.dictionaries_]
        facts |= {"classes": model.classes_.tolist(), "n_atoms": sizes, "n_nonzero": model.n_nonzero}
        lines.append(f"{len(sizes)} classes, {min(sizes)} to {max(sizes)} atoms each")
    elif isinstance(model, sx.ProcrustesKernel):
        facts |= {"n_shapes": model.n_samples_fit_, "gamma": model.gamma_}
        lines.append(f"{model.n_samples_fit_} shapes, gamma {model.gamma_:.4g}")
    if prepared is not None and (model.space_.closed or model.preparation_.is_registered):
        lines.append(f"its shapes: {prepared}")
    return lines, facts


def _describe_codes(file: str, _: Screen) -> tuple[list[str], dict[str, Any]]:
    from shapelex.store.code_files import describe_codes
    from shapelex.store.code_table import read_codes_npz

    if Path(file).is_dir():
        shape, n_atoms, errors = describe_codes(Path(file))
    else:
        codes, columns = read_codes_npz(file)
        shape, n_atoms, errors = (len(codes), codes.n_nonzero), codes.n_atoms, columns["error"]
    rmse = float((errors**2).mean() ** 0.5)
    facts = {"holds": "codes", "n_shapes": shape[0], "n_atoms": n_atoms, "n_nonzero": shape[1]}
    return [
        f"codes of {shape[0]} shapes over {n_atoms} atoms, at most {shape[1]} per shape",
        f"RMSE {100 * rmse:.2f} %",
    ], {**facts, "rmse": rmse}


def _describe_table(path: Path) -> tuple[list[str], dict[str, Any]] | None:
    """Describe codes in a table; None where the file is something else."""
    from shapelex.store.code_table import read_code_errors

    errors = read_code_errors(path)
    if errors is None:
        return None
    rmse = float((errors**2).mean() ** 0.5) if errors.size else None
    lines = [f"codes of {errors.size} shapes, as a table"]
    if rmse is not None:
        lines.append(f"RMSE {100 * rmse:.2f} %, worst {100 * errors.max():.2f} %")
    return lines, {"holds": "codes", "n_shapes": errors.size, "rmse": rmse}


def _describe_shapes(file: str, screen: Screen) -> tuple[list[str], dict[str, Any]]:
    from shapelex.shapes.summary import Summary

    stored = open_if_large(file)
    shapes: Any = stored or read_complete_shapes(file, screen, missing="allow")
    summary = Summary([shapes] if stored is None else stored.blocks())
    labels = sorted(summary.labels) if summary.labels else None
    facts = {"holds": "shapes", "n_shapes": len(shapes), "space": repr(shapes.space), "closed": shapes.closed,
             "preparation": None if shapes.preparation is None else str(shapes.preparation)}  # fmt: skip
    return str(summary).splitlines(), {**facts, "labels": labels, "notes": list(shapes.notes)}
