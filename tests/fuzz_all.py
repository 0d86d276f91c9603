"""Damaged files of all kinds in large numbers: ``make fuzz N=200000``, or ``python -m tests.fuzz_all --cases 200000``.

Files of every kind, made by :mod:`tests.fuzz_targets` and, for shapes, from the folder of shared data where it is set,
are damaged and read in processes of their own. The table that is printed has, for every file, how many damaged copies
were read and refused, the longest time and the largest memory of one copy, and every case that broke a rule: an error
that is not documented, a crash, more than 10 s, or more than 512 MiB. ``--write`` keeps the sums in ``docs/results``.
"""

import argparse
import gc
import json
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from shapelex.exceptions import ShapelexError
from tests.fuzz_targets import Target, make_targets, read_shapes
from tests.io.fuzzing import damage_file

CHUNK = 2000
LONGEST = 10
LARGEST = 1 << 29
RESULTS = Path(__file__).parent.parent / "docs" / "results" / "fuzz.md"
HEADER = "| files | number | cases | read | refused | faults | longest, s | most memory, MiB |\n" + "|---" * 8 + "|\n"


class TooLongError(BaseException):
    """A case takes longer than the limit; no reader may catch it."""


def run_case(target: Target, copy: Path, seed: int) -> tuple[str, str]:
    """Read one damaged copy; return ``"read"``, ``"refused"`` or ``"fault"``, and what broke a rule."""
    damage_file(target.path, copy, seed, target.signed)
    try:
        with warnings.catch_warnings(action="ignore"):
            target.read(copy, seed)
    except ShapelexError:
        return "refused", ""
    except FileNotFoundError as error:
        # A Zarr folder without its metadata is a folder without files of shapes.
        return ("refused", "") if copy.is_dir() else ("fault", repr(error))
    except (Exception, TooLongError) as error:
        (*_, place) = traceback.extract_tb(error.__traceback__)
        where = f"{Path(place.filename).name}:{place.lineno}"
        return "fault", f"{type(error).__name__} at {where}: {error}"[:240]
    return "read", ""


def run_chunk(target: Target, first: int, last: int, done: Any) -> None:
    """Read some damaged copies of a file; write a line of JSON for each to `done`."""
    signal.signal(signal.SIGALRM, _stop)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            if seed % 100 == 0:
                gc.collect()
            Path("/proc/self/clear_refs").write_text("5")
            before, start = _memory("VmRSS"), time.perf_counter()
            signal.alarm(LONGEST)
            outcome, fault = run_case(target, Path(folder) / target.path.name, seed)
            signal.alarm(0)
            seconds, n_bytes = time.perf_counter() - start, _memory("VmHWM") - before
            if n_bytes > LARGEST:
                outcome, fault = "fault", f"took {n_bytes} bytes"
            done.write(json.dumps([seed, outcome, round(seconds, 3), n_bytes, fault]) + "\n")
            done.flush()


def _stop(*_: object) -> None:
    raise TooLongError(f"took more than {LONGEST} s")


def _memory(name: str) -> int:
    """Return bytes of memory that this process has (``VmRSS``), or the most it has had (``VmHWM``)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def run_apart(target: Target, first: int, last: int) -> Iterator[list[Any]]:
    """Run a chunk in a copy of this process; a crash or an end that does not come is a fault of its case."""
    while first < last:
        with tempfile.NamedTemporaryFile("r+") as done:
            child = os.fork()
            if child == 0:
                # Libraries of images print what they find.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
                try:
                    with Path(done.name).open("w") as own:
                        run_chunk(target, first, last, own)
                except BaseException:
                    traceback.print_exc(file=sys.stdout)
                    sys.stdout.flush()
                finally:
                    os._exit(0)
            status = _wait(child, Path(done.name))
            found = [json.loads(line) for line in done.read().splitlines()]
        yield from found
        first += len(found)
        if first < last:
            yield [first, "fault", float(LONGEST), 0, f"the process ended with {status}"]
            first += 1


def _wait(child: int, log: Path) -> int:
    """Wait for a process, and kill it where it has written nothing for long."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.time() - log.stat().st_mtime > 6 * LONGEST:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)


def find_real_targets() -> list[Target]:
    """Return the real files in the folder of shared data, where it is set."""
    if "SHAPELEX_DATA" not in os.environ:
        return []
    paths = sorted((Path(os.environ["SHAPELEX_DATA"]) / "formats").rglob("*"))
    paths = [path for path in paths if path.is_file() and not path.name.endswith("expected.json")]
    return [Target("shapes, real files", path, read_shapes) for path in paths]


def describe(name: str, cases: pd.DataFrame) -> str:
    """Return a row of the table of results."""
    counts = [int((cases["outcome"] == outcome).sum()) for outcome in ("read", "refused", "fault")]
    numbers = " | ".join(f"{number:,}" for number in (cases["file"].nunique(), len(cases), *counts))
    return f"| {name} | {numbers} | {cases['seconds'].max():.1f} | {cases['n_bytes'].max() / 2**20:.0f} |"


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="damaged copies in all")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of each file")
    parser.add_argument("--only", default="", help="a kind of file, or a part of a name")
    parser.add_argument("--write", action="store_true", help="keep the sums in docs/results")
    given = parser.parse_args()
    tables = []
    print(HEADER, end="")
    with tempfile.TemporaryDirectory() as folder:
        targets = [
            one
            for one in [*make_targets(Path(folder)), *find_real_targets()]
            if given.only in f"{one.kind} {one.path.name}"
        ]
        last = given.first + -(-given.cases // len(targets))
        for target in targets:
            chunks = [(first, min(first + CHUNK, last)) for first in range(given.first, last, CHUNK)]
            rows = [row for chunk in chunks for row in run_apart(target, *chunk)]
            cases = pd.DataFrame(rows, columns=["case", "outcome", "seconds", "n_bytes", "fault"])
            print(describe(target.path.name, cases.assign(file=0)))
            for case in cases[cases["outcome"] == "fault"].itertuples():
                print(f"  case {case.case}: {case.fault}")
            sys.stdout.flush()
            tables.append(cases.assign(kind=target.kind, file=str(target.path)))
    found = pd.concat(tables)
    sums = [describe(kind, cases) for kind, cases in found.groupby("kind", sort=False)]
    text = HEADER + "\n".join([*sums, describe("all", found)]) + "\n"
    print(f"\n{text}")
    if given.write:
        RESULTS.write_text(text)
    sys.exit(int((found["outcome"] == "fault").any()))


if __name__ == "__main__":
    main()
