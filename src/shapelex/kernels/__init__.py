"""Loops only: numba kernels on real arrays, without a single Python object in them."""
