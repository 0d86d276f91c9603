"""Sets of shapes that commands write, with what made them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapelex.io import ShapeSet


def write_shapes(shapes: "ShapeSet", path: Path, run: dict[str, Any]) -> None:
    """Write a set to a path that was claimed; formats without a place for the record of the run get a sidecar."""
    import shapelex as sx
    from shapelex.io.run_records import write_sidecar

    marked = shapes.replace(provenance={**shapes.provenance, "run": run})
    sx.write(marked, path, overwrite=True, command=run["command"])
    if path.suffix != ".npz":
        write_sidecar(path, run)
