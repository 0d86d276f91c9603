"""Run every benchmark and print its table: ``make bench``.

SHAPELEX_DATA names the folder of the shape data, SHAPELEX_REFERENCE a checkout of the paper's code; what needs them is
left out without them. Names of benchmarks as arguments run those alone.
"""

import sys

import accuracy
import classification
import coding_speed
import geometry_speed
import import_time
import importing
import imputation
import outlines
import registration
import scaling
from against import align_first, reference
from measure import describe_machine

BENCHMARKS = {
    "import": import_time.main,
    "geometry": geometry_speed.main,
    "coding": coding_speed.main,
    "outlines": outlines.main,
    "accuracy": accuracy.main,
    "scaling": scaling.main,
    "importing": importing.main,
    "registration": registration.main,
    "imputation": imputation.main,
    "align_first": align_first.main,
    "reference": reference.main,
    "classification": classification.main,
}


def main() -> None:
    chosen = sys.argv[1:] or list(BENCHMARKS)
    unknown = set(chosen) - set(BENCHMARKS)
    if unknown:
        raise SystemExit(f"unknown benchmarks {sorted(unknown)}; known: {', '.join(BENCHMARKS)}")
    print(describe_machine(["numba", "scikit-learn", "geomstats", "spams-bin", "dictlearn", "pyefd"]))
    for name in chosen:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
