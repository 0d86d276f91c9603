"""``shapelex impute``: missing landmarks, filled in by a dictionary."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.format_options import FormatOption, parse_format_options
from shapelex.cli.json_report import current_report
from shapelex.cli.options import (
    ForceOption,
    JsonOption,
    MissingName,
    MissingOption,
    QuietOption,
    RawCellsOption,
    SeedOption,
    ShapesArgument,
)
from shapelex.cli.outputs import record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shape_files import claim_shapes, write_shapes
from shapelex.cli.shapes import load_dictionary, read_complete_shapes, say_notes


class MethodName(StrEnum):
    """Ways to find a shape from the landmarks that it has."""

    posterior = "posterior"
    sparse = "sparse"


def impute(
    shapes: ShapesArgument,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="File to write: .npz or .zarr (keep everything), .csv or .tps (for other programs)."
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", help="Model file that learn wrote; by default a dictionary is learned here.", show_default=False
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference", help="With --model: the complete shapes that the model was learned from.", show_default=False
        ),
    ] = None,
    atoms: Annotated[int, typer.Option("--n-atoms", min=1, help="Without --model: number of atoms.")] = 10,
    nonzero: Annotated[
        int, typer.Option("--n-nonzero", min=1, help="Without --model: maximum number of atoms per shape.")
    ] = 3,
    method: Annotated[
        MethodName, typer.Option("--method", help="posterior: expected weights of all atoms; sparse: a sparse code.")
    ] = MethodName.posterior,
    missing: MissingOption = MissingName.allow,
    option: FormatOption = None,
    raw_cells: RawCellsOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fill in missing landmarks, and estimate the error by hiding some known landmarks.

    Without --model, a dictionary is learned from the incomplete set itself, by alternating completion and learning.
    The set that is written has the column n_imputed, and a note that describes what was filled in.

    Example: shapelex impute skulls.tps -o complete.npz
    """
    if reference is not None and model is None:
        raise typer.BadParameter("works only with --model.", param_hint="--reference")
    if nonzero > atoms:
        raise typer.BadParameter(f"must be at most --n-atoms {atoms}, got {nonzero}.", param_hint="--n-nonzero")
    target = claim_shapes(out, force)
    screen = Screen(quiet, as_json)
    found = read_complete_shapes(shapes, screen, missing=str(missing), **parse_format_options(option))
    results: dict[str, Any] = {"n_shapes": len(found), "n_incomplete": 0, "n_imputed": 0,
                               "hidden_error": None, "hidden_error_of_mean": None, "noise": None}  # fmt: skip
    completed = found
    if found.is_missing.any():
        import shapelex as sx

        # Rounds end when landmarks move by a thousandth, and no fit has to be more exact.
        fresh = sx.ShapeDictionary(atoms, nonzero, tol=1e-3, random_state=seed)
        dictionary = fresh if model is None else load_dictionary(model)
        complete = None if reference is None else read_complete_shapes(reference, screen)
        with screen.progress("filling in"):
            filled = sx.impute(found, dictionary, reference=complete, method=str(method), random_state=seed)
        counts = filled.is_imputed.sum(axis=1)
        completed = found.replace(
            configurations=filled.configurations,
            metadata={**found.metadata, "n_imputed": counts},
            notes=(*found.notes, " ".join(str(filled).split())),
        )
        screen.say(str(filled))
        results |= {name: getattr(filled, name) for name in ("hidden_error", "hidden_error_of_mean", "noise")}
        results |= {"n_incomplete": int((counts > 0).sum()), "n_imputed": int(counts.sum())}
    else:
        screen.say(f"{shapes} has no missing landmarks: it is written as it is")
    say_notes(found, screen)
    inputs = [one for one in (shapes, model, reference) if one is not None]
    with screen.progress("writing"):
        write_shapes(completed, target, record_run(seed, tuple(inputs)), raw_cells=raw_cells)
    screen.wrote(target)
    current_report().note_remarks(completed.notes)
    screen.show(results)
