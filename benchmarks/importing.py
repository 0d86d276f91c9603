"""How time and memory of ``shapelex import`` grow with the number of shapes, and of what is done with them after.

Every command runs in a process of its own, whose peak of resident memory is told. Shapes of 20 landmarks with ids and
labels come from tables of 100,000 shapes each, and go to ``.zarr`` and ``.npz``; then they are coded. From 1e7 shapes
on, one array is the source, and ``.zarr`` alone the target.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import shapelex as sx
from measure import print_table
from scaling import exponent, write_shapes

N_POINTS = 20
_TABLE_ROWS = 100_000
LEARN_OPTIONS = (
    "--n-atoms", 20, "--n-nonzero", 3, "--coder", "ormp", "--tie", 0, "--n-swaps", 0, "--max-iter", 3,
)  # fmt: skip


def write_tables(folder: Path, n_shapes: int) -> int:
    """Write tables of noisy circles; return their bytes."""
    folder.mkdir()
    circle = np.exp(2j * np.pi * np.arange(N_POINTS) / N_POINTS)
    n_bytes = 0
    for number, start in enumerate(range(0, n_shapes, _TABLE_ROWS)):
        rng = np.random.default_rng(number)
        n_rows = min(_TABLE_ROWS, n_shapes - start)
        rows = circle + 0.1 * rng.normal(size=(n_rows, N_POINTS, 2)).round(4) @ [1, 1j]
        shapes = sx.ShapeSet(rows.round(4), ids=np.arange(start, start + n_rows), labels=rng.choice(["a", "b"], n_rows))
        n_bytes += sx.write(shapes, folder / f"{number:04}.csv").stat().st_size
    return n_bytes


def run(*arguments: object) -> tuple[float, float]:
    """Run a command; return its seconds and its peak of memory in MiB."""
    command = [sys.executable, __file__, sys.executable, "-m", "shapelex", *map(str, arguments), "--quiet"]
    start = time.perf_counter()
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return time.perf_counter() - start, float(told)


def watch(command: list[str]) -> None:
    """Run a command and print its peak of memory in MiB; a process has one such number for all its children."""
    subprocess.run(command, check=True)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)


def main(largest: int = 7) -> None:
    table, seconds = [], {}
    for power in range(4, largest + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if power < 7:
                source, outs = folder / "tables", ["shapes.zarr", "shapes.npz"]
                kind, n_bytes = "tables", write_tables(source, 10**power)
            else:
                source, outs = folder / "shapes.npy", ["shapes.zarr"]
                write_shapes(source, 10**power, N_POINTS)
                kind, n_bytes = "one `.npy`", source.stat().st_size
            size = f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"
            imported = [run("import", source, "-o", folder / out) for out in outs]
            seconds[10**power] = imported[0][0]
            shapes, model = folder / outs[-1], folder / "model.npz"
            took, peak = run("learn", shapes, "-o", model, *LEARN_OPTIONS)
            encoded = run("encode", model, shapes, "-o", folder / "codes.parquet")
        to_npz = _format(*imported[1]) if len(imported) > 1 else ""
        origin = "" if len(imported) > 1 else ", from `.zarr`"
        cells = [_format(*imported[0]), to_npz, _format(*encoded) + origin]
        table.append([f"{10**power:,}", f"{kind}, {size}", *cells])
    print_table(
        "docs/how-to/scale.md, On the command line",
        ["shapes", "from", "`import` to `.zarr`", "`import` to `.npz`", "`encode` to `.parquet`"],
        table,
        "import-scaling",
    )
    print(f"\n`learn` from the last of these sets with 3 of 20 atoms (`ormp`, 3 iterations): {_format(took, peak)}.")
    from_tables = [(size, took) for size, took in seconds.items() if 10**4 < size < 10**7]
    if len(from_tables) > 1:
        slope = exponent(*map(list, zip(*from_tables, strict=True)))
        print(f"\nImport of tables to .zarr grows as the number of shapes to the power {slope:.2f}.")


def _format(seconds: float, peak: float) -> str:
    return f"{seconds:.1f} s ({peak:.0f} MiB)"


if __name__ == "__main__":
    watch(sys.argv[1:])
