"""Codes of shapes that are read piece by piece, into files that grow."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.screen import Tell
from shapelex.cli.stored import open_stored_shapes

if TYPE_CHECKING:
    from shapelex.estimators import ShapeDictionary
    from shapelex.shapes import ShapeSet


def open_to_code(path: str, model: "ShapeDictionary", whatever_size: bool) -> "ShapeSet | None":
    """Open shapes to be coded piece by piece; None for those that are read, and brought into form, in memory."""
    from shapelex.io.stored_shapes import is_large

    stored = open_stored_shapes(path, whatever_size=whatever_size)
    if stored is None or whatever_size or is_large(Path(path)):
        return stored
    is_ready = stored.space == model.space_ or (stored.preparation is None and stored.shape[1] == model.n_features_in_)
    return stored if is_ready else None


def write_codes_in_blocks(
    path: Path,
    model: "ShapeDictionary",
    stored: "ShapeSet",
    source: Any,
    run: dict[str, Any],
    layout: str,
    tell: Tell,
    *,
    raw_cells: bool = False,
) -> tuple[float, float]:
    """Code a stored set over a dictionary into a file; return the RMSE and the worst error.

    `source` is the set, or a Dask array of it that is coded on a cluster.
    """
    from shapelex.coding.codes import shape_columns
    from shapelex.files.code_files import CodeBlock, write_codes

    squares, worst = 0.0, 0.0

    def blocks() -> Iterator[CodeBlock]:
        nonlocal squares, worst
        for block in model._coded_blocks(source):
            squares += float((block.errors**2).sum())
            worst = max(worst, float(block.errors.max()))
            end = block.start + len(block.codes)
            yield block.codes, block.errors, shape_columns(stored[block.start : end])
            tell(end / len(stored), "")

    write_codes(path, blocks(), run, layout, raw_cells=raw_cells)
    return (squares / len(stored)) ** 0.5, worst
