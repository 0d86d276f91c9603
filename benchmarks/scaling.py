"""How time and memory of a fit grow: with the number of shapes, of atoms, and of atoms per shape; from a mapped file.

Every fit runs in a process of its own, which reports its peak of memory, without the pages of the mapped file. Shapes
of 20 landmarks in complex64 lie in a ``.npy`` file; 1e7 of them are 1.6 GB, more than the fit may hold.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from measure import print_table

N_POINTS = 20
N_ITERATIONS = 3
_WRITTEN_ROWS = 1 << 17


def write_shapes(path: Path, n_shapes: int, n_points: int = N_POINTS) -> None:
    """Write sums of three of 24 atoms and noise, block by block."""
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(24, n_points)) + 1j * rng.normal(size=(24, n_points))
    shapes = np.lib.format.open_memmap(path, mode="w+", dtype=np.complex64, shape=(n_shapes, n_points))
    for start in range(0, n_shapes, _WRITTEN_ROWS):
        size = min(_WRITTEN_ROWS, n_shapes - start)
        chosen = rng.integers(0, 24, (size, 3))
        weights = rng.normal(size=(size, 3)) + 1j * rng.normal(size=(size, 3))
        block = sum(weights[:, level, None] * atoms[chosen[:, level]] for level in range(3))
        noise = rng.normal(size=(size, n_points)) + 1j * rng.normal(size=(size, n_points))
        shapes[start : start + size] = block + 0.05 * noise
    shapes.flush()


class PeakMemory(threading.Thread):
    """Looks again and again how much memory this process has taken, without the pages of mapped files.

    Those count as resident too, but belong to the cache of the system, which drops them when it needs the memory.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.mebibytes = 0.0

    def run(self) -> None:  # noqa: D102
        while True:
            status = Path("/proc/self/status").read_text()
            self.mebibytes = max(self.mebibytes, float(status.split("RssAnon:")[1].split()[0]) / 1024)
            time.sleep(0.01)


def fit_here(path: str, n_atoms: int, n_nonzero: int, coder: str) -> None:
    """Fit in this process and print what it took, as JSON."""
    import warnings

    from shapelex import ShapeDictionary

    plain: dict[str, Any] = {"tie": 0, "n_swaps": 0} if coder == "ormp" else {}
    options: dict[str, Any] = {"max_iter": N_ITERATIONS, "tol": 0, "random_state": 0}
    model = ShapeDictionary(n_atoms, n_nonzero, coder=coder, **plain, **options)
    warnings.simplefilter("ignore")
    memory = PeakMemory()
    memory.start()
    # Kernels are compiled or loaded before the clock starts.
    rng = np.random.default_rng(0)
    few = rng.normal(size=(max(200, n_atoms), N_POINTS, 2)).astype(np.float32)
    model.fit(few)
    base = memory.mebibytes
    start = time.perf_counter()
    model.fit(np.load(path, mmap_mode="r"))
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "base": base, "peak": memory.mebibytes, "rmse": model.rmse_}))


def measure(path: Path, n_atoms: int, n_nonzero: int, coder: str = "ormp") -> dict[str, float]:
    command = [sys.executable, __file__, str(path), str(n_atoms), str(n_nonzero), coder]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of time over size, both in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grow_shapes(folder: Path, largest: int) -> None:
    sizes = [10**power for power in range(3, largest + 1)]
    table, seconds = [], []
    for n_shapes in sizes:
        path = folder / "shapes.npy"
        write_shapes(path, n_shapes)
        found = measure(path, 20, 3)
        seconds.append(found["seconds"])
        size = path.stat().st_size / 1e6
        table.append(
            [
                f"{n_shapes:,}",
                f"{size:,.1f} MB" if size < 10 else f"{size:,.0f} MB",
                f"{found['seconds']:.2f} s" if found["seconds"] < 10 else f"{found['seconds']:.1f} s",
                f"{found['peak']:.0f} MiB",
            ]
        )
        path.unlink()
    from_linear = [index for index in range(len(sizes)) if index >= min(2, len(sizes) - 2)]  # fixed costs before
    slope = exponent([sizes[index] for index in from_linear], [seconds[index] for index in from_linear])
    print_table(
        f"docs/how-to/scale.md, Sets larger than memory: 3 of 20 atoms, 20 landmarks, {N_ITERATIONS} iterations",
        ["shapes", "file", "fit", "peak memory"],
        table,
        "fit-scaling",
    )
    print(f"\nTime grows as the number of shapes to the power {slope:.2f} at the end.")


def grow_dictionary(folder: Path, n_shapes: int) -> None:
    path = folder / "shapes.npy"
    write_shapes(path, n_shapes)
    for name, sizes, pairs in (
        ("atoms", [20, 40, 80, 160, 320], [(size, 3) for size in (20, 40, 80, 160, 320)]),
        ("atoms per shape", [2, 4, 8, 16], [(64, size) for size in (2, 4, 8, 16)]),
    ):
        found = [measure(path, *pair) for pair in pairs]
        slope = exponent(sizes, [one["seconds"] for one in found])
        fixed = "3 atoms per shape" if name == "atoms" else "64 atoms"
        print_table(
            f"docs/how-to/scale.md, Sets larger than memory: {n_shapes:,} shapes, {fixed}: time ~ ({name})^{slope:.2f}",
            [name, "fit", "peak memory"],
            [
                [str(size), f"{one['seconds']:.2f} s", f"{one['peak']:.0f} MiB"]
                for size, one in zip(sizes, found, strict=True)
            ],
        )


def main(largest: int = 7) -> None:
    with tempfile.TemporaryDirectory() as folder:
        grow_shapes(Path(folder), largest)
        grow_dictionary(Path(folder), 20_000 if largest < 6 else 200_000)


if __name__ == "__main__":
    fit_here(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
