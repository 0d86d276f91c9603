"""How time and memory of ``shapelex import`` grow with the number of shapes, and of what is done with them after.

    python benchmarks/importing.py [largest exponent, default 6]

Every command runs in a process of its own, whose peak of resident memory is told. Shapes of 20 landmarks with ids and
labels come from tables of 100,000 shapes each, and go to ``.zarr`` and ``.npz``; then they are coded.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import shapelex as sx
from measure import print_table

N_POINTS = 20
_TABLE_ROWS = 100_000


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
    watch = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    command = [sys.executable, "-m", "shapelex.cli.main", *map(str, arguments), "--quiet"]
    start = time.perf_counter()
    told = subprocess.run([sys.executable, "-c", watch, *command], check=True, capture_output=True, text=True).stdout
    return time.perf_counter() - start, float(told)


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    table, sizes, seconds = [], [], []
    for power in range(4, largest + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            n_bytes = write_tables(folder / "tables", 10**power)
            cells = [f"{10**power:,}", f"{n_bytes / 1e6:,.0f} MB"]
            for out in ("shapes.zarr", "shapes.npz"):
                took, peak = run("import", folder / "tables", "-o", folder / out)
                cells += [f"{took:.1f} s", f"{peak:.0f} MiB"]
                if out.endswith(".zarr"):
                    sizes.append(10**power)
                    seconds.append(took)
            learn = ("--atoms", 20, "--nonzero", 3, "--coder", "ormp", "--max-iter", 3)
            run("learn", folder / "shapes.npz", "-o", folder / "model.npz", *learn)
            took, peak = run("encode", folder / "model.npz", folder / "shapes.npz", "-o", folder / "codes.parquet")
            table.append([*cells, f"{took:.1f} s", f"{peak:.0f} MiB"])
    slope = np.polyfit(np.log(sizes[1:]), np.log(seconds[1:]), 1)[0] if len(sizes) > 2 else float("nan")
    print_table(
        f"tables of 20 landmarks: time of import to .zarr grows as shapes^{slope:.2f} at the end",
        ["shapes", "tables", "to .zarr", "peak", "to .npz", "peak", "encode to .parquet", "peak"],
        table,
    )


if __name__ == "__main__":
    main()
