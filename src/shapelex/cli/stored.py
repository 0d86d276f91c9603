"""Shapes that commands read piece by piece, because they may not fit in memory, and clusters that learn from them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shapelex.cli.errors import CommandError

SUFFIXES = (".npy", ".zarr")

# Rows of a chunk that one worker codes at a time.
_CHUNK_ROWS = 100_000


def open_stored_shapes(path: str) -> Any | None:
    """Open landmarks that are read piece by piece; None where the file is of another kind."""
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES or not file.exists():
        return None
    import numpy as np

    try:
        if file.suffix.lower() == ".npy":
            return np.load(file, mmap_mode="r", allow_pickle=False)
        import zarr

        return zarr.open_array(str(file), mode="r")
    except ImportError as error:
        raise CommandError(f'{path} needs zarr: pip install "shapelex[large]".') from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CommandError(f"{path} cannot be read as one array of shapes: {reason.rstrip('.')}.") from error


@contextmanager
def on_cluster(shapes: Any, address: str | None) -> Iterator[Any]:
    """Give shapes as a Dask array on the cluster of a scheduler; as they are where there is none."""
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
        configurations = getattr(shapes, "configurations", shapes)
        rows = min(_CHUNK_ROWS, configurations.shape[0])
        yield dask.array.from_array(configurations, chunks=(rows, *configurations.shape[1:]))
