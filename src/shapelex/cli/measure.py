"""``shapelex measure``, ``mean`` and ``distances``: what is computed from a set of shapes alone."""

from pathlib import Path
from typing import Any

from shapelex.cli.command import Distance, ShapesFile, Table, command
from shapelex.cli.errors import CommandError
from shapelex.cli.figures import gallery_aspect
from shapelex.cli.run import Run
from shapelex.cli.shapes import open_or_read, read_shapes


@command("raw_cells")
def measure(run: Run, shapes: str, *, out: Path, add: bool = False) -> dict[str, Any]:
    """Measure each shape: area, perimeter, circularity, aspect ratio, solidity, diameters, curvature.

    Lengths are in the unit of the file where it has a scale or a size of pixels. Open curves have a length and a
    curvature only. Columns that --add writes can be used as any others, as in shapelex test --formula "~ solidity".

    Example: shapelex measure shapes.npz -o measures.csv

    Options
    -------
    out : Table to write: .csv, .tsv, .xlsx or .parquet; with --add the set: .npz or .zarr.
    add : Write the set with the measures as further columns, not a table.
    """
    import shapelex as sx

    run.outputs.claim(out, "-o", "shapes" if add else "table")
    found = open_or_read(run, shapes)
    with run.progress("measuring"):
        table = sx.measure(found)
    run.make_record(None, shapes)
    unit = table.attrs["unit"]
    columns = {str(name): table[name].to_numpy() for name in table}
    if add:
        # Columns of the set stay, such as the area in pixels of objects in a mask.
        columns = {f"measured_{name}" if name in found.metadata else name: one for name, one in columns.items()}
        note = f"{', '.join(columns)} were measured; lengths are in: {unit}"
        run.write_shapes(out, found.replace(metadata={**found.metadata, **columns}, notes=(*found.notes, note)))
    else:
        run.write_table(out, {"id": found.ids, **columns})
    run.note(*table.attrs["remarks"])
    medians = {name: float(values) for name, values in table.median().items()}
    for name, value in medians.items():
        run.say(f"{name}: median {value:.4g}")
    return {"n_shapes": len(table), "unit": unit, "medians": medians}


@command("raw_cells", "shapes_figure")
def mean(
    run: Run, shapes: str, *, out: ShapesFile, distance: Distance = "full", by_label: bool = False
) -> dict[str, Any]:
    """Write the mean shape, which minimizes the sum of squared distances to all shapes.

    --figure draws the mean over the shapes, or with --by-label the means side by side.

    Example: shapelex mean shapes.npz -o mean.csv --figure mean.png

    Options
    -------
    out : File to write: .npz, .csv or .tps.
    by_label : Compute one mean per label.
    """
    found = read_shapes(run, shapes)
    if by_label and found.labels is None:
        raise CommandError(f"{shapes} has no labels: leave out --by-label, or import with --label-from.")
    import numpy as np

    import shapelex as sx

    names: list[str] = sorted(set(found.labels.tolist())) if by_label and found.labels is not None else []
    groups = [found[found.labels == name] for name in names] or [found]
    means = [sx.mean_shape(group, distance, space=found.space) for group in groups]
    # Means of labels in one pose, that of the first.
    means = [means[0], *(sx.rotate_onto(one, means[0], found.space) for one in means[1:])]
    told: list[dict[str, Any]] = []
    for name, group, one in zip(names or (None,), groups, means, strict=True):
        squares = sx.distance(group.configurations, one, kind=distance, space=found.space) ** 2
        mean_id = "mean" if name is None else f"mean of {name or '(none)'}"
        told.append({"id": mean_id, "n_shapes": len(group), "rms_distance": float(np.sqrt(np.mean(squares)))})
    columns: dict[str, Any] = {key: [one[key] for one in told] for key in told[0]}
    run.make_record(None, shapes)
    run.write_shapes(out, sx.ShapeSet(np.array(means), found.space, ids=columns.pop("id"), labels=names or None,
                                      metadata=columns, preparation=found.preparation))  # fmt: skip
    for row in told:
        run.say(f"{row['id']}: {row['n_shapes']} shapes, RMS {distance} distance to it {row['rms_distance']:.4f}")
    if by_label:
        look = {"labels": [name or "(none)" for name in names], "n_columns": run.columns, **run.look}
        run.draw(
            lambda ax: sx.plotting.plot_shapes(np.array(means), found.space, ax=ax, **look), gallery_aspect(len(means))
        )
    else:
        run.draw(lambda ax: sx.plotting.plot_mean(found, kind=distance, ax=ax, **run.look))
    return {"means": told}


@command("raw_cells", "figure")
def distances(
    run: Run, shapes: str, other: str | None = None, *, out: Table, distance: Distance = "full"
) -> dict[str, Any]:
    """Write a table of the distances between all pairs of shapes, with their ids.

    --figure draws the distances as colors, sorted by label.

    Example: shapelex distances shapes.npz -o distances.csv --distance full --figure distances.png

    Options
    -------
    other : Other shapes: compute the distances from SHAPES (rows) to these (columns).
    out : Table to write: .csv, .tsv or .parquet.
    """
    found = read_shapes(run, shapes)
    others = None if other is None else read_shapes(run, other)
    import shapelex as sx

    with run.progress("measuring"):
        table = sx.pairwise_distances(found, others, kind=distance, space=found.space)
    run.make_record(None, shapes, other)
    ids = (found if others is None else others).ids.tolist()
    # Names of columns must differ, ids need not.
    names = ids if len(set(ids)) == len(ids) else [f"{place}:{name}" for place, name in enumerate(ids)]
    run.write_table(out, {"id": found.ids, **{f"{name}": table[:, place] for place, name in enumerate(names)}})
    run.say(f"{len(table)} x {len(names)} {distance} distances, mean {table.mean():.4f}, greatest {table.max():.4f}")
    labels = found.labels if others is None else None
    run.draw(lambda ax: sx.plotting.plot_distances(table, labels=labels, names=found.ids, ax=ax), 0.8)
    return {"shape": list(table.shape), "mean": float(table.mean()), "greatest": float(table.max())}
