"""Print every table of measurements that README and docs publish: ``make bench``.

``--write`` keeps them in docs/results, from which the pages include them.

SHAPELEX_DATA names a folder of shape data, SHAPELEX_REFERENCE a checkout of the paper's code. What cannot be measured
here is skipped with one line that says why.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from measure import describe_machine, keep_results, parse_seeds

PACKAGES = ("numba", "scikit-learn", "geomstats", "spams-bin", "dictlearn")


@dataclass(frozen=True)
class Benchmark:
    """A module with a function ``main``, what it prints, and the options of the command line that it takes."""

    module: str
    prints: str
    options: tuple[str, ...] = ()

    def load(self) -> Callable[..., None]:
        """Import the module and return its function."""
        main: Callable[..., None] = import_module(self.module).main
        return main


BENCHMARKS = {
    "import": Benchmark("import_time", "time of import shapelex; not published"),
    "geometry": Benchmark("geometry_speed", "geometry beside geomstats; not published"),
    "coding": Benchmark("coding_speed", "README, Speed; docs/how-to/dictionaries.md"),
    "curve": Benchmark("coding_curve", "docs/theory/coding.md"),
    "reference": Benchmark("against.reference", "README, Speed"),
    "accuracy": Benchmark("accuracy", "README, What is here; docs/how-to/evaluation.md", ("seeds", "baseline")),
    "sparsities": Benchmark("sparsities", "docs/how-to/evaluation.md", ("seeds",)),
    "stability": Benchmark("atom_stability", "docs/how-to/evaluation.md", ("seeds",)),
    "held_out": Benchmark("held_out", "docs/how-to/evaluation.md", ("seeds",)),
    "recovery": Benchmark("against.recovery", "docs/how-to/evaluation.md", ("seeds",)),
    "align_first": Benchmark("against.align_first", "align-first beside SPAMS; not published"),
    "outlines": Benchmark("outlines", "outlines from masks; not published", ("masks",)),
    "registration": Benchmark("registration", "docs/how-to/registration.md"),
    "imputation": Benchmark("imputation", "docs/how-to/missing-landmarks.md"),
    "flicker": Benchmark("sequence_flicker", "docs/how-to/sequences.md"),
    "rhythm": Benchmark("sequence_rhythm", "docs/how-to/sequences.md"),
    "sequence_speed": Benchmark("sequence_speed", "docs/how-to/sequences.md"),
    "states": Benchmark("sequence_states", "docs/how-to/sequences.md"),
    "choosing": Benchmark("choosing", "docs/how-to/choosing.md"),
    "scaling": Benchmark("scaling", "docs/how-to/scale.md", ("largest",)),
    "importing": Benchmark("importing", "docs/how-to/scale.md", ("largest",)),
    "device": Benchmark("device_speed", "docs/how-to/gpu.md; needs torch, CuPy and a GPU", ("device",)),
    "kernel": Benchmark("kernel_profile", "counters of the fused kernel; needs torch, CuPy, a GPU and Nsight Compute"),
    "permutations": Benchmark("permutation_level", "docs/how-to/where-and-which.md"),
    "reproduce": Benchmark("reproduction", "docs/how-to/reproduce.md"),
    "classification": Benchmark("classification", "docs/how-to/classification.md"),
    "retrieval": Benchmark("retrieval", "docs/how-to/retrieval.md"),
    "shape_models": Benchmark("shape_models", "docs/how-to/statistics.md"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.largest < 4:
        parser.error(f"--largest must be at least 4, got {given.largest}.")
    if given.baseline is not None and not Path(given.baseline, "shapelex", "__init__.py").is_file():
        parser.error(f"--baseline must be a folder that holds the package shapelex, got {given.baseline}.")
    unknown = sorted(set(given.names) - set(BENCHMARKS))
    if unknown:
        raise SystemExit(f"unknown benchmarks: {', '.join(unknown)}; known are {', '.join(BENCHMARKS)}.")
    if given.list:
        for name, benchmark in BENCHMARKS.items():
            print(f"{name:15} {benchmark.prints}")
        return
    if given.write:
        keep_results()
    chosen = given.names or list(BENCHMARKS)
    print('Single benchmarks: make bench BENCHMARKS="coding importing"; their names and options: BENCHMARKS=--help.')
    print(describe_machine(PACKAGES), flush=True)
    failed = [name for number, name in enumerate(chosen, 1) if not _run(name, f"{number}/{len(chosen)}", given)]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; the errors are above.")


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {name:15} {benchmark.prints}" for name, benchmark in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"benchmarks:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="benchmark", help="benchmarks to run; all by default")
    parser.add_argument("--list", action="store_true", help="print the names of the benchmarks and run none")
    parser.add_argument(
        "--write", action="store_true", help="write the published results to docs/results, which the pages include"
    )
    parser.add_argument(
        "--largest", type=int, default=7, help="scaling and importing: up to 10**LARGEST shapes; 7 by default"
    )
    parser.add_argument(
        "--seeds",
        type=parse_seeds,
        default=parse_seeds("0-4"),
        help="accuracy, sparsities, stability, held_out, recovery: seeds such as 3,7,10-12; 0-4 by default",
    )
    parser.add_argument(
        "--baseline", metavar="FOLDER", help="accuracy: folder src of another checkout, measured in turn with this one"
    )
    parser.add_argument("--masks", type=int, default=100, help="outlines: number of masks; 100 by default")
    parser.add_argument("--device", default="cuda", help='device: torch device; "cuda" by default, or "torch"')
    return parser


def _run(name: str, number: str, given: argparse.Namespace) -> bool:
    """Run a benchmark, say on stderr which one and how long it took, and return whether it came to its end."""
    benchmark = BENCHMARKS[name]
    print(f"[{number}] {name} …", file=sys.stderr, flush=True)
    start = time.perf_counter()
    try:
        benchmark.load()(**{option: getattr(given, option) for option in benchmark.options})
    except Exception:
        traceback.print_exc()
        return False
    finally:
        sys.stdout.flush()
        print(f"[{number}] {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return True


if __name__ == "__main__":
    main()
