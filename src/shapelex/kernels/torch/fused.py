"""Fused kernels for NVIDIA GPUs: compiled by CuPy for one dictionary size, and launched on tensors of torch.

CuPy keeps what it compiled in files, so a size is compiled once per machine. The kernels are in ``pursuit.cu``,
``polish.cu`` and ``exact.cu``; :mod:`shapelex.kernels.torch.pursuit` and :mod:`shapelex.kernels.torch.exact` do the
same by torch operations wherever a kernel does not apply: on other devices, without CuPy, and for dictionaries that are
too large.
"""

import logging
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import comb, gcd
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from shapelex.kernels.torch.exact import extend_supports
from shapelex.kernels.torch.pursuit import Block, Problem, squares

_LOGGER = logging.getLogger(__name__)

# Bytes of shared memory that a block may have without a request.
_MOST_STATIC_BYTES = 48 * 1024

_MOST_THREADS = 1024
_BLOCK_THREADS = 128
# Of a multiprocessor of recent GPUs: registers, bytes of shared memory for all blocks, and what a block needs besides
# its own. On other GPUs the choices that follow from them are slower, or do not compile.
_ALL_REGISTERS = 65536
_ALL_SHARED_BYTES = 228 * 1024
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


class _Layout(NamedTuple):
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


class _Kernel(NamedTuple):
    """A compiled kernel of one of the files; calling it launches it on the current stream of torch."""

    function: Any
    n_rows: int
    n_threads: int
    n_shared: int
    device: torch.device

    def __call__(self, block: Block, inputs: Sequence[Any], outputs: Sequence[Tensor]) -> None:
        """Launch the kernel on a block; tensors are passed as pointers, integers as ``long long``."""
        n_rows = len(block.rows)
        if n_rows == 0:
            return
        cupy = _cupy()
        arguments = block.rows, block.correlations, *inputs, n_rows, *outputs
        pointers = tuple(value.data_ptr() if isinstance(value, Tensor) else value for value in arguments)
        stream: Any = torch.cuda.current_stream(self.device)
        if hasattr(cupy.cuda.Stream, "from_external") and hasattr(stream, "__cuda_stream__"):
            stream = cupy.cuda.Stream.from_external(stream)
        else:
            # Releases of CuPy before 14, and of torch before the protocol of streams.
            stream = cupy.cuda.ExternalStream(stream.cuda_stream)
        with cupy.cuda.Device(self.device.index), stream:
            self.function((-(-n_rows // self.n_rows),), (self.n_threads,), pointers, shared_mem=self.n_shared)


def _make_kernel(problem: Problem, file: str, name: str, size: int, layout: _Layout, **more: int) -> _Kernel | None:
    """Return a kernel for supports of `size` atoms; None where there is no GPU of NVIDIA, or it does not compile."""
    device, (n_atoms, n_coordinates) = problem.gram.device, problem.atoms.shape
    if device.type != "cuda" or getattr(torch.version, "hip", None) is not None or _cupy() is None:
        return None
    defines = {
        "REAL": "float" if problem.gram.dtype == torch.complex64 else "double",
        "N_ATOMS": n_atoms,
        "N_NONZERO": size,
        "N_COORDINATES": n_coordinates,
        "CORR_STRIDE": n_atoms,
    }
    defines |= {part.upper(): value for part, value in layout._asdict().items()} | more
    return _compile(file, name, tuple(defines.items()), layout, device)


@cache
def _compile(
    file: str, name: str, defines: tuple[tuple[str, Any], ...], layout: _Layout, device: torch.device
) -> _Kernel | None:
    cupy = _cupy()
    folder = files("shapelex.kernels.torch")
    sizes = "".join(f"#define {key} {value}\n" for key, value in defines)
    source = sizes + "".join(folder.joinpath(part).read_text(encoding="utf-8") for part in ("group.cuh", file))
    try:
        with cupy.cuda.Device(device.index):
            module = cupy.RawModule(code=source, options=("-std=c++17",))
            function = module.get_function(name)
            n_shared = layout.rows * int(cupy.ndarray(1, cupy.int32, module.get_global("row_bytes"))[0])
            if n_shared > _MOST_STATIC_BYTES:
                function.max_dynamic_shared_size_bytes = n_shared
    # What can go wrong here depends on driver, toolkit and CuPy; the slower twin always works.
    except Exception as error:
        _LOGGER.warning("a fused GPU kernel does not compile here, coding goes on without it: %s", error)
        return None
    return _Kernel(function, layout.rows, layout.rows * layout.threads, n_shared, device)


def _padded_gram(problem: Problem, layout: _Layout) -> Tensor:
    """Return the Gram matrix, padded where there is a thread for each atom: it then reads rows without a test."""
    n_more = 0 if layout.threads < 32 else max(layout.threads * layout.slots - len(problem.gram), 0)
    return torch.view_as_complex(torch.nn.functional.pad(torch.view_as_real(problem.gram), (0, 0, 0, n_more)))


def _limits(problem: Problem) -> Tensor:
    limits = problem.limits
    kept = [limits.independent, limits.gain, limits.target, limits.unsure, limits.eps]
    return torch.tensor(kept, dtype=problem.gram.real.dtype, device=problem.gram.device)


def fused_pursuit(
    problem: Problem, size: int, *, by_correlation: bool = False, n_candidates: int = 0
) -> Callable[[Block, Tensor | None], tuple[Tensor, Tensor, Tensor, Tensor]] | None:
    """Return a function that codes blocks by ORMP or OMP; None where the kernel does not apply or compile.

    Rows choose up to `size` of all atoms, or of `n_candidates` atoms each, int32 ``(B, n_candidates)``. The function
    gives supports, weights before refinement, and for each row the least norm left and that of the residual, see
    ``pursuit.cu``.
    """
    n_bytes, device = problem.gram.element_size() // 2, problem.gram.device
    n_atoms = n_candidates or len(problem.atoms)
    layout = _pursuit_layout(n_atoms, size, n_bytes)
    if layout is None:
        return None
    gram, limits = _padded_gram(problem, layout), _limits(problem)
    has_room = 2 * n_bytes * len(problem.gram) ** 2 <= _MOST_STATIC_BYTES // 3
    kernel = _make_kernel(
        problem,
        "pursuit.cu",
        "pursue",
        size,
        layout,
        N_ATOMS=n_atoms,
        GRAM_STRIDE=gram.shape[1],
        GRAM_SHARED=int(layout.threads < 32 and has_room),
        BY_CORRELATION=int(by_correlation),
        SUBSET=int(n_candidates > 0),
        HAS_TARGET=int(problem.has_target),
        PATH=int(problem.path),
    )
    if kernel is None:
        return None
    n_levels = size if problem.path else 1

    def pursue(block: Block, candidates: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        n_rows = len(block.rows)
        support = torch.empty((n_rows, size), dtype=torch.int32, device=device)
        coefs = torch.empty((n_rows, n_levels, size), dtype=block.rows.dtype, device=device)
        lowest, left = torch.empty((2, n_rows), dtype=limits.dtype, device=device)
        found = support, coefs, lowest, left
        kernel(block, (gram, limits, 0 if candidates is None else candidates), found)
        return found

    return pursue


def fused_polish(problem: Problem) -> Callable[[Block, Tensor | None], tuple[Tensor, Tensor, Tensor, Tensor]] | None:
    """Return a function that polishes the supports of ORMP, or given ones ``(B, n_nonzero)``.

    None where the kernel does not apply or compile. The function gives the supports before and after, the squared norms
    that the first leave, and the numbers of exchanges.
    """
    device, size = problem.gram.device, problem.n_nonzero
    # One column for each atom, and one for each of those chosen.
    layout = _spread(len(problem.atoms) + size, size, problem.gram.element_size() // 2, 3, (60, 12), 1)
    if layout is None:
        return None
    gram, limits = _padded_gram(problem, layout), _limits(problem)
    sizes = {"GRAM_STRIDE": gram.shape[1], "MOST_EXCHANGES": _EXCHANGES_AT_ONCE}
    from_ormp, from_given = (
        _make_kernel(problem, "polish.cu", "polish", size, layout, **sizes, FORCED=forced) for forced in (0, 1)
    )
    if from_ormp is None or from_given is None:
        return None

    def launch(block: Block, support: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        n_rows = len(block.rows)
        polished = torch.empty((n_rows, size), dtype=torch.int32, device=device)
        if support is not None:
            polished.copy_(support)
        first = torch.empty_like(polished) if support is None else polished.clone()
        left = torch.empty(n_rows, dtype=limits.dtype, device=device)
        found = first, polished, left, torch.empty(n_rows, dtype=torch.int32, device=device)
        kernel = from_ormp if support is None else from_given
        kernel(block, (gram, limits), found)
        return found

    def polish(block: Block, support: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        first, polished, left, n_exchanges = launch(block, support)
        going = torch.nonzero(n_exchanges == _EXCHANGES_AT_ONCE)[:, 0]
        for _ in range(_MOST_LAUNCHES):
            if not len(going):
                break
            _, polished[going], _, n_more = launch(block[going], polished[going])
            going = going[n_more == _EXCHANGES_AT_ONCE]
        return first, polished, left, n_exchanges

    return polish


def fused_exact(problem: Problem, size: int) -> tuple[Callable[[Block], Tensor], bool] | None:
    """Return a function that finds the best supports of `size` atoms, in increasing order, and if atoms are skipped.

    None where there is no kernel for them.
    """
    n_atoms, n_bytes, device = len(problem.atoms), problem.gram.element_size() // 2, problem.gram.device
    n_rows = next((n for n in (128, 64, 32) if 2 * n_bytes * n_atoms * n < _MOST_STATIC_BYTES), 0)
    n_tree = comb(n_atoms - 1, size - 1) * n_atoms * (size + 4) * 16
    if size < 2 or not n_rows or n_tree > _MOST_TREE_BYTES:
        return None
    kernel = _make_kernel(problem, "exact.cu", "enumerate", size, _Layout(1, n_atoms, 0, n_rows))
    if kernel is None:
        return None
    entries, starts, has_skipped = _support_tree(problem, size)
    eps = np.dtype(f"f{n_bytes}").type(problem.limits.eps)

    def find(block: Block) -> Tensor:
        support = torch.empty((len(block.rows), size), dtype=torch.int32, device=device)
        kernel(block, (entries, starts, eps), (support,))
        return support

    return find, has_skipped


def _support_tree(problem: Problem, size: int) -> tuple[Tensor, Tensor, bool]:
    """Entries ``(n, 4)`` of all nodes in the order of ``exact.cu``, the first of each size, and if atoms are skipped.

    An entry has the parts of ``q^H d_j``, and the inverse norm, and its square, of what a node leaves of atom `j`.
    """
    gram, independent = problem.gram.to(torch.complex128), problem.limits.independent
    norms2 = gram.diagonal().real
    places = torch.arange(len(gram), device=gram.device)
    left, basis = norms2[None], gram.new_zeros((1, 0, len(gram)))
    own, last = torch.zeros_like(gram[:1]), places[:1] - 1
    entries, starts, n_before = [], [], 0
    has_skipped = torch.zeros((), dtype=torch.bool, device=gram.device)
    for n_chosen in range(size):
        if n_chosen:
            parents, last = _nodes(len(gram), size, gram.device)[n_chosen - 1]
            chosen = left[parents, last]
            inv_norm = torch.where(chosen > independent, chosen.rsqrt(), 0)
            basis, left = basis[parents], left[parents]
            column = basis.gather(2, last[:, None, None].expand(-1, basis.shape[1], 1))[..., 0]
            own = (gram[last] - torch.einsum("nl,nlj->nj", column.conj(), basis)) * inv_norm[:, None]
            left = left - squares(own)
            basis = torch.cat([basis, own[:, None]], dim=1)
        is_later, usable = places > last[:, None], left > independent
        inverse = torch.where(usable, left.clamp_min(independent).rsqrt(), 0)
        has_skipped |= (is_later & ~usable & (norms2 > independent)).any()
        parts = torch.stack([own.real, own.imag, inverse, inverse.square()], dim=2)[is_later]
        entries.append(parts.to(problem.gram.real.dtype))
        starts.append(n_before)
        n_before += len(parts)
    return torch.cat(entries), torch.tensor(starts, device=gram.device), bool(has_skipped)


@lru_cache(maxsize=8)
def _nodes(n_atoms: int, size: int, device: torch.device) -> list[tuple[Tensor, Tensor]]:
    """Return places of the parents and last atoms of all nodes of 1 to ``size - 1`` atoms.

    Only nodes that begin a support of `size` atoms are among them.
    """
    nodes = []
    supports = np.empty((1, 0), dtype=np.int64)
    for n_chosen in range(1, size):
        supports, parents = extend_supports(supports, n_atoms)
        begins = supports[:, -1] <= n_atoms - 1 - (size - n_chosen)
        supports = supports[begins]
        nodes.append((torch.tensor(parents[begins], device=device), torch.tensor(supports[:, -1], device=device)))
    return nodes
