"""Fused greedy pursuit for NVIDIA GPUs: compiles ``pursuit.cu`` for a dictionary size and launches it.

In and out as in :mod:`shapelex.kernels.torch.pursuit`, which does the same wherever this kernel does not apply: with an
error target, for paths, on other devices, and for more atoms than it has threads or registers for.
"""

import logging
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from shapelex.kernels.torch.weights import Block, Problem

_LOGGER = logging.getLogger(__name__)

Fused = Callable[[Block], tuple[Tensor, Tensor, Tensor]]

_MOST_THREADS = 1024
_MOST_SHARED_BYTES = 48 * 1024
_SMALL_THREADS = 128

# Beyond this the registers of a thread no longer hold a row of the basis.
_MOST_NONZERO = {4: 64, 8: 32}
# Every lane of a small dictionary holds the whole triangular factor.
_MOST_SMALL_NONZERO = 8


def fused_pursuit(problem: Problem, by_correlation: bool) -> Fused | None:
    """Return a function that codes blocks by the fused kernel; None where the kernel does not apply or compile.

    It returns supports ``(B, S)``, weights ``(B, S)`` before refinement, and the smallest squared norm that a chosen
    atom of each row had left.
    """
    device, real = problem.gram.device, problem.gram.real.dtype
    is_cuda = device.type == "cuda" and torch.version.hip is None and hasattr(torch.cuda, "_compile_kernel")
    if not is_cuda or problem.path or problem.has_target:
        return None
    n_nonzero = problem.n_nonzero
    n_bytes = torch.finfo(real).bits // 8
    group = _group(len(problem.atoms), n_nonzero)
    n_shared = 2 * n_bytes * n_nonzero * (n_nonzero + 2 * (group // 32) + 4)
    if n_nonzero > _MOST_NONZERO[n_bytes] or group > _MOST_THREADS or n_shared >= _MOST_SHARED_BYTES:
        return None
    n_together = _SMALL_THREADS // group if group <= 32 else 1
    kernel = _compile(device, _defines(problem, group, n_together, by_correlation))
    if kernel is None:
        return None
    tolerances = torch.tensor([problem.limits.independent, problem.limits.gain], dtype=real, device=device)

    def pursue(block: Block) -> tuple[Tensor, Tensor, Tensor]:
        n_rows = len(block.rows)
        support = torch.empty((n_rows, n_nonzero), dtype=torch.int32, device=device)
        coefs = torch.empty((n_rows, n_nonzero), dtype=block.rows.dtype, device=device)
        lowest = torch.empty(n_rows, dtype=real, device=device)
        if n_rows:
            with torch.cuda.device(device):
                kernel(
                    grid=(-(-n_rows // n_together), 1, 1),
                    block=(group * n_together, 1, 1),
                    args=[block.rows, block.correlations, problem.gram, tolerances, n_rows, support, coefs, lowest],
                )
        return support, coefs, lowest

    return pursue


def _group(n_atoms: int, n_nonzero: int) -> int:
    """Threads a row: one an atom, in whole warps unless several small dictionaries fit in one."""
    if n_atoms <= 32 and n_nonzero <= _MOST_SMALL_NONZERO:
        return 1 << max(2, (n_atoms - 1).bit_length())
    return max(64, -(-n_atoms // 32) * 32)


def _defines(problem: Problem, group: int, n_together: int, by_correlation: bool) -> str:
    """The sizes that the kernel is compiled for."""
    is_single = problem.gram.dtype == torch.complex64
    sizes = {
        "REAL": "float" if is_single else "double",
        "WORD": "unsigned" if is_single else "unsigned long long",
        "N_ATOMS": problem.atoms.shape[0],
        "N_NONZERO": problem.n_nonzero,
        "N_COORDINATES": problem.atoms.shape[1],
        "GROUP": group,
        "ROWS": n_together,
        "BY_CORRELATION": int(by_correlation),
    }
    return "".join(f"#define {name} {value}\n" for name, value in sizes.items())


@cache
def _compile(device: torch.device, defines: str) -> Any:
    source = defines + files("shapelex.kernels.torch").joinpath("pursuit.cu").read_text(encoding="utf-8")
    try:
        with torch.cuda.device(device):
            return torch.cuda._compile_kernel(source, "pursue")
    # What can go wrong here depends on driver, toolkit and torch; the slower twin always works.
    except Exception as error:
        _LOGGER.warning("the fused GPU kernel does not compile here, coding goes on without it: %s", error)
        return None
