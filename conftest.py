"""Settings of all test runs: which modules are searched for doctests, and how many examples hypothesis draws."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# Test processes run side by side: threads of the linear algebra library would only compete. Read when NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# By default every run draws the same few examples, so that `make test` has one outcome. More of them, and random ones,
# are drawn by `--hypothesis-profile=extended` and `--hypothesis-profile=random` (`make test-random`).
settings.register_profile("shapelex", max_examples=6, deadline=None, derandomize=True)
settings.register_profile("extended", max_examples=60, deadline=None, derandomize=True)
_N_RANDOM = int(os.environ.get("SHAPELEX_TEST_EXAMPLES", "60"))
settings.register_profile("random", max_examples=_N_RANDOM, deadline=None, print_blob=True)
settings.load_profile("shapelex")

_PACKAGE = Path(__file__).parent / "src"
# Modules of the package import these at the top, or name them in their doctests, only where all of it needs them.
_MISSING = [name for name in ("dask", "torch") if find_spec(name) is None]
_NAMES = "|".join(_MISSING)
_NEEDS = (
    re.compile(rf"^(?:import|from) (?:{_NAMES})\b|importorskip\(\"(?:{_NAMES})\"", re.MULTILINE) if _MISSING else None
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Compile the kernels that are not on disk yet, before the processes start that run the tests side by side."""
    # What fails there fails in a test, which names it.
    subprocess.run([sys.executable, "-m", "tests.compile_kernels"], cwd=config.rootpath, check=False)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out a module of the package that cannot be imported without the missing dependency.

    The reproduction of the paper, whose program starts anew in each test, is tested where CI is set.
    """
    if collection_path.parts[-2:] == ("tests", "benchmarks") and not os.environ.get("CI"):
        return True
    if _NEEDS is None or collection_path.suffix != ".py" or _PACKAGE not in collection_path.parents:
        return None
    return True if _NEEDS.search(collection_path.read_text(encoding="utf-8")) else None
