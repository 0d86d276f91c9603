"""Sets of shapes that commands write, with what made them."""

from pathlib import Path
from typing import Any

import typer

from shapelex.cli.outputs import claim_file
from shapelex.exceptions import ShapeFileError


def claim_shapes(path: Path, force: bool) -> Path:
    """Return a path to write shapes to; refuse one where a file is, unless `force`, or that is of no format."""
    from shapelex._extras import load_zarr
    from shapelex.io.write import find_writable

    try:
        find_writable(path)
    except ShapeFileError as error:
        message = str(error).replace("; or give format=", "")
        raise typer.BadParameter(message, param_hint="-o") from error
    if path.suffix.lower() == ".zarr":
        # Said before the work, not after it.
        load_zarr()
    return claim_file(path, force)


def write_shapes(shapes: Any, path: Path, run: dict[str, Any], *, raw_cells: bool = False) -> None:
    """Write a set to a path that was claimed; formats without a place for the record of the run get a sidecar.

    `raw_cells` writes text as it is, where a spreadsheet might take it for a formula.
    """
    import shapelex as sx
    from shapelex.files.provenance import write_sidecar
    from shapelex.io.write import find_writable

    shapes = shapes.replace(provenance={**shapes.provenance, "run": run})
    # Other formats have no cells that a spreadsheet would take for formulas.
    takes_raw_cells = "raw_cells" in find_writable(path).writer_options
    options: dict[str, Any] = {"raw_cells": True} if raw_cells and takes_raw_cells else {}
    sx.write(shapes, path, command=run["command"], **options)
    if path.suffix.lower() not in (".npz", ".zarr", ".parquet"):
        write_sidecar(path, run)
