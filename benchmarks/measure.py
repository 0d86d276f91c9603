"""How the benchmarks measure and print: medians of runs that take turns, Markdown tables, reasons for skipped rows."""

import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any


def median_times(calls: Mapping[str, Callable[[], Any]], n_rounds: int = 15) -> dict[str, float]:
    """Return the median seconds of each call; the calls take turns, so that noise hits all alike."""
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(n_rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in seconds.items()}


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds that a text such as ``0-4`` or ``3,7,10-12`` lists.

    >>> parse_seeds("3,7,10-12")
    (3, 7, 10, 11, 12)
    """
    spans = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return tuple(seed for span in spans for seed in range(span[0], span[-1] + 1))


def format_seeds(seeds: Sequence[int]) -> str:
    """Return seeds as a text: a span where they are consecutive.

    >>> format_seeds((10, 11, 12)), format_seeds((3, 7))
    ('10–12', '3, 7')
    """
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}–{seeds[-1]}"
    return ", ".join(map(str, seeds))


def prefer_source_tree(folder: str | None) -> None:
    """Import shapelex from the given folder in this process, which must not have imported it yet."""
    if folder is None:
        return
    if "shapelex" in sys.modules:
        raise RuntimeError(f"shapelex must be imported from {folder}, but another one is imported already.")
    sys.path.insert(0, folder)


def describe_machine(packages: Sequence[str]) -> str:
    """Return one line on processor and versions."""
    versions = []
    for package in ("shapelex", "numpy", "scipy", *packages):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} not installed")
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; {', '.join(versions)}"


RESULTS = Path(__file__).parents[1] / "docs" / "results"
IMAGES = RESULTS.parent / "images"
_kept = {"writes": False}


def keep_results() -> None:
    """Write the published results to docs/results from now on: the documentation includes these files."""
    _kept["writes"] = True


def keeps_results() -> bool:
    """Tell whether the published results are written."""
    return _kept["writes"]


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], file: str | None = None) -> None:
    """Print a Markdown table, or nothing where every row was skipped; `file` is its name in docs/results."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    cells = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    print_result(title, "\n".join(f"| {' | '.join(line)} |" for line in cells), file and f"{file}.md")


def print_result(title: str, text: str, file: str | None = None) -> None:
    """Print a result under its title; `file` is its name in docs/results."""
    print_title(title)
    print(text)
    if _kept["writes"] and file is not None:
        RESULTS.joinpath(file).write_text(text + "\n", encoding="utf-8")


def keep_figure(figure: Any, file: str) -> None:
    """Save a figure of matplotlib to docs/images, where results are written."""
    if _kept["writes"]:
        import_module("shapelex.plotting").save_figure(figure, IMAGES / file, dpi=200)


def print_title(title: str) -> None:
    """Print the heading of a table: the page and section that publish it, and its subject."""
    print(f"\n### {title}\n")


def skip(what: str, reason: object) -> None:
    """Print one line on rows that cannot be measured here."""
    print(f"\nskipped: {what}: {' '.join(str(reason).split())}")


def find_peer(module: str, rows: str) -> Any | None:
    """Return a module of a package to compare with, or None, with a line on the rows that are skipped."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except (ImportError, AttributeError, OSError) as error:  # not installed, or not made for the versions that are
        skip(rows, f"{module.split('.')[0]} cannot be imported here ({error})")
        return None


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
