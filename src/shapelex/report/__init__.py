"""The explorer: one HTML page that shows a dictionary, its shapes and their codes, and lets you play with them.

In come a fitted :class:`~shapelex.ShapeDictionary` and shapes; out goes a single file that needs no server, no network
and no installation: it opens from disk, and can be sent to a colleague.
"""

from shapelex.report.write import write_report

__all__ = ["write_report"]
