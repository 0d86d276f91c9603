"""Fused kernels for NVIDIA GPUs: compiled by CuPy for one dictionary size, and launched on tensors of torch.

CuPy keeps what it compiled in files, so a size is compiled once per machine. The kernels are in ``pursuit.cu``,
``polish.cu`` and ``exact.cu``; :mod:`shapelex.kernels.torch.pursuit` and :mod:`shapelex.kernels.torch.exact` do the
same by torch operations wherever a kernel does not apply: on other devices, without CuPy, and for dictionaries that are
too large.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import comb, gcd
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from shapelex.kernels.torch.exact import extend_supports
from shapelex.kernels.torch.weights import Block, Problem, squares

_LOGGER = logging.getLogger(__name__)

# Bytes of shared memory that a block may have without a request.
_MOST_STATIC_BYTES = 48 * 1024

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
# Rank-one updates add up their roundings: after so many exchanges all is computed again, at most so many times.
_EXCHANGES_AT_ONCE = 16
_MOST_LAUNCHES = 16
# Memory of the tree of supports while it is prepared; that of all supports that "auto" searches takes a hundredth.
_MOST_TREE_BYTES = 1 << 31


@dataclass(frozen=True)
class _Layout:
    """How the atoms of a row are distributed, see ``pursuit.cu``: the definitions in capitals there."""

    threads: int
    slots: int
    reg_levels: int
    rows: int


def _pursuit_layout(n_atoms: int, n_nonzero: int, n_bytes: int) -> _Layout | None:
    """Return the layout of ``pursuit.cu`` in a precision of `n_bytes`; None for too large dictionaries."""
    words = n_bytes // 4
    if n_nonzero <= _MOST_SMALL_NONZERO:
        factor = n_nonzero * (n_nonzero + 2)
        for threads in (1, 2, 4, 8):
            slots = -(-n_atoms // threads)
            if words * (slots * (2 * n_nonzero + 3) + factor) + 20 <= _MOST_REGISTERS:
                return _Layout(threads, slots, n_nonzero - 1, _BLOCK_THREADS // threads)
    # A multiprocessor has four schedulers, which share the warps of a block.
    return _spread(n_atoms, n_nonzero - 1, n_bytes, 4 if n_atoms <= 256 else 8, (40, 8), 4)


def _spread(
    n_columns: int, n_levels: int, n_bytes: int, most_slots: int, registers: tuple[int, int], n_warps: int
) -> _Layout | None:
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
    return _Layout(threads, slots, reg_levels, rows) if n_together else None


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
class _Kernel:
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


def _compile_kernel(name: str, file: str, defines: dict[str, Any], device: torch.device) -> _Kernel | None:
    """Return a kernel of a file for the given definitions; None where it does not compile."""
    if device.type != "cuda" or getattr(torch.version, "hip", None) is not None or _cupy() is None:
        return None
    return _compile(name, file, tuple(defines.items()), device.index)


@cache
def _compile(name: str, file: str, defines: tuple[tuple[str, Any], ...], device_index: int) -> _Kernel | None:
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
            if n_shared > _MOST_STATIC_BYTES:
                function.max_dynamic_shared_size_bytes = n_shared
    # What can go wrong here depends on driver, toolkit and CuPy; the slower twin always works.
    except Exception as error:
        _LOGGER.warning("a fused GPU kernel does not compile here, coding goes on without it: %s", error)
        return None
    n_threads = values["ROWS"] * values["THREADS"]
    return _Kernel(function, n_threads, n_shared, torch.device("cuda", device_index))


class Pursued(NamedTuple):
    """What the kernel of ``pursuit.cu`` gives: supports, weights before refinement, and two numbers for each row."""

    support: Tensor
    coefs: Tensor
    lowest: Tensor
    left: Tensor


def fused_pursuit(
    problem: Problem, size: int, *, by_correlation: bool = False, n_candidates: int = 0
) -> Callable[[Block, Tensor | None], Pursued] | None:
    """Return a function that codes blocks by ORMP or OMP; None where the kernel does not apply or compile.

    Rows choose up to `size` of all atoms, or of `n_candidates` atoms each, int32 ``(B, n_candidates)``.
    """
    n_bytes, device = torch.finfo(problem.gram.real.dtype).bits // 8, problem.gram.device
    layout = _pursuit_layout(n_candidates or len(problem.atoms), size, n_bytes)
    if device.type != "cuda" or layout is None:
        return None
    n_shared = 2 * n_bytes * len(problem.gram) ** 2
    defines = _sizes(problem, size, layout) | {
        "N_ATOMS": n_candidates or len(problem.atoms),
        "GRAM_SHARED": int(layout.threads < 32 and n_shared <= _MOST_STATIC_BYTES // 3),
        "BY_CORRELATION": int(by_correlation),
        "SUBSET": int(n_candidates > 0),
        "HAS_TARGET": int(problem.has_target),
        "PATH": int(problem.path),
    }
    kernel = _compile_kernel("pursue", "pursuit.cu", defines, device)
    if kernel is None:
        return None
    gram, limits = _padded_gram(problem, layout), _limits(problem)
    n_levels = size if problem.path else 1

    def pursue(block: Block, candidates: Tensor | None) -> Pursued:
        n_rows = len(block.rows)
        support = torch.empty((n_rows, size), dtype=torch.int32, device=device)
        coefs = torch.empty((n_rows, n_levels, size), dtype=block.rows.dtype, device=device)
        lowest, left = torch.empty((2, n_rows), dtype=gram.real.dtype, device=device)
        if n_rows:
            inputs = block.rows, block.correlations, gram, limits, 0 if candidates is None else candidates
            kernel(-(-n_rows // layout.rows), *inputs, n_rows, support, coefs, lowest, left)
        return Pursued(support, coefs, lowest, left)

    return pursue


class Polished(NamedTuple):
    """What the kernel of ``polish.cu`` gives.

    `first` are the supports of ORMP, which leave `left` of the squared norms, `support` those after `n_exchanges`.
    """

    first: Tensor
    support: Tensor
    left: Tensor
    n_exchanges: Tensor


def fused_polish(problem: Problem) -> Callable[[Block, Tensor | None], Polished] | None:
    """Return a function that polishes the supports of ORMP, or given ones ``(B, n_nonzero)``.

    None where the kernel does not apply or compile.
    """
    n_bytes, device = torch.finfo(problem.gram.real.dtype).bits // 8, problem.gram.device
    size = problem.n_nonzero
    # One column for each atom, and one for each of those chosen.
    layout = _spread(len(problem.atoms) + size, size, n_bytes, 3, (60, 12), 1)
    if device.type != "cuda" or layout is None:
        return None
    defines = _sizes(problem, size, layout) | {"MOST_EXCHANGES": _EXCHANGES_AT_ONCE}
    from_ormp, from_given = (
        _compile_kernel("polish", "polish.cu", defines | {"FORCED": forced}, device) for forced in (0, 1)
    )
    if from_ormp is None or from_given is None:
        return None
    gram, limits = _padded_gram(problem, layout), _limits(problem)

    def launch(block: Block, support: Tensor | None) -> Polished:
        n_rows = len(block.rows)
        polished = torch.empty((n_rows, size), dtype=torch.int32, device=device)
        if support is not None:
            polished.copy_(support)
        first = torch.empty_like(polished) if support is None else polished.clone()
        left = torch.empty(n_rows, dtype=limits.dtype, device=device)
        n_exchanges = torch.empty(n_rows, dtype=torch.int32, device=device)
        if n_rows:
            kernel = from_ormp if support is None else from_given
            inputs = block.rows, block.correlations, gram, limits, n_rows
            kernel(-(-n_rows // layout.rows), *inputs, first, polished, left, n_exchanges)
        return Polished(first, polished, left, n_exchanges)

    def polish(block: Block, support: Tensor | None) -> Polished:
        found = launch(block, support)
        going = torch.nonzero(found.n_exchanges == _EXCHANGES_AT_ONCE)[:, 0]
        for _ in range(_MOST_LAUNCHES):
            if not len(going):
                break
            again = launch(block[going], found.support[going])
            found.support[going] = again.support
            going = going[again.n_exchanges == _EXCHANGES_AT_ONCE]
        return found

    return polish


def _sizes(problem: Problem, size: int, layout: _Layout) -> dict[str, Any]:
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


def _gram_stride(problem: Problem, layout: _Layout) -> int:
    """Length of a row of the Gram matrix: threads read it without a test where there is one for each atom."""
    n_atoms = len(problem.gram)
    return n_atoms if layout.threads < 32 else max(n_atoms, layout.threads * layout.slots)


def _padded_gram(problem: Problem, layout: _Layout) -> Tensor:
    n_more = _gram_stride(problem, layout) - len(problem.gram)
    return torch.view_as_complex(torch.nn.functional.pad(torch.view_as_real(problem.gram), (0, 0, 0, n_more)))


def _limits(problem: Problem) -> Tensor:
    limits = problem.limits
    kept = [limits.independent, limits.gain, limits.target, limits.unsure, limits.eps]
    return torch.tensor(kept, dtype=problem.gram.real.dtype, device=problem.gram.device)


def fused_exact(problem: Problem, size: int) -> tuple[Callable[[Block], Tensor], bool] | None:
    """Return a function that finds the best supports of `size` atoms, in increasing order, and if atoms are skipped.

    None where there is no kernel for them.
    """
    n_atoms, n_coordinates = problem.atoms.shape
    n_bytes, device = torch.finfo(problem.gram.real.dtype).bits // 8, problem.gram.device
    rows_per_block = next((n for n in (128, 64, 32) if 2 * n_bytes * n_atoms * n < _MOST_STATIC_BYTES), 0)
    n_tree = comb(n_atoms - 1, size - 1) * n_atoms * (size + 4) * 16
    if device.type != "cuda" or size < 2 or not rows_per_block or n_tree > _MOST_TREE_BYTES:
        return None
    real = "float" if n_bytes == 4 else "double"
    defines = {"REAL": real, "N_ATOMS": n_atoms, "N_NONZERO": size, "N_COORDINATES": n_coordinates}
    defines |= {"THREADS": 1, "ROWS": rows_per_block, "CORR_STRIDE": n_atoms}
    kernel = _compile_kernel("enumerate", "exact.cu", defines, device)
    if kernel is None:
        return None
    entries, starts, has_skipped = _support_tree(problem, size)
    eps = np.dtype(f"f{n_bytes}").type(problem.limits.eps)

    def find(block: Block) -> Tensor:
        n_rows = len(block.rows)
        support = torch.empty((n_rows, size), dtype=torch.int32, device=device)
        if n_rows:
            inputs = block.rows, block.correlations, entries, starts, eps
            kernel(-(-n_rows // kernel.n_threads), *inputs, n_rows, support)
        return support

    return find, has_skipped


def _support_tree(problem: Problem, size: int) -> tuple[Tensor, Tensor, bool]:
    """Entries ``(n, 4)`` of all nodes in the order of ``exact.cu``, the first of each size, and if atoms are skipped.

    An entry has the parts of ``q^H d_j``, and the inverse norm, and its square, of what a node leaves of atom `j`.
    """
    gram, independent = problem.gram.to(torch.complex128), problem.limits.independent
    norms2 = gram.diagonal().real
    left, basis = norms2[None], gram.new_zeros((1, 0, len(gram)))
    own = torch.zeros_like(gram[:1])
    entries, starts, n_before = [], [], 0
    has_skipped = torch.zeros((), dtype=torch.bool, device=gram.device)
    for parents, last, is_later in _nodes(len(gram), size, gram.device):
        if parents is not None:
            chosen = left[parents, last]
            inv_norm = torch.where(chosen > independent, chosen.rsqrt(), 0)
            basis, left = basis[parents], left[parents]
            column = basis.gather(2, last[:, None, None].expand(-1, basis.shape[1], 1))[..., 0]
            own = (gram[last] - torch.einsum("nl,nlj->nj", column.conj(), basis)) * inv_norm[:, None]
            left = left - squares(own)
            basis = torch.cat([basis, own[:, None]], dim=1)
        usable = left > independent
        inverse = torch.where(usable, left.clamp_min(independent).rsqrt(), 0)
        has_skipped |= (is_later & ~usable & (norms2 > independent)).any()
        parts = torch.stack([own.real, own.imag, inverse, inverse.square()], dim=2)[is_later]
        entries.append(parts.to(problem.gram.real.dtype))
        starts.append(n_before)
        n_before += len(parts)
    return torch.cat(entries), torch.tensor(starts, device=gram.device), bool(has_skipped)


@lru_cache(maxsize=8)
def _nodes(n_atoms: int, size: int, device: torch.device) -> list[tuple[Tensor | None, Tensor, Tensor]]:
    """Nodes of 0 to ``size - 1`` atoms: places of their parents, last atoms, and which atoms come later.

    Only nodes that begin a support of `size` atoms are among them.
    """
    places = np.arange(n_atoms)
    nodes: list[tuple[Tensor | None, Tensor, Tensor]] = []
    supports = np.empty((1, 0), dtype=np.int64)
    later = np.ones((1, n_atoms), dtype=bool)
    nodes.append((None, torch.empty(0, dtype=torch.int64, device=device), torch.from_numpy(later).to(device)))
    for n_chosen in range(1, size):
        supports, parents = extend_supports(supports, n_atoms)
        begins = supports[:, -1] <= n_atoms - 1 - (size - n_chosen)
        supports, parents = supports[begins], parents[begins]
        later = places > supports[:, -1:]
        places_of, last, is_later = (
            torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in (parents, supports[:, -1], later)
        )
        nodes.append((places_of, last, is_later))
    return nodes
