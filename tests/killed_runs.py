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
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import dask
import numpy as np

import shapelex as sx

# Copies of this process have the command line imported.
from shapelex.cli.app import app
from shapelex.estimators import dictionary_learning
from tests.test_matrix import KINDS

SPACE = sx.Landmarks(8)
WAYS: dict[str, dict[str, Any]] = {
    "default": {"coder": "exact"},
    "restarts": {"coder": "ormp", "n_swaps": 0, "n_restarts": 3, "init": "random"},
    "swaps": {"coder": "beam", "n_swaps": 9},
    "batches": {"coder": "ormp", "batch_size": 40},
}
# Batches are drawn differently from arrays, from files in stretches, and from what can only be read in order.
BATCH_KINDS = ("array", "opened set", "memory map", "Zarr", "HDF5", "blocks", "stream", "Dask")

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "killed-runs.md"


class Job(NamedTuple):
    """A fit: the way of learning, the kind of input, and the device."""

    way: str
    kind: str
    device: str


class Outcome(NamedTuple):
    """What was killed how often, and what was wrong afterwards."""

    what: str
    name: str
    n_killed: int
    fault: str


def make_shapes(n_shapes: int = 400) -> Any:
    """Return shapes that no few atoms rebuild perfectly."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(n_shapes, 8)) + 1j * rng.normal(size=(n_shapes, 8))


def fit(job: Job, folder: Path) -> None:
    """Fit with a checkpoint in a folder, and store the atoms there."""
    dictionary_learning._LEAST_SECONDS = 0.0
    # The threads of Dask would not be in copies of this process.
    dask.config.set(scheduler="synchronous")
    inside = folder / "input" / f"{time.monotonic_ns()}"
    inside.mkdir(parents=True)
    model = sx.ShapeDictionary(
        5, 2, space=SPACE, max_iter=6, tol=0, random_state=1, device=job.device, n_jobs=1, **WAYS[job.way]
    ).set_params(checkpoint=folder / "fit.checkpoint")
    with warnings.catch_warnings(action="ignore"):
        np.save(folder / "atoms.npy", model.fit(KINDS[job.kind](make_shapes(), SPACE, inside)).atoms_)


def run_copy(work: Callable[[], object], seconds: float | None) -> tuple[bool, float]:
    """Run in a copy of this process, killed after some seconds; return whether it ended itself, and its duration."""
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
    return not os.WIFSIGNALED(status), time.perf_counter() - start


SCRIPT = """
import sys
from pathlib import Path
from tests.killed_runs import Job, fit
print("ready", flush=True)
fit(Job(*sys.argv[2:]), Path(sys.argv[1]))
"""


def run_process(job: Job, folder: Path, seconds: float | None, cache: Path | None = None) -> tuple[bool, float]:
    """Do the same with a fit in a process of its own, with a cache of kernels of its own where one is given."""
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


def run_fit(job: Job, folder: Path, seconds: float | None) -> tuple[bool, float]:
    """Run a fit in a copy of this process, or in a process of its own: a copy of one that uses CUDA cannot use it."""
    if job.device == "cuda":
        return run_process(job, folder, seconds)
    return run_copy(partial(fit, job, folder), seconds)


def left_alone(job: Job, folder: Path, run: Callable[..., tuple[bool, float]] = run_fit) -> tuple[Any, float]:
    """Return the atoms of a fit that is left alone, and how long it takes."""
    folder.mkdir(parents=True)
    _, duration = run(job, folder, None)
    return np.load(folder / "atoms.npy"), duration


def kill_fit(
    job: Job,
    folder: Path,
    chance: random.Random,
    expected: Any,
    duration: float,
    run: Callable[..., tuple[bool, float]] = run_fit,
) -> tuple[int, str]:
    """Kill and resume one fit; return how often it was killed, and what is wrong with the result."""
    folder.mkdir()
    n_killed = sum(not run(job, folder, chance.uniform(0, duration))[0] for _ in range(chance.choice([1, 1, 2])))
    run(job, folder, None)
    faults = [] if np.array_equal(np.load(folder / "atoms.npy"), expected) else ["other bits"]
    left = {one.name for one in folder.iterdir()} - {"atoms.npy", "input", "kernels", "fit.checkpoint.previous"}
    if left != {"fit.checkpoint"}:
        faults.append(f"left behind {sorted(left)}")
    return n_killed, "; ".join(faults)


def kill_fits(n_fits: int, seed: int, folder: Path, device: str = "torch") -> Iterator[Outcome]:
    """Kill fits of all ways, inputs and devices in turn."""
    devices = ["cpu", *([device] if find_spec("torch") is not None else [])]
    pairs = [(way, "array") for way in WAYS if way != "batches"] + [("batches", kind) for kind in BATCH_KINDS]
    jobs = [Job(*pair, device) for pair in pairs for device in devices]
    chance = random.Random(seed)
    known: dict[Job, tuple[Any, float]] = {}
    for number, job in enumerate(islice(cycle(jobs), seed % len(jobs), seed % len(jobs) + n_fits)):
        if job not in known:
            # The second run has nothing left to load.
            left_alone(job, folder / "left alone" / "-".join(job))
            known[job] = left_alone(job, folder / "left alone" / f"{'-'.join(job)} again")
        yield Outcome(
            f"fits on {job.device}", "-".join(job), *kill_fit(job, folder / f"fit {number}", chance, *known[job])
        )


def kill_cold_fits(n_fits: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Kill fits that compile their kernels, at any moment of such a fit; compare with one on compiled kernels."""
    chance, job, alone = random.Random(seed), Job("restarts", "array", "cpu"), folder / "left alone" / "kernels"
    for number in range(n_fits):
        if number == 0:
            run = partial(run_process, cache=alone / "cache")
            _, duration = left_alone(job, alone / "compiling", run)
            expected, _ = left_alone(job, alone / "compiled", run)
        own = folder / f"fit {number} that compiles"
        killed = kill_fit(job, own, chance, expected, duration, partial(run_process, cache=own / "kernels"))
        yield Outcome("fits that compile", own.name, *killed)


def read_page(path: Path) -> Any:
    content = path.read_text()
    assert content.rstrip().endswith("</html>")
    data = json.loads(content.partition('id="shapelex-data">')[2].partition("</script>")[0])
    # The command, which names the file.
    del data["provenance"]
    return (json.dumps(data),)


def read_codes(path: Path) -> Any:
    found = sx.read_codes(path)
    return found.codes.support, found.codes.coefs, found.errors


# The words of a command by the file that it writes, and what reads that file.
COMMANDS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    **{
        f"set.{end}": ("import shapes.npz", lambda path: (sx.read(path).configurations,))
        for end in ("npz", "zarr", "csv")
    },
    "fitted.npz": ("learn shapes.npz --n-atoms 4 --n-nonzero 2", lambda path: (sx.load(path).atoms_,)),
    **{
        f"codes.{end}": ("encode model.npz shapes.npz", read_codes) for end in ("csv", "parquet", "xlsx", "npz", "zarr")
    },
    "distances.csv": ("distances shapes.npz", lambda path: (path.read_text(),)),
    "series.csv": ("sequence model.npz shapes.npz", lambda path: (path.read_text(),)),
    "classifier.npz": (
        "classify shapes.npz --by label --unit none",
        lambda path: (sx.load(path).predict_proba(make_shapes()),),
    ),
    # Names and contents of the tables in a folder of results.
    "results": (
        "test shapes.npz --by label --unit none --permutations 99",
        lambda folder: [(path.name, path.read_text()) for path in sorted(folder.glob("*.csv"))],
    ),
    "page.html": ("report model.npz shapes.npz", read_page),
}


def run_command(target: Path, seconds: float | None = None) -> tuple[bool, float]:
    """Run the command that writes a file, on what lies in the folder above it, in a copy of this process."""
    words = COMMANDS[target.name][0].split()
    words = [str(target.parent.parent / word) if word.endswith(".npz") else word for word in words]
    return run_copy(lambda: app([*words, "-o", str(target), "--force", "--quiet"]), seconds)


def differences(path: Path, expected: Any, when: str) -> list[str]:
    """Read what a command wrote, and return what is wrong with it."""
    try:
        found = COMMANDS[path.name][1](path)
        if when == "half-written" and path.name == "results":
            # In a folder of results every file is whole, but not all may be there.
            expected = [one for one in expected if one in found]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    except Exception as error:
        return [f"{when}: {error!r}"[:200]]
    return []


def kill_command(target: Path, chance: random.Random, expected: Any, duration: float) -> tuple[int, str]:
    """Kill one command and run it again; return whether it was killed, and what is wrong."""
    has_old = chance.random() < 0.5
    if has_old:
        run_command(target)
    has_ended, _ = run_command(target, chance.uniform(0, duration))
    faults = differences(target, expected, "half-written") if target.exists() or has_old else []
    run_command(target)
    faults += differences(target, expected, "after running it again")
    left = {one.name for one in target.parent.iterdir()} - {target.name, f"{target.name}.json"}
    if left:
        faults.append(f"left behind {sorted(left)}")
    return int(not has_ended), "; ".join(faults)


def kill_commands(n_runs: int, seed: int, folder: Path, only: str = "") -> Iterator[Outcome]:
    """Kill all commands in turn, or those that write files with `only` in their names."""
    shapes = sx.ShapeSet(make_shapes(60), labels=["a", "b"] * 30, sequence=[0] * 60)
    sx.write(shapes, folder / "shapes.npz", overwrite=True)
    with warnings.catch_warnings(action="ignore"):
        model = sx.ShapeDictionary(4, 2, max_iter=2, random_state=0).fit(shapes)
    model.save(folder / "model.npz", overwrite=True)
    chance = random.Random(seed)
    known: dict[str, tuple[Any, float]] = {}
    names = [name for name in COMMANDS if only in name]
    for number, name in enumerate(islice(cycle(names), n_runs)):
        if name not in known:
            (folder / "whole").mkdir(exist_ok=True)
            whole = folder / "whole" / name
            # The second run has nothing left to load.
            run_command(whole)
            _, duration = run_command(whole)
            known[name] = COMMANDS[name][1](whole), duration
        own = folder / f"command {number}"
        own.mkdir()
        yield Outcome("commands", f"{number}, {name}", *kill_command(own / name, chance, *known[name]))


def describe(outcomes: Iterable[Outcome]) -> str:
    """Return a table of what was killed, and the number of faults."""
    outcomes, rows = list(outcomes), ["| what | runs | kills |", "|---|---|---|"]
    for what in [*dict.fromkeys(one.what for one in outcomes), "all"]:
        killed = [one.n_killed for one in outcomes if what in (one.what, "all")]
        rows.append(f"| {what} | {len(killed)} | {sum(killed)} |")
    return "\n".join([*rows, f"\nFaults: {sum(bool(one.fault) for one in outcomes)}.\n"])


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
    outcomes = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for outcome in chain(
            kill_fits(given.fits, given.seed, folder, given.device),
            kill_cold_fits(given.cold, given.seed, folder),
            kill_commands(given.commands, given.seed, folder, given.only),
        ):
            outcomes.append(outcome)
            print(*outcome, flush=True)
    print(describe(outcomes))
    print(*(one for one in outcomes if one.fault), sep="\n")
    if given.write:
        RESULTS.write_text(describe(outcomes))
    sys.exit(any(one.fault for one in outcomes))


if __name__ == "__main__":
    main()
