"""The text of a file at once, by the rules of ``io/text_file.py``: slow, obvious, and all in memory."""

from pathlib import Path

from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import read_bytes
from shapelex.store.guards import MAX_BYTES


def read_text(path: Path, limit: int = MAX_BYTES, *, keeps_line_ends: bool = False) -> str:
    r"""Return the text of a file: UTF-8, UTF-16 where a mark says so, else Latin-1; line ends become ``\n``.

    Parameters
    ----------
    path : Path
        The file, which may be gzip.
    limit : int
        Most bytes to read.
    keeps_line_ends : bool
        Whether line ends stay as they are, for formats that quote them.

    Returns
    -------
    str
        The text.

    Raises
    ------
    ShapeFileError
        If the file is binary, or passes a limit.
    """
    content = read_bytes(path, limit)
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            text = content.decode("utf-16")
        except UnicodeDecodeError as error:
            raise ShapeFileError(f"{path} starts as UTF-16 text, but is damaged: save it again, as UTF-8.") from error
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
    if "\0" in text:
        raise ShapeFileError(f"{path} is no text file: it holds a zero byte.")
    if keeps_line_ends or "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")
