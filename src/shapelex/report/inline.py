"""The page inside the output of a notebook cell."""

from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shapelex._validation import check_count
from shapelex.estimators import ShapeDictionary
from shapelex.report.write import write_report


class InlinePage:
    """A page that a notebook shows where it is the last value of a cell.

    Parameters
    ----------
    html : str
        The whole page.
    height : int
        Height of the frame in pixels.
    """

    def __init__(self, html: str, height: int) -> None:
        self.html, self.height = html, height

    def __repr__(self) -> str:
        return (
            f"<page of {len(self.html.encode()) / 1e6:.1f} MB: a notebook shows it as the last value of a cell; "
            "elsewhere write it with shapelex.report.write_report>"
        )

    def _repr_html_(self) -> str:
        # The page is a document of its own: neither its style nor its scripts reach the notebook.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" title="shapelex" '
            f'style="width:100%;height:{self.height}px;border:1px solid currentColor"></iframe>'
        )


def make_inline_page(model: ShapeDictionary, X: Any, height: int, **options: Any) -> InlinePage:
    """Return the page that :func:`write_report` writes with these options."""
    check_count(height, 100, "height")
    with TemporaryDirectory() as folder:
        page = write_report(model, X, Path(folder) / "page.html", **options)
        return InlinePage(page.read_text(encoding="utf-8"), height)
