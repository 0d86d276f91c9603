"""Codes as files: a table of atoms, moduli and angles for statistics, or ``.npz`` with the arrays themselves.

In come codes with the errors and names of their shapes; out goes a file, whole or not at all. Only ``.npz`` is read
back, and the errors of a table.
"""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_pyarrow
from shapelex._typing import FloatArray
from shapelex._validation import check_choice
from shapelex.coding import SparseCodes
from shapelex.exceptions import CodesError, ShapelexError, reason_of
from shapelex.shapes import ShapeSet
from shapelex.store.archive import read_archive, write_archive
from shapelex.store.atomic import write_atomically
from shapelex.store.table_file import TABLE_SUFFIXES, write_table

FORMAT_NAME = "shapelex codes"
FORMAT_VERSION = 1
LAYOUTS = ("slots", "atoms")
SUFFIXES = (".csv", ".tsv", ".parquet", ".npz")

_TIMES = ("frame", "frames", "time", "t")


def code_columns(codes: SparseCodes, errors: FloatArray, shapes: ShapeSet, layout: str = "slots") -> dict[str, Any]:
    """Return codes as named columns, one row per shape, with the ids, labels, sequence and times of the shapes.

    Layout ``"slots"`` has for each of the atoms that a shape may use ``atom_1``, ``modulus_1``, ``angle_1``, …, the
    largest weight first; ``"atoms"`` has for every atom of the dictionary ``modulus_a0``, ``angle_a0``, …, modulus 0
    and no angle where a shape does not use it. Angles are in radians.
    """
    check_choice(layout, LAYOUTS, "layout")
    columns: dict[str, Any] = {"id": shapes.ids}
    if shapes.labels is not None:
        columns["label"] = shapes.labels
    if shapes.sequence is not None:
        columns["sequence"] = shapes.sequence
        columns |= {name: shapes.metadata[name] for name in _TIMES if name in shapes.metadata}
    columns |= {"error": errors, "n_used": codes.counts()}
    if layout == "atoms":
        dense = codes.toarray()
        for atom in range(codes.n_atoms):
            weights = dense[:, atom]
            columns[f"modulus_a{atom}"] = np.abs(weights)
            columns[f"angle_a{atom}"] = np.where(weights != 0, np.angle(weights), np.nan)
        return columns
    order = np.argsort(-np.abs(codes.coefs), axis=1, kind="stable")
    support, coefs = np.take_along_axis(codes.support, order, axis=1), np.take_along_axis(codes.coefs, order, axis=1)
    for slot in range(codes.n_nonzero):
        is_empty = support[:, slot] < 0
        columns[f"atom_{slot + 1}"] = np.ma.masked_array(support[:, slot], mask=is_empty)
        columns[f"modulus_{slot + 1}"] = np.ma.masked_array(np.abs(coefs[:, slot]), mask=is_empty)
        columns[f"angle_{slot + 1}"] = np.ma.masked_array(np.angle(coefs[:, slot]), mask=is_empty)
    return columns


def write_codes(
    path: str | Path,
    codes: SparseCodes,
    errors: FloatArray,
    shapes: ShapeSet,
    run: Mapping[str, Any],
    *,
    layout: str = "slots",
) -> Path:
    """Write codes as ``.npz``, or as a table (see :func:`code_columns`); a file that is there is replaced."""
    target = Path(path)
    if target.suffix.lower() != ".npz":
        return write_table(target, code_columns(codes, errors, shapes, layout), run)
    header = {"format": FORMAT_NAME, "version": FORMAT_VERSION, "n_atoms": codes.n_atoms, "run": dict(run)}
    arrays = {"support": codes.support, "coefs": codes.coefs, "errors": errors, "ids": shapes.ids}
    if shapes.labels is not None:
        arrays["labels"] = shapes.labels
    write_atomically(target, lambda stream: write_archive(stream, json.dumps(header).encode(), arrays))
    return target


def read_codes_npz(path: str | Path) -> tuple[SparseCodes, dict[str, Any]]:
    """Read the codes of a ``.npz`` file, and its columns ``errors``, ``ids`` and, where there are some, ``labels``."""
    source = Path(path)
    try:
        with source.open("rb") as stream:
            header, arrays = read_archive(stream)
        if header["format"] != FORMAT_NAME:
            raise ValueError("it is of another kind")
        codes = SparseCodes(arrays.pop("support"), arrays.pop("coefs"), int(header["n_atoms"]))
        if arrays["errors"].shape != (len(codes),):
            raise ValueError("it does not have one error per shape")
    except (ShapelexError, ValueError, LookupError, TypeError) as error:
        raise CodesError(f"{source} holds no codes that can be read: {reason_of(error)}.") from error
    return codes, arrays


def read_code_errors(path: str | Path) -> FloatArray | None:
    """Return the errors of the shapes in a table of codes; None where the file is no such table."""
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix not in TABLE_SUFFIXES or not source.is_file():
        return None
    if suffix == ".parquet":
        parquet = load_pyarrow().parquet
        if not _are_codes(parquet.read_schema(source).names):
            return None
        errors = parquet.read_table(source, columns=["error"]).column("error").to_numpy()
        return np.asarray(errors, dtype=float)
    try:
        with source.open(encoding="utf-8", newline="") as stream:
            rows = csv.reader(stream, delimiter="\t" if suffix == ".tsv" else ",")
            names = next(rows, [])
            if not _are_codes(names):
                return None
            place = names.index("error")
            return np.array([float(row[place]) for row in rows])
    except (ValueError, IndexError, csv.Error):
        return None


def _are_codes(names: list[str]) -> bool:
    return {"id", "error", "n_used"} <= set(names) and not {"modulus_1", "modulus_a0"}.isdisjoint(names)
