"""Outlines from masks: PNG label images of 512 × 512 pixels with 20 objects each, by one process and by two."""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table

SIZE, N_COLUMNS, N_ROWS = 512, 5, 4
N_POINTS = 200


def render(n_masks: int, folder: Path) -> list[Path]:
    """Write label images of wavy blobs, one in each cell of a grid, about as large as the cell."""
    from skimage.io import imsave

    paths = []
    for number in range(n_masks):
        rng = np.random.default_rng(number)
        path = folder / f"mask_{number:04d}.png"
        imsave(path, _blobs(rng), check_contrast=False)
        paths.append(path)
    return paths


def _blobs(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    labels = np.zeros((SIZE, SIZE), dtype=np.uint8)
    height, width = SIZE // N_ROWS, SIZE // N_COLUMNS
    rows, columns = np.mgrid[:height, :width]
    for cell in range(N_ROWS * N_COLUMNS):
        middle = complex(width / 2, height / 2) + rng.normal() + 1j * rng.normal()
        rays = columns + 1j * rows - middle
        angle = np.angle(rays)
        radius = rng.uniform(28, 40)
        for frequency in range(2, 7):
            radius = radius + rng.normal(0, 6 / frequency) * np.cos(frequency * angle + rng.uniform(0, 2 * np.pi))
        place = labels[(cell // N_COLUMNS) * height :, (cell % N_COLUMNS) * width :][:height, :width]
        place[np.abs(rays) <= radius] = cell + 1
    return labels


def outline(path: Path) -> tuple[int, int]:
    """Read and outline one mask; return the number of outlines and their area."""
    from skimage.io import imread

    found = sx.outlines_from_mask(imread(path), N_POINTS, which="labels")
    return len(found), sum(report.area for report in found.kept)


def _timed(paths: list[Path], n_jobs: int) -> tuple[float, int, int]:
    start = time.perf_counter()
    if n_jobs == 1:
        results: Iterator[tuple[int, int]] = map(outline, paths)
        counted = list(results)
    else:
        with ProcessPoolExecutor(n_jobs) as pool:
            counted = list(pool.map(outline, paths, chunksize=8))
    seconds = time.perf_counter() - start
    return seconds, sum(count for count, _ in counted), sum(area for _, area in counted)


def main(masks: int = 100) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = render(masks, Path(folder))
        rows = []
        for n_jobs in (1, 2):
            seconds, n_outlines, area = _timed(paths, n_jobs)
            rows.append(
                [
                    str(n_jobs),
                    str(masks),
                    str(n_outlines),
                    f"{area / n_outlines:.0f}",
                    f"{seconds:.1f}",
                    f"{masks / seconds:.1f}",
                    f"{1000 * seconds / masks:.0f}",
                ]
            )
    header = ["processes", "masks", "outlines", "mean area", "seconds", "masks a second", "s for 1,000 masks"]
    subject = f"Outlines from masks, {SIZE} × {SIZE}, {N_POINTS} points each, PNG reading included (not published)"
    print_table(subject, header, rows)
