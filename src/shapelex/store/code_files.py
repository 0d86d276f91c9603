"""Files of codes: Zarr folders and Parquet tables, written block by block.

In come blocks of codes with the errors of their shapes; out goes one file, whole or not at all, and the codes again.
A Zarr folder holds the arrays ``support``, ``coefs`` and ``errors``, and columns of what is known of the shapes; a
Parquet table has the columns ``support``,
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
from shapelex.store.code_table import read_codes_npz, read_codes_table
from shapelex.store.folders import put_in_place, remove
from shapelex.store.run_records import KEY
from shapelex.store.table_file import TABLE_SUFFIXES

FORMAT_NAME = "shapelex codes"

# Rows of a chunk or a row group.
_GROUP_ROWS = 1 << 16


class CodesWriter(ABC):
    """A file of codes that grows as ``.NAME.partial``; as a context it is put in place at the end, or removed on error.

    `dtype` is the precision of the weights, `run` the record of what makes them, `columns` the types of what
    is known of the shapes, which Zarr folders keep.
    """

    def __init__(
        self,
        path: Path,
        n_shapes: int,
        n_nonzero: int,
        n_atoms: int,
        dtype: np.dtype[Any],
        run: Mapping[str, Any] | None = None,
        columns: Mapping[str, np.dtype[Any]] | None = None,
    ) -> None:
        self.path = path.resolve()
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.path.parent} to write {path.name} to.")
        self.partial = self.path.with_name(f".{self.path.name}.partial")
        self.n_shapes, self.n_nonzero, self.n_atoms, self.dtype = n_shapes, n_nonzero, n_atoms, dtype
        self.run, self.columns = run, dict(columns or {})
        self._waiting: list[tuple[SparseCodes, FloatArray, Mapping[str, Any]]] = []
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

    def add(self, codes: SparseCodes, errors: FloatArray, columns: Mapping[str, Any] | None = None) -> None:
        """Append the codes and the errors of the next shapes, and what is known of them."""
        self._waiting.append((codes, errors, columns or {}))
        if sum(len(part) for part, _, _ in self._waiting) >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        codes = SparseCodes.concatenate([part for part, _, _ in self._waiting])
        errors = np.concatenate([part for _, part, _ in self._waiting])
        columns = {name: np.concatenate([told[name] for _, _, told in self._waiting]) for name in self.columns}
        self._waiting = []
        self._write(self._n_written, codes.support, codes.coefs.astype(self.dtype, copy=False), errors, columns)
        self._n_written += len(codes)

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _write(
        self, start: int, support: IntArray, coefs: ComplexArray, errors: FloatArray, columns: Mapping[str, Any]
    ) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...


class _ZarrWriter(CodesWriter):
    def _open(self) -> None:
        zarr = load_zarr()
        self._group = zarr.open_group(str(self.partial), mode="w")
        keys = {name: f"column_{place}" for place, name in enumerate(self.columns)}
        told = {"format": FORMAT_NAME, "n_atoms": self.n_atoms, "columns": keys}
        self._group.attrs.update(told if self.run is None else {**told, "run": dict(self.run)})
        error_dtype = np.empty(0, dtype=self.dtype).real.dtype
        shapes = {"support": (self.n_nonzero, np.dtype(np.int32)), "coefs": (self.n_nonzero, self.dtype)}
        rows = min(_GROUP_ROWS, self.n_shapes)
        for name, (width, dtype) in shapes.items():
            self._group.create_array(name, shape=(self.n_shapes, width), chunks=(rows, width), dtype=dtype)
        flat = {"errors": error_dtype} | {
            keys[name]: dtype if dtype.kind in "biufc" else str for name, dtype in self.columns.items()
        }
        for name, kind in flat.items():
            self._group.create_array(name, shape=(self.n_shapes,), chunks=(rows,), dtype=kind)
        self._keys = keys

    def _write(
        self, start: int, support: IntArray, coefs: ComplexArray, errors: FloatArray, columns: Mapping[str, Any]
    ) -> None:
        part = slice(start, start + len(support))
        for name, values in (("support", support), ("coefs", coefs), ("errors", errors)):
            self._group[name][part] = values
        for name, column in columns.items():
            self._group[self._keys[name]][part] = column

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

    def _write(
        self,
        start: int,  # noqa: ARG002
        support: IntArray,
        coefs: ComplexArray,
        errors: FloatArray,
        columns: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
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
    columns: Mapping[str, np.dtype[Any]] | None = None,
) -> CodesWriter:
    """Begin a file of codes; its ending, ``.zarr`` or ``.parquet``, says in which format."""
    target = Path(path)
    if target.suffix.lower() not in _WRITERS:
        raise CodesError(f"path must end in {' or '.join(_WRITERS)}, got {str(path)!r}.")
    return _WRITERS[target.suffix.lower()](target, n_shapes, n_nonzero, n_atoms, dtype, run, columns)


class StoredCodes(tuple[SparseCodes, FloatArray]):
    """What :func:`read_codes` returns: codes and errors, as a pair, with what is known of the shapes.

    Attributes
    ----------
    codes : SparseCodes
        The codes.
    errors : ndarray of float, shape (n_shapes,)
        Full distances of the shapes to their reconstructions.
    columns : dict of str to ndarray of shape (n_shapes,)
        What else the file says of the shapes: ``id``, ``label``, ``sequence``, and all metadata of the set.
    """

    columns: dict[str, Any]

    def __new__(cls, codes: SparseCodes, errors: FloatArray, columns: Mapping[str, Any]) -> "StoredCodes":
        """Make the pair."""
        made = super().__new__(cls, (codes, errors))
        made.columns = dict(columns)
        return made

    @property
    def codes(self) -> SparseCodes:
        """The codes."""
        return self[0]

    @property
    def errors(self) -> FloatArray:
        """Full distances of the shapes to their reconstructions."""
        return self[1]


def read_codes(path: str | Path) -> StoredCodes:
    """Read a file of codes into memory.

    Parameters
    ----------
    path : str or Path
        What the command ``shapelex encode`` wrote, as ``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``, ``.npz`` or
        ``.zarr``, or :meth:`shapelex.ShapeDictionary.encode_to`. Tables have the atoms of a shape in the order of
        their moduli, and weights rounded to double precision.

    Returns
    -------
    StoredCodes
        A pair of the codes and the errors, ``codes, errors = read_codes(path)``, whose attribute ``columns`` has what
        else the file says of the shapes, by name.

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
    suffix = source.suffix.lower()
    if suffix == ".zarr":
        group = load_zarr().open_group(str(source), mode="r")
        _check_format(group.attrs.get("format"), source)
        codes = SparseCodes(group["support"][:], group["coefs"][:], int(group.attrs["n_atoms"]))
        keys = dict(group.attrs.get("columns", {}))
        return StoredCodes(codes, group["errors"][:], {name: _as_fixed(group[key][:]) for name, key in keys.items()})
    if suffix == ".npz":
        codes, columns = read_codes_npz(source)
        return StoredCodes(codes, columns.pop("error"), columns)
    if suffix not in TABLE_SUFFIXES:
        raise CodesError(f"path must end in {', '.join(TABLE_SUFFIXES)}, .npz or .zarr, got {str(path)!r}.")
    if suffix == ".parquet":
        # By file, not by path: pyarrow takes paths for folders of partitions.
        with source.open("rb") as stream:
            metadata = load_pyarrow().parquet.read_schema(stream).metadata or {}
        if metadata.get(b"format", b"").decode(errors="replace") == FORMAT_NAME:
            return _read_parquet(source)
    codes, columns = read_codes_table(source)
    return StoredCodes(codes, columns.pop("error"), columns)


def _read_parquet(source: Path) -> StoredCodes:
    """Read the lists that :class:`_ParquetWriter` writes."""
    with source.open("rb") as stream:
        table = load_pyarrow().parquet.read_table(stream)
    support, real, imag = (
        np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in table[name].chunks])
        for name in ("support", "coefs_real", "coefs_imag")
    )
    coefs = np.empty(real.shape, dtype=np.result_type(real.dtype, np.complex64))
    coefs.real, coefs.imag = real, imag
    shape = (table.num_rows, -1)
    codes = SparseCodes(support.reshape(shape), coefs.reshape(shape), int(table.schema.metadata[b"n_atoms"]))
    return StoredCodes(codes, table["error"].to_numpy(), {})


def _as_fixed(column: Any) -> Any:
    """Return text of any length as an array of text of one length."""
    return column if column.dtype.kind in "biufc" else np.array(column.tolist(), dtype=np.str_)


def describe_codes(path: Path) -> tuple[tuple[int, int], int, FloatArray]:
    """Return the codes' shape, the number of atoms and the errors in a Zarr folder, without reading the codes."""
    group = load_zarr().open_group(str(path), mode="r")
    _check_format(group.attrs.get("format"), path)
    n_shapes, n_nonzero = group["support"].shape
    return (n_shapes, n_nonzero), int(group.attrs["n_atoms"]), group["errors"][:]


def _check_format(name: Any, source: Path) -> None:
    if name != FORMAT_NAME:
        raise CodesError(f"{source} holds no codes of shapelex: its format is {name!r}.")
