"""Outlines that are given a common start point and direction on their way in."""

from typing import TYPE_CHECKING, Any

from shapelex.cli.screen import Screen

if TYPE_CHECKING:
    from shapelex._typing import ComplexArray
    from shapelex.io.spool import ShapeSpool

# Shapes that the mean of a large set is found from.
_MEAN_SHAPES = 10_000


def register_shapes(shapes: Any, to: Any, reflection: bool, seed: int, screen: Screen) -> Any:
    """Register a set, in memory or on disk, to the mean of another one, or else to its own."""
    import shapelex as sx

    options = {
        # An open curve has no start point to look for, only a direction.
        "start": shapes.space.closed,
        "reflection": reflection,
        "random_state": seed,
    }
    target = "mean" if to is None else sx.mean_shape(to, space=to.space)
    with screen.progress("registering") as tell:
        if not isinstance(shapes, sx.ShapeSet):
            return _register_spool(shapes, target, options, tell)
        found = sx.register(shapes, shapes.space, target, **options)
    note = " ".join(str(found).split())
    return shapes.replace(configurations=found.configurations, notes=(*shapes.notes, note))


def _register_spool(shapes: "ShapeSpool", target: Any, options: dict[str, Any], tell: Any) -> "ShapeSpool":
    import numpy as np

    import shapelex as sx

    n_shapes = shapes.shape[0]
    what = "a given mean"
    if isinstance(target, str):
        step = -(-n_shapes // _MEAN_SHAPES)
        chosen, start = [], 0
        for rows in shapes.row_blocks():
            chosen.append(rows[-start % step :: step])
            start += len(rows)
            shapes.space.whitened_preshapes(rows, "the set", first_row=start - len(rows))
        sample = np.concatenate(chosen)
        target = sx.register(sample, shapes.space, "mean", **options).target
        what = f"the mean of {len(sample)} of them"
    totals = np.zeros(6)

    def change(rows: "ComplexArray") -> "ComplexArray":
        # Refuses bad shapes by their numbers in the whole set.
        shapes.space.whitened_preshapes(rows, "the set", first_row=int(totals[0]))
        found = sx.register(rows, shapes.space, target, **options)
        counts = [len(rows), np.count_nonzero(found.shift), found.is_reversed.sum(), found.is_mirrored.sum()]
        squares = [(found.distance_before**2).sum(), (found.distance_after**2).sum()]
        totals[:] += [*counts, *squares]
        tell(totals[0] / n_shapes, "")
        return found.configurations

    shapes.replace_rows(change)
    before, after = np.sqrt(totals[4:] / n_shapes)
    note = (
        f"{n_shapes} shapes registered to {what}: {totals[1]:.0f} start points moved, {totals[2]:.0f} reversed, "
        f"{totals[3]:.0f} mirrored. RMS full distance to the target: {before:.4f} before, {after:.4f} after."
    )
    shapes.notes = (*shapes.notes, note)
    return shapes
