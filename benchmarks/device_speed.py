"""Shapes per second on a torch device, agreement with the CPU, and a whole fit; skipped without a GPU.

Rows are on the device already, in complex64, as are the codes that come out. The bound is the larger of two times: that
of the arithmetic that every such search needs, in single precision outside the tensor cores, and that of reading each
row and writing each code once.
"""

import time
from math import comb
from statistics import median
from typing import Any

import numpy as np

from measure import find_peer, print_table, skip
from shape_data import open_set
from shapelex import ShapeDictionary
from shapelex._typing import ComplexArray
from shapelex.coding import encode_rows, squared_residuals
from shapelex.coding.coders import Coding
from shapelex.coding.torch.device_coder import DeviceCoder

# (n_coordinates, n_atoms, n_nonzero): the paper's largest set, its Hermite worms and its leaves.
SIZES = [(200, 230, 30), (12, 10, 5), (40, 20, 5)]
N_ROWS = {200: 1_000_000, 12: 16_000_000, 40: 8_000_000}
METHODS = {"ormp": "ormp", "polish": "ormp, polished", "exact": "exact", "beam": "beam 16"}


def make_rows(n_rows: int, n_coordinates: int, dtype: type, seed: int = 0) -> ComplexArray:
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((n_rows, 2 * n_coordinates), dtype=np.float32)
    rows: ComplexArray = parts.view(np.complex64).astype(dtype)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def count_operations(method: str, n_coordinates: int, n_atoms: int, n_nonzero: int) -> int:
    """Return the real operations per shape that no such search can do without.

    For ORMP, these are the correlations and the triangular factor; for an exact search, the correlations, and a
    multiply-add of complex numbers and a square for each support.
    """
    correlations = 8 * n_atoms * n_coordinates
    if method == "exact":
        return correlations + 12 * comb(n_atoms, n_nonzero)
    return correlations + 8 * n_atoms * (n_nonzero * (n_nonzero - 1) // 2 + 2 * n_nonzero)


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


def make_coder(atoms: ComplexArray, n_nonzero: int, method: str, device: str) -> DeviceCoder:
    """Return a coder; with the method "polish", that of ORMP whose supports are improved by exchanges."""
    name, polish = ("ormp", True) if method == "polish" else (method, False)
    return DeviceCoder(Coding(atoms, n_nonzero, name, polish=polish, device=device), atoms.dtype)


def throughput(device: str, scale: float) -> None:
    import torch

    peak, bandwidth = measure_peak(device), measure_bandwidth(device)
    table = []
    for method, label in METHODS.items():
        for n_coordinates, n_atoms, n_nonzero in SIZES:
            if (method == "exact" and n_atoms > 30) or (method == "polish" and n_atoms <= 30):
                continue
            n_rows = max(1000, int(scale * N_ROWS[n_coordinates]))
            atoms = make_rows(n_atoms, n_coordinates, np.complex64, 1)
            coder = make_coder(atoms, n_nonzero, method, device)
            n_here = {"ormp": n_rows, "polish": n_rows, "exact": n_rows // 4}.get(method, n_rows // 200)
            n_here = max(500, n_here)
            rows = torch.from_numpy(make_rows(n_here, n_coordinates, np.complex64)).to(coder.device)
            rate = measure_rate(coder, rows, n_here, device, 7 if method == "ormp" else 3)
            cells = ["", "", ""]
            if method in ("ormp", "exact"):
                n_bytes = 8 * n_coordinates + 12 * n_nonzero
                bounds = {
                    "arithmetic": peak / count_operations(method, n_coordinates, n_atoms, n_nonzero),
                    "memory": bandwidth / n_bytes,
                }
                kind, bound = min(bounds.items(), key=lambda item: item[1])
                cells = [f"{bound / 1e6:,.0f} M", kind, f"{100 * rate / bound:.0f} %"]
            millions = f"{rate / 1e6:,.0f} M" if rate >= 1e7 else f"{rate / 1e6:.2g} M"
            table.append([f"{n_coordinates}, {n_atoms}, {n_nonzero}", label, millions, *cells])
            del rows
    print_table(
        f"docs/how-to/gpu.md, How fast: {device}, {peak / 1e12:.1f} TFLOP/s in a large complex64 product, "
        f"{bandwidth / 1e12:.2f} TB/s in a large copy",
        ["N, atoms, nonzero", "coder", "shapes/s", "bound", "by", "of bound"],
        table,
        "device-speed",
    )


def measure_bandwidth(device: str) -> float:
    """Return bytes read and written per second by a large copy."""
    import torch

    size = 1 << (30 if device.startswith("cuda") else 24)
    source = torch.empty(size, dtype=torch.uint8, device="cpu" if device == "torch" else device)
    copy = torch.empty_like(source)
    copy.copy_(source)
    synchronize(device)
    start = time.perf_counter()
    for _ in range(10):
        copy.copy_(source)
    synchronize(device)
    return 10 * 2 * size / (time.perf_counter() - start)


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


def polish(device: str) -> None:
    """Compare errors and speed of ORMP, with and without exchanges, and of a beam, on outlines of objects."""
    import torch

    from shapelex.kernels.torch.pursuit import squared_errors

    shapes = open_set("mpeg7_outlines_200", "polish on a GPU")
    if shapes is None:
        return
    model = ShapeDictionary(
        230, 30, coder="ormp", n_swaps=0, init="random", max_iter=15, tol=0, random_state=0
    ).set_params(device=device)
    model.fit(shapes)
    space = model.space_
    atoms = space.whitened_preshapes(model.atoms_).astype(np.complex64)
    preshapes = space.whitened_preshapes(np.asarray(shapes.configurations)).astype(np.complex64)
    table = []
    for method, label in METHODS.items():
        if method == "exact":
            continue
        coder = make_coder(atoms, 30, method, device)
        rows = torch.from_numpy(preshapes).to(coder.device)
        there = coder.to_device(atoms)
        error = 0.0
        for start in range(0, len(rows), coder.block_rows()):
            part = rows[start : start + coder.block_rows()]
            support, coefs = coder.code(part)
            error += float(squared_errors(part, there, support, coefs[:, 0]).sum())
        many = rows if method == "beam" else rows.repeat(100, 1)
        rate = measure_rate(coder, many, len(many), device, 3)
        table.append([label, f"{100 * np.sqrt(error / len(rows)):.3f} %", f"{rate / 1e6:.2g} M"])
    print_table(
        f"docs/how-to/gpu.md, How fast: {len(rows)} outlines of 200 points, 30 of 230 atoms, on {device}",
        ["coder", "RMSE", "shapes/s"],
        table,
        "device-polish",
    )


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


def sums_of_atoms(n_shapes: int, n_coordinates: int, n_atoms: int, n_nonzero: int) -> ComplexArray:
    """Return sums of random atoms and a little noise."""
    rng = np.random.default_rng(0)
    codes = np.zeros((n_shapes, n_atoms), dtype=np.complex64)
    weights = rng.standard_normal((n_shapes, 2 * n_nonzero), dtype=np.float32).view(np.complex64)
    np.put_along_axis(codes, rng.integers(0, n_atoms, (n_shapes, n_nonzero)), weights, axis=1)
    noise = make_rows(n_shapes, n_coordinates, np.complex64, 6)
    return codes @ make_rows(n_atoms, n_coordinates, np.complex64, 5) + np.float32(0.02) * noise


def whole_fits(device: str, scale: float) -> None:
    n_shapes = int(1_000_000 * scale)
    plain: dict[str, Any] = {
        "coder": "ormp",
        "tie": 0,
        "n_swaps": 0,
        "init": "random",
        "max_iter": 30,
        "tol": 0,
    }
    fits: list[tuple[str, tuple[int, int, int, int], dict[str, Any]]] = [
        ("40 shapes of 12 points", (40, 12, 4, 2), {}),
        (f"{n_shapes:,} shapes of 40 points", (n_shapes, 40, 20, 5), {}),
        (f"{n_shapes:,} shapes of 200 points, 30 passes", (n_shapes, 200, 230, 30), plain),
    ]
    table = []
    for name, (n_rows, n_coordinates, n_atoms, n_nonzero), options in fits:
        shapes = sums_of_atoms(n_rows, n_coordinates, n_atoms, n_nonzero)
        model = ShapeDictionary(n_atoms, n_nonzero, device=device, random_state=0, **options)
        start = time.perf_counter()
        model.fit(shapes)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        model.encode(shapes)
        coding = time.perf_counter() - start
        rmse = f"{100 * model.rmse_:.2f} %"
        table.append([name, f"{n_nonzero} of {n_atoms}", rmse, f"{seconds:.1f} s", f"{coding:.1f} s"])
    print_table(
        f"docs/how-to/gpu.md, Whole fits from host memory on {device}",
        ["shapes", "atoms", "RMSE", "fit", "encode, codes back on the host"],
        table,
        "device-fits",
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
    polish(device)
    whole_fits(device, 1.0 if on_gpu else 2e-3)
    parity(device)
