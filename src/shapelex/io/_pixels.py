"""Pixels of an image file: a path comes in, its pages go out as arrays ``(height, width)``.

Colors become one number a pixel: gray where the channels agree, one label for each color otherwise; transparent
pixels are background. Palette images keep their indices, which are labels in segmentation files. Images larger than
Pillow's limit are refused.
"""

import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import ShapeFileError
from shapelex.io._extras import load_library

Pixels = np.ndarray[Any, Any]

# As Pillow has it: a quarter of a gigabyte of 24-bit pixels.
MAX_PIXELS = 2**30 // 4 // 3
_MAX_PAGES = 100_000
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
_TIFF_MARKS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
# What Pillow and tifffile raise on damaged files.
_DAMAGED = (
    OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError, SyntaxError, OverflowError,
    MemoryError, ZeroDivisionError, AssertionError, EOFError, struct.error, zlib.error, RecursionError,
)  # fmt: skip


def read_pages(path: Path) -> Iterator[tuple[Pixels, bool]]:
    """Yield the pages of an image file, and whether its compression may have changed pixels.

    Parameters
    ----------
    path : Path
        A PNG, JPEG, TIFF or BMP file.

    Yields
    ------
    pixels : ndarray, shape (height, width)
        Booleans, whole numbers or floats.
    is_lossy : bool
        True for JPEG.

    Raises
    ------
    ShapeFileError
        If the file is damaged, too large, or no such image.
    """
    with path.open("rb") as stream:
        head = stream.read(4)
    pages = _tiff_pages(path) if head in _TIFF_MARKS else _pillow_pages(path)
    while True:
        try:
            page, is_lossy = next(pages)
        except StopIteration:
            return
        except (ShapeFileError, ImportError):
            raise
        except _DAMAGED as error:
            raise ShapeFileError(f"{path} cannot be read as an image: {str(error) or type(error).__name__}.") from error
        yield page, is_lossy


def _pillow_pages(path: Path) -> Iterator[tuple[Pixels, bool]]:
    image_module = load_library("PIL.Image", "Pillow", "Reading images")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", image_module.DecompressionBombWarning)
        try:
            with image_module.open(path, formats=_FORMATS) as image:
                n_pages = min(int(getattr(image, "n_frames", 1)), _MAX_PAGES)
                for page in range(n_pages):
                    image.seek(page)
                    _check_size(image.size[1], image.size[0], path)
                    yield _one_number(_to_array(image), path), image.format == "JPEG"
        except (image_module.DecompressionBombWarning, image_module.DecompressionBombError) as error:
            raise ShapeFileError(f"{path} is refused: {error}") from error


def _to_array(image: Any) -> Pixels:
    if image.mode in ("YCbCr", "CMYK", "LAB", "HSV"):
        return np.asarray(image.convert("RGB"))
    if image.mode == "PA":
        return np.asarray(image.convert("RGBA"))
    return np.asarray(image)


def _tiff_pages(path: Path) -> Iterator[tuple[Pixels, bool]]:
    tifffile = load_library("tifffile", "tifffile", "Reading TIFF images")
    with tifffile.TiffFile(path) as file:
        n_bytes = path.stat().st_size
        n_pages = 0
        for series in file.series:
            pages = list(series.pages)
            if len(pages) > _MAX_PAGES:
                raise ShapeFileError(f"{path} is refused: it has {len(pages)} pages.")
            # ImageJ writes large stacks as one page followed by the pixels of all.
            if len(pages) == 1 and series.ndim > 2 and pages[0].ndim < series.ndim:
                _check_size(int(series.size), 1, path)
                if int(series.size) * series.dtype.itemsize > n_bytes:
                    raise ShapeFileError(
                        f"{path} is refused: it declares {series.shape} pixels but is {n_bytes} bytes long."
                    )
                stack = series.asarray().reshape(-1, *pages[0].shape)
                yield from ((_one_number(page, path), False) for page in stack)
                continue
            for page in pages:
                if page is None:
                    raise ShapeFileError(f"{path} is damaged: one of its pages is missing.")
                n_pages += 1
                yield _one_number(_decode(page, path), path), _is_lossy(page)


def _decode(page: Any, path: Path) -> Pixels:
    _check_size(
        int(np.prod([int(side) for side in page.shape], dtype=object)) // max(1, int(page.samplesperpixel)), 1, path
    )
    tile = [int(side) for side in (page.tilelength, page.tilewidth, page.tiledepth)]
    _check_size(tile[0] * tile[1] * max(1, tile[2]), 1, path)
    array = page.asarray()
    if page.planarconfig == 2 and array.ndim == 3:
        array = np.moveaxis(array, 0, -1)
    return np.asarray(array)


def _is_lossy(page: Any) -> bool:
    return int(page.compression) in (6, 7, 33003, 33004, 33005, 34892)


def _check_size(height: int, width: int, path: Path) -> None:
    if height * width > MAX_PIXELS:
        raise ShapeFileError(f"{path} is refused: it declares {height * width} pixels, more than {MAX_PIXELS}.")


def _one_number(array: Pixels, path: Path) -> Pixels:
    """Return one number a pixel from gray, gray and alpha, color, or color and alpha."""
    array = np.asarray(array)
    if array.ndim == 3 and array.shape[2] in (1, 2, 3, 4):
        array = _join_channels(array)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "buif":
        raise ShapeFileError(f"{path} holds an array {array.dtype} {array.shape}, which is no image.")
    return array


def _join_channels(array: Pixels) -> Pixels:
    n_colors = array.shape[2] - 1 if array.shape[2] in (2, 4) else array.shape[2]
    colors, alpha = array[..., :n_colors], array[..., n_colors:]
    if n_colors == 3 and (colors == colors[..., :1]).all():
        colors = colors[..., :1]
    if alpha.size and alpha.min() < alpha.max():
        opaque = alpha[..., 0] > int(alpha.max()) // 2
        if (colors == colors[0, 0]).all() or (colors[opaque] == colors[opaque][:1]).all():
            # All that differs is what can be seen through.
            return np.asarray(opaque)
        colors = np.where(opaque[..., None], colors, np.zeros_like(colors[:1, :1]))
    if colors.shape[2] == 1:
        return np.asarray(colors[..., 0])
    if colors.dtype != np.uint8:
        raise ShapeFileError("Color images of more than 8 bits a channel are no masks: save labels as gray values.")
    red, green, blue = np.moveaxis(colors.astype(np.int32), -1, 0)
    return np.asarray((red << 16) | (green << 8) | blue)
