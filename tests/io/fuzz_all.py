"""Damaged files of all formats in large numbers: ``python -m tests.io.fuzz_all --cases 2000``.

Files of every format, made here and from the folder of shared data where it is set, are damaged by ``damage`` and read
in processes of their own. The table that is printed has, for every file, how many damaged copies were read and refused,
the longest time and the largest memory of one copy, and every case that broke a rule: an error that is not documented,
a crash, more than 10 s, or more than 1 GiB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import shapelex as sx
from shapelex.exceptions import ShapelexError
from tests.io.fuzzing import damage

CHUNK = 250
LONGEST = 10.0
LARGEST = 1 << 30


def make_files(folder: Path) -> None:
    """Write a file of every format that we or the libraries of the tests can write."""
    import tifffile
    from PIL import Image

    from tests.io import test_cellpose, test_deeplabcut, test_r_array, test_sleap, test_wkt
    from tests.io.test_csv import LONG, WIDE
    from tests.io.test_fuzzing import CASES  # imported here: that module imports this one

    for name, (content, _) in CASES.items():
        (folder / name).write_bytes(content)
    texts = {
        "long.csv": LONG,
        "wide2.csv": WIDE,
        "track.wkt": test_wkt.TRACK,
        "a_cp_outlines.txt": test_cellpose.OUTLINES * 3,
        "dlc_single.csv": test_deeplabcut.SINGLE,
        "dlc_several.csv": test_deeplabcut.SEVERAL,
        "r_array.csv": test_r_array.ARRAY,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    rng = np.random.default_rng(0)
    names = test_deeplabcut.header(("a", "b"))
    test_deeplabcut.save_table(folder / "dlc.h5", names, rng.random((20, 18)), np.arange(20))
    test_sleap.save(folder / "sleap.h5", dims=True)
    shapes = sx.ShapeSet(
        rng.normal(size=(5, 6, 2)),
        sx.Landmarks(6, closed=True),
        labels=list("aabbc"),
        sequence=[0, 0, 1, 1, -1],
        metadata={"frame": range(5), "site": list("vwxyz"), "weight": rng.random(5)},
        notes=["made"],
    )
    for name in ("own.npz", "own.csv", "own.tsv", "own.tps", "own.xlsx", "own.parquet", "own.npy"):
        if name == "own.npy":
            np.save(folder / name, shapes.configurations)
        else:
            sx.write(shapes, folder / name)
    np.savez_compressed(folder / "plain.npz", points=rng.normal(size=(3, 5, 2)), labels=["a", "", "b"])
    labels = np.zeros((60, 80), np.uint16)
    labels[5:20, 5:30], labels[30:50, 10:40], labels[20:28, 50:70] = 1, 2, 7
    tifffile.imwrite(folder / "labels64.tif", labels.astype(np.int64))
    tifffile.imwrite(folder / "imagej.tif", labels, imagej=True)
    tifffile.imwrite(folder / "film.tif", np.stack([labels] * 4), imagej=True, metadata={"axes": "TYX"})
    tifffile.imwrite(folder / "packed.tif", labels, compression="zlib")
    Image.fromarray((labels > 0).astype(np.uint8) * 255).save(folder / "binary.png")
    Image.fromarray((labels > 0).astype(np.uint8) * 255).save(folder / "binary.jpg")


def options_of(name: str, seed: int) -> dict[str, object]:
    """Return options for a file, which differ from case to case."""
    fitted: dict[str, object] = {"space": sx.BSpline(5), "closed": True}
    choices: list[dict[str, object]] = [{"n_points": 20}, {}, {"missing": "allow"}, fitted]
    options = dict(choices[seed // 3 % 4])
    if seed % 3 == 0:
        options["on_error"] = "skip"
    if name in ("blocks.csv", "hands_reference_layout.csv.gz"):
        options["layout"] = "blocks"
    return options


def run_chunk(path: Path, first: int, last: int) -> dict[str, object]:
    """Read some damaged copies of a file, and say what happened."""
    content = path.read_bytes()
    found: dict[str, object] = {"read": 0, "refused": 0, "longest": 0.0, "faults": []}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        base = _largest()
        for seed in range(first, last):
            copy.write_bytes(damage(content, seed))
            start = time.perf_counter()
            fault = ""
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    sx.read(copy, **options_of(path.name, seed))
                found["read"] += 1  # type: ignore[operator]
            except ShapelexError:
                found["refused"] += 1  # type: ignore[operator]
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
            seconds = time.perf_counter() - start
            found["longest"] = max(found["longest"], seconds)  # type: ignore[call-overload]
            if seconds > LONGEST:
                fault = fault or f"took {seconds:.1f} s"
            if fault:
                found["faults"].append(f"{path.name}, case {seed}: {fault}"[:300])  # type: ignore[attr-defined]
        found["bytes"] = _largest() - base
    return found


def _largest() -> int:
    """Return the most bytes of memory that this process has had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def run_apart(path: Path, first: int, last: int) -> dict[str, object]:
    """Run a chunk in a process of its own; a crash or a hang is a fault."""
    chosen = ["--file", str(path), "--first", str(first), "--last", str(last)]
    command = [sys.executable, "-m", "tests.io.fuzz_all", *chosen]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST * (last - first))
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        reason = "did not end"
    except (IndexError, ValueError):
        reason = f"crashed with {done.returncode}: {done.stderr[-200:]}"
    fault = f"{path.name}, cases {first} to {last}: {reason}"
    return {"read": 0, "refused": 0, "longest": 0.0, "bytes": 0, "faults": [fault]}


def main() -> None:
    """Run all, or one chunk."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=2000, help="damaged copies of each file")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--first", type=int)
    parser.add_argument("--last", type=int)
    given = parser.parse_args()
    if given.file is not None:
        print(json.dumps(run_chunk(given.file, given.first, given.last)))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        paths = sorted(Path(folder).iterdir())
        if "SHAPELEX_DATA" in os.environ:
            real = sorted((Path(os.environ["SHAPELEX_DATA"]) / "formats").rglob("*"))
            paths += [path for path in real if path.is_file() and not path.name.endswith(".expected.json")]
        chunks = [
            (path, first, min(first + CHUNK, given.cases)) for path in paths for first in range(0, given.cases, CHUNK)
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda chunk: run_apart(*chunk), chunks))
    total = {"read": 0, "refused": 0}
    print(f"{'file':<44}{'read':>8}{'refused':>8}{'longest, s':>12}{'most, MiB':>11}{'faults':>8}")
    faults: list[str] = []
    for path in paths:
        own = [result for chunk, result in zip(chunks, results, strict=True) if chunk[0] == path]
        n_read, n_refused = (sum(result[name] for result in own) for name in total)  # type: ignore[misc]
        longest, most = (max(result[name] for result in own) for name in ("longest", "bytes"))  # type: ignore[type-var]
        new = [fault for result in own for fault in result["faults"]]  # type: ignore[attr-defined]
        if most > LARGEST:  # type: ignore[operator]
            new.append(f"{path.name}: one of its cases took {most} bytes")
        faults += new
        total = {"read": total["read"] + n_read, "refused": total["refused"] + n_refused}
        print(f"{path.name:<44}{n_read:>8}{n_refused:>8}{longest:>12.2f}{most / 2**20:>11.0f}{len(new):>8}")  # type: ignore[operator]
    n_files = len(paths) * given.cases
    print(f"{n_files} files: {total['read']} read, {total['refused']} refused, {len(faults)} faults")
    print("\n".join(faults))


if __name__ == "__main__":
    main()
