"""Long recordings: processor time and memory of codes over time, for a memory map that is read block by block.

Processor time is the sum over all threads; on two idle cores the call takes a little more than half of it.
Memory is the growth of the anonymous resident memory of the process during the call: the pages of the file, which the
system keeps as long as nobody needs the memory, do not count.
"""

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table, skip

SIZES = (10_000, 100_000, 1_000_000)
STATUS = Path("/proc/self/status")


def main() -> None:
    if not STATUS.is_file():
        skip("codes of long recordings", "memory is read from /proc")
        return
    worm = sx.datasets.make_worms(5000, 1, noise=0.003, random_state=0)
    model = sx.ShapeDictionary(8, 4, random_state=0).fit(worm)
    forth, back = np.asarray(worm), np.asarray(worm)[::-1]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recording.npy")
        n_most = max(SIZES)
        stored = np.lib.format.open_memmap(path, mode="w+", dtype=complex, shape=(n_most, 20))
        for number, start in enumerate(range(0, n_most, len(forth))):
            stored[start : start + len(forth)] = back if number % 2 else forth
        stored.flush()
        del stored
        recording = np.load(path, mmap_mode="r")
        sx.sequences.encode_sequence(recording[:1000], model, switch_cost=5e-4)
        for size in SIZES:
            for cost in (5e-4, None):
                seconds, growth = _measure(recording[:size], model, cost)
                told = "chosen" if cost is None else f"{cost:g}"
                rows.append([f"{size:,}", told, f"{seconds:.1f}", f"{growth:.0f}"])
        del recording
    header = ["frames", "cost", "processor seconds", "memory in MB, result included"]
    print_table("docs/how-to/sequences.md, Long recordings: 20 points, 4 of 8 atoms", header, rows, "sequence-speed")


def _measure(recording: Any, model: sx.ShapeDictionary, cost: float | None) -> tuple[float, float]:
    before, peak, is_done = _memory(), [0.0], threading.Event()

    def watch() -> None:
        while not is_done.wait(0.02):
            peak[0] = max(peak[0], _memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.process_time()
    sx.sequences.encode_sequence(recording, model, switch_cost=cost)
    seconds = time.process_time() - start
    is_done.set()
    watcher.join()
    return seconds, max(peak[0] - before, 0.0)


def _memory() -> float:
    """Return the anonymous resident memory in megabytes."""
    lines = STATUS.read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))


if __name__ == "__main__":
    main()
