"""Compiled kernels: the same code whatever was compiled or loaded before, on disk where there is room for it."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import shapelex as sx
from shapelex.kernels import cache as cache_module
from shapelex.kernels.cache import NO_FOLDER, NOT_KEPT
from shapelex.kernels.first_use import NOTICE

USE = """
import numpy as np
from shapelex.kernels.alignment import aligned_like
print(len(aligned_like(3, np.zeros(2))))
"""


def run(script, folder, **environment):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_kernel_shares_no_code_that_another_may_replace(tmp_path):
    """The loader keeps the first of several functions of one name; copies that were optimized apart round apart."""
    script = """
        import numpy as np
        from shapelex.kernels.reconstruction import reconstruct_batch
        from shapelex.coding import SparseCodes, decode
        decode(SparseCodes([[0]], [[1]], 1), np.ones((1, 2), complex))
        (compiled,) = reconstruct_batch.overloads.values()
        functions = [one for one in compiled.library.get_defined_functions() if "shapelex" in one.name]
        assert any("reconstruct_batch" in one.name for one in functions)
        print([one.name for one in functions if one.linkage.name.startswith(("linkonce", "weak"))])
    """
    assert run(script, tmp_path).stdout == "[]\n"


FIT = """
import os, sys, warnings
import numpy as np
import shapelex as sx
from shapelex.learning import checkpoint

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 12)) + 1j * rng.normal(size=(300, 12))

def fit(path=None):
    model = sx.ShapeDictionary(6, 3, coder="ormp", max_iter=20, tol=0, n_swaps=0, random_state=0, n_jobs=1)
    print(model.set_params(checkpoint=path).fit(X).atoms_.tobytes().hex(), flush=True)
"""
KILLED = """
write, checkpoint._LEAST_SECONDS, n_written = checkpoint.write_checkpoint, 0, 0

def write_and_die(*arguments):
    global n_written
    write(*arguments)
    n_written += 1
    if n_written == 10:
        os._exit(0)

checkpoint.write_checkpoint = write_and_die
fit()
fit("fit.checkpoint")
"""


def test_the_process_that_compiles_gives_the_bits_of_later_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = run(FIT + KILLED, tmp_path / "kernels").stdout.split()
    later = run(FIT + "fit()", tmp_path / "kernels").stdout.split()
    resumed = run(FIT + "fit('fit.checkpoint')", tmp_path / "kernels").stdout.split()
    assert len(later) == 1
    assert resumed == later
    assert first == later


def test_kernels_are_kept_where_the_user_says(tmp_path):
    assert run(USE, tmp_path).stderr.splitlines() == [NOTICE]
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".nbc"]
    assert run(USE, tmp_path).stderr == ""


@pytest.mark.parametrize("change", ["cut", "empty", "flipped", "of numba", "no file"])
def test_a_damaged_kernel_is_compiled_again(tmp_path, change):
    run(USE, tmp_path)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    content = path.read_bytes()
    if change == "no file":
        path.unlink()
        path.mkdir()
    else:
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 1
        changed = {"cut": content[:-100], "empty": b"", "flipped": bytes(flipped), "of numba": content[32:]}
        path.write_bytes(changed[change])
    done = run(USE, tmp_path)
    assert done.stdout == "3\n"
    assert NOTICE in done.stderr
    if change != "no file":
        assert run(USE, tmp_path).stderr == ""


def test_without_a_folder_kernels_are_compiled_and_the_log_says_so_once(tmp_path):
    script = """
        from numba.core import caching
        def refuse(self):
            raise PermissionError(13, "Permission denied")
        caching._CacheLocator.ensure_cache_path = refuse
        import shapelex.kernels.beam
    """
    done = run(textwrap.dedent(script) + USE, tmp_path)
    assert done.stdout == "3\n"
    assert done.stderr.splitlines().count(NO_FOLDER) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the folder of a user has another name on Windows")
def test_a_read_only_install_with_a_home_that_cannot_be_written_to(tmp_path):
    """Where a folder should be made is a file, which stops the superuser, too."""
    package = tmp_path / "shapelex"
    shutil.copytree(Path(sx.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").touch()
    codes = Path(__file__).parents[1] / "files_0_1_0" / "codes.npz"
    script = f"""
        import sys
        import shapelex
        assert shapelex.__file__.startswith({str(tmp_path)!r})
        from shapelex.cli.main import main
        sys.argv = ["shapelex", "info", {str(codes)!r}]
        try:
            main()
        except SystemExit as ended:
            assert not ended.code
    """
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path)}
    done = run(textwrap.dedent(script) + USE, "", **nowhere)
    assert done.stdout.startswith("codes of 24 shapes")
    assert done.stdout.endswith("\n3\n")
    assert sum(NO_FOLDER in line for line in done.stderr.splitlines()) == 1


def test_a_full_disk_costs_nothing_but_time(tmp_path):
    script = """
        from shapelex.kernels import cache
        def refuse(self, key, data):
            raise OSError(28, "No space left on device")
        cache._KernelFiles.save = refuse
    """
    done = run(textwrap.dedent(script) + USE, tmp_path)
    assert done.stdout == "3\n"
    assert (NOT_KEPT % "No space left on device") in done.stderr.splitlines()


class TestFiles:
    @pytest.fixture
    def files(self, tmp_path):
        return cache_module._KernelFiles(tmp_path, "kernel")

    def test_signatures_have_files_of_their_own(self, files):
        files.save(("float64",), [1])
        files.save(("float32",), [2])
        assert files.load(("float64",)) == [1]
        assert files.load(("float32",)) == [2]
        assert files.load(("int64",)) is None

    def test_another_version_of_any_kernel_is_compiled_again(self, files, monkeypatch):
        files.save("key", 1)
        monkeypatch.setattr(cache_module, "_stamp", lambda: b"another")
        assert files.load("key") is None

    def test_what_a_killed_process_left_is_removed(self, files, tmp_path):
        old, new = tmp_path / "kernel.a.tmp", tmp_path / "kernel.b.tmp"
        for path in (old, new):
            path.write_bytes(b"half")
        os.utime(old, (0, 0))
        files.save("key", 1)
        assert not old.exists()
        assert new.exists()

    def test_flush(self, files, tmp_path):
        files.save("key", 1)
        files.flush()
        assert list(tmp_path.iterdir()) == []
