"""Sparse codes over a fixed dictionary."""

from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.coding.cpu import RowCoder
from shapelex.coding.decode import decode, residual_norms, squared_residuals
from shapelex.coding.encode import encode, encode_path_rows, encode_rows

__all__ = [
    "CodePath",
    "RowCoder",
    "SparseCodes",
    "decode",
    "encode",
    "encode_path_rows",
    "encode_rows",
    "residual_norms",
    "squared_residuals",
]
