"""Compiled kernels on disk: in comes what numba compiled, out goes the same in later processes.

There is one file for each kernel, signature and processor, where numba would put its own: in the folder that
``NUMBA_CACHE_DIR`` names, in the package, or in the user's cache folder. In three respects numba's cache would not do:

- a damaged file is an error there, and damaged machine code a crash: here each file carries a checksum, and what does
  not fit it is compiled again;
- two processes that compile at once may exchange their signatures there, since an index gives them one name: here the
  signature is in the name;
- a kernel there is not compiled again when a helper in another file has changed: here all files count.

Where no folder can be written to, kernels are compiled in every process, and the log says so once.
"""

import hashlib
import logging
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache

logger = logging.getLogger(__name__)

NO_FOLDER = (
    "No folder for compiled kernels can be written to, so that every process compiles them again (up to about 30 s in "
    "total): set NUMBA_CACHE_DIR to a folder that can."
)
NOT_KEPT = "Compiled kernels cannot be kept (%s), so that the next process compiles them again."

_DIGEST_BYTES = 32
# A file is written in milliseconds: a temporary one of this age was left by a process that was killed.
_ABANDONED_SECONDS = 60.0


class KernelCache(FunctionCache):
    """The files of one kernel."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: Any = _KernelFiles(Path(self._cache_path), self._impl.filename_base)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "KernelCache | NullCache":
        """Return the files of a kernel, or what keeps nothing where no folder can be written to."""
        try:
            return cls(function)
        except RuntimeError:
            # numba found no folder.
            _tell(NO_FOLDER)
            return NullCache()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature; None where there is nothing, or nothing that can be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            logger.debug("%s is compiled again: %s", self._py_func.__name__, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature; a full disk costs time in the next process, nothing else."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _tell(NOT_KEPT, error.strerror)


class _KernelFiles:
    """What numba's index and data files do, without an index; the key is in the names of the files."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def load(self, key: Any) -> Any:
        """Return what was saved, None where nothing whole of these sources is there."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        digest, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return pickle.loads(data) if digest == _digest(self._path(key).name, data) else None

    def save(self, key: Any, data: Any) -> None:
        """Write a file in one step."""
        from numba.core.serialize import dumps

        content = dumps(data)
        self._remove_abandoned()
        handle, name = tempfile.mkstemp(prefix=f"{self._name}.", suffix=".tmp", dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_digest(self._path(key).name, content) + content)
            Path(name).replace(self._path(key))
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise

    def flush(self) -> None:
        """Remove all files of the kernel."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"

    def _remove_abandoned(self) -> None:
        for path in self._folder.glob(f"{self._name}.*.tmp"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                    path.unlink()


def _digest(name: str, data: bytes) -> bytes:
    """Return a checksum of a file: a whole one under the name of another is damaged, too."""
    return hashlib.sha256(_stamp() + name.encode() + data).digest()


@cache
def _stamp() -> bytes:
    """Return what compiled code depends on beside its signature: the sources of all kernels, and numba."""
    total = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        total.update(path.read_bytes())
    return total.digest()


@cache
def _tell(message: str, *details: str) -> None:
    """Log once."""
    logger.warning(message, *details)
