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
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from shapelex._extras import load_library
from shapelex._messages import format_option
from shapelex._validation import check_count
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_head, refusing
from shapelex.io.formats.cellpose import read_masks
from shapelex.io.series import rate_of_step

Item = TypeVar("Item")
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
class Page:
    """An image as runs of equal pixels, row after row: masks take a thousandth of their room.

    Parameters
    ----------
    values, lengths : ndarray of shape (n_runs,)
        The runs; where they would take more room than the pixels, the values are those of all pixels, without lengths.
    shape : tuple of int
        Height and width.
    border : tuple of ndarray
        The values at the border, and how often each is there.
    n_channels : int
        Number of channels that a value stands for, as red, green, blue and alpha of a byte each; 0 for one number.
    is_lossy : bool
        Whether compression may have changed pixels, as JPEG does.
    """

    values: Pixels
    lengths: Pixels | None
    shape: tuple[int, int]
    border: tuple[Pixels, Pixels]
    n_channels: int = 0
    is_lossy: bool = False

    @classmethod
    def pack(cls, pixels: Pixels, n_channels: int, is_lossy: bool) -> "Page":
        """Return an image as runs where they take less room."""
        border = np.concatenate([pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]])
        told: Any = pixels.shape, np.unique(border, return_counts=True), n_channels, is_lossy
        flat = pixels.ravel()
        differs = flat[1:] != flat[:-1]
        if (np.count_nonzero(differs) + 1) * (8 + pixels.itemsize) >= pixels.nbytes:
            return cls(flat, None, *told)
        starts = np.r_[0, np.flatnonzero(differs) + 1]
        return cls(flat[starts], np.diff(starts, append=flat.size), *told)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return int(self.values.nbytes + (0 if self.lengths is None else self.lengths.nbytes))

    @property
    def pixels(self) -> Pixels:
        """The image."""
        return (self.values if self.lengths is None else np.repeat(self.values, self.lengths)).reshape(self.shape)

    def crop(self, values: Pixels) -> tuple[Pixels, int, int]:
        """Return other values for the runs as an image without what is 0 around them, and its top and left."""
        runs = np.flatnonzero(values)
        if self.lengths is None or not len(runs):
            image = values.reshape(self.shape) if self.lengths is None else np.zeros((1, 1), values.dtype)
            return image, 0, 0
        ends, width = np.cumsum(self.lengths), self.shape[1]
        first, last = ends[runs] - self.lengths[runs], ends[runs] - 1
        top, bottom = int(first[0]) // width, int(last[-1]) // width + 1
        rows = np.zeros((bottom - top) * width, values.dtype)
        there = slice(runs[0], runs[-1] + 1)
        rows[first[0] - top * width : last[-1] + 1 - top * width] = np.repeat(values[there], self.lengths[there])
        left, right = 0, width
        if (first // width == last // width).all():
            left, right = int((first % width).min()), int((last % width).max()) + 1
        return rows.reshape(-1, width)[:, left:right], top, left


class Kept(Generic[Item]):
    """Things that are made once if they take little room, and else whenever they are gone through.

    Parameters
    ----------
    make : callable
        Yields the things.
    n_bytes_of : callable
        Tells how much room one takes.
    """

    def __init__(self, make: Callable[[], Iterator[Item]], n_bytes_of: Callable[[Item], int]) -> None:
        self._make, self._n_bytes_of = make, n_bytes_of
        self._kept: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        if self._kept:
            yield from self._kept
            return
        kept, n_items, n_bytes = [], 0, 0
        for item in self._make():
            n_items, n_bytes = n_items + 1, n_bytes + self._n_bytes_of(item)
            if n_items == 1 or n_bytes <= KEPT_BYTES:
                kept.append(item)
            yield item
        self._kept = kept if len(kept) == n_items else []


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
        self._masks: Pixels | None = None
        self._pages = Kept(self._read_pages, lambda page: page.nbytes)
        self._n_left = 0
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
            self._masks = read_masks(path)
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

    def __iter__(self) -> Iterator[Page]:
        """Yield the pages with one number a pixel."""
        for page in self._pages:
            if not page.n_channels:
                yield page
                continue
            if self._opaque_above is None:
                self._decide_on_colors()
            yield replace(page, values=self._number(page.values), border=(self._number(page.border[0]), page.border[1]))

    def _read_pages(self) -> Iterator[Page]:
        # Checked here, as a library that is missing is no damage.
        pillow = load_library("PIL.Image", "Pillow", "Reading images")
        self._n_left = _FREE_PIXELS + _PIXELS_PER_BYTE * self.path.stat().st_size
        pages = self._tifffile_pages() if self._needs_tifffile else self._pillow_pages(pillow)
        if self._masks is not None:
            pages = ((page, False) for page in (self._masks if self._masks.ndim == 3 else [self._masks]))
        while True:
            with _decoding(self.path):
                pixels, is_lossy = next(pages, (None, False))
            if pixels is None:
                return
            n_channels = 0
            if pixels.ndim == 3 and pixels.shape[2] <= 4 and pixels.dtype.itemsize == 1:
                n_channels = pixels.shape[2]
                pixels = _join_channels(pixels)
            if pixels.ndim != 2 or pixels.size == 0 or pixels.dtype.kind not in "buif":
                raise ShapeFileError(f"{self.path} holds an array {pixels.dtype} {pixels.shape}, which is no image.")
            yield Page.pack(pixels, n_channels, is_lossy)

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
        self._find_measures(file, told)
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

    def _find_measures(self, file: Any, told: Any) -> None:
        """Set the size of pixels and the frame rate from what an OME or ImageJ file tells of them."""
        sizes, units = [0.0, 0.0], {""}
        if file.is_ome:
            names = "PhysicalSize[XY](?:Unit)?|TimeIncrement(?:Unit)?"
            found = dict(re.findall(rf'\b({names})="([^"]{{1,40}})"', str(file.ome_metadata)))
            sizes = [float(found.get(f"PhysicalSize{axis}", 0)) for axis in "XY"]
            units = {found.get(f"PhysicalSize{axis}Unit", "µm") for axis in "XY"}
            step, time_unit = found.get("TimeIncrement", "0"), found.get("TimeIncrementUnit", "s")
        else:
            if told.get("unit"):
                sizes = [1 / value if value > 0 else 0.0 for value in file.pages[0].resolution]
                units = {str(told["unit"])}
            # The "fps" of ImageJ is the speed of playback.
            step, time_unit = told.get("finterval", 0), told.get("tunit", "sec")
        unit = units.pop()
        # ImageJ calls images without a scale "pixel" or "inch" with the resolution of a screen.
        if not units and unit not in ("pixel", "pixels", "inch") and all(0 < size < np.inf for size in sizes):
            self.pixel_size, self.unit = (sizes[0], sizes[1]), "µm" if unit in ("micron", "um", "\\u00B5m") else unit
        with contextlib.suppress(ValueError, TypeError):
            self.frame_rate = rate_of_step(float(step), str(time_unit))

    def _tifffile_pages(self) -> Iterator[tuple[Pixels, bool]]:
        """Yield the pages of a TIFF that Pillow does not decode."""
        with load_library("tifffile", "tifffile", "Reading TIFF files").TiffFile(self.path, _multifile=False) as file:
            pages, series = file.pages, file.series[0]
            numbers = range(len(pages)) if self._planes is None else self._planes
            is_one_page = max(numbers) >= len(pages)
            if is_one_page:
                stack = series.asarray(out="memmap").reshape(-1, *series.pages[0].shape)
            for number in numbers:
                page = pages[0 if is_one_page else number]
                tile = page.tilewidth or 1, page.tilelength or 1
                n_bytes = 1 if page.dtype is None else page.dtype.itemsize
                self._check_size(page.imagewidth * page.imagelength, tile, n_bytes)
                pixels = stack[number] if is_one_page else page.asarray()
                yield pixels.astype(pixels.dtype.newbyteorder("="), copy=False), False

    def _pillow_pages(self, pillow: Any) -> Iterator[tuple[Pixels, bool]]:
        """Yield the pages of any other file."""
        # Sizes are checked here, up to another limit than that of Pillow.
        before, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None
        try:
            with pillow.open(self.path, formats=("PNG", "JPEG", "TIFF")) as image:
                for n_done, number in enumerate(range(_MAX_PAGES) if self._planes is None else self._planes):
                    try:
                        image.seek(number)
                    except EOFError:
                        if n_done:
                            return
                        raise
                    tags: Any = getattr(image, "tag_v2", {})
                    tile = tags.get(_TILE_WIDTH, 1), tags.get(_TILE_HEIGHT, 1)
                    self._check_size(image.width * image.height, tile)
                    shown = image
                    if image.mode in ("YCbCr", "CMYK", "LAB", "HSV"):
                        shown = image.convert("RGB")
                    elif image.mode == "PA" or (image.mode == "P" and self.as_gray):
                        shown = image.convert("RGBA")
                    yield np.asarray(shown), image.format == "JPEG" or image.info.get("compression") in _LOSSY
        finally:
            pillow.MAX_IMAGE_PIXELS = before

    def _check_size(self, n_pixels: int, tile: tuple[Any, Any], n_bytes: int = 1) -> None:
        """Count a page among the pixels that may be decoded; refuse one that is absurdly large."""
        if n_pixels * max(1, n_bytes / _PIXEL_BYTES) > self._max_pixels:
            raise ShapeFileError(
                f"{self.path} is refused: it declares {n_pixels} pixels of {8 * n_bytes} bits, more than "
                f"{format_option('max_pixels', self._max_pixels)} allows (of up to {8 * _PIXEL_BYTES} bits each): "
                "cut it into tiles, or raise this option if the memory suffices, about 20 bytes for each pixel."
            )
        self._n_left -= n_pixels
        if self._n_left < 0:
            raise ShapeFileError(f"{self.path} is refused: it declares far more pixels than its bytes can hold.")
        # Each tile of a TIFF is unpacked whole, whatever the size of the image.
        are_whole = isinstance(tile[0], int) and isinstance(tile[1], int)
        if not are_whole or not 0 < tile[0] * tile[1] <= _FREE_PIXELS:
            raise ShapeFileError(f"{self.path} is refused: it declares tiles of {tile[0]} x {tile[1]} pixels.")

    def _decide_on_colors(self) -> None:
        """Decide, once for all pages, how their channels become one number a pixel."""
        kinds, lowest, highest = set(), 255, 0
        for page in self._pages:
            kinds.add(page.n_channels)
            self.as_gray |= page.is_lossy
            alpha = page.values & 255
            lowest, highest = min(lowest, int(alpha.min())), max(highest, int(alpha.max()))
        if len(kinds) > 1:
            raise ShapeFileError(f"{self.path} has pages with and without color or transparency: save them alike.")
        self._opaque_above = highest // 2 if lowest < highest else -1
        seen: set[int] = set()
        counts: Counter[int] = Counter()
        has_black, self._is_gray = False, True
        for page in self._pages:
            colors, opaque = self._colors_of(page.values)
            seen |= {int(f(colors[opaque])) for f in (np.min, np.max) if opaque.any()}
            has_black = has_black or not colors.all()
            self._is_gray = self._is_gray and not (colors % 0x010101).any()
            for color, count in zip(self._colors_of(page.border[0])[0].tolist(), page.border[1].tolist(), strict=True):
                counts[color] += count
        # All that differs is what can be seen through.
        self._is_cutout = self._opaque_above >= 0 and len(seen) < 2
        if self._is_cutout or self._is_gray or self.as_gray:
            return
        ((ground, n_ground),) = counts.most_common(1)
        is_clear = n_ground >= _MOSTLY * counts.total()
        if ground and not is_clear and not has_black:
            raise ShapeFileError(
                f"{self.path} has colored areas, but its background is not clear: no pixel is black, and the "
                f"color {_name_color(ground)} is not all around. "
                f"Save the areas as a label image, or say {format_option('kind', 'binary')} with "
                f"{format_option('threshold=')}."
            )
        if ground and is_clear:
            name = _name_color(ground)
            self.remarks.append(f"the color {name}, which surrounds the image, is taken for its background.")
            self._ground = ground
        found = set()
        for page in self._pages:
            labels = self._number(page.values)
            found |= {int(f(labels[labels > 0])) for f in (np.min, np.max) if labels.any()}
        if len(found) == 1:
            self._is_one_color = True
            self.remarks.append(
                f"its only color, {_name_color(found.pop())}, is taken for the objects, each connected area for one; "
                "the option kind=labels takes all of it for one."
            )

    def _colors_of(self, values: Pixels) -> tuple[Pixels, Pixels]:
        """Return red * 65536 + green * 256 + blue for each value, 0 where it is transparent, and where it is not."""
        assert self._opaque_above is not None
        colors, opaque = (values >> 8).astype(np.int32), (values & 255).astype(np.int32) > self._opaque_above
        colors[~opaque] = 0
        return colors, opaque

    def _number(self, values: Pixels) -> Pixels:
        """Return one number for each value of gray, gray and alpha, color, or color and alpha."""
        labels, opaque = self._colors_of(values)
        if self._is_cutout:
            return opaque
        if self._is_gray:
            return labels.astype(np.uint8)
        if self.as_gray:
            return np.asarray(((labels >> 16) + (labels >> 8 & 255) + (labels & 255)) // 3).astype(np.uint8)
        if self._ground:
            # Black is an object here, so it needs another number than the background.
            labels[labels == 0] = 1 << 24
            labels[(labels == self._ground) | ~opaque] = 0
        # Not as booleans, of which either may be the background.
        return (labels > 0).astype(np.uint8) if self._is_one_color else labels


def _join_channels(pixels: Pixels) -> Pixels:
    """Return red, green, blue and alpha of each pixel as the bytes of one number, from one to four channels."""
    n_channels = pixels.shape[2]
    joined = pixels[..., 0].astype(np.uint32)
    for channel in (1, 2) if n_channels > 2 else (0, 0):
        joined <<= 8
        joined |= pixels[..., channel]
    joined <<= 8
    joined |= pixels[..., -1] if n_channels in (2, 4) else 255
    return joined


def _name_color(color: int) -> str:
    return f"({color >> 16 & 255}, {color >> 8 & 255}, {color & 255})"


@contextlib.contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Refuse damaged images, and keep quiet about what decoders warn of."""
    with refusing(path, "an image"), warnings.catch_warnings(action="ignore"):
        yield
