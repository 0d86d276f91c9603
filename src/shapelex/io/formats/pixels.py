"""Pixels of an image file: a path comes in, its pages go out as arrays ``(height, width)``.

Colors become one number a pixel: gray where the channels agree or gray is asked for, one label for each color
otherwise; transparent pixels are background. Palette images keep their indices, which are labels in segmentation files.
Images larger than Pillow's limit are refused. Pillow decodes, as it knows all compressions; tifffile tells how the
pages of a TIFF are arranged, and decodes what Pillow does not: numbers of 64 bits, and stacks written as one page.
"""

import contextlib
import re
import warnings
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex._validation import check_count
from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import read_head

Pixels = np.ndarray[Any, Any]

# As Pillow has it: a quarter of a gigabyte of 24-bit pixels.
MAX_PIXELS = 2**30 // 4 // 3
_MAX_PAGES = 100_000
# Beyond what compression of masks achieves: a small file that declares pages of nothing costs no memory and no hours.
_FREE_PIXELS = 2**24
_PIXELS_PER_BYTE = 10_000
# Pages are looked at several times; so many bytes of them are kept, larger files are decoded again.
_KEPT_BYTES = 2**26
_FORMATS = ("PNG", "JPEG", "TIFF")
_LOSSY = ("jpeg", "tiff_jpeg", "webp")
_TIFF_MARKS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_TILE_WIDTH, _TILE_HEIGHT = 322, 323
# Axes of a stack that can be chosen from, by the letter that tifffile gives them.
_AXES = {"T": "time points", "Z": "slices", "C": "channels"}
# Share of the border that a color must have to be the background of an image in which black is something else.
_MOSTLY = 0.9


class ImageFile:
    """The pages of an image file, which can be gone through more than once.

    Parameters
    ----------
    path : Path
        A PNG, JPEG or TIFF file.
    z, channel : int, optional
        Slice and channel of a TIFF to read.
    as_gray : bool, default: False
        Whether colors are averaged, rather than each taken for a label.

    Attributes
    ----------
    pixel_size : tuple of float or None
        Width and height of a pixel, where the file tells them with their unit.
    unit : str
        That unit.
    remarks : list of str
        What was decided about the axes and colors of the file.

    Raises
    ------
    ShapeFileError
        If the file is damaged, too large, or no such image, or a stack of which a part must be chosen.
    """

    def __init__(self, path: Path, *, z: int | None = None, channel: int | None = None, as_gray: bool = False) -> None:
        self.path, self.as_gray = path, as_gray
        self.pixel_size: tuple[float, float] | None = None
        self.unit = ""
        self.remarks: list[str] = []
        self._planes: list[int] | None = None
        self._needs_tifffile = False
        self._kept: list[tuple[Pixels, bool]] | None = None
        chosen = {
            name: check_count(value, 0, name) for name, value in (("z", z), ("channel", channel)) if value is not None
        }
        if read_head(path).startswith(_TIFF_MARKS):
            self._arrange(chosen)
        elif chosen:
            raise ShapeFileError(f"{path} is no TIFF, so there is no {' and '.join(chosen)} to choose.")

    def __iter__(self) -> Iterator[tuple[Pixels, bool]]:
        """Yield the pages, and whether their compression may have changed pixels, as JPEG does."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[tuple[Pixels, bool]] = []
        n_bytes = 0
        for pixels, is_lossy in self._tifffile_pages() if self._needs_tifffile else self._pillow_pages():
            page = self._one_number(pixels, self.as_gray or is_lossy), is_lossy
            n_bytes += page[0].nbytes
            if n_bytes <= _KEPT_BYTES:
                kept.append(page)
            yield page
        if n_bytes <= _KEPT_BYTES:
            self._kept = kept

    def _arrange(self, chosen: dict[str, int]) -> None:
        """Find the planes of a TIFF that are its frames, and the size of its pixels."""
        tifffile = load_library("tifffile", "tifffile", "Reading TIFF files")
        try:
            with tifffile.TiffFile(self.path, _multifile=False) as file:
                # A chain of pages that runs into itself has no end, and tifffile would follow it.
                with contextlib.suppress(IndexError):
                    _ = file.pages[_MAX_PAGES]
                    raise ShapeFileError(f"{self.path} is refused: it has more than {_MAX_PAGES} pages.")
                series, first, n_pages = file.series[0], file.pages[0], len(file.pages)
                axes = [(axis, int(n)) for axis, n in zip(series.axes, series.shape, strict=True) if axis not in "YXS"]
                told: Any = file.imagej_metadata or {}
                self._needs_tifffile = (
                    first.dtype is not None and first.dtype.itemsize == 8 and first.dtype.kind in "iuf"
                )
                n_planes = prod(n for _, n in axes)
                if n_pages < n_planes and series.dataoffset is not None:
                    self._needs_tifffile = True
                is_cut = max(n_planes if self._needs_tifffile else 0, n_pages) < max(
                    n_planes, int(told.get("images", 1))
                )
                self._find_pixel_size(file, told)
        except ShapeFileError:
            raise
        except Exception as error:  # tifffile raises nearly anything on damaged bytes
            raise ShapeFileError(f"{self.path} is damaged: {str(error) or type(error).__name__}.") from error
        if is_cut or n_planes > _MAX_PAGES:
            raise ShapeFileError(f"{self.path} declares more pages than it holds, or than {_MAX_PAGES}.")
        self._choose(axes, chosen, n_pages)

    def _choose(self, axes: list[tuple[str, int]], chosen: dict[str, int], n_pages: int) -> None:
        planes = np.arange(prod(n for _, n in axes)).reshape([n for _, n in axes])
        letters = [axis for axis, _ in axes]
        for name, axis in (("z", "Z"), ("channel", "C")):
            if name not in chosen:
                continue
            n_there = planes.shape[letters.index(axis)] if axis in letters else 0
            if chosen[name] >= n_there:
                raise ShapeFileError(
                    f"{self.path} has {n_there} {_AXES[axis]}, so {name}={chosen[name]} does not exist."
                )
            planes = planes.take([chosen[name]], axis=letters.index(axis))
        left = [(_AXES.get(axis, "pages"), n) for axis, n in zip(letters, planes.shape, strict=True) if n > 1]
        named = " × ".join(f"{n} {noun}" for noun, n in left)
        if len(left) > 1:
            raise ShapeFileError(
                f"{self.path} is a stack of {named}, but frames have one axis: choose with z=0 (slice) and channel=0, "
                "or save one plane for each time point."
            )
        if left and left[0][0] in ("slices", "channels"):
            option = "z=0" if left[0][0] == "slices" else "channel=0"
            self.remarks.append(f"its {named} are read as frames; the option {option} reads one of them.")
        # Without a choice all pages are read, also those that are no part of the first series.
        if chosen or (self._needs_tifffile and planes.size > n_pages):
            self._planes = planes.ravel().tolist()

    def _find_pixel_size(self, file: Any, told: Any) -> None:
        sizes: list[float] = []
        if file.is_ome:
            ome = str(file.ome_metadata)
            found = dict(re.findall(r'\b(PhysicalSize[XY](?:Unit)?)="([^"]{1,40})"', ome))
            if found.get("PhysicalSizeXUnit", "µm") == found.get("PhysicalSizeYUnit", "µm"):
                sizes = [float(found.get(f"PhysicalSize{axis}", 0)) for axis in "XY"]
                unit = found.get("PhysicalSizeXUnit", "µm")
        elif told.get("unit"):
            sizes = [1 / value if value > 0 else 0.0 for value in file.pages[0].resolution]
            unit = str(told["unit"])
        # ImageJ calls images without a scale "pixel" or "inch" with the resolution of a screen.
        if sizes and all(0 < size < np.inf for size in sizes) and unit not in ("pixel", "pixels", "inch"):
            self.pixel_size, self.unit = (sizes[0], sizes[1]), "µm" if unit in ("micron", "um", "\\u00B5m") else unit
            if abs(sizes[0] - sizes[1]) > 0.01 * max(sizes):
                self.remarks.append(
                    f"its pixels are {sizes[0]:g} x {sizes[1]:g} {self.unit}, not square; outlines are in pixels, so "
                    "that shapes are stretched."
                )

    def _tifffile_pages(self) -> Iterator[tuple[Pixels, bool]]:
        tifffile = load_library("tifffile", "tifffile", "Reading TIFF files")
        n_left = _FREE_PIXELS + _PIXELS_PER_BYTE * self.path.stat().st_size
        try:
            with tifffile.TiffFile(self.path, _multifile=False) as file:
                stack = None
                if self._planes is not None and max(self._planes) >= len(file.pages):
                    series = file.series[0]
                    stack = series.asarray(out="memmap").reshape(-1, *series.shape[-2:])
                for number in range(min(len(file.pages), _MAX_PAGES)) if self._planes is None else self._planes:
                    page = file.pages[0 if stack is not None else number]
                    n_left -= self._check_size(page.imagewidth * page.imagelength, n_left)
                    sides = page.tilewidth or 1, page.tilelength or 1
                    self._check_tiles(sides)
                    pixels = page.asarray() if stack is None else stack[number]
                    yield pixels.astype(pixels.dtype.newbyteorder("="), copy=False), False
        except ShapeFileError:
            raise
        except Exception as error:  # tifffile raises nearly anything on damaged bytes
            raise ShapeFileError(f"{self.path} cannot be decoded: {str(error) or type(error).__name__}.") from error

    def _pillow_pages(self) -> Iterator[tuple[Pixels, bool]]:
        image_module = load_library("PIL.Image", "Pillow", "Reading images")
        try:
            image = _open(image_module, self.path)
        except OSError as error:
            if not self.path.is_file():
                raise
            raise ShapeFileError(f"{self.path} cannot be read as an image: {error}.") from error
        with image:
            n_left = _FREE_PIXELS + _PIXELS_PER_BYTE * self.path.stat().st_size
            for n_done, number in enumerate(range(_MAX_PAGES) if self._planes is None else self._planes):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        image.seek(number)
                        n_left -= self._check_size(image.size[0] * image.size[1], n_left)
                        tags: Any = getattr(image, "tag_v2", {})
                        self._check_tiles((tags.get(_TILE_WIDTH, 1), tags.get(_TILE_HEIGHT, 1)))
                        page = _to_array(image, self.as_gray), _is_lossy(image)
                except EOFError:
                    if n_done == 0:
                        raise ShapeFileError(f"{self.path} is cut off: its first image has no end.") from None
                    return
                except ShapeFileError:
                    raise
                except Exception as error:  # Pillow raises nearly anything on damaged bytes
                    raise ShapeFileError(f"{self.path} is damaged: {str(error) or type(error).__name__}.") from error
                yield page

    def _check_size(self, n_pixels: int, n_left: int) -> int:
        if n_pixels > MAX_PIXELS:
            raise ShapeFileError(f"{self.path} is refused: it declares {n_pixels} pixels, more than {MAX_PIXELS}.")
        if n_pixels > n_left:
            raise ShapeFileError(f"{self.path} is refused: it declares far more pixels than its bytes can hold.")
        return n_pixels

    def _check_tiles(self, sides: tuple[Any, Any]) -> None:
        """Refuse tiles of a TIFF that are absurdly large: each is unpacked whole, whatever the size of the image."""
        if not all(isinstance(side, int) for side in sides) or not 0 < sides[0] * sides[1] <= _FREE_PIXELS:
            raise ShapeFileError(f"{self.path} is refused: it declares tiles of {sides[0]} x {sides[1]} pixels.")

    def _one_number(self, array: Pixels, as_gray: bool) -> Pixels:
        """Return one number a pixel from gray, gray and alpha, color, or color and alpha."""
        array = np.asarray(array)
        if array.ndim == 3 and array.shape[2] in (1, 2, 3, 4):
            array = self._join_channels(array, as_gray)
        if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "buif":
            raise ShapeFileError(f"{self.path} holds an array {array.dtype} {array.shape}, which is no image.")
        return array

    def _join_channels(self, array: Pixels, as_gray: bool) -> Pixels:
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
        return self._number_colors(colors)

    def _number_colors(self, colors: Pixels) -> Pixels:
        """Return a label for each color, red * 65536 + green * 256 + blue, and 0 for the background."""
        red, green, blue = np.moveaxis(colors.astype(np.int32), -1, 0)
        labels = (red << 16) | (green << 8) | blue
        values, counts = np.unique(border_of(labels), return_counts=True)
        ground = int(values[counts.argmax()])
        if ground == 0:
            return np.asarray(labels)
        name = f"({ground >> 16}, {ground >> 8 & 255}, {ground & 255})"
        if counts.max() < _MOSTLY * counts.sum():
            if (labels == 0).any():
                return np.asarray(labels)
            raise ShapeFileError(
                f"{self.path} has colored areas, but its background is not clear: no pixel is black, and the "
                f"color {name} is not all around. "
                'Save the areas as a label image, or say kind="binary" with a threshold.'
            )
        remark = f"the color {name}, which surrounds the image, is taken for its background."
        if remark not in self.remarks:
            self.remarks.append(remark)
        # Black is an object here, so it needs another number than the background.
        return np.where(labels == ground, 0, np.where(labels == 0, 1 << 24, labels))


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


def border_of(pixels: Pixels) -> Pixels:
    """Return the pixels at the border of an image, each once."""
    return np.concatenate([pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]])
