"""Shapes that commands read piece by piece, because they may not fit in memory, and clusters that learn from them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.errors import CommandError
from shapelex.cli.json_report import current_report
from shapelex.cli.screen import Screen

if TYPE_CHECKING:
    from shapelex.io.parts import AssembledShapes
    from shapelex.shapes import ShapeSet

# Shapes of a chunk that a worker reads.
_CHUNK_ROWS = 100_000


def open_stored_shapes(path: str, *, whatever_size: bool = False) -> "ShapeSet | None":
    """Open shapes that are read piece by piece: arrays, and large sets; None where the file is of another kind.

    Parameters
    ----------
    path : str
        The file.
    whatever_size : bool
        Whether small sets are opened too.
    """
    import shapelex as sx
    from shapelex.cli.shapes import with_hint
    from shapelex.exceptions import ShapelexError
    from shapelex.files.archive import read_header
    from shapelex.files.atomic import is_zarr_folder
    from shapelex.io.stored_shapes import SHAPES_FORMAT, is_large

    file = Path(path)
    is_array = file.suffix.lower() == ".npy" and file.is_file()
    is_set = file.suffix.lower() == ".npz" and file.is_file() and (whatever_size or is_large(file))
    if is_set:
        is_set = read_header(file).get("format", SHAPES_FORMAT) == SHAPES_FORMAT
    if not (is_array or is_set or is_zarr_folder(file)):
        return None
    current_report().note_inputs([path])
    try:
        stored = sx.open_shapes(file)
    except ShapelexError as error:
        raise with_hint(error, path, "shapelex import {path} -o shapes.npz") from error
    current_report().note_remarks(stored.notes)
    return stored


def open_if_large(path: str) -> "ShapeSet | None":
    """Open a large set of shapes; None for all else."""
    from shapelex.io.stored_shapes import is_large

    file = Path(path)
    return open_stored_shapes(path) if file.exists() and is_large(file) else None


@contextmanager
def assembled_shapes(
    paths: Sequence[str], target: Path, screen: Screen, **options: Any
) -> "Iterator[ShapeSet | AssembledShapes]":
    """Read shapes that may be more than memory holds; what does not fit waits beside the file that is made of them."""
    from shapelex.files.atomic import work_folder
    from shapelex.io.read import read_to

    current_report().note_inputs(paths, leaves_out=True)
    with work_folder(target) as folder:
        with screen.progress("reading") as tell:
            shapes = read_to(
                paths, folder, progress=lambda n_done, n_all: tell(n_done / n_all, ""), leave_out=target, **options
            )
        yield shapes


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
        # A default client that could not connect would stay the default of this process, and everything wait for it.
        Client(address, timeout=10, set_as_default=False).close()
        client = Client(address, timeout=10, set_as_default=True)
    except (OSError, ValueError) as error:
        raise CommandError(f"no scheduler answers at {address}: {' '.join(str(error).split())}") from error
    with client:
        from shapelex.io import open_shapes

        if shapes.in_memory:
            yield shapes.replace(configurations=dask.array.from_array(shapes.configurations))
        else:
            yield open_shapes(path, chunks=_CHUNK_ROWS).replace(space=shapes.space, preparation=shapes.preparation)
