"""``shapelex learn``: shapes to a dictionary."""

from pathlib import Path
from typing import Any, Literal

from shapelex.cli.check import say_findings
from shapelex.cli.command import Checkpoint, Distance, Missing, ModelFile, command
from shapelex.cli.errors import Interruption, refuse
from shapelex.cli.exclusion import exclude_shapes, read_exclusion
from shapelex.cli.figures import gallery_aspect, pose_on_page
from shapelex.cli.formats import parse_format_options
from shapelex.cli.outputs import is_ours
from shapelex.cli.run import Run
from shapelex.cli.shapes import (
    count_incomplete,
    on_cluster,
    open_stored_shapes,
    read_shapes,
    refuse_incomplete,
    say_notes,
)


@command("shapes_figure")
def learn(
    run: Run,
    shapes: str,
    *,
    out: ModelFile,
    n_atoms: int = 20,
    n_nonzero: int = 5,
    coder: Literal["auto", "exact", "beam", "ormp", "omp"] = "auto",
    weight_penalty: float = 0.0,
    effort: float = 1,
    tie: float | None = None,
    n_swaps: int | None = None,
    distance: Distance = "full",
    n_restarts: int = 1,
    max_iter: int = 100,
    batch_size: int | None = None,
    checkpoint: Checkpoint | None = None,
    stability: bool = True,
    exclude: Path | None = None,
    missing: Missing = "allow",
    option: list[str] | None = None,
    device: str = "cpu",
    scheduler: str | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Learn a dictionary: a small set of typical shapes whose weighted sums approximate all shapes.

    Arrays in .npy and .zarr files, and large sets, are read block by block, so they may be larger than memory.

    Of shapes with missing landmarks, the landmarks that are present are used; such sets are read into memory.

    With --exclude, the remaining shapes are read into memory.

    After that, two dictionaries are learned from halves of at most 4,000 of the shapes, to see which atoms are found
    again and can be named; --no-stability saves this time.

    After Ctrl-C, the best dictionary so far is kept beside the output file, as NAME.interrupted.npz.

    Example: shapelex learn shapes.npz -o model.npz --n-atoms 10 --n-nonzero 3 --figure atoms.png

    Options
    -------
    out : Model file to write, .npz.
    coder : Algorithm that selects the atoms of a shape; the paper uses ormp.
    weight_penalty : Price of large weights, so that atoms do not cancel each other.
    effort : How much to do for a lower training error: 50 swaps of atoms for each unit above 1. The atoms then
        differ more from sample to sample.
    tie : 0 not to hold the atoms near their start.
    n_swaps : Number of swaps of atoms that are tried; by default --effort decides.
    n_restarts : Number of searches by swaps; the best is kept.
    max_iter : Maximum number of updates of each dictionary.
    batch_size : Learn from batches of this number of shapes.
    checkpoint : Save progress to this file, and resume from it if it exists.
    """
    advice = "works without --scheduler: leave the shapes out with shapelex import --exclude."
    refuse(exclude is not None and scheduler is not None, "--exclude", advice)
    options = parse_format_options(option)
    found: Any = None if options or missing != "allow" else open_stored_shapes(run, shapes)
    if found is None:
        found = read_shapes(run, shapes, missing=missing, **options)
    exclusion = None if exclude is None else read_exclusion(exclude)
    if exclusion is not None:
        found = exclude_shapes(found, exclusion)
        run.say(found.notes[-1])
    n_incomplete = count_incomplete(found)
    if batch_size is not None or scheduler is not None:
        refuse_incomplete(found, shapes, "--batch-size and --scheduler take complete shapes only")
    import shapelex as sx

    model = sx.ShapeDictionary(
        n_atoms,
        n_nonzero,
        space=found.space,
        coder=coder,
        weight_penalty=weight_penalty,
        tie=tie,
        effort=effort,
        n_swaps=n_swaps,
        distance=distance,
        n_restarts=n_restarts,
        max_iter=max_iter,
        batch_size=batch_size,
        device=device,
        random_state=random_state,
        checkpoint=None if checkpoint is None else str(checkpoint),
    )
    run.make_record(random_state, shapes, exclude if exclude is not None and exclude.exists() else None)
    try:
        with on_cluster(found, shapes, scheduler) as source, run.progress("learning", follows_fit=True):
            model.fit(source)
    except KeyboardInterrupt:
        raise Interruption(_keep_best(run, model, out, checkpoint)) from None
    if stability:
        _measure_stability(run, model, out)
    model.save(run.outputs.place(out), overwrite=True, run=run.record)
    if n_incomplete:
        run.say(f"{n_incomplete} shapes are incomplete: their errors are those on the landmarks that they have")
    run.say(
        f"{len(found)} shapes, {n_atoms} atoms, at most {n_nonzero} per shape: training RMSE {100 * model.rmse_:.2f} %"
    )
    shares = f"{100 * model.usage_.min():.0f} to {100 * model.usage_.max():.0f} %"
    run.say(f"{model.n_iter_} updates; atoms are used by {shares} of the shapes")
    if stability:
        run.say(model.stability_.summary())
    say_notes(run, found)
    with run.progress("checking"):
        findings = sx.check(found)
    say_findings(run, findings, shapes)
    if run.figure is not None:
        pose = pose_on_page(found, model.space_)
        look = {"n_columns": run.columns, **run.look}
        run.draw(lambda ax: model.plot(pose=pose, ax=ax, **look), gallery_aspect(n_atoms))
    return {
        "rmse": float(model.rmse_),
        "n_iter": int(model.n_iter_),
        "n_incomplete": n_incomplete,
        "n_excluded": 0 if exclusion is None else exclusion.n_excluded,
        "unmatched": [] if exclusion is None else exclusion.unmatched,
        "usage": model.usage_.tolist(),
        "stability": model.stability_.to_json() if stability else None,
    }


def _measure_stability(run: Run, model: Any, out: Path) -> None:
    """Learn from halves of the shapes; what was learned from all of them is not lost by an interruption."""
    try:
        with run.progress("learning from halves", follows_fit=True):
            _ = model.stability_
    except KeyboardInterrupt:
        model.save(run.outputs.place(out), overwrite=True, run=run.record)
        run.finish()
        raise Interruption(f"interrupted: {out} has the dictionary, without the stability of its atoms.") from None


def _keep_best(run: Run, model: Any, out: Path, checkpoint: Path | None) -> str:
    """Keep what an interrupted fit has, where it cannot pass for a finished one or replace it; return what to say."""
    if not hasattr(model, "atoms_"):
        return "interrupted: nothing was learned yet, and nothing was written."
    more = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
    names = (f"{out.stem}.interrupted{number}.npz" for number in ("", *range(2, 1000)))
    kept = next(path for path in map(out.with_name, names) if not path.exists() or is_ours(path))
    model.save(kept, overwrite=True, run={**run.record, "interrupted": True})
    run.written[str(kept)] = None
    return f"interrupted: {kept} has the best dictionary so far, RMSE {100 * model.rmse_:.2f} %{more}."
