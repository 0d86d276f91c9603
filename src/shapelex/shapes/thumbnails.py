"""Draw shapes as small pictures in HTML, for notebooks.

The inline SVG takes the color of the text around it, so that it can be read on light and on dark pages. Nothing is
loaded, and all captions are escaped.
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.spaces import Landmarks, Space

# Of a larger set, shapes spread evenly over it are drawn.
_MAX_THUMBNAILS = 24
_SIZE, _MARGIN = 72, 4
_CURVE_POINTS = 96
_CAPTION_LETTERS = 24


def html_with_thumbnails(text: str, configurations: ComplexArray, space: Space, captions: Sequence[str]) -> str:
    """Return text, as it is, above pictures of at most 24 shapes with their captions."""
    n_shapes = len(configurations)
    chosen = np.unique(np.linspace(0, n_shapes - 1, min(n_shapes, _MAX_THUMBNAILS)).round().astype(int))
    rows = np.asarray(configurations[chosen])
    try:
        # A space given by its matrices alone does not say where its points are.
        is_sampled = len(rows) and not isinstance(space, Landmarks)
        curves = space.sample(rows, space.parameters(_CURVE_POINTS)) if is_sampled else rows
    except UnsupportedBySpaceError:
        return html_text(text)
    drawn = [_draw(curve, space.closed, captions[number]) for curve, number in zip(curves, chosen, strict=True)]
    more = f"{len(chosen)} of {n_shapes} shapes" if len(chosen) < n_shapes else ""
    return (
        f'<div>{html_text(text)}<div style="display:flex;flex-wrap:wrap;gap:6px">{"".join(drawn)}</div>'
        f"<small>{more}</small></div>"
    )


def html_text(text: str) -> str:
    """Return plain text as HTML that keeps its lines."""
    return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'


def _draw(curve: ComplexArray, closed: bool, caption: str) -> str:
    label = escape(caption)
    short = label if len(caption) <= _CAPTION_LETTERS else escape(caption[: _CAPTION_LETTERS - 1]) + "…"
    return (
        f'<figure style="margin:0;width:{_SIZE}px"><svg width="{_SIZE}" height="{_SIZE}" viewBox="0 0 {_SIZE} {_SIZE}" '
        f'fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" role="img" aria-label="{label}">'
        f'<path d="{_path(curve, closed)}"/></svg><figcaption title="{label}" style="font-size:10px;line-height:1.2;'
        f'text-align:center;overflow-wrap:anywhere">{short}</figcaption></figure>'
    )


def _path(curve: ComplexArray, closed: bool) -> str:
    """Return a curve as SVG commands, scaled to the picture; missing points are left out."""
    points = curve[np.isfinite(curve)]
    if not len(points):
        return ""
    low, high = (complex(bound(points.real), bound(points.imag)) for bound in (np.min, np.max))
    extent = max(high.real - low.real, high.imag - low.imag) or 1.0
    centered = (points - (low + high) / 2) * ((_SIZE - 2 * _MARGIN) / extent) + _SIZE / 2 * (1 + 1j)
    # The second coordinate of SVG points downwards.
    corners = [f"{point.real:.1f} {_SIZE - point.imag:.1f}" for point in centered.tolist()]
    return "M" + "L".join(corners) + ("Z" if closed and len(corners) > 2 else "")
