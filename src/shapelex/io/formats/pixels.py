"""Pixels of an image file: a path comes in, its pages go out as arrays ``(height, width)``.

Colors become one number a pixel: gray where the channels agree or gray is asked for, one label for each color
otherwise; transparent pixels are background. Palette images keep their indices, which are labels in segmentation files.
Pillow decodes, as it knows all compressions; tifffile tells how the pages of a TIFF are arranged, and decodes what
Pillow does not: numbers of 64 bits, and stacks written as one page. Both do so after a check of the declared size.
"""

import contextlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex._messages import format_option
from shapelex._validation import check_count
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_head, refusing
from shapelex.io.formats.cellpose import read_masks
from shapelex.io.formats.frame_rates import rate_of_step

Pixels = np.ndarray[Any, Any]

# An A4 sheet at 600 dots per inch has 35 million. Outlines take about 20 bytes for each pixel of an image.
MAX_PIXELS = 50_000_000
# Pixels of more bits count as several of this size.
_PIXEL_BYTES = 4
_MAX_PAGES = 100_000
# Beyond what compression of masks achieves: a small file that declares pages of nothing costs no memory and no hours.
_FREE_PIXELS = 2**24
_PIXELS_PER_BYTE = 10_000
# Pages are looked at several times; so many bytes of them, or a single one, are kept. Larger files are decoded again.
KEPT_BYTES = 2**26
_DEEP_COLORS = (
    "colors or transparency of more than 8 bits: save the objects as a label image, or the colors with 8 bits."
)
_LOSSY = ("jpeg", "tiff_jpeg", "webp")
_TIFF_MARKS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_TILE_WIDTH, _TILE_HEIGHT = 322, 323
# Axes of a stack that can be chosen from, by the letter that tifffile gives them: what they count, and the option.
_AXES = {"Z": ("slices", "z"), "C": ("channels", "channel"), "T": ("time points", "")}
# Share of the border that a color must have to be the background of an image in which black is something else.
_MOSTLY = 0.9


@dataclass(frozen=True, eq=False)
class Runs:
    """An image as runs of equal pixels, row after row: masks take a thousandth of their room."""

    values: Pixels
    lengths: Pixels
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return int(self.values.nbytes + self.lengths.nbytes)


def pack(pixels: Pixels) -> Pixels | Runs:
    """Return an image as runs where they take less room."""
    flat = pixels.ravel()
    starts = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]]))
    if len(starts) * (8 + pixels.itemsize) >= pixels.nbytes:
        return pixels
    return Runs(flat[starts], np.diff(starts, append=flat.size), pixels.shape)


class Kept:
    """Images with what is known of each, made once if they take little room, and else whenever they are gone through.

    Parameters
    ----------
    make : callable
        Yields tuples whose first entry is the image.
    """

    def __init__(self, make: Callable[[], Iterator[tuple[Any, ...]]]) -> None:
        self._make = make
        self._kept: list[tuple[Any, ...]] = []

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for image, *told in self._kept:
            is_packed = isinstance(image, Runs)
            yield np.repeat(image.values, image.lengths).reshape(image.shape) if is_packed else image, *told
        if self._kept:
            return
        kept, n_images, n_bytes = [], 0, 0
        for pixels, *told in self._make():
            packed = pack(pixels)
            n_images, n_bytes = n_images + 1, n_bytes + packed.nbytes
            if n_images == 1 or n_bytes <= KEPT_BYTES:
                kept.append((packed, *told))
            yield pixels, *told
        self._kept = kept if len(kept) == n_images else []


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
    max_pixels : int, default: 50_000_000
        Largest number of pixels of a page.

    Attributes
    ----------
    pixel_size : tuple of float or None
        Width and height of a pixel, where the file tells them with their unit.
    unit : str
        That unit.
    frame_rate : float or None
        Frames per second, where the file tells the time between its pages.
    remarks : list of str
        What was decided about the axes and colors of the file.

    Raises
    ------
    ShapeFileError
        If the file is damaged, too large, or no such image, or a stack of which a part must be chosen.
    """

    def __init__(
        self,
        path: Path,
        *,
        z: int | None = None,
        channel: int | None = None,
        as_gray: bool = False,
        max_pixels: int = MAX_PIXELS,
    ) -> None:
        self.path, self.as_gray = path, as_gray
        self._max_pixels = check_count(max_pixels, 1, format_option("max_pixels"))
        self.pixel_size: tuple[float, float] | None = None
        self.unit = ""
        self.frame_rate: float | None = None
        self.remarks: list[str] = []
        self._planes: list[int] | None = None
        self._needs_tifffile = False
        self._pages = Kept(self._read_pages)
        # How colors are read, once a page has some; alpha is above this number where a pixel is opaque.
        self._opaque_above: int | None = None
        self._is_gray = self._is_cutout = self._is_one_color = False
        self._ground = 0
        chosen = {
            name: check_count(n, 0, format_option(name))
            for name, n in (("z", z), ("channel", channel))
            if n is not None
        }
        head = read_head(path)
        if head.startswith(b"\x93NUMPY") and not chosen:
            masks = read_masks(path)
            self._pages = Kept(lambda: ((page, False) for page in (masks if masks.ndim == 3 else [masks])))
            return
        if not head.startswith(_TIFF_MARKS):
            if head[:4] == b"\x89PNG" and head[24:25] == b"\x10" and head[25:26] in b"\2\4\6":
                raise ShapeFileError(f"{path} has {_DEEP_COLORS}")
            if chosen:
                raise ShapeFileError(f"{path} is no TIFF, so there is no {' and '.join(chosen)} to choose.")
            return
        tifffile = load_library("tifffile", "tifffile", "Reading TIFF files")
        with _decoding(path), tifffile.TiffFile(path, _multifile=False) as file:
            self._arrange(file, chosen)

    def __iter__(self) -> Iterator[tuple[Pixels, bool]]:
        """Yield the pages, and whether their compression may have changed pixels, as JPEG does."""
        yield from self._pages

    def _read_pages(self) -> Iterator[tuple[Pixels, bool]]:
        for pixels, is_lossy in self._decoded_pages():
            if pixels.ndim == 3 and pixels.shape[2] <= 4 and pixels.dtype.itemsize == 1:
                if self._opaque_above is None:
                    self._decide_on_colors()
                pixels = self._join_channels(pixels)
            if pixels.ndim != 2 or pixels.size == 0 or pixels.dtype.kind not in "buif":
                raise ShapeFileError(f"{self.path} holds an array {pixels.dtype} {pixels.shape}, which is no image.")
            yield pixels, is_lossy

    def _decoded_pages(self) -> Iterator[tuple[Pixels, bool]]:
        """Yield the pages with their channels, and whether their compression may have changed pixels."""
        # Checked here, as a library that is missing is no damage.
        pillow = load_library("PIL.Image", "Pillow", "Reading images")
        pages = self._tifffile_pages() if self._needs_tifffile else self._pillow_pages(pillow)
        while True:
            with _decoding(self.path):
                page = next(pages, None)
            if page is None:
                return
            yield page

    def _arrange(self, file: Any, chosen: dict[str, int]) -> None:
        """Find the planes of a TIFF that are its frames, and the size of its pixels."""
        # A chain of pages that runs into itself has no end, and tifffile would follow it.
        with contextlib.suppress(IndexError):
            _ = file.pages[_MAX_PAGES]
            raise ShapeFileError(f"{self.path} is refused: it has more than {_MAX_PAGES} pages.")
        series, dtype, n_pages = file.series[0], file.pages[0].dtype, len(file.pages)
        if any("SY" in each.axes for each in file.series):
            raise ShapeFileError(
                f"{self.path} stores planes as the colors of one image, as tifffile does with stacks of 3 or 4 frames: "
                'save frames with photometric="minisblack", and colors with planarconfig="contig".'
            )
        if any("S" in each.axes and each.dtype.itemsize > 1 for each in file.series):
            raise ShapeFileError(f"{self.path} has {_DEEP_COLORS}")
        axes = [(axis, int(n)) for axis, n in zip(series.axes, series.shape, strict=True) if axis not in "YXS"]
        letters, sizes = "".join(axis for axis, _ in axes), [n for _, n in axes]
        planes = np.arange(prod(sizes) if prod(sizes) <= _MAX_PAGES else 0)
        is_one_page = n_pages < planes.size and series.dataoffset is not None
        self._needs_tifffile = is_one_page or (dtype is not None and dtype.itemsize == 8 and dtype.kind in "iuf")
        told: Any = file.imagej_metadata or {}
        n_there = max(n_pages, planes.size if self._needs_tifffile else 0)
        if not planes.size or n_there < max(planes.size, int(told.get("images", 1))):
            raise ShapeFileError(f"{self.path} declares more pages than it holds, or than {_MAX_PAGES}.")
        if file.is_ome or told.get("unit"):
            self._find_pixel_size(file, told)
        self._find_frame_rate(file, told)
        planes = planes.reshape(sizes)
        for axis, (noun, option) in _AXES.items():
            if option in chosen:
                place = letters.find(axis)
                n_there = sizes[place] if place >= 0 else 0
                if chosen[option] >= n_there:
                    raise ShapeFileError(
                        f"{self.path} has {n_there} {noun}, so {format_option(option, chosen[option])} does not exist."
                    )
                planes = planes.take([chosen[option]], axis=place)
        left = [(_AXES.get(axis, ("pages", "")), n) for axis, n in zip(letters, planes.shape, strict=True) if n > 1]
        named = " × ".join(f"{n} {noun}" for (noun, _), n in left)
        if len(left) > 1:
            raise ShapeFileError(
                f"{self.path} is a stack of {named}, but frames have one axis: choose with "
                f"{format_option('z', 0)} (slice) and {format_option('channel', 0)}, or save one plane for each time "
                "point."
            )
        if left and left[0][0][1]:
            self.remarks.append(f"its {named} are read as frames; the option {left[0][0][1]}=0 reads one of them.")
            self.frame_rate = None
        # Without a choice all pages are read, also those that are no part of the first series.
        if chosen or is_one_page:
            self._planes = planes.ravel().tolist()

    def _find_pixel_size(self, file: Any, told: Any) -> None:
        """Set the size of pixels from what an OME or ImageJ file tells."""
        if file.is_ome:
            found = dict(re.findall(r'\b(PhysicalSize[XY](?:Unit)?)="([^"]{1,40})"', str(file.ome_metadata)))
            sizes = [float(found.get(f"PhysicalSize{axis}", 0)) for axis in "XY"]
            units = {found.get(f"PhysicalSize{axis}Unit", "µm") for axis in "XY"}
        else:
            sizes = [1 / value if value > 0 else 0.0 for value in file.pages[0].resolution]
            units = {str(told["unit"])}
        unit = units.pop()
        # ImageJ calls images without a scale "pixel" or "inch" with the resolution of a screen.
        if units or unit in ("pixel", "pixels", "inch") or not all(0 < size < np.inf for size in sizes):
            return
        self.pixel_size, self.unit = (sizes[0], sizes[1]), "µm" if unit in ("micron", "um", "\\u00B5m") else unit

    def _find_frame_rate(self, file: Any, told: Any) -> None:
        """Set the frame rate from what an OME or ImageJ file tells; the "fps" of ImageJ is the speed of playback."""
        if file.is_ome:
            found = dict(re.findall(r'\b(TimeIncrement(?:Unit)?)="([^"]{1,40})"', str(file.ome_metadata)))
            step, unit = found.get("TimeIncrement", "0"), found.get("TimeIncrementUnit", "s")
        else:
            step, unit = told.get("finterval", 0), told.get("tunit", "sec")
        with contextlib.suppress(ValueError, TypeError):
            self.frame_rate = rate_of_step(float(step), str(unit))

    def _tifffile_pages(self) -> Iterator[tuple[Pixels, bool]]:
        """Yield the pages of a TIFF that Pillow does not decode."""
        n_left = _FREE_PIXELS + _PIXELS_PER_BYTE * self.path.stat().st_size
        with load_library("tifffile", "tifffile", "Reading TIFF files").TiffFile(self.path, _multifile=False) as file:
            pages, series = file.pages, file.series[0]
            numbers = range(len(pages)) if self._planes is None else self._planes
            is_one_page = max(numbers) >= len(pages)
            if is_one_page:
                stack = series.asarray(out="memmap").reshape(-1, *series.pages[0].shape)
            for number in numbers:
                page = pages[0 if is_one_page else number]
                tile = page.tilewidth or 1, page.tilelength or 1
                size = (page.imagewidth, page.imagelength)
                n_left = self._check_size(size, tile, n_left, 1 if page.dtype is None else page.dtype.itemsize)
                pixels = stack[number] if is_one_page else page.asarray()
                yield pixels.astype(pixels.dtype.newbyteorder("="), copy=False), False

    def _pillow_pages(self, pillow: Any) -> Iterator[tuple[Pixels, bool]]:
        """Yield the pages of any other file."""
        n_left = _FREE_PIXELS + _PIXELS_PER_BYTE * self.path.stat().st_size
        with self._large_images(pillow), pillow.open(self.path, formats=("PNG", "JPEG", "TIFF")) as image:
            for n_done, number in enumerate(range(_MAX_PAGES) if self._planes is None else self._planes):
                try:
                    image.seek(number)
                except EOFError:
                    if n_done:
                        return
                    raise
                tags: Any = getattr(image, "tag_v2", {})
                n_left = self._check_size(image.size, (tags.get(_TILE_WIDTH, 1), tags.get(_TILE_HEIGHT, 1)), n_left)
                shown = image
                if image.mode in ("YCbCr", "CMYK", "LAB", "HSV"):
                    shown = image.convert("RGB")
                elif image.mode == "PA" or (image.mode == "P" and self.as_gray):
                    shown = image.convert("RGBA")
                yield np.asarray(shown), image.format == "JPEG" or image.info.get("compression") in _LOSSY

    @contextlib.contextmanager
    def _large_images(self, pillow: Any) -> Iterator[None]:
        """Let Pillow open images up to the limit, which is checked here."""
        before, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            pillow.MAX_IMAGE_PIXELS = before

    def _check_size(self, size: tuple[int, int], tile: tuple[Any, Any], n_left: int, n_bytes: int = 1) -> int:
        """Return how many pixels may still be decoded after a page of this size; refuse one that is absurdly large."""
        n_pixels = size[0] * size[1]
        if n_pixels * max(1, n_bytes / _PIXEL_BYTES) > self._max_pixels:
            raise ShapeFileError(
                f"{self.path} is refused: it declares {n_pixels} pixels of {8 * n_bytes} bits, more than "
                f"{format_option('max_pixels', self._max_pixels)} allows (of up to {8 * _PIXEL_BYTES} bits each): "
                "cut it into tiles, or raise this option if the memory suffices, about 20 bytes for each pixel."
            )
        if n_pixels > n_left:
            raise ShapeFileError(f"{self.path} is refused: it declares far more pixels than its bytes can hold.")
        # Each tile of a TIFF is unpacked whole, whatever the size of the image.
        if not all(isinstance(side, int) for side in tile) or not 0 < tile[0] * tile[1] <= _FREE_PIXELS:
            raise ShapeFileError(f"{self.path} is refused: it declares tiles of {tile[0]} x {tile[1]} pixels.")
        return n_left - n_pixels

    def _decide_on_colors(self) -> None:
        """Decide, once for all pages, how their channels become one number a pixel."""
        kinds, lowest, highest = set(), 255, 0
        for array, is_lossy in self._decoded_pages():
            kinds.add(array.shape[2:])
            self.as_gray |= is_lossy
            if array.shape[2:] in ((2,), (4,)):
                lowest, highest = min(lowest, int(array[..., -1].min())), max(highest, int(array[..., -1].max()))
        if len(kinds) > 1:
            raise ShapeFileError(f"{self.path} has pages with and without color or transparency: save them alike.")
        self._opaque_above = highest // 2 if lowest < highest else -1
        seen: set[int] = set()
        counts: Counter[int] = Counter()
        has_black, self._is_gray = False, True
        for array, _ in self._decoded_pages():
            colors, opaque = self._pack_channels(array)
            seen |= {f(colors[opaque]) for f in (np.min, np.max) if opaque.any()}
            has_black = has_black or not colors.all()
            self._is_gray = self._is_gray and not (colors % 0x010101).any()
            counts.update(dict(zip(*np.unique(border_of(colors), return_counts=True), strict=True)))
        # All that differs is what can be seen through.
        self._is_cutout = self._opaque_above >= 0 and len(seen) < 2
        ((ground, n_ground),) = counts.most_common(1)
        is_clear = n_ground >= _MOSTLY * counts.total()
        if self._is_cutout or self._is_gray or self.as_gray:
            return
        if ground and (is_clear or not has_black):
            self._check_ground(ground, is_clear)
        found = set()
        for array, _ in self._decoded_pages():
            labels = self._join_channels(array)
            inner = labels[labels > 0]
            found |= {int(f(inner)) for f in (np.min, np.max) if inner.size}
        if len(found) == 1:
            self._is_one_color = True
            self.remarks.append(
                f"its only color, {_name_color(found.pop())}, is taken for the objects, each connected area for one; "
                "the option kind=labels takes all of it for one."
            )

    def _check_ground(self, ground: int, is_clear: bool) -> None:
        """Take a color for the background; refuse one that does not surround the image."""
        name = _name_color(ground)
        if not is_clear:
            raise ShapeFileError(
                f"{self.path} has colored areas, but its background is not clear: no pixel is black, and the "
                f"color {name} is not all around. "
                f"Save the areas as a label image, or say {format_option('kind', 'binary')} with "
                f"{format_option('threshold=')}."
            )
        self.remarks.append(f"the color {name}, which surrounds the image, is taken for its background.")
        self._ground = ground

    def _pack_channels(self, array: Pixels) -> tuple[Pixels, Pixels]:
        """Return red * 65536 + green * 256 + blue for each pixel, 0 where it is transparent, and where it is not."""
        colors = array[..., 0].astype(np.int32)
        for other in (1, 2):
            colors <<= 8
            colors |= array[..., other if array.shape[2] > 2 else 0]
        # A limit below 0 stands for no transparency; NumPy 2.0 may crash where it compares bytes with such a number.
        is_plain = array.shape[2] in (1, 3) or (self._opaque_above or 0) < 0
        opaque = np.ones(colors.shape, bool) if is_plain else array[..., -1] > self._opaque_above
        colors[~opaque] = 0
        return colors, opaque

    def _join_channels(self, array: Pixels) -> Pixels:
        """Return one number a pixel from gray, gray and alpha, color, or color and alpha."""
        labels, opaque = self._pack_channels(array)
        if self._is_cutout:
            return opaque
        if self._is_gray:
            return labels.astype(np.uint8)
        if self.as_gray:
            return np.asarray((array[..., :3].mean(axis=2) * opaque).astype(np.uint8))
        if self._ground:
            # Black is an object here, so it needs another number than the background.
            labels[labels == 0] = 1 << 24
            labels[(labels == self._ground) | ~opaque] = 0
        # Not as booleans, of which either may be the background.
        return (labels > 0).astype(np.uint8) if self._is_one_color else labels


def _name_color(color: int) -> str:
    return f"({color >> 16 & 255}, {color >> 8 & 255}, {color & 255})"


@contextlib.contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Refuse damaged images, and keep quiet about what decoders warn of."""
    with refusing(path, "an image"), warnings.catch_warnings(action="ignore"):
        yield


def border_of(pixels: Pixels) -> Pixels:
    """Return the pixels at the border of an image, each once."""
    return np.concatenate([pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]])
