"""Text files of any length, in blocks of whole lines.

Text is UTF-8, UTF-16 where a byte order mark says so, and Latin-1 otherwise; gzip is unpacked. A first pass over the
bytes finds what only the whole file can tell: one invalid byte near its end makes it Latin-1, one zero byte means that
it is not text. So a file that can be opened can be read to its end, as often as needed. Memory holds one block.
"""

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import MAX_BYTES, byte_pieces

_PIECE_BYTES = 1 << 18


@dataclass(frozen=True)
class TextFile:
    """A text file that has been looked through once: where it is, how it is encoded, how long it is."""

    path: Path
    encoding: str
    n_characters: int

    def blocks(self, *, keeps_line_ends: bool = False) -> Iterator[str]:
        r"""Yield the text from its start, in blocks of whole lines; only the last may lack its line end.

        Line ends become ``\n``, unless `keeps_line_ends` is True, for formats that quote them. An error is raised where
        a line is too long for memory, or the file is not what it was when it was opened.
        """
        decoder = io.IncrementalNewlineDecoder(
            codecs.getincrementaldecoder(self.encoding)(), translate=not keeps_line_ends
        )
        pending: list[str] = []
        n_pending = 0
        for piece in chain(byte_pieces(self.path, _PIECE_BYTES), [b""]):
            try:
                # What the decoder returns never ends between \r and \n.
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                raise ShapeFileError(f"{self.path} was changed while it was read: read it again.") from error
            end = 1 + max(text.rfind("\n"), text.rfind("\r") if keeps_line_ends else -1)
            if end:
                yield "".join([*pending, text[:end]])
                pending, n_pending = [], 0
            pending.append(text[end:])
            n_pending += len(text) - end
            if n_pending > MAX_BYTES:
                raise ShapeFileError(f"{self.path} has a line of more than {MAX_BYTES} characters: refused.")
        if n_pending:
            yield "".join(pending)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines without their ends, numbered from 1."""
        return enumerate(chain.from_iterable(block.removesuffix("\n").split("\n") for block in self.blocks()), start=1)


def open_text(path: Path) -> TextFile:
    """Look through a text file, which may be gzip, and return what is needed to read it.

    Raises
    ------
    ShapeFileError
        If the file is binary, not a regular file, or compressed text that is damaged or expands too much when unpacked.
    """
    encoding, fault, holds_zero = "", False, False
    n_bytes = n_characters = 0
    for piece in chain(byte_pieces(path, _PIECE_BYTES), [b""]):
        if not encoding:
            encoding = "utf-16" if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
            decoder = codecs.getincrementaldecoder(encoding)()
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError:
            fault, decoder = True, codecs.getincrementaldecoder("latin-1")()
            text = decoder.decode(piece)
        holds_zero |= "\0" in text
        n_bytes += len(piece)
        n_characters += len(text)
    if fault and encoding == "utf-16":
        raise ShapeFileError(f"{path} starts as UTF-16 text, but is damaged: save it again, as UTF-8.")
    if holds_zero:
        raise ShapeFileError(f"{path} is no text file: it holds a zero byte.")
    return TextFile(path, "latin-1", n_bytes) if fault else TextFile(path, encoding, n_characters)
