"""Compile kernels, log that the first use on a machine takes seconds, and align the arrays of their vector loops."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numba import njit
from numba.core import event

from shapelex._typing import FloatArray

logger = logging.getLogger(__name__)

NOTICE = "Compiling numerical kernels for their first use on this machine (some 10 seconds); later runs load them."


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function at its first call, and keeps the result on disk where it can.

    Small functions that several kernels share have ``forceinline=True``: a process keeps only the first of the compiled
    functions of one name that it loads, and each of them is optimized beside its caller, so it may round differently.
    Arrays are copied by loops: with ``a[:n] = b``, numba compiles its message about lengths that differ, for 2 seconds.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        shared: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
        dispatcher = njit(**shared, **options)(function)
        # Without a folder that can be written to, every process compiles again; with NUMBA_DISABLE_JIT none does.
        with suppress(RuntimeError, AttributeError):
            dispatcher.enable_caching()
        return dispatcher

    return compiled


class CompilationLog(event.Listener):
    """Log the first compilation of a process as a warning, and every one at level DEBUG."""

    def __init__(self) -> None:
        self._has_told = False

    def on_start(self, event: Any) -> None:
        """Log a compilation that begins."""
        function = event.data["dispatcher"].py_func
        # A function made by exec has no module.
        if (function.__module__ or "").partition(".")[0] != "shapelex":
            return
        if not self._has_told:
            self._has_told = True
            logger.warning(NOTICE)
        logger.debug("compiling %s", function.__name__)

    def on_end(self, event: Any) -> None:
        """Do nothing: the next message of the library shows that it goes on."""


event.register("numba:compile", CompilationLog())

# Bytes of a cache line.
_LINE = 64


def aligned(size: int, like: FloatArray) -> FloatArray:
    """Flat uninitialized array on a cache line, with the dtype of `like`; reshape it.

    A vector load that straddles two cache lines takes twice as long; on the widest loops this is a third of the whole
    time. NumPy aligns to 16 bytes only.
    """
    itemsize = like.itemsize
    raw: FloatArray = np.empty(size + _LINE // itemsize, dtype=like.dtype)
    first = -raw.ctypes.data % _LINE // itemsize
    return raw[first : first + size]


# The same for kernels.
aligned_like = kernel()(aligned)
