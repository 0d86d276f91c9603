"""Text in blocks of whole lines: the same text, the same refusals, as reading it all at once, in little memory."""

import gzip
import tracemalloc
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.exceptions import ShapeFileError
from shapelex.io import text_file
from shapelex.io.text_file import open_text
from tests.io.whole_text import read_text

# Line ends, characters of one to four bytes, what only str.splitlines takes for line ends, a mark inside the text.
CHARACTERS = st.text(st.sampled_from('a1 _"\r\n\x0b\x85\u2028\ufeffü€𝄞\0'), max_size=40)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "latin-1"])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Return the bytes of a text, with perhaps one byte that is wrong, cut off, or packed in several parts."""
    encoding = draw(ENCODINGS)
    text = draw(CHARACTERS)
    if draw(st.integers(0, 9)):
        text = text.replace("\0", "")
    content = text.encode(encoding, errors="replace")
    if encoding in ("utf-16-be", "utf-16-le"):
        content = "\ufeff".encode(encoding) + content
    if draw(st.booleans()):
        place = draw(st.integers(0, len(content)))
        content = content[:place] + draw(st.binary(max_size=2)) + content[place:]
    if draw(st.booleans()):
        place = draw(st.integers(0, len(content)))
        content = gzip.compress(content[:place], 1) + b"\0" * draw(st.integers(0, 5)) + gzip.compress(content[place:])
        content = content[: len(content) - draw(st.sampled_from([0, 0, 0, 1, 9]))]
    return content


def read_or_refuse(read, *arguments, **options) -> str:
    try:
        return read(*arguments, **options)
    except ShapeFileError as error:
        return f"refused: {error}"


@given(content=contents(), n_bytes=st.integers(3, 20), keeps_line_ends=st.booleans())
def test_blocks_make_up_the_text(tmp_path_factory, content, n_bytes, keeps_line_ends):
    path = tmp_path_factory.getbasetemp() / "blocks.txt"
    path.write_bytes(content)
    found: list[str] = []

    def read_blocks() -> str:
        opened = open_text(path)
        found.extend(opened.blocks(keeps_line_ends=keeps_line_ends))
        assert opened.n_characters == len(read_text(path, keeps_line_ends=True))
        return "".join(found)

    with mock.patch.object(text_file, "_PIECE_BYTES", n_bytes):
        text = read_or_refuse(read_blocks)
    assert text == read_or_refuse(read_text, path, keeps_line_ends=keeps_line_ends)
    ends = ("\n", "\r") if keeps_line_ends else "\n"
    assert all(block.endswith(ends) for block in found[:-1])
    assert not any(first.endswith("\r") and second.startswith("\n") for first, second in pairwise(found))
    assert all(found)


def test_folder_is_refused(tmp_path):
    with pytest.raises(ShapeFileError, match="no regular file"):
        open_text(tmp_path)


def test_a_file_that_changes_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\n" * 10)
    opened = open_text(path)
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(ShapeFileError, match="changed while it was read"):
        list(opened.blocks())


def test_a_line_too_long_for_memory_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\n" + "b" * 50)
    with (
        mock.patch.object(text_file, "MAX_BYTES", 40),
        mock.patch.object(text_file, "_PIECE_BYTES", 8),
        pytest.raises(ShapeFileError, match="a line of more than 40 characters"),
    ):
        list(open_text(path).blocks())


@pytest.mark.parametrize("is_packed", [False, True])
def test_memory_holds_a_block(tmp_path: Path, is_packed: bool) -> None:
    path = tmp_path / "a.txt"
    line = b"0.123456 -1.5\n"
    content = line * (1 << 20)
    path.write_bytes(gzip.compress(content, 1) if is_packed else content)
    del content
    tracemalloc.start()
    try:
        n_lines = sum(block.count("\n") for block in open_text(path).blocks())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_lines == 1 << 20
    assert peak < len(line) * n_lines / 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_bytes("Flügel\r\n1\r2\n".encode(encoding))
    assert "".join(open_text(path).blocks()) == "Flügel\n1\n2\n"
    assert "".join(open_text(path).blocks(keeps_line_ends=True)) == "Flügel\r\n1\r2\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"ab\0cd", "no text file: it holds a zero byte"), (b"\xff\xfea\0b", "UTF-16")],
)
def test_what_is_no_text(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(ShapeFileError, match=message):
        open_text(tmp_path / "a.txt")
