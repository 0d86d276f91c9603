"""Tables of shapes with tabs between their columns; read and written as :mod:`shapelex.io.formats.csv` does."""

from functools import partial

from shapelex.io.formats import csv

read_records = csv.read_records
write_set = partial(csv.write_set, delimiter="\t")
