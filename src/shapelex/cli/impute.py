"""``shapelex impute``: missing landmarks, filled in by a dictionary."""

from pathlib import Path
from typing import Any, Literal

from shapelex.cli.command import Missing, ShapesFile, command
from shapelex.cli.formats import parse_format_options
from shapelex.cli.run import Run
from shapelex.cli.shapes import load_dictionary, read_shapes, say_notes


@command("raw_cells")
def impute(
    run: Run,
    shapes: str,
    *,
    out: ShapesFile,
    model: Path | None = None,
    reference: str | None = None,
    n_atoms: int = 10,
    n_nonzero: int = 3,
    method: Literal["posterior", "sparse"] = "posterior",
    missing: Missing = "allow",
    option: list[str] | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Fill in missing landmarks, and estimate the error by hiding some known landmarks.

    Without --model, a dictionary is learned from the incomplete set itself, by alternating completion and learning.
    The set that is written has the column n_imputed, and a note that describes what was filled in.

    Example: shapelex impute skulls.tps -o complete.npz

    Options
    -------
    out : File to write: .npz or .zarr (keep everything), .csv or .tps (for other programs).
    model : Model file that learn wrote; by default a dictionary is learned here.
    reference : With --model: the complete shapes that the model was learned from.
    n_atoms : Without --model: number of atoms.
    n_nonzero : Without --model: maximum number of atoms per shape.
    method : posterior: expected weights of all atoms; sparse: a sparse code.
    """
    found = read_shapes(run, shapes, missing=missing, **parse_format_options(option))
    results: dict[str, Any] = {"n_shapes": len(found), "n_incomplete": 0, "n_imputed": 0}
    results |= dict.fromkeys(("hidden_error", "hidden_error_of_mean", "noise"))
    completed = found
    given = None if model is None else load_dictionary(run, model)
    if found.is_missing.any():
        import shapelex as sx

        # Rounds end when landmarks move by a thousandth, and no fit has to be more exact.
        fresh = sx.ShapeDictionary(n_atoms, n_nonzero, tol=1e-3, random_state=random_state)
        dictionary = fresh if given is None else given
        complete = None if reference is None else read_shapes(run, reference)
        with run.progress("filling in"):
            filled = sx.impute(found, dictionary, reference=complete, method=method, random_state=random_state)
        counts = filled.is_imputed.sum(axis=1)
        completed = found.replace(
            configurations=filled.configurations,
            metadata={**found.metadata, "n_imputed": counts},
            notes=(*found.notes, " ".join(str(filled).split())),
        )
        run.say(str(filled))
        results |= {name: getattr(filled, name) for name in ("hidden_error", "hidden_error_of_mean", "noise")}
        results |= {"n_incomplete": int((counts > 0).sum()), "n_imputed": int(counts.sum())}
    else:
        run.say(f"{shapes} has no missing landmarks: it is written as it is")
    say_notes(run, found)
    run.make_record(random_state, shapes, model, reference)
    run.write_shapes(out, completed)
    run.keep_remarks(completed.notes)
    return results
