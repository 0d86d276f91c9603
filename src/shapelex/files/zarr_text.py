"""Text in Zarr arrays, decoded only where a chunk holds as many entries as the array says.

A chunk of text begins with the number of its entries, for which Zarr's codec takes memory before it looks at the rest:
16 GiB for a few damaged bytes. Zarr lets a program choose the implementation of a codec by its configuration.
"""

import math
from typing import Any

from zarr import codecs
from zarr.registry import register_codec

_NAME = "vlen-utf8"


# Zarr takes no codec of another name for text.
class VLenUTF8Codec(codecs.VLenUTF8Codec):
    """Zarr's codec for text, which refuses a chunk with another number of entries than it should have."""

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        _check_count(chunk_bytes, chunk_spec)
        return await super()._decode_single(chunk_bytes, chunk_spec)

    # Newer versions of Zarr call this one.
    def _decode_sync(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        _check_count(chunk_bytes, chunk_spec)
        return super()._decode_sync(chunk_bytes, chunk_spec)


def _check_count(chunk_bytes: Any, chunk_spec: Any) -> None:
    n_entries = int.from_bytes(chunk_bytes.to_bytes()[:4], "little")
    expected = math.prod(chunk_spec.shape)
    if n_entries != expected:
        raise ValueError(f"a chunk of text declares {n_entries} entries instead of {expected}")


register_codec(_NAME, VLenUTF8Codec)

CHECKED = {f"codecs.{_NAME}": f"{VLenUTF8Codec.__module__}.{VLenUTF8Codec.__qualname__}"}
"""The setting of Zarr with which arrays are opened."""
