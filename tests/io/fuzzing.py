"""Damaged versions of a file, and a check that a reader meets them with the documented errors only.

Use: ``check_damaged(content, tmp_path / "wings.tps", n_cases=300)``. Every case is a changed copy of `content`: cut
off, bytes flipped, runs taken out, doubled or replaced, numbers made huge, and text or zeros put in. Reading may give a
set or raise :class:`ShapeFileError` or another error of shapelex; anything else fails the test and names the case.
"""

import random
import re
import tracemalloc
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import shapelex as sx
from shapelex.exceptions import ShapelexError

HUGE = [b"1e999", b"-1e308", b"999999999999999999999999", b"-1", b"0", b"nan", b"inf", b"1e-400", b"4294967296", b"-0"]
STRANGE = [
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"=",
    b",",
    b";",
    b'"',
    b"\r",
    b"\n\n",
    b" ",
    b"\t",
    b"<",
    b"&",
    b"{",
    b"[",
    b"#",
]

# Far above what a set of a small file takes, far below what a machine has.
MAX_BYTES = 256 << 20


def damage(content: bytes, seed: int) -> bytes:
    """Return a damaged copy; the same seed gives the same damage."""
    chance = random.Random(seed)
    damaged = content
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        damaged = chance.choice(DAMAGES)(damaged, chance)
    return damaged


def check_damaged(
    content: bytes,
    path: Path,
    n_cases: int = 300,
    *,
    read: Callable[..., object] = sx.read,
    allowed: Iterable[type[Exception]] = (),
    **options: object,
) -> int:
    """Read `n_cases` damaged copies of a file at `path`; return how many could be read all the same."""
    n_read = 0
    expected = (ShapelexError, *allowed)
    tracemalloc.start()
    try:
        for seed in range(n_cases):
            path.write_bytes(damage(content, seed))
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", sx.exceptions.SkippedRecordsWarning)
                    read(path, **({"on_error": "skip"} if seed % 3 == 0 else {}), **options)
                n_read += 1
            except expected:
                pass
            except Exception as error:
                raise AssertionError(f"case {seed} of {path.name} raised {type(error).__name__}: {error}") from error
            n_bytes = tracemalloc.get_traced_memory()[1] - before
            assert n_bytes < MAX_BYTES, f"case {seed} of {path.name} took {n_bytes} bytes"
    finally:
        tracemalloc.stop()
    return n_read


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _flip(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(min(len(changed), chance.choice([1, 2, 8, 64]))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _take_out(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[end:]


def _double(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return content[:end] + content[start:end][: 1 << 16] + content[end:]


def _put_in(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    strange = chance.choice([*STRANGE, *HUGE, chance.randbytes(chance.randrange(1, 40))])
    return content[:place] + strange * chance.choice([1, 1, 3]) + content[place:]


def _enlarge(content: bytes, chance: random.Random) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(?:\.\d*)?", content[: 1 << 16]))
    if not numbers:
        return _overwrite(content, chance)
    number = chance.choice(numbers)
    return content[: number.start()] + chance.choice(HUGE) + content[number.end() :]


def _overwrite(content: bytes, chance: random.Random) -> bytes:
    """Replace four bytes by a large or negative number, as binary headers have them."""
    if len(content) < 4:
        return content
    place = chance.choice([chance.randrange(len(content) - 3), chance.randrange(min(len(content) - 3, 200))])
    word = chance.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\0\0", b"\x7f\xff\xff\xff"])
    return content[:place] + word + content[place + 4 :]


DAMAGES = [_cut, _flip, _take_out, _double, _put_in, _enlarge, _overwrite]
