"""Files that come alone or together in a zip archive: a path in, names and contents out."""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import MAX_BYTES, read_bytes, read_head, read_member, zip_members


def read_members(path: Path, extension: str, limit: int = MAX_BYTES) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file with `extension` in an archive, or of a file that is none.

    Parameters
    ----------
    path : Path
        A zip archive, or a file that is none.
    extension : str
        Lower-case end of the names of members to read.
    limit : int
        Most bytes to read, of all members together.

    Yields
    ------
    name : str
        Name of the file.
    content : bytes
        Its bytes.

    Raises
    ------
    ShapeFileError
        If the archive is damaged, hostile, or holds no such file.
    """
    if not read_head(path, 4).startswith((b"PK\x03\x04", b"PK\x05\x06")):
        yield path.name, read_bytes(path, limit)
        return
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:  # zipfile raises nearly anything on damaged bytes
        raise ShapeFileError(f"{path} is no zip archive that can be read: {error}.") from error
    with archive:
        # macOS adds a hidden twin to every file.
        members = [
            member
            for member in zip_members(archive, path, limit)
            if member.filename.lower().endswith(extension) and not PurePosixPath(member.filename).name.startswith(".")
        ]
        if not members:
            raise ShapeFileError(f"{path} holds no file whose name ends in {extension}.")
        for member in members:
            yield member.filename, read_member(archive, member, path)
