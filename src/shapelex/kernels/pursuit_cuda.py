"""Fused greedy pursuit for NVIDIA GPUs: compiles ``pursuit.cu`` for a dictionary size and launches it.

In and out as in :mod:`shapelex.kernels.pursuit_torch`, which does the same wherever this kernel does not apply.
"""

import logging
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from shapelex.kernels.pursuit_torch import Limits

_LOGGER = logging.getLogger(__name__)

_MOST_THREADS = 1024
_MOST_SHARED_BYTES = 48 * 1024
_SMALL_THREADS = 128

# Beyond this the registers of a thread no longer hold a row of the basis.
_MOST_NONZERO = {4: 64, 8: 32}
# Every lane of a small dictionary holds the whole triangular factor.
_MOST_SMALL_NONZERO = 8


def applies(device: torch.device, dtype: torch.dtype, n_atoms: int, n_nonzero: int) -> bool:
    """Tell whether the fused kernel can do this size on this device."""
    if device.type != "cuda" or torch.version.hip is not None or not hasattr(torch.cuda, "_compile_kernel"):
        return False
    n_bytes = torch.finfo(dtype).bits // 8
    group = _group(n_atoms, n_nonzero)
    n_shared = 2 * n_bytes * n_nonzero * (n_nonzero + 2 * (group // 32) + 4)
    return n_nonzero <= _MOST_NONZERO[n_bytes] and group <= _MOST_THREADS and n_shared < _MOST_SHARED_BYTES


def pursue_fused(
    rows: Tensor, correlations: Tensor, gram: Tensor, limits: Limits, n_nonzero: int, by_correlation: bool
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Supports, weights and the smallest norm left of every row; None where the kernel does not compile."""
    n_rows, n_atoms = correlations.shape
    real = rows.real.dtype
    group = _group(n_atoms, n_nonzero)
    n_together = _SMALL_THREADS // group if group <= 32 else 1
    kernel = _compile(
        rows.device.index or 0, real, n_atoms, n_nonzero, rows.shape[1], group, n_together, int(by_correlation)
    )
    if kernel is None:
        return None
    support = torch.empty((n_rows, n_nonzero), dtype=torch.int32, device=rows.device)
    coefs = torch.empty((n_rows, n_nonzero), dtype=rows.dtype, device=rows.device)
    lowest = torch.empty(n_rows, dtype=real, device=rows.device)
    tolerances = torch.tensor([limits.independent, limits.gain], dtype=real, device=rows.device)
    if n_rows:
        with torch.cuda.device(rows.device):
            kernel(
                grid=(-(-n_rows // n_together), 1, 1),
                block=(group * n_together, 1, 1),
                args=[rows, correlations, gram, tolerances, n_rows, support, coefs, lowest],
            )
    return support, coefs, lowest


def _group(n_atoms: int, n_nonzero: int) -> int:
    """Threads a row: one an atom, in whole warps unless several small dictionaries fit in one."""
    if n_atoms <= 32 and n_nonzero <= _MOST_SMALL_NONZERO:
        return 1 << max(2, (n_atoms - 1).bit_length())
    return max(64, -(-n_atoms // 32) * 32)


@cache
def _compile(
    device: int,
    real: torch.dtype,
    n_atoms: int,
    n_nonzero: int,
    n_coordinates: int,
    group: int,
    n_together: int,
    by_correlation: int,
) -> Any:
    types = ("float", "unsigned") if real == torch.float32 else ("double", "unsigned long long")
    sizes = {
        "REAL": types[0],
        "WORD": types[1],
        "N_ATOMS": n_atoms,
        "N_NONZERO": n_nonzero,
        "N_COORDINATES": n_coordinates,
        "GROUP": group,
        "ROWS": n_together,
        "BY_CORRELATION": by_correlation,
    }
    defines = "".join(f"#define {name} {value}\n" for name, value in sizes.items())
    source = defines + files("shapelex.kernels").joinpath("pursuit.cu").read_text(encoding="utf-8")
    try:
        with torch.cuda.device(device):
            return torch.cuda._compile_kernel(source, "pursue")
    # What can go wrong here depends on driver, toolkit and torch; the slower twin always works.
    except Exception as error:
        _LOGGER.warning("the fused GPU kernel does not compile here, coding goes on without it: %s", error)
        return None
