"""Limits on what is read: bombs, names that climb out, text that is none."""

import gzip
import zipfile
from pathlib import Path

import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import files_below, read_bytes, read_member
from shapelex.store.guards import check_inner_path, zip_members


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "file"


class TestBytes:
    def test_limit(self, path):
        path.write_bytes(b"12345")
        assert read_bytes(path, 5) == b"12345"
        with pytest.raises(ShapeFileError, match="larger than 4 bytes"):
            read_bytes(path, 4)

    def test_folder(self, tmp_path):
        with pytest.raises(ShapeFileError, match="no regular file"):
            read_bytes(tmp_path)

    @pytest.mark.parametrize("n_parts", [1, 3])
    def test_gzip(self, path, n_parts):
        path.write_bytes(b"".join(gzip.compress(b"abc" * 1000) for _ in range(n_parts)) + b"\0" * 9)
        assert read_bytes(path) == b"abc" * 1000 * n_parts

    def test_gzip_bomb(self, path):
        path.write_bytes(gzip.compress(b"\0" * (80 << 20)))
        with pytest.raises(ShapeFileError, match=r"swells from .* looks like a trap"):
            read_bytes(path)

    def test_gzip_limit(self, path):
        path.write_bytes(gzip.compress(b"abc" * 100))
        with pytest.raises(ShapeFileError, match="swells"):
            read_bytes(path, 250)

    @pytest.mark.parametrize("change", [lambda packed: packed[:-20], lambda packed: packed[:30] + b"xx" + packed[32:]])
    def test_damaged_gzip(self, path, change):
        path.write_bytes(change(gzip.compress(bytes(range(256)) * 9)))
        with pytest.raises(ShapeFileError, match=r"cut off|damaged"):
            read_bytes(path)

    def test_bomb_by_the_front_door(self, tmp_path):
        for name in ("a.csv.gz", "a.tps.gz"):
            (tmp_path / name).write_bytes(gzip.compress(b"LM=2\n" + b" " * (80 << 20)))
            with pytest.raises(ShapeFileError, match="swells"):
                sx.read(tmp_path / name)


class TestArchives:
    def members(self, path, **options):
        with zipfile.ZipFile(path) as archive:
            return [read_member(archive, member, path) for member in zip_members(archive, path, **options)]

    def test_files_in_order(self, path):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/", b"")
            archive.writestr("folder/b.roi", b"bb")
            archive.writestr("a.roi", b"a")
        assert self.members(path) == [b"bb", b"a"]

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_two_of_one_name(self, path):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.roi", b"a")
            archive.writestr("a.roi", b"b")
        with pytest.raises(ShapeFileError, match="two files of one name"):
            self.members(path)

    def test_bomb_of_many_files(self, path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(40):
                archive.writestr(f"{number}.roi", b"\0" * (2 << 20))
        with pytest.raises(ShapeFileError, match="swells"):
            self.members(path)

    def test_size_that_lies(self, path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.roi", b"a" * 5000)
        content = bytearray(path.read_bytes())
        # The length in the directory, a 4-byte number 24 bytes after its mark.
        place = content.rindex(b"PK\x01\x02") + 24
        content[place : place + 4] = (10).to_bytes(4, "little")
        path.write_bytes(content)
        with pytest.raises(ShapeFileError, match="damaged"):
            self.members(path)

    @pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "C:/a", "c:a", "\\\\host\\a", "..\\a"])
    def test_names_that_climb_out(self, name):
        with pytest.raises(ShapeFileError, match="leads out of the archive"):
            check_inner_path(name, Path("x.zip"))

    @pytest.mark.parametrize("name", ["a", "a/b.roi", "a..b", "0001-0002.roi", "Zelle ü.roi"])
    def test_names_that_do_not(self, name):
        check_inner_path(name, Path("x.zip"))


def test_files_below(tmp_path):
    for name in ("b", "a/z", "a/.y", ".c/x", "a/b/w"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    found = [path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path)]
    assert found == ["b", "a/z", "a/b/w"]
