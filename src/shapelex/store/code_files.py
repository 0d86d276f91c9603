"""Files of codes: Zarr folders and Parquet tables, written block by block.

In come blocks of codes with the errors of their shapes; out goes one file, whole or not at all, and the codes again.
A Zarr folder holds the arrays ``support``, ``coefs`` and ``errors``; a Parquet table has the columns ``support``,
``coefs_real`` and ``coefs_imag`` (lists) and ``error``, one row a shape.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from shapelex._extras import load_pyarrow, load_zarr
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.coding import SparseCodes
from shapelex.exceptions import CodesError
from shapelex.store.code_table import read_codes_npz
from shapelex.store.folders import put_in_place, remove
from shapelex.store.run_records import KEY

FORMAT_NAME = "shapelex codes"

# Rows of a chunk or a row group.
_GROUP_ROWS = 1 << 16


class CodesWriter(ABC):
    """A file of codes that grows as ``.NAME.partial``; as a context it is put in place at the end, or removed on error.

    `dtype` is the precision of the weights, `run` the record of what makes them.
    """

    def __init__(
        self,
        path: Path,
        n_shapes: int,
        n_nonzero: int,
        n_atoms: int,
        dtype: np.dtype[Any],
        run: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path.resolve()
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.parent} to write {path.name} to.")
        self.partial = self.path.with_name(f".{self.path.name}.partial")
        self.n_shapes, self.n_nonzero, self.n_atoms, self.dtype = n_shapes, n_nonzero, n_atoms, dtype
        self.run = run
        self._waiting: list[tuple[SparseCodes, FloatArray]] = []
        self._n_written = 0

    def __enter__(self) -> "CodesWriter":
        remove(self.partial)
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
            self._close()
            if kind is None:
                put_in_place(self.partial, self.path)
        finally:
            remove(self.partial)

    def add(self, codes: SparseCodes, errors: FloatArray) -> None:
        """Append the codes and the errors of the next shapes."""
        self._waiting.append((codes, errors))
        if sum(len(part) for part, _ in self._waiting) >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        codes = SparseCodes.concatenate([part for part, _ in self._waiting])
        errors = np.concatenate([part for _, part in self._waiting])
        self._waiting = []
        self._write(self._n_written, codes.support, codes.coefs.astype(self.dtype, copy=False), errors)
        self._n_written += len(codes)

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _write(self, start: int, support: IntArray, coefs: ComplexArray, errors: FloatArray) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...


class _ZarrWriter(CodesWriter):
    def _open(self) -> None:
        zarr = load_zarr()
        self._group = zarr.open_group(str(self.partial), mode="w")
        told = {"format": FORMAT_NAME, "n_atoms": self.n_atoms}
        self._group.attrs.update(told if self.run is None else {**told, "run": dict(self.run)})
        error_dtype = np.empty(0, dtype=self.dtype).real.dtype
        shapes = {"support": (self.n_nonzero, np.dtype(np.int32)), "coefs": (self.n_nonzero, self.dtype)}
        rows = min(_GROUP_ROWS, self.n_shapes)
        for name, (width, dtype) in shapes.items():
            self._group.create_array(name, shape=(self.n_shapes, width), chunks=(rows, width), dtype=dtype)
        self._group.create_array("errors", shape=(self.n_shapes,), chunks=(rows,), dtype=error_dtype)

    def _write(self, start: int, support: IntArray, coefs: ComplexArray, errors: FloatArray) -> None:
        part = slice(start, start + len(support))
        for name, values in (("support", support), ("coefs", coefs), ("errors", errors)):
            self._group[name][part] = values

    def _close(self) -> None:
        """Zarr keeps nothing open."""


class _ParquetWriter(CodesWriter):
    def _open(self) -> None:
        pa = load_pyarrow()
        real = pa.from_numpy_dtype(np.empty(0, dtype=self.dtype).real.dtype)
        columns = [
            ("support", pa.list_(pa.int32(), self.n_nonzero)),
            ("coefs_real", pa.list_(real, self.n_nonzero)),
            ("coefs_imag", pa.list_(real, self.n_nonzero)),
            ("error", real),
        ]
        told = {"format": FORMAT_NAME, "n_atoms": str(self.n_atoms)}
        self._schema = pa.schema(columns, told if self.run is None else {**told, KEY: json.dumps(dict(self.run))})
        self._writer = pa.parquet.ParquetWriter(self.partial, self._schema)

    def _write(self, start: int, support: IntArray, coefs: ComplexArray, errors: FloatArray) -> None:  # noqa: ARG002
        pa = load_pyarrow()
        lists = [
            pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).ravel()), self.n_nonzero)
            for values in (support, coefs.real, coefs.imag)
        ]
        arrays = [*lists, pa.array(errors.astype(coefs.real.dtype, copy=False))]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    def _close(self) -> None:
        self._writer.close()


_WRITERS: dict[str, type[CodesWriter]] = {".zarr": _ZarrWriter, ".parquet": _ParquetWriter}


def open_codes_writer(
    path: str | Path,
    n_shapes: int,
    n_nonzero: int,
    n_atoms: int,
    dtype: np.dtype[Any],
    run: Mapping[str, Any] | None = None,
) -> CodesWriter:
    """Begin a file of codes; its ending, ``.zarr`` or ``.parquet``, says in which format."""
    target = Path(path)
    if target.suffix.lower() not in _WRITERS:
        raise CodesError(f"path must end in {' or '.join(_WRITERS)}, got {str(path)!r}.")
    return _WRITERS[target.suffix.lower()](target, n_shapes, n_nonzero, n_atoms, dtype, run)


def read_codes(path: str | Path) -> tuple[SparseCodes, FloatArray]:
    """Read a file of codes into memory.

    Parameters
    ----------
    path : str or Path
        What :meth:`shapelex.ShapeDictionary.encode_to` wrote, or the command ``shapelex encode`` as ``.npz`` or
        ``.zarr``. Tables that it writes are for other programs: they do not say how many atoms there are.

    Returns
    -------
    codes : SparseCodes
        The codes.
    errors : ndarray of float, shape (n_shapes,)
        Full distances of the shapes to their reconstructions.

    Raises
    ------
    CodesError
        If the file holds something else.
    FileNotFoundError
        If there is no such file.
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"There is no file {source}.")
    if source.suffix.lower() == ".zarr":
        group = load_zarr().open_group(str(source), mode="r")
        _check_format(group.attrs.get("format"), source)
        codes = SparseCodes(group["support"][:], group["coefs"][:], int(group.attrs["n_atoms"]))
        return codes, group["errors"][:]
    if source.suffix.lower() == ".npz":
        codes, columns = read_codes_npz(source)
        return codes, columns["errors"]
    if source.suffix.lower() != ".parquet":
        raise CodesError(f"path must end in .zarr, .parquet or .npz, got {str(path)!r}.")
    # By file, not by path: pyarrow takes paths for folders of partitions.
    with source.open("rb") as stream:
        table = load_pyarrow().parquet.read_table(stream)
    metadata = table.schema.metadata or {}
    _check_format(metadata.get(b"format", b"").decode(errors="replace"), source)
    support, real, imag = (
        np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in table[name].chunks])
        for name in ("support", "coefs_real", "coefs_imag")
    )
    coefs = np.empty(real.shape, dtype=np.result_type(real.dtype, np.complex64))
    coefs.real, coefs.imag = real, imag
    shape = (table.num_rows, -1)
    codes = SparseCodes(support.reshape(shape), coefs.reshape(shape), int(metadata[b"n_atoms"]))
    return codes, table["error"].to_numpy()


def describe_codes(path: Path) -> tuple[tuple[int, int], int, FloatArray]:
    """Return the codes' shape, the number of atoms and the errors in a Zarr folder, without reading the codes."""
    group = load_zarr().open_group(str(path), mode="r")
    _check_format(group.attrs.get("format"), path)
    n_shapes, n_nonzero = group["support"].shape
    return (n_shapes, n_nonzero), int(group.attrs["n_atoms"]), group["errors"][:]


def _check_format(name: Any, source: Path) -> None:
    if name != FORMAT_NAME:
        raise CodesError(f"{source} holds no codes of shapelex: its format is {name!r}.")
