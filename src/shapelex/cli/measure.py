"""``shapelex measure``: area, perimeter, roundness and more of each shape, as a table or as columns of the set."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, RawCellsOption, ShapesArgument
from shapelex.cli.outputs import claim_table, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shape_files import claim_shapes, write_shapes
from shapelex.cli.shapes import read_complete_shapes
from shapelex.cli.stored import open_if_large


def measure(
    shapes: ShapesArgument,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="Table to write: .csv, .tsv, .xlsx or .parquet; with --add the set: .npz or .zarr."
        ),
    ],
    add: Annotated[
        bool, typer.Option("--add", help="Write the set with the measures as further columns, not a table.")
    ] = False,
    raw_cells: RawCellsOption = False,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure each shape: area, perimeter, circularity, aspect ratio, solidity, diameters, curvature.

    Lengths are in the unit of the file where it has a scale or a size of pixels. Open curves have a length and a
    curvature only. Columns that --add writes can be used as any others, as in shapelex test --formula "~ solidity".

    Example: shapelex measure shapes.npz -o measures.csv
    """
    import shapelex as sx
    from shapelex.files.table_file import write_table

    target = claim_shapes(out, force) if add else claim_table(out, force)
    screen = Screen(quiet, as_json)
    found: Any = open_if_large(shapes) or read_complete_shapes(shapes, screen, missing="allow")
    with screen.progress("measuring"):
        table = sx.measure(found)
    run, unit = record_run(None, (shapes,)), table.attrs["unit"]
    columns = {str(name): table[name].to_numpy() for name in table.columns}
    if add:
        # Columns of the set stay, such as the area in pixels of objects in a mask.
        columns = {f"measured_{name}" if name in found.metadata else name: one for name, one in columns.items()}
        note = f"{', '.join(columns)} were measured; lengths are in: {unit}"
        measured = found.replace(metadata={**found.metadata, **columns}, notes=(*found.notes, note))
        write_shapes(measured, target, run, raw_cells=raw_cells)
    else:
        write_table(target, [{"id": found.ids, **columns}], run, raw_cells=raw_cells)
    current_report().note_remarks(table.attrs["remarks"])
    for remark in table.attrs["remarks"]:
        screen.say(f"note: {remark}")
    medians = {name: float(values) for name, values in table.median().items()}
    for name, value in medians.items():
        screen.say(f"{name}: median {value:.4g}")
    screen.wrote(target)
    screen.show({"n_shapes": len(table), "unit": unit, "medians": medians})
