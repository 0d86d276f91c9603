"""The explorer: one HTML page that shows a dictionary, its shapes and their codes, and lets you play with them.

The page is a single file that needs no server, no network and no installation.
"""

from shapelex.report.write import write_report

__all__ = ["write_report"]
