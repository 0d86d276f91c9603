"""Fused kernels for NVIDIA GPUs: compiled by CuPy for one dictionary size, and launched on tensors of torch.

CuPy keeps what it compiled in files, so a size is compiled once per machine. The kernels are in ``pursuit.cu`` and
``exact.cu``; :mod:`shapelex.kernels.torch.pursuit` and :mod:`shapelex.kernels.torch.exact` do the same by torch
operations wherever a kernel does not apply: on other devices, without CuPy, and for dictionaries that are too large.
"""

import logging
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import gcd
from typing import Any, NamedTuple

import torch
from torch import Tensor

from shapelex.kernels.torch.weights import Block, Problem

_LOGGER = logging.getLogger(__name__)

MOST_STATIC_BYTES = 48 * 1024
"""Bytes of shared memory that a block may have without a request."""

_MOST_THREADS = 1024
_BLOCK_THREADS = 128
# Of a multiprocessor of recent GPUs: registers, bytes of shared memory for all blocks and for one, and what a block
# needs beside its own. On other GPUs the choices that follow from them are slower, or do not compile.
_ALL_REGISTERS = 65536
_ALL_SHARED_BYTES = 228 * 1024
_MOST_SHARED_BYTES = 227 * 1024
_BLOCK_BYTES = 1024
_MOST_REGISTERS = 255
# Every thread of a small dictionary holds the whole triangular factor.
_MOST_SMALL_NONZERO = 8
_MOST_NONZERO = 128
# Rank-one updates add up their roundings: after so many exchanges all is computed again.
EXCHANGES_AT_ONCE = 16


@dataclass(frozen=True)
class Layout:
    """How the atoms of a row are distributed, see ``pursuit.cu``: the definitions in capitals there."""

    threads: int
    slots: int
    reg_levels: int
    rows: int


def choose_layout(n_atoms: int, n_nonzero: int, n_bytes: int) -> Layout | None:
    """Return the layout of ``pursuit.cu`` in a precision of `n_bytes`; None for too large dictionaries."""
    words = n_bytes // 4
    if n_nonzero <= _MOST_SMALL_NONZERO:
        factor = n_nonzero * (n_nonzero + 2)
        for threads in (1, 2, 4, 8):
            slots = -(-n_atoms // threads)
            if words * (slots * (2 * n_nonzero + 3) + factor) + 20 <= _MOST_REGISTERS:
                return Layout(threads, slots, n_nonzero - 1, _BLOCK_THREADS // threads)
    # A multiprocessor has four schedulers, which share the warps of a block.
    return _spread(n_atoms, n_nonzero - 1, n_bytes, 4 if n_atoms <= 256 else 8, (40, 8), 4)


def choose_polish_layout(n_atoms: int, n_nonzero: int, n_bytes: int) -> Layout | None:
    """Return the layout of ``polish.cu``, which has a column for each atom and one for each of those chosen."""
    return _spread(n_atoms + n_nonzero, n_nonzero, n_bytes, 3, (60, 12), 1)


def _spread(
    n_columns: int, n_levels: int, n_bytes: int, most_slots: int, registers: tuple[int, int], n_warps: int
) -> Layout | None:
    """Return the layout of whole warps with which most rows are on a multiprocessor at a time.

    A thread needs `registers` beside those for its levels: some, and some for each slot. A block has a multiple of
    `n_warps` warps, or fewer. Of layouts that are equal otherwise, that with most levels in registers is taken.
    """
    words = n_bytes // 4
    threads = 32 * -(-n_columns * words // (32 * most_slots))
    slots = -(-n_columns // threads)
    if threads > _MOST_THREADS or n_levels >= _MOST_NONZERO:
        return None
    most_rows = n_warps // gcd(n_warps, threads // 32)
    layouts = []
    for reg_levels in range(n_levels + 1):
        n_registers = words * (2 * slots * reg_levels + registers[0] + registers[1] * slots)
        if n_registers > _MOST_REGISTERS:
            break
        row_bytes = (
            2 * n_bytes * ((n_levels - reg_levels) * (n_columns + 2) + (n_levels + 6) * max(reg_levels, 1) + n_levels)
        )
        for rows in range(1, most_rows + 1):
            n_by_registers = _ALL_REGISTERS // (n_registers * threads * rows)
            n_blocks = min(n_by_registers, _ALL_SHARED_BYTES // (rows * row_bytes + _BLOCK_BYTES))
            layouts.append((n_blocks * rows, rows, reg_levels))
    n_together, rows, reg_levels = max(layouts)
    return Layout(threads, slots, reg_levels, rows) if n_together else None


@cache
def _cupy() -> Any:
    """Return the module of CuPy; None where it is not installed, with a message."""
    try:
        import cupy
    except ImportError as error:
        _LOGGER.warning(
            "coding on a GPU is many times faster with CuPy: pip install cupy-cuda%sx, see the documentation (%s)",
            (torch.version.cuda or "12").partition(".")[0],
            error,
        )
        return None
    return cupy


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel; calling it launches it on the current stream of torch."""

    function: Any
    n_threads: int
    n_shared: int
    device: torch.device

    def __call__(self, n_blocks: int, *arguments: Any) -> None:
        """Launch `n_blocks` blocks; tensors are passed as pointers, integers as ``long long``."""
        cupy = _cupy()
        pointers = tuple(value.data_ptr() if isinstance(value, Tensor) else value for value in arguments)
        stream: Any = torch.cuda.current_stream(self.device)
        if hasattr(cupy.cuda.Stream, "from_external") and hasattr(stream, "__cuda_stream__"):
            stream = cupy.cuda.Stream.from_external(stream)
        else:
            # Releases of CuPy before 14, and of torch before the protocol of streams.
            stream = cupy.cuda.ExternalStream(stream.cuda_stream)
        with cupy.cuda.Device(self.device.index), stream:
            self.function((n_blocks,), (self.n_threads,), pointers, shared_mem=self.n_shared)


def compile_kernel(name: str, file: str, defines: dict[str, Any], device: torch.device) -> Kernel | None:
    """Return a kernel of a file for the given definitions; None where it does not compile."""
    if device.type != "cuda" or getattr(torch.version, "hip", None) is not None or _cupy() is None:
        return None
    return _compile(name, file, tuple(defines.items()), device.index)


@cache
def _compile(name: str, file: str, defines: tuple[tuple[str, Any], ...], device_index: int) -> Kernel | None:
    cupy = _cupy()
    folder = files("shapelex.kernels.torch")
    sizes = "".join(f"#define {key} {value}\n" for key, value in defines)
    source = sizes + "".join(folder.joinpath(part).read_text(encoding="utf-8") for part in ("group.cuh", file))
    values = dict(defines)
    try:
        with cupy.cuda.Device(device_index):
            module = cupy.RawModule(code=source, options=("-std=c++17",))
            function = module.get_function(name)
            n_shared = values["ROWS"] * int(cupy.ndarray(1, cupy.int32, module.get_global("row_bytes"))[0])
            if n_shared > MOST_STATIC_BYTES:
                function.max_dynamic_shared_size_bytes = n_shared
    # What can go wrong here depends on driver, toolkit and CuPy; the slower twin always works.
    except Exception as error:
        _LOGGER.warning("a fused GPU kernel does not compile here, coding goes on without it: %s", error)
        return None
    n_threads = values["ROWS"] * values["THREADS"]
    return Kernel(function, n_threads, n_shared, torch.device("cuda", device_index))


class Pursued(NamedTuple):
    """What the kernel of ``pursuit.cu`` gives: supports, weights before refinement, and two numbers for each row."""

    support: Tensor
    coefs: Tensor
    lowest: Tensor
    left: Tensor


class FusedPursuit:
    """Greedy pursuits by the kernel of ``pursuit.cu``."""

    def __init__(self, problem: Problem, kernel: Kernel, layout: Layout, size: int) -> None:
        self._problem, self._kernel, self._layout, self._size = problem, kernel, layout, size
        self._gram, self._limits = _padded_gram(problem, layout), _limits(problem)

    def __call__(self, block: Block, subset: Tensor | None = None) -> Pursued:
        """Code a block; rows choose among all atoms, or among the candidates ``(B, n)`` of `subset`, of int32."""
        n_rows, size, real = len(block.rows), self._size, self._gram.real.dtype
        n_levels = size if self._problem.path else 1
        device = block.rows.device
        support = torch.empty((n_rows, size), dtype=torch.int32, device=device)
        coefs = torch.empty((n_rows, n_levels, size), dtype=block.rows.dtype, device=device)
        lowest, left = torch.empty((2, n_rows), dtype=real, device=device)
        if n_rows:
            inputs = block.rows, block.correlations, self._gram, self._limits, 0 if subset is None else subset
            n_blocks = -(-n_rows // self._layout.rows)
            self._kernel(n_blocks, *inputs, n_rows, support, coefs, lowest, left)
        return Pursued(support, coefs, lowest, left)


def fused_pursuit(
    problem: Problem, size: int, *, by_correlation: bool = False, n_candidates: int = 0, layout: Layout | None = None
) -> FusedPursuit | None:
    """Return a function that codes blocks by ORMP or OMP; None where the kernel does not apply or compile.

    Rows choose up to `size` of all atoms, or of `n_candidates` atoms each. A layout is given for measurements.
    """
    n_bytes = torch.finfo(problem.gram.real.dtype).bits // 8
    layout = layout or choose_layout(n_candidates or len(problem.atoms), size, n_bytes)
    if problem.gram.device.type != "cuda" or layout is None:
        return None
    n_shared = 2 * n_bytes * len(problem.gram) ** 2
    defines = _sizes(problem, size, layout) | {
        "N_ATOMS": n_candidates or len(problem.atoms),
        "GRAM_SHARED": int(layout.threads < 32 and n_shared <= MOST_STATIC_BYTES // 3),
        "BY_CORRELATION": int(by_correlation),
        "SUBSET": int(n_candidates > 0),
        "HAS_TARGET": int(problem.has_target),
        "PATH": int(problem.path),
    }
    kernel = compile_kernel("pursue", "pursuit.cu", defines, problem.gram.device)
    return None if kernel is None else FusedPursuit(problem, kernel, layout, size)


class Polished(NamedTuple):
    """What the kernel of ``polish.cu`` gives.

    `first` are the supports of ORMP, which leave `left` of the squared norms, `support` those after `n_exchanges`.
    """

    first: Tensor
    support: Tensor
    left: Tensor
    n_exchanges: Tensor


class FusedPolish:
    """ORMP with exchanges of atoms, or exchanges of atoms of given supports, by the kernel of ``polish.cu``."""

    def __init__(self, problem: Problem, kernel: Kernel, layout: Layout) -> None:
        self._problem, self._kernel, self._layout = problem, kernel, layout
        self._gram, self._limits = _padded_gram(problem, layout), _limits(problem)

    def __call__(self, block: Block, support: Tensor | None = None) -> Polished:
        """Polish the supports of ORMP, or the given ones ``(B, n_nonzero)``, where the kernel was made for these."""
        n_rows, size, device = len(block.rows), self._problem.n_nonzero, block.rows.device
        polished = torch.empty((n_rows, size), dtype=torch.int32, device=device)
        if support is not None:
            polished.copy_(support)
        first = torch.empty_like(polished) if support is None else polished.clone()
        left = torch.empty(n_rows, dtype=self._limits.dtype, device=device)
        n_exchanges = torch.empty(n_rows, dtype=torch.int32, device=device)
        if n_rows:
            inputs = block.rows, block.correlations, self._gram, self._limits, n_rows
            self._kernel(-(-n_rows // self._layout.rows), *inputs, first, polished, left, n_exchanges)
        return Polished(first, polished, left, n_exchanges)


def fused_polish(problem: Problem, *, is_given: bool = False, layout: Layout | None = None) -> FusedPolish | None:
    """Return a function that polishes supports; None where the kernel does not apply or compile.

    The supports are those of ORMP, or given. A layout is given for measurements.
    """
    n_bytes = torch.finfo(problem.gram.real.dtype).bits // 8
    size = problem.n_nonzero
    layout = layout or choose_polish_layout(len(problem.atoms), size, n_bytes)
    if problem.gram.device.type != "cuda" or layout is None:
        return None
    defines = _sizes(problem, size, layout) | {"FORCED": int(is_given), "MOST_EXCHANGES": EXCHANGES_AT_ONCE}
    kernel = compile_kernel("polish", "polish.cu", defines, problem.gram.device)
    return None if kernel is None else FusedPolish(problem, kernel, layout)


def _sizes(problem: Problem, size: int, layout: Layout) -> dict[str, Any]:
    """The definitions that the kernels of ``pursuit.cu`` and ``polish.cu`` share."""
    n_atoms, n_coordinates = problem.atoms.shape
    return {
        "REAL": "float" if problem.gram.dtype == torch.complex64 else "double",
        "N_ATOMS": n_atoms,
        "N_NONZERO": size,
        "N_COORDINATES": n_coordinates,
        "THREADS": layout.threads,
        "SLOTS": layout.slots,
        "REG_LEVELS": layout.reg_levels,
        "ROWS": layout.rows,
        "CORR_STRIDE": n_atoms,
        "GRAM_STRIDE": _gram_stride(problem, layout),
    }


def _gram_stride(problem: Problem, layout: Layout) -> int:
    """Length of a row of the Gram matrix: threads read it without a test where there is one for each atom."""
    n_atoms = len(problem.gram)
    return n_atoms if layout.threads < 32 else max(n_atoms, layout.threads * layout.slots)


def _padded_gram(problem: Problem, layout: Layout) -> Tensor:
    n_more = _gram_stride(problem, layout) - len(problem.gram)
    return torch.view_as_complex(torch.nn.functional.pad(torch.view_as_real(problem.gram), (0, 0, 0, n_more)))


def _limits(problem: Problem) -> Tensor:
    limits = problem.limits
    kept = [limits.independent, limits.gain, limits.target, limits.unsure, limits.eps]
    return torch.tensor(kept, dtype=problem.gram.real.dtype, device=problem.gram.device)
