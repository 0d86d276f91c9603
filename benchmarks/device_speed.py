"""Shapes per second on a torch device, agreement with the CPU, and a whole fit; skipped without a GPU.

Rows are on the device already, in complex64, as are the codes that come out; the bound is that of the
arithmetic: correlations and the growing triangular factor in single precision outside the tensor cores.
"""

import time
from statistics import median

import numpy as np

from measure import find_peer, print_table, skip
from shapelex import ShapeDictionary
from shapelex._typing import ComplexArray
from shapelex.coding import encode_rows, squared_residuals
from shapelex.coding.settings import Coding
from shapelex.coding.torch.device_coder import DeviceCoder

# (n_coordinates, n_atoms, n_nonzero): the paper's largest set, its Hermite worms and its leaves.
SIZES = [(200, 230, 30), (12, 10, 5), (40, 20, 5)]
N_ROWS = {200: 1_000_000, 12: 16_000_000, 40: 8_000_000}
METHODS = {"ormp": "ormp", "exact": "exact", "beam": "beam 16"}


def make_rows(n_rows: int, n_coordinates: int, dtype: type, seed: int = 0) -> ComplexArray:
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((n_rows, 2 * n_coordinates), dtype=np.float32)
    rows: ComplexArray = parts.view(np.complex64).astype(dtype)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def count_operations(n_coordinates: int, n_atoms: int, n_nonzero: int) -> int:
    """Return the real operations a shape that no ORMP can do without: correlations, and the triangular factor."""
    return 8 * n_atoms * (n_coordinates + n_nonzero * (n_nonzero - 1) // 2 + 2 * n_nonzero)


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def measure_rate(coder: DeviceCoder, rows: "object", n_rows: int, device: str, n_rounds: int = 7) -> float:
    size = coder.block_rows()

    def code_all() -> None:
        for start in range(0, n_rows, size):
            coder.code(rows[start : start + size])  # type: ignore[index]

    code_all()
    seconds = []
    for _ in range(n_rounds):
        synchronize(device)
        start = time.perf_counter()
        code_all()
        synchronize(device)
        seconds.append(time.perf_counter() - start)
    return n_rows / median(seconds)


def throughput(device: str, scale: float) -> None:
    import torch

    peak = measure_peak(device)
    table = []
    for method, label in METHODS.items():
        for n_coordinates, n_atoms, n_nonzero in SIZES:
            if method == "exact" and n_atoms > 30:
                continue
            n_rows = max(1000, int(scale * N_ROWS[n_coordinates]))
            atoms = make_rows(n_atoms, n_coordinates, np.complex64, 1)
            coder = DeviceCoder(Coding(atoms, n_nonzero, method, device=device), atoms.dtype)
            n_here = n_rows if method == "ormp" else max(500, n_rows // (200 if n_atoms > 30 else 40))
            rows = torch.from_numpy(make_rows(n_here, n_coordinates, np.complex64)).to(coder.device)
            rate = measure_rate(coder, rows, n_here, device, 7 if method == "ormp" else 3)
            bound = peak / count_operations(n_coordinates, n_atoms, n_nonzero)
            bounds = [f"{bound / 1e6:,.0f} M", f"{100 * rate / bound:.0f} %"] if method == "ormp" else ["", ""]
            millions = f"{rate / 1e6:,.0f} M" if rate >= 1e7 else f"{rate / 1e6:.2g} M"
            table.append([f"{n_coordinates}, {n_atoms}, {n_nonzero}", label, millions, *bounds])
            del rows
    print_table(
        f"docs/how-to/gpu.md, How fast: {device}, {peak / 1e12:.1f} TFLOP/s in a large complex64 product",
        ["N, atoms, nonzero", "coder", "shapes/s", "bound", "of bound"],
        table,
        "device-speed",
    )


def measure_peak(device: str) -> float:
    """Return operations a second of a large complex64 product."""
    import torch

    size = 4096 if device.startswith("cuda") else 512
    name = "cpu" if device == "torch" else device
    left = torch.randn((size, size), dtype=torch.complex64, device=name)
    left @ left
    synchronize(device)
    start = time.perf_counter()
    for _ in range(5):
        left @ left
    synchronize(device)
    return 5 * 8 * size**3 / (time.perf_counter() - start)


def parity(device: str) -> None:
    table = []
    for dtype in (np.complex64, np.complex128):
        for n_coordinates, n_atoms, n_nonzero in [*SIZES, (20, 33, 9), (64, 300, 12), (5, 4, 2)]:
            rows = make_rows(2000 if n_atoms < 100 else 400, n_coordinates, dtype, 2)
            atoms = make_rows(n_atoms, n_coordinates, dtype, 3)
            for method in ("ormp", "omp", "beam", "exact"):
                if (method == "exact" and n_atoms > 30) or (method == "beam" and n_atoms > 100):
                    continue
                ours = encode_rows(rows, atoms, n_nonzero, method=method)
                theirs = encode_rows(rows, atoms, n_nonzero, method=method, device=device)
                same = (np.sort(ours.support, axis=1) == np.sort(theirs.support, axis=1)).all(axis=1)
                errors = np.sqrt(squared_residuals(rows, atoms, ours)), np.sqrt(squared_residuals(rows, atoms, theirs))
                relative = np.abs(errors[0] - errors[1]) / np.maximum(errors[0], 1e-3)
                weights = np.abs(ours.toarray() - theirs.toarray())[same].max()
                table.append(
                    [
                        f"{n_coordinates}, {n_atoms}, {n_nonzero}",
                        np.dtype(dtype).name,
                        method,
                        f"{100 * same.mean():.2f} %",
                        f"{relative.max():.1e}",
                        f"{weights:.1e}",
                    ]
                )
    print_table(
        f"docs/how-to/gpu.md, How fast, text: agreement of {device} with the compiled CPU kernels",
        ["N, atoms, nonzero", "dtype", "coder", "same support", "error, relative", "weights, same support"],
        table,
    )


def whole_fit(device: str, n_shapes: int) -> None:
    rng = np.random.default_rng(0)
    basis = make_rows(400, 200, np.complex64, 5)
    shapes = np.empty((n_shapes, 200), dtype=np.complex64)
    for start in range(0, n_shapes, 100_000):
        size = min(100_000, n_shapes - start)
        chosen = rng.integers(0, 400, (size, 30))
        weights = rng.standard_normal((size, 30), dtype=np.float32) + 1j * rng.standard_normal(
            (size, 30), dtype=np.float32
        )
        for level in range(30):
            part = weights[:, level, None] * basis[chosen[:, level]]
            shapes[start : start + size] = part if level == 0 else shapes[start : start + size] + part
    model = ShapeDictionary(
        230, 30, coder="ormp", tie=0, n_swaps=0, init="random", max_iter=30, tol=0, device=device, random_state=0
    )
    start_time = time.perf_counter()
    model.fit(shapes)
    seconds = time.perf_counter() - start_time
    start_time = time.perf_counter()
    model.encode(shapes)
    coding = time.perf_counter() - start_time
    print_table(
        f"docs/how-to/gpu.md, A whole fit: {n_shapes:,} shapes of 200 points, 30 of 230 atoms, 30 passes on {device}",
        ["RMSE", "fit", "encode, codes back on the host"],
        [[f"{100 * model.rmse_:.2f} %", f"{seconds:.1f} s", f"{coding:.1f} s"]],
    )


def main(device: str = "cuda") -> None:
    """Run all tables; on a CPU with a thousandth of the rows."""
    torch = find_peer("torch", "coding on a GPU")
    if torch is None:
        return
    on_gpu = device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        skip("coding on a GPU", "torch finds no CUDA device here")
        return
    name = torch.cuda.get_device_name(device) if on_gpu else device
    print(f"\n{name}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    throughput(device, 1.0 if on_gpu else 1e-3)
    parity(device)
    whole_fit(device, 1_000_000 if on_gpu else 2000)
