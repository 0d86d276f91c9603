"""Outlines that are given a common start point and direction on their way in."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapelex.cli.screen import Screen

if TYPE_CHECKING:
    from shapelex._typing import ComplexArray
    from shapelex.io.parts import AssembledShapes
    from shapelex.shapes.preparation import Preparation

# Shapes that the mean of a large set is found from.
_MEAN_SHAPES = 10_000


def register_shapes(shapes: Any, to: Any, reflection: bool, seed: int, screen: Screen) -> Any:
    """Register a set, in memory or on disk, like another one, to the mean of that one, or else to its own."""
    import shapelex as sx

    if to is not None and to.preparation is not None and to.preparation.is_registered:
        options = dict(to.preparation.options)
    else:
        options = {
            "to": "mean" if to is None else sx.mean_shape(to, space=to.space),
            # An open curve has no start point to look for, only a direction.
            "start": shapes.space.closed,
            "reflection": reflection,
            "random_state": seed,
        }
    with screen.progress("registering") as tell:
        if not isinstance(shapes, sx.ShapeSet):
            return _register_parts(shapes, options, tell)
        found = sx.register(shapes, shapes.space, **options)
    note = " ".join(str(found).split())
    return shapes.replace(
        configurations=found.configurations, preparation=found.preparation, notes=(*shapes.notes, note)
    )


def _register_parts(shapes: "AssembledShapes", options: dict[str, Any], tell: Any) -> "AssembledShapes":
    import numpy as np

    import shapelex as sx

    n_shapes = shapes.shape[0]
    what = "a given mean"
    if isinstance(options["to"], str):
        step = -(-n_shapes // _MEAN_SHAPES)
        chosen, start = [], 0
        for rows in shapes.row_blocks():
            chosen.append(rows[-start % step :: step])
            start += len(rows)
            shapes.space.whitened_preshapes(rows, "the set", first_row=start - len(rows))
        sample = np.concatenate(chosen)
        options = {**options, "to": sx.register(sample, shapes.space, **options).target}
        what = f"the mean of {len(sample)} of them"
    totals = np.zeros(6)
    preparation: Preparation | None = None

    def change(rows: "ComplexArray") -> "ComplexArray":
        nonlocal preparation
        # Refuses bad shapes by their numbers in the whole set.
        shapes.space.whitened_preshapes(rows, "the set", first_row=int(totals[0]))
        found = sx.register(rows, shapes.space, **options)
        counts = [len(rows), np.count_nonzero(found.shift), found.is_reversed.sum(), found.is_mirrored.sum()]
        squares = [(found.distance_before**2).sum(), (found.distance_after**2).sum()]
        totals[:] += [*counts, *squares]
        preparation = found.preparation
        tell(totals[0] / n_shapes, "")
        return found.configurations

    shapes.replace_rows(change)
    assert preparation is not None
    resampling = None if shapes.preparation is None else shapes.preparation.resampling
    shapes.preparation = replace(preparation, resampling=resampling)
    before, after = np.sqrt(totals[4:] / n_shapes)
    note = (
        f"{n_shapes} shapes registered to {what}: {totals[1]:.0f} start points moved, {totals[2]:.0f} reversed, "
        f"{totals[3]:.0f} mirrored. RMS full distance to the target: {before:.4f} before, {after:.4f} after."
    )
    shapes.notes = (*shapes.notes, note)
    return shapes
