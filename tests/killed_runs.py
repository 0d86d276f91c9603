"""Fits and commands that are killed at random moments: ``python -m tests.killed_runs --fits 100 --commands 100``.

Every fit is killed by SIGKILL once or more, resumed, and compared bit by bit with one that was left alone; `--cold`
of them start without compiled kernels, in processes of their own. Every command is killed while it writes a new file or
replaces one: what has the final name must be whole, the old file or the new one; and after the command has run again,
no other file may be left. With torch installed, half of the fits run on its CPU device; `--device` names another.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dask
import numpy as np

import shapelex as sx
from shapelex.learning import checkpoint
from tests.test_matrix import KINDS

N_COORDINATES = 8
WAYS: dict[str, dict[str, Any]] = {
    "default": {"coder": "exact"},
    "restarts": {"coder": "ormp", "n_swaps": 0, "n_restarts": 3, "init": "random"},
    "swaps": {"coder": "beam", "n_swaps": 9},
    "batches": {"coder": "ormp", "batch_size": 40},
}
# Batches are drawn differently from arrays, from files in stretches, and from what can only be read in order.
BATCH_KINDS = ("array", "opened set", "memory map", "Zarr", "HDF5", "blocks", "stream", "Dask")

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "killed-runs.md"

Job = tuple[str, str, str]


def make_shapes() -> Any:
    """Return shapes that no few atoms rebuild perfectly."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(400, N_COORDINATES)) + 1j * rng.normal(size=(400, N_COORDINATES))


def fit(job: Job, folder: Path, path: Path | None) -> Any:
    """Return the atoms of one fit."""
    way, kind, device = job
    checkpoint._LEAST_SECONDS = 0.0
    # The threads of Dask would not be in copies of this process.
    dask.config.set(scheduler="synchronous")
    inside = folder / "input" / f"{time.monotonic_ns()}"
    inside.mkdir(parents=True)
    X = KINDS[kind](make_shapes(), sx.Landmarks(N_COORDINATES), inside)
    model = sx.ShapeDictionary(
        5, 2, space=sx.Landmarks(N_COORDINATES), max_iter=6, tol=0, random_state=1, device=device, n_jobs=1, **WAYS[way]
    )
    with warnings.catch_warnings(action="ignore"):
        return model.set_params(checkpoint=path).fit(X).atoms_


def run_killed(work: Callable[[], object], seconds: float | None) -> bool:
    """Run in a copy of this process, which is killed after some seconds; return whether it ended before."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        status = 1
        try:
            work()
            status = 0
        except SystemExit as ended:
            status = int(ended.code or 0)
        finally:
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if seconds is None and status != 0:
        raise RuntimeError(f"a run that was left alone ended with {status}")
    return not os.WIFSIGNALED(status)


def run_copy(job: Job, folder: Path, seconds: float | None) -> tuple[bool, float]:
    """Run a fit in a copy of this process; return whether it ended before it was killed, and how long it took."""

    def work() -> None:
        np.save(folder / "atoms.npy", fit(job, folder, folder / "fit.checkpoint"))

    return _timed(partial(run_killed, work, seconds))


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from tests.killed_runs import fit
print("ready", flush=True)
folder = Path(sys.argv[1])
np.save(folder / "atoms.npy", fit(tuple(sys.argv[2:]), folder, folder / "fit.checkpoint"))
"""


def run_process(job: Job, folder: Path, seconds: float | None, cache: Path | None = None) -> tuple[bool, float]:
    """Do the same in a process of its own, with a cache of kernels of its own where one is given."""
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(folder), *job]
    environment = {**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        start = time.perf_counter()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"a fit ended with {process.returncode}")
    return process.returncode == 0, time.perf_counter() - start


def kill_fit(
    job: Job,
    folder: Path,
    chance: random.Random,
    expected: Any,
    duration: float,
    run: Callable[..., tuple[bool, float]],
) -> tuple[int, str]:
    """Kill and resume one fit; return how often it was killed, and what is wrong with the result."""
    n_killed = sum(not run(job, folder, chance.uniform(0, duration))[0] for _ in range(chance.choice([1, 1, 2])))
    run(job, folder, None)
    faults = []
    if not np.array_equal(np.load(folder / "atoms.npy"), expected):
        faults.append("other bits")
    left = {one.name for one in folder.iterdir()} - {"atoms.npy", "input", "kernels", "fit.checkpoint.previous"}
    if left != {"fit.checkpoint"}:
        faults.append(f"left behind {sorted(left)}")
    return n_killed, "; ".join(faults)


def commands(folder: Path) -> dict[str, tuple[list[str], Callable[[Path], Any]]]:
    """Return commands by the file that each writes, and what reads that file."""
    shapes, model = str(folder / "shapes.npz"), str(folder / "model.npz")

    def codes(path: Path) -> Any:
        found = sx.read_codes(path)
        return found.codes.support, found.codes.coefs, found.errors

    def page(path: Path) -> Any:
        content = path.read_text()
        assert content.rstrip().endswith("</html>")
        data = json.loads(content.partition('id="shapelex-data">')[2].partition("</script>")[0])
        # The command, which names the file.
        del data["provenance"]
        return (json.dumps(data),)

    return {
        "set.npz": (["import", shapes], lambda path: (sx.read(path).configurations,)),
        "set.zarr": (["import", shapes], lambda path: (sx.read(path).configurations,)),
        "set.csv": (["import", shapes], lambda path: (sx.read(path).configurations,)),
        "fitted.npz": (["learn", shapes, "--atoms", "4", "--nonzero", "2"], lambda path: (sx.load(path).atoms_,)),
        "codes.csv": (["encode", model, shapes], codes),
        "codes.parquet": (["encode", model, shapes], codes),
        "codes.xlsx": (["encode", model, shapes], codes),
        "codes.npz": (["encode", model, shapes], codes),
        "codes.zarr": (["encode", model, shapes], codes),
        "distances.csv": (["distances", shapes], lambda path: (path.read_text(),)),
        "series.csv": (["sequence", model, shapes], lambda path: (path.read_text(),)),
        "classifier.npz": (
            ["classify", shapes, "--by", "label"],
            lambda path: (sx.load(path).predict_proba(make_shapes()),),
        ),
        "results": (["test", shapes, "--by", "label", "--permutations", "99"], _read_tables),
        "page.html": (["report", model, shapes], page),
    }


def _read_tables(folder: Path) -> Any:
    """Return the tables in a folder of results; their names and contents are compared."""
    return [(path.name, path.read_text()) for path in sorted(folder.glob("*.csv"))]


def run_command(words: list[str], target: Path) -> None:
    """Run a command in this process."""
    from shapelex.cli.app import app

    app([*words, "-o", str(target), "--force", "--quiet"], standalone_mode=True)


def kill_command(name: str, folder: Path, chance: random.Random, expected: Any, duration: float) -> tuple[int, str]:
    """Kill one command and run it again; return whether it was killed, and what is wrong."""
    words, read = commands(folder.parent)[name]
    target = folder / name
    has_old = chance.random() < 0.5
    if has_old:
        run_killed(lambda: run_command(words, target), None)
    is_killed = not run_killed(lambda: run_command(words, target), chance.uniform(0, duration))
    faults = []
    if target.exists() or has_old:
        try:
            found = read(target)
            # In a folder of results every file is whole, but not all may be there.
            _assert_same(found, [one for one in expected if one in found] if name == "results" else expected)
        except Exception as error:
            faults.append(f"half-written: {error!r}"[:200])
    run_killed(lambda: run_command(words, target), None)
    try:
        _assert_same(read(target), expected)
    except Exception as error:
        faults.append(f"after running it again: {error!r}"[:200])
    left = {one.name for one in folder.iterdir()} - {name, f"{name}.json"}
    if left:
        faults.append(f"left behind {sorted(left)}")
    return int(is_killed), "; ".join(faults)


def _assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def run_fits(
    n_fits: int, seed: int, folder: Path, tell: Callable[[str], object], device: str = "torch"
) -> tuple[Counter[str], list[str]]:
    """Kill fits of all ways, inputs and devices in turn."""
    devices = ["cpu", *([device] if find_spec("torch") is not None else [])]
    jobs = [(way, "array", device) for way in WAYS if way != "batches" for device in devices]
    jobs += [("batches", kind, device) for kind in BATCH_KINDS for device in devices]
    chance, counts, faults = random.Random(seed), Counter[str](), []
    known: dict[Job, tuple[Any, float]] = {}
    for number in range(n_fits):
        job = jobs[(number + seed) % len(jobs)]
        # A copy of a process that uses CUDA cannot use it.
        run = run_process if job[2] == "cuda" else run_copy
        if job not in known:
            known[job] = _left_alone(job, folder / "left alone" / "-".join(job), run)
        own = folder / f"fit {number}"
        own.mkdir()
        n_killed, fault = kill_fit(job, own, chance, *known[job], run)
        what = f"fits on {job[2]}"
        counts.update({what: 1, f"kills of {what}": n_killed})
        faults += [f"fit {number}, {job}: {fault}"] * bool(fault)
        tell(f"fit {number} {job}: killed {n_killed} times {fault}")
    return counts, faults


def run_cold_fits(
    n_fits: int, seed: int, folder: Path, tell: Callable[[str], object]
) -> tuple[Counter[str], list[str]]:
    """Kill fits that compile their kernels, at any moment of such a fit; compare with one on compiled kernels."""
    chance, counts, faults = random.Random(seed), Counter[str](), []
    job: Job = ("restarts", "array", "cpu")
    alone = folder / "left alone" / "kernels"
    for number in range(n_fits):
        if number == 0:
            _, duration = _left_alone(job, alone / "compiling", partial(run_process, cache=alone / "cache"), 1)
            expected, _ = _left_alone(job, alone / "compiled", partial(run_process, cache=alone / "cache"), 1)
        own = folder / f"fit {number} that compiles"
        own.mkdir()
        run = partial(run_process, cache=own / "kernels")
        n_killed, fault = kill_fit(job, own, chance, expected, duration, run)
        counts.update({"fits that compile": 1, "kills of fits that compile": n_killed})
        faults += [f"fit {number} that compiles: {fault}"] * bool(fault)
        tell(f"fit {number} that compiles: killed {n_killed} times {fault}")
    return counts, faults


def _left_alone(job: Job, folder: Path, run: Callable[..., tuple[bool, float]], n_runs: int = 2) -> tuple[Any, float]:
    """Return the atoms of a fit that is left alone, and how long the last of `n_runs` such fits takes."""
    for number in range(n_runs):
        own = folder / str(number)
        own.mkdir(parents=True)
        _, duration = run(job, own, None)
    return np.load(own / "atoms.npy"), duration


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--commands", type=int, default=100)
    parser.add_argument("--device", default="torch", help="the device of every other fit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="commands that write files with this in their names")
    parser.add_argument("--write", action="store_true", help="keep the counts in docs/results")
    given = parser.parse_args()
    tell = lambda text: print(text, flush=True)  # noqa: E731
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        counts, faults = run_fits(given.fits, given.seed, folder, tell, given.device)
        new_counts, new_faults = run_cold_fits(given.cold, given.seed, folder, tell)
        counts, faults = counts + new_counts, faults + new_faults
        new_counts, new_faults = run_commands(given.commands, given.seed, folder, tell, given.only)
    tell(", ".join(f"{name}: {number}" for name, number in (counts + new_counts).items()))
    tell(f"{len(faults + new_faults)} faults")
    if given.write:
        RESULTS.write_text(describe(counts + new_counts, faults + new_faults))
    tell("\n".join(faults + new_faults))
    sys.exit(bool(faults + new_faults))


def describe(counts: Counter[str], faults: list[str]) -> str:
    """Return a table of what was killed, and what went wrong."""
    kinds = [what for what in counts if f"kills of {what}" in counts]
    rows = [f"| {what} | {counts[what]} | {counts[f'kills of {what}']} |" for what in kinds]
    rows.append(
        f"| all | {sum(counts[what] for what in kinds)} | {sum(counts[f'kills of {what}'] for what in kinds)} |"
    )
    table = "\n".join(["| what | runs | kills |", "|---|---|---|", *rows])
    return f"{table}\n\nFaults: {len(faults)}.\n"


def run_commands(
    n_runs: int, seed: int, folder: Path, tell: Callable[[str], object], only: str = ""
) -> tuple[Counter[str], list[str]]:
    """Kill all commands in turn, or those that write files with `only` in their names."""
    sx.write(
        sx.ShapeSet(make_shapes()[:60], labels=["a", "b"] * 30, sequence=[0] * 60),
        folder / "shapes.npz",
        overwrite=True,
    )
    with warnings.catch_warnings(action="ignore"):
        model = sx.ShapeDictionary(4, 2, max_iter=2, random_state=0).fit(sx.read(folder / "shapes.npz"))
    model.save(folder / "model.npz", overwrite=True)
    chance, counts, faults = random.Random(seed), Counter[str](), []
    known: dict[str, tuple[Any, float]] = {}
    for number in range(n_runs):
        names = [name for name in commands(folder) if only in name]
        name = names[number % len(names)]
        if name not in known:
            words, read = commands(folder)[name]
            (folder / "whole").mkdir(exist_ok=True)
            target = folder / "whole" / name
            # The second run has nothing left to import.
            for _ in range(2):
                _, duration = _timed(lambda: run_killed(lambda: run_command(words, target), None))  # noqa: B023
            known[name] = read(target), duration
        own = folder / f"command {number}"
        own.mkdir()
        n_killed, fault = kill_command(name, own, chance, *known[name])
        counts.update({"commands": 1, "kills of commands": n_killed})
        faults += [f"command {number}, {name}: {fault}"] * bool(fault)
        tell(f"command {number} {name}: killed {n_killed} times {fault}")
    return counts, faults


if __name__ == "__main__":
    main()
