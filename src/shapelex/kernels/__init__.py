"""Loops only: numba kernels on real arrays, without a single Python object in them."""

from numba.core import event as _event

from shapelex.kernels.first_use import CompilationLog as _CompilationLog

_event.register("numba:compile", _CompilationLog())
