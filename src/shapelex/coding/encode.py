"""Codes of shapes over a fixed dictionary.

In: configurations and atoms (:func:`encode`), or whitened rows of both (:func:`encode_rows`). Out:
:class:`~shapelex.coding.codes.SparseCodes`. Rows go through in blocks: beyond input and output, memory does not grow
with the number of shapes. Codes do not depend on the number of threads.
"""

from typing import Literal, overload

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import as_complex_rows, as_configurations, check_coordinate_count
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.device_coder import DeviceCoder
from shapelex.coding.device_whitening import preshape_blocks
from shapelex.coding.masked import encode_masked
from shapelex.coding.row_coder import RowCoder, as_rows
from shapelex.coding.threads import single_blas_thread
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import choose_space
from shapelex.spaces.stored import open_stored

# Configurations that `encode` reads at a time from a stored set.
_READ_ROWS = 8192


@overload
def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = ...,
    method: str = ...,
    *,
    width: int = ...,
    tol: float | None = ...,
    path: Literal[False] = ...,
    mask: ArrayLike | None = ...,
    space: Space | None = ...,
    n_threads: int | None = ...,
    device: str = ...,
) -> SparseCodes: ...


@overload
def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = ...,
    method: str = ...,
    *,
    width: int = ...,
    tol: float | None = ...,
    path: Literal[True],
    mask: None = ...,
    space: Space | None = ...,
    n_threads: int | None = ...,
    device: str = ...,
) -> CodePath: ...


def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = None,
    method: str = "auto",
    *,
    width: int = 16,
    tol: float | None = None,
    path: bool = False,
    mask: ArrayLike | None = None,
    space: Space | None = None,
    n_threads: int | None = None,
    device: str = "cpu",
) -> SparseCodes | CodePath:
    """Code shapes over a dictionary (paper, eq. sparse_coding).

    For the pre-shape `z` of each shape, looks for the weights that solve
    ``min |z - sum_j alpha_j atoms_j|  subject to  |alpha|_0 <= n_nonzero`` in the norm of the space. The minimum
    is the full Procrustes distance of the shape to its reconstruction.

    Parameters
    ----------
    X : array_like of complex, shape (n_samples, n_coordinates), or real, shape (n_samples, n_coordinates, 2)
        Configurations; memory maps, Zarr arrays, HDF5 datasets and blocks of shapes are read piece by piece.
    atoms : array_like of complex, shape (n_atoms, n_coordinates)
        The dictionary. Atoms need not be pre-shapes, nor independent, nor different from zero.
    n_nonzero : int, optional
        Most atoms that a shape may use. May be left out when `tol` is given.
    method : {"auto", "ormp", "omp", "beam", "exact"}
        How to search.

        - ``"ormp"``: order recursive matching pursuit (paper, algorithm ORMP): each step takes the atom that
          lowers the error most.
        - ``"omp"``: orthogonal matching pursuit: each step takes the atom that correlates most with the residual.
        - ``"beam"``: ORMP that keeps the best `width` supports at each step, its own path always among them.
        - ``"exact"``: the true minimum over all supports, by enumeration.
        - ``"auto"``: ``"exact"`` where ``comb(n_atoms, n_nonzero)`` is at most 50,000 (up to 40 µs a shape),
          otherwise ``"beam"``.
    width : int, default 16
        Supports that ``"beam"`` keeps; 1 is ORMP, bit for bit.
    tol : float, optional
        Stop at this full distance: a shape gets no more atoms once ``|z - sum_j alpha_j atoms_j| <= tol``.
    path : bool, default False
        Give the codes of every sparsity up to `n_nonzero`, from one pursuit: ``"ormp"``, which ``"auto"`` means
        here, or ``"omp"``.
    mask : array_like of bool, shape (n_samples, n_coordinates), optional
        True for the landmarks that are present; the others may be NaN. Each shape is coded from the landmarks that
        it has, with shape and atoms re-centered on these, and at least three. Its weights are scaled for the
        completed shape, in which the missing landmarks are those of the reconstruction.
    space : Space, optional
        Space of the configurations. Default: landmarks.
    n_threads : int, optional
        Most threads to use. Default: all processors of this process. Few shapes are coded by one thread.
    device : str, default "cpu"
        Where to code: ``"cpu"`` by compiled kernels, ``"cuda"`` or any other torch device, ``"torch"`` for torch on the
        CPU. Supports are the same everywhere, except where two are
        equally good to rounding, or atoms are nearly dependent.

    Returns
    -------
    SparseCodes or CodePath
        The codes; with ``path=True`` a :class:`CodePath`, whose item `s` has the codes of sparsity `s`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the method is not known.
    SearchTooLargeError
        If an exact search would take too long.
    NonFiniteError
        If a coordinate is NaN or infinite.
    DeviceError
        If there is no such device.

    Notes
    -----
    A pursuit stops early when no atom lowers the error by more than rounding, skips atoms that the chosen
    ones span (to a distance of 1e-4 of their norm in double precision, 3e-3 in single), and settles ties for the
    lowest index. ``"exact"`` is the minimum over the supports that are independent in this sense, to a few roundings
    of the squared norm.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import decode, encode
    >>> triangle = np.array([1, 1j, -1, -1j]) / 2
    >>> kite = np.array([2, 1j, -1, -1j])
    >>> codes = encode([3 * triangle + 5], [triangle, kite], n_nonzero=1)
    >>> np.round(codes.toarray(), 6) + 0
    array([[1.+0.j, 0.+0.j]])
    """
    chosen = choose_space(space, X)
    if chosen is not None:
        chosen.check_space_of(X, "X")
    if mask is not None:
        if path:
            raise ValueError("path=True codes complete shapes: leave out path, or mask.")
        if device != "cpu":
            raise ValueError(f'mask codes on the CPU alone: leave out mask, or use device="cpu", got {device!r}.')
        with single_blas_thread():
            return encode_masked(
                X,
                mask,
                atoms,
                n_nonzero,
                method=method,
                width=width,
                tol=tol,
                space=chosen,
                n_threads=n_threads,
            )
    stored = open_stored(X)
    configurations = as_complex_rows(X, name="X") if stored is None else stored
    in_space = Landmarks(n_points=configurations.shape[1]) if chosen is None else chosen
    check_coordinate_count(configurations.shape[1], in_space.n_coordinates, "X")
    in_space.check_space_of(atoms, "atoms")
    atom_rows = in_space.whiten(as_configurations(atoms, name="atoms", n_coordinates=in_space.n_coordinates)[0])
    dtype = np.result_type(configurations.dtype, atom_rows.dtype)
    if device != "cpu":
        on_device = DeviceCoder(
            atom_rows, n_nonzero, method=method, width=width, tol=tol, path=path, dtype=dtype, device=device
        )
        blocks = preshape_blocks(on_device, configurations, in_space, "X")
        return on_device.encode_blocks(len(configurations), blocks)
    coder = RowCoder(atom_rows, n_nonzero, method=method, width=width, tol=tol, path=path, dtype=dtype)
    support, coefs = coder.allocate(len(configurations))
    n_read = len(configurations) if stored is None else _READ_ROWS
    for start in range(0, len(configurations), n_read):
        part = slice(start, start + n_read)
        coder.code_configurations(
            configurations[part], in_space, support[part], coefs[part], n_threads=n_threads, first_row=start
        )
    return coder.wrap(support, coefs)


def encode_rows(
    rows: ComplexArray,
    atom_rows: ComplexArray,
    n_nonzero: int | None = None,
    *,
    method: str = "auto",
    width: int = 16,
    tol: float | None = None,
    n_threads: int | None = None,
    device: str = "cpu",
) -> SparseCodes:
    """Code whitened rows over whitened atoms.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_samples, n_coordinates)
        Whitened rows; finite, not checked. `tol` is relative to their norms.
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        Whitened atoms of any norm.
    n_nonzero, method, width, tol, n_threads, device
        As in :func:`encode`.

    Returns
    -------
    SparseCodes
        The codes, in complex64 when both inputs are.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import encode_rows
    >>> codes = encode_rows(np.array([[0.8, 0.6j, 0]]), np.eye(3, dtype=complex), 2, method="ormp")
    >>> codes.support
    array([[0, 1]], dtype=int32)
    """
    dtype = np.result_type(as_rows(rows, "rows").dtype, as_rows(atom_rows, "atom_rows").dtype)
    if device != "cpu":
        on_device = DeviceCoder(atom_rows, n_nonzero, method=method, width=width, tol=tol, dtype=dtype, device=device)
        codes = on_device.encode(rows)
        assert isinstance(codes, SparseCodes)
        return codes
    coder = RowCoder(atom_rows, n_nonzero, method=method, width=width, tol=tol, dtype=dtype)
    return coder.encode(rows, n_threads)


def encode_path_rows(
    rows: ComplexArray,
    atom_rows: ComplexArray,
    n_nonzero: int | None = None,
    *,
    method: str = "ormp",
    tol: float | None = None,
    n_threads: int | None = None,
) -> CodePath:
    """Code whitened rows at every sparsity up to `n_nonzero`, by one pursuit.

    Parameters
    ----------
    rows, atom_rows, n_nonzero
        As in :func:`encode_rows`.
    method : {"ormp", "omp"}
        The pursuit.
    tol, n_threads
        As in :func:`encode_rows`.

    Returns
    -------
    CodePath
        Item `s` has the codes of sparsity `s`.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import encode_path_rows
    >>> path = encode_path_rows(np.array([[0.8, 0.6j]]), np.eye(2, dtype=complex), 2)
    >>> path[1].support
    array([[0]], dtype=int32)
    """
    dtype = np.result_type(as_rows(rows, "rows").dtype, as_rows(atom_rows, "atom_rows").dtype)
    coder = RowCoder(atom_rows, n_nonzero, method=method, tol=tol, path=True, dtype=dtype)
    support, coefs = coder.allocate(len(rows))
    coder.code(rows, support, coefs, n_threads)
    return CodePath(support, coefs, coder.n_atoms)
