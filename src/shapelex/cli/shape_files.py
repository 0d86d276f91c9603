"""Sets of shapes that commands write, with what made them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shapelex.cli.outputs import claim_file
from shapelex.exceptions import ShapeFileError

if TYPE_CHECKING:
    from shapelex.io.parts import AssembledShapes
    from shapelex.shapes import ShapeSet


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


def write_shapes(shapes: "ShapeSet | AssembledShapes", path: Path, run: dict[str, Any], force: bool) -> None:
    """Write a set to a path that was claimed; formats without a place for the record of the run get a sidecar.

    A file that was made since then is not replaced either, unless `force`.
    """
    import shapelex as sx
    from shapelex.store.provenance import write_sidecar

    provenance = {**shapes.provenance, "run": run}
    if isinstance(shapes, sx.ShapeSet):
        shapes = shapes.replace(provenance=provenance)
    else:
        shapes.provenance = provenance
    claim_file(path, force)
    sx.write(shapes, path, overwrite=force, command=run["command"])
    if path.suffix.lower() not in (".npz", ".zarr", ".parquet"):
        write_sidecar(path, run)
