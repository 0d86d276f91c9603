"""How the benchmarks measure and print: medians of runs that take turns, Markdown tables, reasons for skipped rows."""

import os
import platform
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


def describe_machine(packages: Sequence[str]) -> str:
    """Return one line on processor and versions."""
    versions = []
    for package in ("shapelex", "numpy", "scipy", *packages):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} not installed")
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; {', '.join(versions)}"


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, or nothing where every row was skipped."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    print_title(title)
    for row in [header, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")


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
