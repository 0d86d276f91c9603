"""Codes of shapes that are read piece by piece, into files that grow."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.screen import Tell
from shapelex.cli.stored import open_stored_shapes

if TYPE_CHECKING:
    from shapelex.estimators import ShapeDictionary
    from shapelex.io import StoredShapes


def open_to_code(path: str, model: "ShapeDictionary", whatever_size: bool) -> "StoredShapes | None":
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
    stored: "StoredShapes",
    source: Any,
    run: dict[str, Any],
    layout: str,
    tell: Tell,
) -> tuple[float, float]:
    """Code a stored set over a dictionary into a file; return the RMSE and the worst error.

    `source` is the set, or a Dask array of it that is coded on a cluster.
    """
    import numpy as np

    from shapelex.store.code_files import open_codes_writer
    from shapelex.store.code_table import code_columns, shape_columns
    from shapelex.store.table_file import write_table_blocks

    squares, worst = 0.0, 0.0

    def blocks() -> Iterator[Any]:
        nonlocal squares, worst
        for block in model._coded_blocks(source):
            squares += float((block.errors**2).sum())
            worst = max(worst, float(block.errors.max()))
            yield block
            tell((block.start + len(block.codes)) / len(stored), "")

    if path.suffix.lower() == ".zarr":
        dtype = np.result_type(stored.dtype, model.atoms_.dtype)
        kinds = {name: column.dtype for name, column in shape_columns(stored[:1]).items()}
        with open_codes_writer(path, len(stored), model.n_nonzero, len(model.atoms_), dtype, run, kinds) as writer:
            for block in blocks():
                told = shape_columns(stored[block.start : block.start + len(block.codes)])
                writer.add(block.codes, block.errors, told)
    else:
        tables = (
            code_columns(one.codes, one.errors, stored[one.start : one.start + len(one.codes)], layout)
            for one in blocks()
        )
        write_table_blocks(path, tables, run)
    return (squares / len(stored)) ** 0.5, worst
