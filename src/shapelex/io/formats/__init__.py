"""Readers and writers, one file per format; :mod:`shapelex.io.registry` lists them."""
