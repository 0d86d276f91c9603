r"""Text files of any length, in blocks of whole lines.

In comes a path; out goes its text: UTF-8, UTF-16 where a mark says so, else Latin-1; gzip is unpacked. A first pass
over the bytes finds what only the whole file can tell: one byte near its end makes it Latin-1, one zero byte makes it
no text. So a text that can be opened can be read to its end, and as often as wanted. Memory holds a block, whatever the
length of the file.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import GZIP_MARK, MAX_BYTES, check_regular, unpacked_pieces

_PIECE_BYTES = 1 << 18
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True)
class TextFile:
    """A text file that has been looked through once.

    Parameters
    ----------
    path : Path
        Where it is.
    encoding : str
        How its characters are written.
    n_mark : int
        Bytes at its start that only tell the encoding.
    n_characters : int
        Length of the text.
    marks : frozenset of str
        Which of the characters asked for occur in it.
    """

    path: Path
    encoding: str
    n_mark: int
    n_characters: int
    marks: frozenset[str]

    def blocks(self, *, keeps_line_ends: bool = False) -> Iterator[str]:
        r"""Yield the text from its start, in blocks of whole lines; only the last may lack its line end.

        Parameters
        ----------
        keeps_line_ends : bool
            Whether line ends stay as they are, for formats that quote them; else they become ``\n``.

        Yields
        ------
        str
            The next lines, not empty.

        Raises
        ------
        ShapeFileError
            If a line is too long for memory, or the file is not what it was when it was opened.
        """
        pending: list[str] = []
        n_pending = 0
        for text in self._pieces():
            piece = text if keeps_line_ends or "\r" not in text else text.replace("\r\n", "\n").replace("\r", "\n")
            end = piece.rfind("\n") + 1
            if keeps_line_ends:
                end = max(end, piece.rfind("\r") + 1)
            if end:
                yield "".join([*pending, piece[:end]])
                pending, n_pending = [], 0
            pending.append(piece[end:])
            n_pending += len(piece) - end
            if n_pending > MAX_BYTES:
                raise ShapeFileError(f"{self.path} has a line of more than {MAX_BYTES} characters: refused.")
        if n_pending:
            yield "".join(pending)

    def _pieces(self) -> Iterator[str]:
        r"""Yield the text as its bytes come; no piece ends between ``\r`` and ``\n``."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        held = ""
        n_skipped = self.n_mark
        try:
            for piece in _byte_pieces(self.path):
                text = held + decoder.decode(piece[n_skipped:])
                n_skipped = 0
                held = "\r" if text.endswith("\r") else ""
                yield text[:-1] if held else text
            yield held + decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise ShapeFileError(f"{self.path} was changed while it was read: read it again.") from error


def open_text(path: Path, marks: str = "") -> TextFile:
    """Look through a text file, and return what is needed to read it.

    Parameters
    ----------
    path : Path
        The file, which may be gzip.
    marks : str
        ASCII characters to look for.

    Returns
    -------
    TextFile
        The file; `marks` of it may also have characters that are only bytes of others.

    Raises
    ------
    ShapeFileError
        If the file is binary, not a regular file, or compressed text that is damaged or swells beyond measure.
    """
    look = _Look(path, set(marks))
    for piece in _byte_pieces(path):
        look.add(piece)
    return look.finish()


class _Look:
    """What the first pass has found so far."""

    def __init__(self, path: Path, marks: set[str]) -> None:
        self.path = path
        self.absent = marks
        self.marks = frozenset(marks)
        self.encoding = self.fault = ""
        self.decoder: codecs.IncrementalDecoder | None = None
        self.n_mark = self.n_bytes = self.n_characters = 0
        # Of the first zero: its place among the bytes, and among the characters as far as they can be decoded.
        self.zero_byte = self.zero_character = -1

    def add(self, piece: bytes) -> None:
        """Look at the next bytes; all pieces but the last are long enough for a mark."""
        if not self.encoding:
            self.encoding = _UTF16.get(piece[:2], "utf-8")
            is_marked = self.encoding != "utf-8" or piece.startswith(codecs.BOM_UTF8)
            self.n_mark = (3 if self.encoding == "utf-8" else 2) if is_marked else 0
            self.decoder = codecs.getincrementaldecoder(self.encoding)()
        self.absent -= {mark for mark in self.absent if mark.encode() in piece}
        if self.zero_byte < 0 and (place := piece.find(b"\0")) >= 0:
            self.zero_byte = self.n_bytes + place
        self._decode(piece if self.n_bytes else piece[self.n_mark :])
        self.n_bytes += len(piece)

    def finish(self) -> TextFile:
        """Return the file, or refuse it."""
        self._decode(b"", final=True)
        if self.fault:
            raise ShapeFileError(f"{self.path} starts as UTF-16 text, but is damaged: {self.fault}.")
        if self.decoder is None:
            self.n_characters, self.zero_character = self.n_bytes, self.zero_byte
        if self.zero_character >= 0:
            raise ShapeFileError(f"{self.path} is no text file: it holds a zero byte at {self.zero_character}.")
        marks = self.marks - self.absent
        return TextFile(self.path, self.encoding or "utf-8", self.n_mark, self.n_characters, marks)

    def _decode(self, piece: bytes, *, final: bool = False) -> None:
        if self.decoder is None:
            return
        # Text of ASCII alone, most of what there is, need not be decoded to be understood.
        waiting, _ = self.decoder.getstate()
        if self.encoding == "utf-8" and not waiting and piece.isascii():
            if self.zero_character < 0 and (place := piece.find(b"\0")) >= 0:
                self.zero_character = self.n_characters + place
            self.n_characters += len(piece)
            return
        try:
            text = self.decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            if self.encoding != "utf-8":
                # Places count from the bytes that waited for the rest of their character.
                start = self.n_bytes + (0 if self.n_bytes else self.n_mark) - len(waiting)
                self.fault = _name_fault(error, start)
            else:
                self.encoding, self.n_mark = "latin-1", 0
            self.decoder = None
            return
        if self.zero_character < 0 and (place := text.find("\0")) >= 0:
            self.zero_character = self.n_characters + place
        self.n_characters += len(text)


def _name_fault(error: UnicodeDecodeError, start: int) -> str:
    """Return the words of a decoding error, its places moved by `start`."""
    first, last = start + error.start, start + error.end - 1
    what = f"byte 0x{error.object[error.start]:02x} in position {first}"
    if last > first:
        what = f"bytes in position {first}-{last}"
    return f"'{error.encoding}' codec can't decode {what}: {error.reason}"


def _byte_pieces(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, unpacked where it is gzip; all pieces but the last are of one length or longer."""
    check_regular(path)
    with path.open("rb") as stream:
        is_packed = stream.read(len(GZIP_MARK)) == GZIP_MARK
        stream.seek(0)
        if not is_packed:
            while piece := stream.read(_PIECE_BYTES):
                yield piece
            return
        parts: list[bytes] = []
        n_parts = 0
        for part in unpacked_pieces(stream, path.stat().st_size, path):
            parts.append(part)
            n_parts += len(part)
            if n_parts >= _PIECE_BYTES:
                yield b"".join(parts)
                parts, n_parts = [], 0
        if parts:
            yield b"".join(parts)
