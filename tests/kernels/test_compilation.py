"""Compiled kernels are kept on disk where there is room for them; the first compilation of a process is announced."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest

import shapelex as sx

NOTICE = "Compiling numerical kernels"
USE = """
import numpy as np
import shapelex as sx
print(len(sx.decode(sx.SparseCodes([[0]], [[1]], 1), np.ones((1, 3), complex))[0]))
"""


def run(script, folder, **environment):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_kernels_are_kept_where_the_user_says(tmp_path):
    first = run("import numba; numba.njit(lambda x: x)(1)" + USE, tmp_path)
    assert first.stdout == "3\n"
    assert first.stderr.count(NOTICE) == 1
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".nbc", ".nbi"}
    assert run(USE, tmp_path).stderr == ""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="the folder of a user has another name on Windows")
def test_a_read_only_install_with_a_home_that_cannot_be_written_to(tmp_path):
    """Where a folder should be made is a file, which stops the superuser, too."""
    package = tmp_path / "shapelex"
    shutil.copytree(Path(sx.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").touch()
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path)}
    done = run(f"import shapelex\nassert shapelex.__file__.startswith({str(tmp_path)!r})" + USE, "", **nowhere)
    assert done.stdout == "3\n"
    assert NOTICE in done.stderr


def test_functions_of_users_that_exec_made_are_compiled():
    names = {"numba": numba, "__name__": None}
    exec("@numba.njit\ndef twice(x):\n    return 2 * x", names)
    assert names["twice"](3) == 6
