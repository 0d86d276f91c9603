"""What bounds the fused CUDA kernel, by hardware counters that Nsight Compute (``ncu``) reads; skipped without it."""

import csv
import shutil
import subprocess
import sys

import numpy as np

from device_speed import SIZES, make_rows
from measure import find_peer, print_table, skip
from shapelex.coding.coders import Coding
from shapelex.coding.torch.device_coder import DeviceCoder

N_ROWS = 1_000_000
_SUFFIX = "avg.pct_of_peak_sustained_active"
METRICS = {
    "issue slots busy": f"sm__inst_issued.{_SUFFIX}",
    "cycles with no warp ready": f"smsp__issue_inst0.{_SUFFIX}",
    "warps resident": f"sm__warps_active.{_SUFFIX}",
    "ALU": f"sm__pipe_alu_cycles_active.{_SUFFIX}",
    "FMA": f"sm__pipe_fma_cycles_active.{_SUFFIX}",
    "load and store": f"sm__inst_executed_pipe_lsu.{_SUFFIX}",
    "main memory": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
}


def main() -> None:
    rows = "profile of the CUDA kernel"
    torch = find_peer("torch", rows)
    if torch is None:
        return
    if not torch.cuda.is_available():
        skip(rows, "torch finds no CUDA device here")
        return
    ncu = shutil.which("ncu")
    if ncu is None:
        skip(rows, "ncu (Nsight Compute) is not on the PATH")
        return
    table = []
    for size in SIZES:
        cells = [f"{value:.0f} %" if value >= 1 else f"{value:.1f} %" for value in _profile(ncu, size)]
        table.append([", ".join(map(str, size)), *cells])
    header = ["N, atoms, nonzero", *METRICS]
    print_table("what bounds the fused kernel of the pursuits", header, table)


def _profile(ncu: str, size: tuple[int, int, int]) -> list[float]:
    """Return the metrics of the second launch of the fused kernel, in percent."""
    metrics = ",".join(METRICS.values())
    command = [ncu, "--csv", "--page", "raw", "--clock-control", "none", "--kernel-name", "regex:pursue", "--metrics"]
    command += [metrics, "--launch-skip", "1", "--launch-count", "1", sys.executable, __file__, *map(str, size)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [line for line in told.splitlines() if line.startswith('"')]
    # The first row below the header has the units.
    found = list(csv.DictReader(lines))[1]
    return [float(found[metric]) for metric in METRICS.values()]


def code_here(n_coordinates: int, n_atoms: int, n_nonzero: int) -> None:
    """Code the same rows twice in this process."""
    import torch

    atoms = make_rows(n_atoms, n_coordinates, np.complex64, 1)
    coder = DeviceCoder(Coding(atoms, n_nonzero, "ormp", device="cuda"), atoms.dtype)
    rows = torch.from_numpy(make_rows(N_ROWS, n_coordinates, np.complex64)).to(coder.device)
    for _ in range(2):
        coder.code(rows)
    torch.cuda.synchronize()


if __name__ == "__main__":
    code_here(*map(int, sys.argv[1:4]))
