"""Shapes that commands read piece by piece, because they may not fit in memory, and clusters that learn from them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.errors import CommandError
from shapelex.cli.screen import Screen

if TYPE_CHECKING:
    from shapelex.io import ShapeSet, StoredShapes
    from shapelex.io.spool import ShapeSpool

# Read piece by piece whatever their size.
ALWAYS = (".npy", ".zarr")

_SHAPES = "shapelex shapes"


def open_stored_shapes(path: str) -> "StoredShapes | None":
    """Open shapes that are read piece by piece: arrays, and large sets; None where the file is of another kind."""
    file = Path(path)
    if file.suffix.lower() in ALWAYS and file.exists():
        import shapelex as sx

        return sx.open_shapes(file)
    return open_if_large(path)


def open_if_large(path: str) -> "StoredShapes | None":
    """Open a large set of shapes; None for all else."""
    import shapelex as sx
    from shapelex.io.run_records import npz_header
    from shapelex.io.stored_shapes import is_large

    file = Path(path)
    if file.suffix.lower() not in (*ALWAYS, ".npz") or not file.exists() or not is_large(file):
        return None
    if file.suffix.lower() == ".npz" and npz_header(file).get("format", _SHAPES) != _SHAPES:
        return None
    return sx.open_shapes(file)


@contextmanager
def spooled_shapes(
    paths: Sequence[str], target: Path, screen: Screen, **options: Any
) -> "Iterator[ShapeSet | ShapeSpool]":
    """Read shapes that may be more than memory holds; what does not fit waits beside the file that is made of them."""
    from shapelex.io.folders import remove
    from shapelex.io.spooling import read_or_spool

    folder = target.resolve().with_name(f".{target.name}.spool")
    remove(folder)
    try:
        with screen.progress("reading") as tell:
            shapes = read_or_spool(paths, folder, progress=lambda n_done, n_all: tell(n_done / n_all, ""), **options)
        yield shapes
    finally:
        remove(folder)


def thin_out(stored: "StoredShapes", n_most: int) -> "ShapeSet":
    """Return a set in memory of at most so many shapes, spread evenly over a stored one."""
    from shapelex.io.stored_shapes import join_blocks

    step = -(-len(stored) // n_most)
    blocks, start = [], 0
    for block in stored.blocks():
        first = -start % step
        if first < len(block):
            blocks.append(block[first::step])
        start += len(block)
    joined = join_blocks(blocks)
    note = f"every {step}th of {len(stored):,} shapes" if step > 1 else f"all {len(stored):,} shapes"
    return joined.replace(notes=(*joined.notes, note))


def look_at_closed(paths: Sequence[str], screen: Screen, **options: Any) -> bool:
    """Tell whether the shapes in files are closed."""
    from shapelex.io.spooling import find_closed

    with screen.progress("looking") as tell:
        return find_closed(paths, lambda n_done, n_all: tell(n_done / n_all, ""), **options)


@contextmanager
def on_cluster(shapes: Any, path: str, address: str | None) -> Iterator[Any]:
    """Give the shapes of a file as a Dask array on the cluster of a scheduler; as they are where there is none."""
    if address is None:
        yield shapes
        return
    try:
        import dask.array
        from dask.distributed import Client
    except ImportError as error:
        raise CommandError('--scheduler needs Dask: pip install "shapelex[dask]".') from error
    try:
        client = Client(address, timeout=10, set_as_default=True)
    except (OSError, ValueError) as error:
        raise CommandError(f"no scheduler answers at {address}: {' '.join(str(error).split())}") from error
    with client:
        from shapelex.distributed import from_file
        from shapelex.io import ShapeSet

        yield dask.array.from_array(shapes.configurations) if isinstance(shapes, ShapeSet) else from_file(path)
