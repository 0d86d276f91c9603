"""Fits and commands that are killed at random moments: ``python -m tests.killed_runs --fits 100 --commands 100``.

Every fit is killed by SIGKILL once or more, resumed, and compared bit by bit with one that was left alone; `--cold`
of them start without compiled kernels, in processes of their own. Every command is killed while it writes a new file or
replaces one: what has the final name must be whole, the old file or the new one; and after the command has run again,
no other file may be left. With torch installed, half of the fits run on its CPU device.
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
    "nested": {"coder": "exact", "n_swaps": 9},
    "restarts": {"coder": "ormp", "n_swaps": 0, "n_restarts": 3, "init": "random"},
    "beam": {"coder": "beam", "tie": 0, "n_swaps": 20},
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


def kill_fit(job: Job, folder: Path, chance: random.Random, expected: Any, duration: float) -> tuple[int, str]:
    """Kill and resume one fit; return how often it was killed, and what is wrong with the result."""
    path, n_killed = folder / "fit.checkpoint", 0
    for _ in range(chance.choice([1, 1, 2])):
        n_killed += not run_killed(lambda: fit(job, folder, path), chance.uniform(0, duration))
    run_killed(lambda: np.save(folder / "atoms.npy", fit(job, folder, path)), None)
    faults = []
    if not np.array_equal(np.load(folder / "atoms.npy"), expected):
        faults.append("other bits")
    left = sorted({one.name for one in folder.iterdir()})
    if left not in (
        ["atoms.npy", "fit.checkpoint", "fit.checkpoint.previous", "input"],
        ["atoms.npy", "fit.checkpoint", "input"],
    ):
        faults.append(f"left behind {left}")
    return n_killed, "; ".join(faults)


COLD = """
import sys
from pathlib import Path
import numpy as np
from tests.killed_runs import fit
np.save(sys.argv[2], fit(("restarts", "array", sys.argv[3]), Path(sys.argv[1]), Path(sys.argv[1]) / "fit.checkpoint"))
"""


def kill_cold_fit(folder: Path, chance: random.Random, expected: Any, seconds: float, device: str) -> tuple[int, str]:
    """Kill a fit while it compiles its kernels, or soon after; resume it, and compare with one on compiled kernels."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels")}
    command = [sys.executable, "-W", "ignore", "-c", COLD, str(folder), str(folder / "atoms.npy"), device]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        process.wait(chance.uniform(0, seconds))
    except subprocess.TimeoutExpired:
        process.kill()
    is_killed = process.wait() == -signal.SIGKILL
    subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=True)
    is_same = np.array_equal(np.load(folder / "atoms.npy"), expected)
    return int(is_killed), "" if is_same else "other bits after a fit that compiled its kernels"


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
        "page.html": (["report", model, shapes], page),
    }


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
            _assert_same(read(target), expected)
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


def run_fits(n_fits: int, seed: int, folder: Path, tell: Callable[[str], object]) -> tuple[Counter[str], list[str]]:
    """Kill fits of all ways, inputs and devices in turn."""
    devices = ["cpu", *(["torch"] if find_spec("torch") is not None else [])]
    jobs = [(way, "array", device) for way in WAYS if way != "batches" for device in devices]
    jobs += [("batches", kind, device) for kind in BATCH_KINDS for device in devices]
    chance, counts, faults = random.Random(seed), Counter[str](), []
    known: dict[Job, tuple[Any, float]] = {}
    for number in range(n_fits):
        job = jobs[number % len(jobs)]
        own = folder / f"fit {number}"
        own.mkdir()
        if job not in known:
            fit(job, own, None)
            known[job] = _timed(lambda job=job, own=own: fit(job, own, None))
        n_killed, fault = kill_fit(job, own, chance, *known[job])
        counts.update({f"fits, {job[0]}, {job[2]}": 1, "fits": 1, "kills of fits": n_killed})
        faults += [f"fit {number}, {job}: {fault}"] * bool(fault)
        tell(f"fit {number} {job}: killed {n_killed} times {fault}")
    return counts, faults


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--commands", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="commands that write files with this in their names")
    parser.add_argument("--write", action="store_true", help="keep the counts in docs/results")
    given = parser.parse_args()
    tell = lambda text: print(text, flush=True)  # noqa: E731
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        counts, faults = run_fits(given.fits, given.seed, folder, tell)
        chance = random.Random(given.seed)
        job = ("restarts", "array", "cpu")
        for number in range(given.cold):
            own = folder / f"cold {number}"
            own.mkdir()
            n_killed, fault = kill_cold_fit(own, chance, fit(job, own, None), 60, "cpu")
            counts.update({"fits, cold": 1, "fits": 1, "kills of fits": n_killed})
            faults += [f"cold fit {number}: {fault}"] * bool(fault)
            tell(f"cold fit {number}: killed {n_killed} times {fault}")
        new_counts, new_faults = run_commands(given.commands, given.seed, folder, tell, given.only)
    tell(", ".join(f"{name}: {number}" for name, number in (counts + new_counts).items()))
    tell(f"{len(faults + new_faults)} faults")
    if given.write:
        RESULTS.write_text(describe(counts + new_counts, faults + new_faults))
    tell("\n".join(faults + new_faults))
    sys.exit(bool(faults + new_faults))


def describe(counts: Counter[str], faults: list[str]) -> str:
    """Return a table of what was killed, and what went wrong."""
    rows = [
        f"| {what} | {counts[what]} | {counts[f'kills of {what}']} | {sum(one.startswith(words) for one in faults)} |"
        for what, words in (("fits", ("fit", "cold")), ("commands", ("command",)))
    ]
    return "\n".join(["| what | runs | kills | faults |", "|---|---|---|---|", *rows]) + "\n"


def run_commands(
    n_runs: int, seed: int, folder: Path, tell: Callable[[str], object], only: str = ""
) -> tuple[Counter[str], list[str]]:
    """Kill all commands in turn, or those that write files with `only` in their names."""
    sx.write(sx.ShapeSet(make_shapes()[:60], labels=["a", "b"] * 30), folder / "shapes.npz", overwrite=True)
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
        counts.update({f"commands, {name}": 1, "commands": 1, "kills of commands": n_killed})
        faults += [f"command {number}, {name}: {fault}"] * bool(fault)
        tell(f"command {number} {name}: killed {n_killed} times {fault}")
    return counts, faults


if __name__ == "__main__":
    main()
