"""Pixels of an image file: a path comes in, its pages go out as arrays ``(height, width)``.

Colors become one number a pixel: gray where the channels agree or gray is asked for, one label for each color
otherwise; transparent pixels are background. Palette images keep their indices, which are labels in segmentation files.
Images larger than Pillow's limit are refused.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex.exceptions import ShapeFileError

Pixels = np.ndarray[Any, Any]

# As Pillow has it: a quarter of a gigabyte of 24-bit pixels.
MAX_PIXELS = 2**30 // 4 // 3
_MAX_PAGES = 100_000
# Beyond what compression of masks achieves: a small file that declares pages of nothing costs no memory and no hours.
_FREE_PIXELS = 2**24
_PIXELS_PER_BYTE = 10_000
_FORMATS = ("PNG", "JPEG", "TIFF")
_LOSSY = ("jpeg", "tiff_jpeg", "webp")
# Numbers of the TIFF tags that describe a stack which ImageJ wrote as one page.
_DESCRIPTION, _OFFSETS, _COMPRESSION, _BITS = 270, 273, 259, 258
_TILE_WIDTH, _TILE_HEIGHT = 322, 323


def read_pages(path: Path, *, as_gray: bool = False) -> Iterator[tuple[Pixels, bool]]:
    """Yield the pages of an image file, and whether its compression may have changed pixels.

    Parameters
    ----------
    path : Path
        A PNG, JPEG or TIFF file.
    as_gray : bool, default: False
        Whether colors are averaged, rather than each taken for a label.

    Yields
    ------
    pixels : ndarray, shape (height, width)
        Booleans, whole numbers or floats.
    is_lossy : bool
        True for JPEG, also within TIFF.

    Raises
    ------
    ShapeFileError
        If the file is damaged, too large, or no such image.
    """
    image_module = load_library("PIL.Image", "Pillow", "Reading images")
    try:
        image = _open(image_module, path)
    except OSError as error:
        if not path.is_file():
            raise
        raise ShapeFileError(f"{path} cannot be read as an image: {error}.") from error
    with image:
        number, n_left = 0, _FREE_PIXELS + _PIXELS_PER_BYTE * path.stat().st_size
        while number < _MAX_PAGES:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    image.seek(number)
                    _check_size(image.size[0] * image.size[1], path)
                    _check_tiles(image, path)
                    n_left -= image.size[0] * image.size[1]
                    if n_left < 0:
                        raise ShapeFileError(f"{path} is refused: it declares far more pixels than its bytes can hold.")
                    is_lossy = _is_lossy(image)
                    array = _to_array(image, as_gray)
                    stack = _imagej_stack(image, path) if number == 0 else None
            except EOFError:
                if number == 0:
                    raise ShapeFileError(f"{path} is cut off: its first image has no end.") from None
                return
            except ShapeFileError:
                raise
            except Exception as error:  # Pillow raises nearly anything on damaged bytes
                raise ShapeFileError(f"{path} is damaged: {str(error) or type(error).__name__}.") from error
            if stack is not None:
                yield from ((page, False) for page in stack)
                return
            yield _one_number(array, path, as_gray or is_lossy), is_lossy
            number += 1


def _open(image_module: Any, path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", image_module.DecompressionBombWarning)
        try:
            return image_module.open(path, formats=_FORMATS)
        except (image_module.DecompressionBombWarning, image_module.DecompressionBombError) as error:
            raise ShapeFileError(f"{path} is refused: {error}") from error
        except OSError:
            raise
        except Exception as error:  # Pillow raises nearly anything on damaged bytes
            raise ShapeFileError(f"{path} is damaged: {str(error) or type(error).__name__}.") from error


def _to_array(image: Any, as_gray: bool) -> Pixels:
    if image.mode in ("YCbCr", "CMYK", "LAB", "HSV"):
        return np.asarray(image.convert("RGB"))
    if image.mode == "PA" or (image.mode == "P" and as_gray):
        return np.asarray(image.convert("RGBA"))
    return np.asarray(image)


def _is_lossy(image: Any) -> bool:
    return image.format == "JPEG" or image.info.get("compression") in _LOSSY


def _imagej_stack(image: Any, path: Path) -> Pixels | None:
    """Return all slices of a stack that ImageJ wrote as one page followed by the pixels of the others."""
    tags: Any = getattr(image, "tag_v2", {})
    told = re.match(r"ImageJ=.*?\bimages=(\d{1,9})\b", str(tags.get(_DESCRIPTION, "")), re.DOTALL)
    n_images = int(told[1]) if told else 1
    if n_images < 2 or image.n_frames > 1 or tags.get(_COMPRESSION, 1) != 1 or image.mode not in ("L", "I;16", "I;16B"):
        return None
    width, height = image.size
    n_bytes = tags.get(_BITS, (1,))[0] // 8
    start, n_wanted = int(tags[_OFFSETS][0]), n_images * height * width
    _check_size(n_wanted, path)
    if start < 0 or n_bytes < 1 or start + n_wanted * n_bytes > path.stat().st_size:
        raise ShapeFileError(f"{path} declares {n_images} slices, more than it holds.")
    order = ">" if tags.prefix == b"MM" else "<"
    stack = np.fromfile(path, dtype=np.dtype(f"{order}u{n_bytes}"), count=n_wanted, offset=start)
    return stack.reshape(n_images, height, width).astype(f"u{n_bytes}", copy=False)


def _check_size(n_pixels: int, path: Path) -> None:
    if n_pixels > MAX_PIXELS:
        raise ShapeFileError(f"{path} is refused: it declares {n_pixels} pixels, more than {MAX_PIXELS}.")


def _check_tiles(image: Any, path: Path) -> None:
    """Refuse tiles of a TIFF that are absurdly large: each is unpacked whole, whatever the size of the image."""
    tags: Any = getattr(image, "tag_v2", {})
    sides = [tags.get(tag, 1) for tag in (_TILE_WIDTH, _TILE_HEIGHT)]
    if not all(isinstance(side, int) for side in sides) or not 0 < sides[0] * sides[1] <= _FREE_PIXELS:
        raise ShapeFileError(f"{path} is refused: it declares tiles of {sides[0]} x {sides[1]} pixels.")


def _one_number(array: Pixels, path: Path, as_gray: bool) -> Pixels:
    """Return one number a pixel from gray, gray and alpha, color, or color and alpha."""
    array = np.asarray(array)
    if array.ndim == 3 and array.shape[2] in (1, 2, 3, 4):
        array = _join_channels(array, as_gray)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "buif":
        raise ShapeFileError(f"{path} holds an array {array.dtype} {array.shape}, which is no image.")
    return array


def _join_channels(array: Pixels, as_gray: bool) -> Pixels:
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
    if as_gray:
        return np.asarray(colors.mean(axis=2).astype(colors.dtype))
    return _number_colors(colors)


def _number_colors(colors: Pixels) -> Pixels:
    """Return a label for each color, red * 65536 + green * 256 + blue; the usual color of the border is background."""
    red, green, blue = np.moveaxis(colors.astype(np.int32), -1, 0)
    labels = (red << 16) | (green << 8) | blue
    values, counts = np.unique(
        np.concatenate([labels[0], labels[-1], labels[1:-1, 0], labels[1:-1, -1]]), return_counts=True
    )
    ground = values[counts.argmax()]
    if ground != 0:
        # Black is an object here, so it needs another number than the background.
        labels = np.where(labels == ground, 0, np.where(labels == 0, 1 << 24, labels))
    return np.asarray(labels)
