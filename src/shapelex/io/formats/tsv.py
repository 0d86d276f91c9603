"""Tables of shapes with tabs between their columns; read and written as :mod:`shapelex.io.formats.csv` does."""

from typing import BinaryIO

from shapelex.io.formats import csv as _csv
from shapelex.io.formats.csv import read_records as read_records
from shapelex.shapes import ShapeSet


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a table with names."""
    _csv.write_set(shapes, stream, layout=layout, delimiter="\t")
