"""How kernels are compiled: in comes a Python function, out goes compiled code that is kept on disk.

numba compiles every function of its own, and copies what a function calls into its machine code, where it is optimized
once more. All copies of a function have one name, and the loader keeps the first one that it meets in a process:
that of the function itself where it was compiled, that of whichever caller was loaded first in later processes.
Copies that were optimized beside different callers round differently, so that the last bits of a result would depend
on what was compiled or loaded before. Here the copies are private to their callers: nothing can exchange them.
"""

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import codegen
from numba.core.compiler import Compiler

from shapelex.kernels.cache import KernelCache

_PACKAGE = f"_ZN{len(__package__.partition('.')[0])}{__package__.partition('.')[0]}"


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function at its first call, and keeps the result on disk where it can."""

    def compiled(function: Callable[..., Any]) -> Any:
        shared: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
        dispatcher = njit(pipeline_class=_KernelCompiler, **shared, **options)(function)
        dispatcher._cache = KernelCache.of(function)
        return dispatcher

    return compiled


class _KernelLibrary(codegen.JITCodeLibrary):
    """The machine code of a function, and of copies of those it calls."""

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
