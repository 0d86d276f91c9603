"""Damaged copies of a file: cut off, bytes flipped, runs taken out, doubled or replaced, numbers made huge."""

import contextlib
import io
import json
import random
import re
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HUGE = [b"1e999", b"-1e308", b"999999999999999999999999", b"-1", b"0", b"nan", b"inf", b"1e-400", b"4294967296", b"-0"]
STRANGE = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\n\n", *(bytes([byte]) for byte in b'=,;"\r \t<&{[#')]


def damage(content: bytes, seed: int) -> bytes:
    """Return a damaged copy; the same seed gives the same damage."""
    chance = random.Random(seed)
    damaged = content
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        damaged = chance.choice(DAMAGES)(damaged, chance)
    return damaged


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


def damage_file(source: Path, copy: Path, seed: int, signed: Callable[[bytes], bytes] | None = None) -> None:
    """Write a damaged copy of a file, or of a Zarr folder in which one file is damaged or gone.

    Of an archive, half of the cases damage what is inside and pack it again, so that all checksums are right; of JSON,
    and of the data in a page, half damage a value. `signed` renews the checksum that a file begins with.
    """
    chance = random.Random(seed)
    if source.is_dir():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
        chosen = chance.choice(sorted(path for path in copy.rglob("*") if path.is_file()))
        if chance.random() < 0.2:
            chosen.unlink()
        else:
            chosen.write_bytes(damage(chosen.read_bytes(), seed))
        return
    content = source.read_bytes()
    start = content.find(b"PK\x03\x04")
    if 0 <= start < 100 and chance.random() < 0.5:
        damaged = content[:start] + _damage_inside(content[start:], chance)
    elif source.suffix in (".json", ".html", ".wcon", ".geojson") and chance.random() < 0.5:
        damaged = _damage_values(content, chance)
    else:
        damaged = damage(content, seed)
    copy.write_bytes(signed(damaged) if signed is not None and chance.random() < 0.9 else damaged)


def _damage_inside(content: bytes, chance: random.Random) -> bytes:
    """Damage some members of an archive, and pack it again: a JSON header, an array, or any bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    for _ in range(chance.choice([1, 1, 2])):
        if not members:
            break
        place = chance.randrange(len(members))
        info, data = members[place]
        if info.filename == "header.npy" and chance.random() < 0.9:
            data = _as_npy(_damage_json(_from_npy(data), chance))
        elif info.filename.endswith(".npy") and chance.random() < 0.7:
            data = _damage_array(data, chance)
        elif chance.random() < 0.1:
            del members[place]
            continue
        else:
            data = damage(data, chance.randrange(1 << 30))
        members[place] = (info, data)
    packed = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(packed, "w") as archive:
        for info, data in members:
            archive.writestr(info, data, compress_type=info.compress_type)
    return packed.getvalue()


def _damage_values(content: bytes, chance: random.Random) -> bytes:
    """Damage some values of JSON, which may be the data of a page."""
    mark = b'id="shapelex-data">'
    before, found, after = content.partition(mark)
    values, end, rest = after.partition(b"</script>") if found else (content, b"", b"")
    parsed = json.loads(values)
    # What a page tells of the run that made it is a small part of it.
    inner = parsed["provenance"] if found and chance.random() < 0.9 else parsed
    for _ in range(chance.choice([1, 1, 2, 4])):
        inner = _damage_json(inner, chance)
    if found:
        parsed["provenance"] = inner
    return (before + found if found else b"") + json.dumps(parsed if found else inner).encode() + end + rest


def _from_npy(data: bytes) -> Any:
    with contextlib.suppress(Exception):
        return json.loads(np.load(io.BytesIO(data)).tobytes())
    # It was damaged before.
    return {}


def _as_npy(value: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.frombuffer(json.dumps(value).encode(), dtype=np.uint8))
    return stream.getvalue()


def _damage_json(value: Any, chance: random.Random) -> Any:
    """Replace, remove or double one value anywhere in it."""
    parts: list[Any] = list(enumerate(value)) if isinstance(value, list) else []
    if isinstance(value, dict):
        parts = list(value.items())
    if not parts or chance.random() < 0.15:
        return chance.choice([None, True, -1, 0, 3, 10**30, 1e308, 1e-320, float("nan"), "", "x", "../a", [], {}, [[]]])
    key, inner = chance.choice(parts)
    if chance.random() < 0.1:
        kept = [part for part in parts if part[0] != key]
        return dict(kept) if isinstance(value, dict) else [part for _, part in kept]
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[key] = _damage_json(inner, chance)
    return changed


def _damage_array(data: bytes, chance: random.Random) -> bytes:
    """Change values, shape or kind of an array."""
    try:
        array = np.load(io.BytesIO(data))
    # NumPy raises nearly anything.
    except Exception:
        # It was damaged before.
        return data
    number = chance.choice([0, np.nan, np.inf, 1e308, 1e-320, -1, 1e30])
    kind = chance.choice("vvvsdc")
    with np.errstate(all="ignore"):
        if kind == "v" and array.size and array.dtype.kind in "fciu":
            array = array.copy()
            with contextlib.suppress(ValueError, OverflowError):
                start = chance.randrange(array.size)
                array.flat[start : start + chance.choice([1, 1, array.size])] = number
        elif kind == "s":
            array = array[..., : chance.randrange(3)] if array.ndim else array[None]
        elif kind == "d":
            with contextlib.suppress(ValueError), warnings.catch_warnings(action="ignore"):
                array = array.astype(chance.choice(["f4", "c8", "i8", "U9", "?"]))
        else:
            array = array.T[None]
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()
