"""``shapelex register``, and ``import --register``: outlines get a common start point and direction."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapelex.cli.command import ShapesFile, command
from shapelex.cli.errors import refuse
from shapelex.cli.run import Run
from shapelex.cli.shapes import assembled_shapes, is_registered, open_if_large, read_shapes, refuse_incomplete

if TYPE_CHECKING:
    from shapelex.geometry import Registration
    from shapelex.shapes import ShapeSet
    from shapelex.shapes.preparation import Preparation

# Shapes that the mean of a large set is found from.
_MEAN_SHAPES = 10_000
_OPEN = (
    "the shapes are open, so only their direction is registered: if they are outlines, import them with --closed, "
    "which registers their start points too"
)


@command("raw_cells")
def register(
    run: Run,
    shapes: str,
    *,
    out: ShapesFile,
    start: bool = True,
    direction: bool = True,
    reflection: bool = False,
    like: str | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Give outlines the start points and directions that bring them closest to their mean.

    Closed outlines have a start point and a direction, open curves only a direction. Sets larger than memory can be
    written to .npz and .zarr files; a large set is registered to the mean of 10,000 of its shapes.

    Example: shapelex register outlines.npz -o registered.npz --reflection

    Options
    -------
    out : File to write: .npz or .zarr (keep everything), .csv or .tps (for other programs).
    start : Search for the start point.
    direction : Reverse shapes where this brings them closer to the mean.
    reflection : Mirror shapes where this brings them closer to the mean.
    like : Register to the mean of the set in this file, with the same options.
    """
    model_set: Any = None if like is None else open_if_large(run, like) or read_shapes(run, like)
    is_told = reflection or not (start and direction)
    advice = "registers as the set in that file was: --no-start, --no-direction and --reflection are not needed."
    refuse(is_told and model_set is not None and is_registered(model_set), "--like", advice)
    run.make_record(random_state, shapes, like)
    with assembled_shapes(run, [shapes], out, missing="allow") as found:
        if found.in_memory:
            refuse_incomplete(found, shapes, "incomplete outlines cannot be registered")
        registered, changes = register_shapes(
            run, found, model_set, reflection, random_state, start=start, direction=direction
        )
        run.write_shapes(out, registered)
    run.say(registered.notes[-1])
    run.keep_remarks(registered.notes)
    return {"n_shapes": registered.shape[0], **changes}


def register_shapes(
    run: Run, shapes: Any, to: Any, reflection: bool, seed: int, *, start: bool = True, direction: bool = True
) -> tuple[Any, dict[str, Any]]:
    """Register a set, in memory or on disk, like another one, to the mean of that one, or else to its own.

    Returns the set, and how many shapes were changed how.
    """
    import numpy as np

    import shapelex as sx

    if start and not shapes.space.closed:
        run.say(_OPEN)
        run.keep_remarks([_OPEN])
    if to is not None and is_registered(to):
        options = dict(to.preparation.options)
    else:
        options = {
            "to": "mean" if to is None else sx.mean_shape(to, space=to.space),
            # An open curve has no start point to look for, only a direction.
            "start": start and shapes.space.closed,
            "direction": direction,
            "reflection": reflection,
            "random_state": seed,
        }
    with run.progress("registering") as tell:
        if not shapes.in_memory:
            return _register_parts(shapes, options, tell)
        is_series = shapes.sequence is not None and bool((shapes.sequence != -1).any())
        if is_series and options["start"] == shapes.closed and not options.get("subsample") and (start or to is None):
            kept = {name: options[name] for name in options.keys() - {"start", "subsample"}}
            found: Registration = sx.sequences.register_sequence(shapes, **kept)
        else:
            found = sx.register(shapes, shapes.space, **options)
    note = " ".join(str(found).split())
    # Ends of open curves that follow the motion were not registered to a mean.
    preparation = found.preparation or shapes.preparation
    registered = shapes.replace(
        configurations=found.configurations, preparation=preparation, notes=(*shapes.notes, note)
    )
    return registered, _changes(np.array(_count(found)))


def _count(found: "Registration") -> list[float]:
    """Return what a registration did to some shapes, as sums that add up over parts of a set."""
    import numpy as np

    counts = [len(found.shift), np.count_nonzero(found.shift), found.is_reversed.sum(), found.is_mirrored.sum()]
    return [*counts, (found.distance_before**2).sum(), (found.distance_after**2).sum()]


def _changes(totals: Any) -> dict[str, Any]:
    """Return the sums over all shapes as results of a command."""
    n_shapes, n_moved, n_reversed, n_mirrored = (int(count) for count in totals[:4])
    before, after = ((float(squares) / n_shapes) ** 0.5 for squares in totals[4:])
    return {"n_moved": n_moved, "n_reversed": n_reversed, "n_mirrored": n_mirrored,
            "distance_before": before, "distance_after": after}  # fmt: skip


def _register_parts(shapes: "ShapeSet", options: dict[str, Any], tell: Any) -> "tuple[ShapeSet, dict[str, Any]]":
    import numpy as np

    import shapelex as sx
    from shapelex.io.parts import change_blocks

    n_shapes = len(shapes)
    what = "a given mean"
    if isinstance(options["to"], str):
        step = -(-n_shapes // _MEAN_SHAPES)
        chosen, start = [], 0
        for block in shapes.blocks():
            rows = block.configurations
            chosen.append(rows[-start % step :: step])
            start += len(rows)
            shapes.space.whitened_preshapes(rows, "the set", first_row=start - len(rows))
        sample = np.concatenate(chosen)
        options = {**options, "to": sx.register(sample, shapes.space, **options).target}
        what = f"the mean of {len(sample)} of them"
    totals = np.zeros(6)
    preparation: Preparation | None = None

    def change(block: "ShapeSet") -> "ShapeSet":
        nonlocal preparation
        rows = block.configurations
        # Refuses bad shapes by their numbers in the whole set.
        shapes.space.whitened_preshapes(rows, "the set", first_row=int(totals[0]))
        found = sx.register(rows, shapes.space, **options)
        totals[:] += _count(found)
        preparation = found.preparation
        tell(totals[0] / n_shapes, "")
        return block.replace(configurations=found.configurations)

    registered = change_blocks(shapes, change)
    assert preparation is not None
    resampling = None if shapes.preparation is None else shapes.preparation.resampling
    changes = _changes(totals)
    note = (
        f"{n_shapes} shapes registered to {what}: {changes['n_moved']} start points moved, {changes['n_reversed']} "
        f"reversed, {changes['n_mirrored']} mirrored. RMS full distance to the target: "
        f"{changes['distance_before']:.4f} before, {changes['distance_after']:.4f} after."
    )
    if "sequence" in shapes.column_types:
        note += " Each was registered by itself, since the set is large: along time, heads and tails may swap."
    preparation = replace(preparation, resampling=resampling)
    return registered.replace(preparation=preparation, notes=(*shapes.notes, note)), changes
