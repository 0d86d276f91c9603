"""``make paper``: repeat the experiments of the paper, and write its table and figures."""

import argparse
import shlex
import sys
from pathlib import Path

from paper import PAPER_SETS, find_sets, reproduce
from paper.measure import SetResult
from shapelex.exceptions import ShapelexError

NAMES = tuple(paper_set.name for paper_set in PAPER_SETS)


def main() -> None:
    """Find the datasets, run the experiments and say where the page is."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path("reproduction"), help="folder for the page and figures")
    parser.add_argument("--data", type=Path, help="use only the datasets in this folder, and download nothing")
    parser.add_argument("--only", help=f"datasets to run, such as 2,3; all of {', '.join(NAMES)} by default")
    parser.add_argument("--quick", action="store_true", help="use few shapes and updates, to test the installation")
    parser.add_argument("--random-state", type=int, default=0, help="seed of the random numbers")
    given = parser.parse_args()
    only = None if given.only is None else [name.strip() for name in given.only.split(",") if name.strip()]
    if only is not None and (not only or not set(only) <= set(NAMES)):
        parser.error(f"--only: datasets are {', '.join(NAMES)}, got {given.only!r}.")
    if given.data is not None and not given.data.is_dir():
        parser.error(f"--data: there is no folder {given.data}.")
    if given.out.exists() and any(given.out.iterdir()) and not (given.out / "results.json").is_file():
        parser.error(f"-o: {given.out} holds other files than those of this program: choose another folder.")
    try:
        sets = find_sets(given.data, only)
        command = shlex.join(["python", "-m", "paper", *sys.argv[1:]])
        found = reproduce(given.out, sets, quick=given.quick, random_state=given.random_state, command=command,
                          finished=_tell)  # fmt: skip
    except KeyboardInterrupt:
        sys.exit(f"interrupted: {given.out} has the datasets that were finished.")
    except (ShapelexError, OSError) as error:
        sys.exit(str(error))
    for name, reason in found.missing.items():
        print(f"skipped dataset {name}: {reason}")
    print(f"wrote {found.page}")


def _tell(result: SetResult) -> None:
    errors = ", ".join(f"{method} {100 * one.rmse:.2f} %" for method, one in result.measured.items())
    print(f"dataset {result.paper_set.name}: {errors}; the paper {result.paper_set.paper_rmse:.2f} %", flush=True)


if __name__ == "__main__":
    main()
