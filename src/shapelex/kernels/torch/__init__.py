"""The twins of the numba kernels for torch devices; loaded only when one is used, as torch is optional."""
