"""
On a GPU
========

The argument ``device`` of the estimator selects the GPU. Without an argument, the script uses a GPU if there is one,
and torch on the CPU otherwise; it needs ``pip install "shapelex[gpu]"``. ``python gpu.py cuda 500000`` sets the device
and the number of shapes. The script is shown here without its output.
"""

import sys
import time

import numpy as np

import shapelex as sx


def pick_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "torch"


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else pick_device()
    n_shapes = int(sys.argv[2]) if len(sys.argv) > 2 else (500_000 if device.startswith("cuda") else 2000)
    sample = sx.datasets.make_from_dictionary(n_shapes, n_atoms=20, n_nonzero=3, noise=0.02, random_state=0)
    shapes = np.asarray(sample.shapes, dtype=np.complex64)

    start = time.perf_counter()
    model = sx.ShapeDictionary(
        20, 3, coder="ormp", n_swaps=0, max_iter=20, tol=1e-4, device=device, random_state=0
    ).fit(shapes)
    fitted = time.perf_counter()
    codes = model.encode(shapes)
    coded = time.perf_counter()
    print(f"{n_shapes} shapes on {device}: RMSE {100 * model.rmse_:.2f} %, {model.n_iter_} iterations")
    print(f"fit {fitted - start:.1f} s, codes {coded - fitted:.1f} s, {codes.nbytes / 1e6:.2f} MB of codes")

    on_cpu = model.set_params(device="cpu").errors(shapes[:2000])
    on_device = model.set_params(device=device).errors(shapes[:2000])
    print(f"largest difference of an error to that of the CPU: {np.abs(on_cpu - on_device).max():.1e}")


if __name__ == "__main__":
    main()
