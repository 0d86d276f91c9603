"""Largest products of shapes with targets over all start points, directions and mirror images, on any torch device.

The twin of :meth:`shapelex.geometry.registration.cyclic_search.CyclicSearch.largest`, for several targets at once.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

# Products that are held at a time: 512 MB in double precision.
_MOST_PRODUCTS = 1 << 25


def preshapes_of(rows: Tensor, gram: Tensor, shift: Tensor) -> Tensor:
    """Return configurations centered and of norm 1; NaN where a shape is collapsed or not finite."""
    duals = shift @ gram.T
    centers = (rows @ duals.conj()) / torch.vdot(shift, duals)
    centered = rows - centers[:, None] * shift
    squares = ((centered @ gram.T) * centered.conj()).sum(dim=1).real
    return centered / squares.sqrt()[:, None]


def largest_products(preshapes: Tensor, duals: Sequence[Tensor], is_reversed: Sequence[bool], start: bool) -> Tensor:
    """Return the largest squared products ``(n_targets, n_rows)``.

    `duals` has one tensor ``(n_targets, n_parts, n_points)`` for each variant, see :meth:`CyclicSearch.duals`.
    Without `start`, the points of a shape are summed instead of shifted.
    """
    n_targets, n_parts, n_points = duals[0].shape
    spectra = preshapes.reshape(len(preshapes), n_parts, n_points)
    if start:
        spectra = torch.fft.fft(spectra)
    step = max(1, _MOST_PRODUCTS // (n_points * max(n_targets, 1)))
    found = []
    for part in spectra.split(step):
        largest: Tensor | None = None
        for dual, reverse in zip(duals, is_reversed, strict=True):
            if start:
                terms = torch.einsum("tpn,rpn->trn", dual, part)
                products = torch.fft.fft(terms, norm="forward") if reverse else torch.fft.ifft(terms)
                squares = (products.real**2 + products.imag**2).amax(dim=2)
            else:
                products = torch.einsum("tpn,rpn->tr", dual, part)
                squares = products.real**2 + products.imag**2
            largest = squares if largest is None else torch.maximum(largest, squares)
        assert largest is not None
        found.append(largest)
    return torch.cat(found, dim=1)
