"""Compile kernels, keep them in numba's cache, and log that the first use on a machine takes seconds."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core import codegen, event
from numba.core.compiler import Compiler

logger = logging.getLogger(__name__)

# How names of compiled functions of this package begin.
_PACKAGE = f"_ZN{len(__package__.partition('.')[0])}{__package__.partition('.')[0]}"

NOTICE = "Compiling numerical kernels for their first use on this machine (up to about a minute); later runs load them."


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function at its first call, and keeps the result on disk where it can."""

    def compiled(function: Callable[..., Any]) -> Any:
        shared: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
        dispatcher = njit(pipeline_class=_KernelCompiler, **shared, **options)(function)
        # Without a folder that can be written to, every process compiles again; with NUMBA_DISABLE_JIT none does.
        with suppress(RuntimeError, AttributeError):
            dispatcher.enable_caching()
        return dispatcher

    return compiled


class _KernelLibrary(codegen.JITCodeLibrary):
    """The machine code of a function, and private copies of those that it calls.

    Copies of one function in several others have one name, of which a process keeps the first that it loads, and each
    is optimized beside its caller and rounds differently. Private copies cannot be exchanged, so that the last bits of
    a result do not depend on what was loaded before. (Forced inlining has the same effect, but takes minutes.)
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            is_copy = not function.is_declaration and function.linkage.name == "linkonce_odr"
            if is_copy and function.name.startswith(_PACKAGE):
                function.linkage = "internal"
        super()._optimize_final_module()


class _KernelCompiler(Compiler):
    """numba's compiler, which makes such libraries."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        super().__init__(typingctx, targetctx, library, *others)
        if library is None:
            self.state.library = _KernelLibrary(self.state.targetctx.codegen(), "kernel")
            self.state.library.enable_object_caching()


class CompilationLog(event.Listener):
    """Log the first compilation of a process as a warning, and every one at level DEBUG."""

    def __init__(self) -> None:
        self._has_told = False

    def on_start(self, event: Any) -> None:
        """Log a compilation that begins."""
        function = event.data["dispatcher"].py_func
        if function.__module__.partition(".")[0] != "shapelex":
            return
        if not self._has_told:
            self._has_told = True
            logger.warning(NOTICE)
        logger.debug("compiling %s", function.__name__)

    def on_end(self, event: Any) -> None:
        """Do nothing: the next message of the library shows that it goes on."""


event.register("numba:compile", CompilationLog())
