"""Reading: which files, which format, how records become a set, and what is said of those left out."""

import logging
import os
import sys

import numpy as np
import pytest
from PIL import Image

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning
from tests.io import conftest
from tests.io.conftest import check_left_out, check_refused, check_set, circle, notes_of, outline

FILE = "a.tps"
SQUARE = "LM=4\n0 0\n1 0\n1 1\n0 1\nID=square\n"
PENTAGON = "LM=5\n0 0\n2 0\n2 1\n1 2\n0 1\nID=house\n"
BAD = "LM=4\n0 0\n"


@pytest.fixture
def folder(tmp_path):
    for place, text in {
        "oak/a.tps": SQUARE,
        "oak/b.TPS": SQUARE * 2,
        "elm/c.tps": SQUARE,
        "elm/deep/d.csv": "x1,y1,x2,y2,x3,y3,x4,y4\n0,0,1,0,1,1,0,1\n",
        "elm/README.md": "# Leaves\n",
        "elm/notes.txt": "measured on a rainy day\n",
        ".git/e.tps": BAD,
        "elm/.hidden.tps": BAD,
    }.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


class TestFiles:
    def test_folder(self, folder, caplog):
        # Links may lead in a circle, or nowhere.
        (folder / "oak" / "again").symlink_to(folder, target_is_directory=True)
        (folder / "oak" / "gone.tps").symlink_to(folder / "nothing.tps")
        seen = []
        with caplog.at_level(logging.DEBUG, "shapelex"):
            shapes = sx.read(folder, progress=lambda done, total: seen.append((done, total)))
        names = [path.split("/")[-1] for path in shapes.metadata["file"].tolist()]
        assert names == ["c.tps", "d.csv", "a.tps", "b.TPS", "b.TPS"]
        assert shapes.ids.tolist() == ["c/square", "d", "a/square", "b/square", "b/square:2"]
        assert shapes.metadata["given_id"].tolist() == ["square", "d", "square", "square", "square"]
        assert "README.md, notes.txt" in notes_of(shapes)
        assert shapes.provenance["formats"] == ["csv", "tps"]
        assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert "c.tps as tps" in caplog.text

    def test_patterns_and_lists(self, folder):
        assert len(sx.read(str(folder / "*" / "*.tps"))) == 2
        assert len(sx.read(folder / "**" / "*.[tc][ps]*")) == 3
        check_refused(r"notes\.txt looks like none of", sx.read, folder / "elm" / "*.t*")
        with pytest.warns(SkippedRecordsWarning, match=r"notes\.txt looks like none of"):
            assert len(sx.read(folder / "elm" / "*.t*", on_error="skip")) == 1
        check_refused(r"notes\.txt looks like none of", sx.read, folder / "elm" / "notes.txt", on_error="skip")
        check_refused("No file matches", sx.read, folder / "*.roi", error=FileNotFoundError)
        assert len(sx.read([folder / "oak" / "a.tps", str(folder / "elm")])) == 3
        assert len(sx.read(path for path in [folder / "oak" / "a.tps"])) == 1
        twice = sx.read([folder / "oak" / "a.tps", folder / "oak"])
        assert len(twice) == 3
        assert "named several times, but read once: a.tps" in twice.notes

    def test_pattern_that_is_a_name(self, read):
        assert len(read(SQUARE, "wing[1].tps")) == 1

    def test_none(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.tps")
        (tmp_path / "empty").mkdir()
        for paths, error, words in (
            (tmp_path / "nothing.tps", FileNotFoundError, "There is no file"),
            (tmp_path / "empty", FileNotFoundError, "holds no file that can be read"),
            ([], FileNotFoundError, "paths is empty"),
            (tmp_path / "pipe.tps", ShapeFileError, "not a regular file"),
            ([3], TypeError, "paths must be a path"),
            (np.zeros((3, 4)), TypeError, r"got ndarray: ShapeSet\(X, space\) makes a set of an array"),
        ):
            check_refused(words, sx.read, paths, error=error)


class TestFormats:
    def test_by_name_given(self, read):
        assert len(read(SQUARE, "wings.csv", format="tps")) == 1
        check_refused("format must be one of 'npz', ", read, SQUARE, format="doc", error=ValueError)
        words = "format tps has no option layout; its options are: curves, scale"
        check_refused(words, read, SQUARE, layout="blocks", error=TypeError)

    def test_no_longer_read(self, folder):
        (folder / "horse.ctx").write_text("<ctx><canvas width='9' height='8' /></ctx>")
        check_refused(r"horse\.ctx is a CTX file, a format that is no longer read", sx.read, folder / "horse.ctx")
        assert sx.read(folder).notes[-1].startswith("no files of shapes, not read: horse.ctx")


class TestLabels:
    @pytest.mark.parametrize(
        ("label_from", "labels", "told"),
        [
            ("parent", ["elm", "deep", "oak", "oak", "oak"], "'oak' (2), 'elm' (1), 'deep' (1)"),
            (r"/(oak|elm)/", ["elm", "elm", "oak", "oak", "oak"], "'elm' (2), 'oak' (2)"),
            (r"([a-z])\.[a-zA-Z]+", ["c", "d", "a", "b", "b"], "'c' (1), 'd' (1), 'a' (1), 'b' (1)"),
        ],
    )
    def test_from_paths(self, folder, label_from, labels, told):
        shapes = sx.read(folder, label_from=label_from)
        assert shapes.labels.tolist() == labels
        assert f"labels from the paths of 4 files: {told}" in notes_of(shapes)
        sx.write(sx.ShapeSet([[0, 1, 1j]], labels=["old"]), folder / "oak" / "a.npz")
        assert sx.read(folder / "oak" / "a.npz", label_from=label_from).labels.tolist() == labels[2:3]

    @pytest.mark.parametrize(
        ("given", "error", "words"),
        [
            ("(", ValueError, "label_from"),
            ("oak", ValueError, "label_from"),
            (3, TypeError, "label_from"),
            (r"/(oak)/", ShapeFileError, r"c\.tps does not match label_from"),
        ],
    )
    def test_refuses(self, folder, given, error, words):
        check_refused(words, sx.read, folder, label_from=given, error=error)


class TestErrors:
    def test_records(self, read):
        check_refused(r"a\.tps, record 1, line 1: ", read, BAD + SQUARE + BAD * 4)
        with pytest.warns(SkippedRecordsWarning, match="Left out 5 records: .*record 1, .*and 2 more") as caught:
            shapes = read(BAD + SQUARE + BAD * 4, on_error="skip")
        assert len(shapes) == 1
        assert sum("left out" in note for note in shapes.notes) == 5
        assert caught[0].filename == conftest.__file__
        words = r"No shape could be read from .*a\.tps: .*record 1, line 1"
        check_refused(words, read, BAD * 2, on_error="skip")

    def test_files(self, folder):
        bad = folder / "oak" / "f.tps"
        bad.write_text("hello\n")
        check_refused(r"f\.tps is no TPS file", sx.read, bad, on_error="skip")
        check_left_out(5, r"f\.tps is no TPS file", sx.read, folder)
        with pytest.warns(SkippedRecordsWarning):
            one = sx.read([folder / "oak" / "a.tps", bad], on_error="skip")
        # The file is named wherever several were asked for.
        assert one.metadata["file"].tolist() == [str(folder / "oak" / "a.tps")]

    @pytest.mark.parametrize("name", ["f.tps", "f.csv", "f.txt", "f.json", "f.zip", "f.npz", "f.unknown"])
    def test_file_without_bytes(self, tmp_path, name):
        (tmp_path / name).touch()
        (tmp_path / "good.tps").write_text(SQUARE)
        check_refused(r"is empty: it has 0 bytes", sx.read, tmp_path / name)
        check_left_out(1, "is empty", sx.read, [tmp_path / name, tmp_path / "good.tps"])

    @pytest.mark.parametrize(
        ("library", "name", "content", "extra"),
        [
            ("roifile", "cell.roi", b"Iout", "io"),
            ("PIL.Image", "cell.png", b"\x89PNG", "io"),
            ("h5py", "worm.h5", b"\x89HDF", "io"),
            ("h5py", "worm.mat", b"MATLAB 7.3 MAT-file", "io"),
            ("openpyxl", "sheet.xlsx", b"PK", "excel"),
        ],
    )
    def test_missing_library_names_the_extra(self, tmp_path, monkeypatch, library, name, content, extra):
        (tmp_path / name).write_bytes(content)
        monkeypatch.setitem(sys.modules, library, None)
        check_refused(rf'pip install "shapelex\[{extra}\]"', sx.read, tmp_path / name, error=ImportError)

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"on_error": "ignore"}, ValueError, "on_error must be one of"),
            ({"missing": "yes"}, ValueError, "missing must be one of"),
            ({"space": 40}, TypeError, "space must be a space"),
            ({"space": sx.BSpline(5), "n_points": 5}, ValueError, "cannot both be given"),
            ({"space": sx.BSpline(5), "closed": False}, ValueError, "contradicts"),
            ({"closed": 1}, TypeError, "closed must be True or False"),
            ({"n_points": 2}, ValueError, "n_points must be at least 3"),
        ],
    )
    def test_arguments(self, read, options, error, words):
        check_refused(words, read, SQUARE, error=error, **options)

    def test_all_bad_files_are_told_at_once(self, folder):
        (folder / "oak" / "d.tps").write_text(BAD)
        (folder / "elm" / "e.npz").write_bytes(b"PK\x03\x04")
        (folder / "elm" / "f.tps").write_bytes(b"")
        paths = [folder / "oak", folder / "elm" / "e.npz", folder / "elm" / "f.tps", folder / "elm" / "c.tps"]
        with pytest.raises(ShapeFileError) as caught:
            sx.read(paths)
        lines = str(caught.value).split("\n")
        assert lines[0] == "3 of 6 files cannot be read:"
        for name, line in zip(("f.tps is empty", "d.tps, record 1", "e.npz"), lines[1:4], strict=True):
            assert name in line
        assert lines[4] == 'on_error="skip" reads the files without what is wrong in them.'
        with pytest.warns(SkippedRecordsWarning, match="Left out 3 records"):
            assert len(sx.read(paths, on_error="skip")) == 4

    def test_an_empty_field_of_view_does_not_stop_a_folder(self, tmp_path):
        image = np.zeros((40, 50), "u1")
        Image.fromarray(image).save(tmp_path / "empty.png")
        image[10:30, 10:30] = 255
        Image.fromarray(image).save(tmp_path / "field.png")
        shapes = sx.read(tmp_path, n_points=20)
        assert shapes.ids.tolist() == ["field:1"]
        assert "empty.png, the image: no object was found in it." in notes_of(shapes)
        check_refused("No shape .*empty.png: .*no object was found in it", sx.read, tmp_path / "empty.png", n_points=20)


class TestAssembly:
    def test_counts_differ(self, read):
        words = r"4 \(.*record 1, line 1\), 5 \(.*record 2, line 7\)\. .*n_points=100 .*BSpline"
        check_refused(words, read, SQUARE + PENTAGON + SQUARE)

    def test_resampled(self, read):
        shapes = read(outline(circle(60)) + outline(circle(90)), n_points=30)
        assert shapes.space == sx.Landmarks(30, closed=True)
        sides = np.abs(np.diff(shapes.configurations, axis=1))
        np.testing.assert_allclose(sides, sides[:, :1] @ np.ones((1, 29)), rtol=0.01)
        np.testing.assert_array_equal(shapes.configurations[:, 0], 1)
        assert "Resampled to 30 points" in notes_of(shapes)

    @pytest.mark.parametrize("space", [sx.BSpline(12), sx.HermiteSpline(8, closed=True), sx.BSpline(9, degree=2)])
    @pytest.mark.parametrize("n_points", [[300], [400, 300], [14, 200]])
    def test_fitted(self, read, space, n_points):
        shapes = read("".join(outline(circle(count)) for count in n_points), space=space)
        assert shapes.space == space
        # The polygon of a circle lies inside it by 1 − cos(π/n).
        radii = np.abs(space.sample(shapes, space.parameters(50)))
        np.testing.assert_allclose(radii, 1, atol=2 * (1 - np.cos(np.pi / min(n_points))) + 0.01)
        assert "least squares" in notes_of(shapes)

    def test_closing_point_is_dropped(self, read):
        square = np.array([0, 1, 1 + 1j, 1j, 0])
        shapes = read(outline(square) + outline(square[:4]))
        np.testing.assert_array_equal(shapes.configurations, [square[:4]] * 2)
        assert "1 closed shape repeated" in notes_of(shapes)
        assert read(outline(square, "CURVES")).shape == (1, 5)
        assert read(outline(square, "CURVES"), closed=True).shape == (1, 4)

    def test_closed_by_the_caller(self, read):
        assert read(SQUARE, closed=True).space == sx.Landmarks(4, closed=True)
        assert read(outline(circle(5)), closed=False).space == sx.Landmarks(5)
        assert read(SQUARE, space=sx.Landmarks(4, closed=True)).closed

    def test_missing_landmarks_cannot_be_resampled(self, read):
        text = SQUARE.replace("1 1", "nan nan")
        check_refused("neither resampled nor fitted", read, text, n_points=10, missing="allow")
        assert read(text, missing="allow", space=sx.Landmarks(4)).is_missing.sum() == 1
        check_refused("all its landmarks are missing", read, "LM=2\nnan nan\nnan nan\n", missing="allow")
        mixed = "LM=3\n0 0\nnan nan\n1 1\n" + SQUARE
        check_left_out(1, "neither resampled nor fitted", read, mixed, space=sx.Landmarks(4), missing="allow")

    def test_negative_marks_of_missing_landmarks_are_told(self, read):
        text = "LM=4\n1 2\n-1 -1\n5 6\n7 3\nLM=4\n1 2\n3 5\n-1 -1\n7 3\n"
        (note,) = read(text).notes
        assert '2 landmarks at (-1, -1): taken as coordinates; missing="negative"' in note
        assert read(text, missing="negative").is_missing.sum() == 2
        # Coordinates around an origin.
        assert not read("LM=4\n-1 -2\n-1 -1\n5 6\n7 3\n").notes

    @pytest.mark.parametrize("options", [{"n_points": 8}, {"space": sx.BSpline(4)}])
    def test_collapsed(self, read, options):
        text = SQUARE + "LM=4\n" + "1 1\n" * 4 + "LM=1\n3 3\n"
        check_refused("record 2, line 7: it has no length: all its 4 points coincide", read, text, **options)
        with pytest.warns(SkippedRecordsWarning, match=r"Left out 2 records: .*coincide.*too few points"):
            assert len(read(text, on_error="skip", **options)) == 1

    def test_keys_that_no_two_records_share(self, read, monkeypatch):
        monkeypatch.setattr("shapelex.io.parts._FREE_CELLS", 1000)
        text = "".join(f"LM=2\n0 0\n1 1\nKEY{number}=1\n" for number in range(90))
        check_refused("90 records have 90 different keys", read, text)


class TestReadySets:
    def test_resampled_and_fitted(self, tmp_path):
        z = circle(200)
        path = sx.write(sx.ShapeSet([z, 2 * z], sx.Landmarks(200, closed=True), labels=["a", "b"]), tmp_path / "a.npz")
        assert sx.read(path, n_points=50).space == sx.Landmarks(50, closed=True)
        fitted = sx.read(path, space=sx.BSpline(20))
        check_set(fitted, space=sx.BSpline(20), labels=["a", "b"])
        np.testing.assert_allclose(np.abs(sx.BSpline(20).sample(fitted, np.linspace(0, 1, 33)))[0], 1, atol=1e-3)
        assert sx.read(path, closed=False).space == sx.Landmarks(200)

    def test_the_start_point_of_an_open_curve_is_not_registered(self, tmp_path):
        outlines = circle(9) * (1 + 0.1 * np.arange(9)) + 0.01 * np.arange(4)[:, None] ** 2
        shapes = sx.OutlineRegistration().fit_transform(sx.ShapeSet(outlines, sx.Landmarks(9, closed=True)))
        path = sx.write(shapes, tmp_path / "a.npz")
        assert sx.read(path).preparation.is_registered
        assert not sx.read(path, closed=False).preparation.is_registered

    def test_curves_stay_what_they_are(self, tmp_path):
        path = sx.write(sx.ShapeSet(np.arange(6) + 1j, sx.HermiteSpline(3)), tmp_path / "a.npz")
        assert sx.read(path, space=sx.HermiteSpline(3)).space == sx.HermiteSpline(3)
        for options in ({"n_points": 10}, {"space": sx.BSpline(4)}):
            check_refused(r"configurations in HermiteSpline.* not resampled", sx.read, path, **options)
        check_refused("closed=True was asked for", sx.read, path, closed=True)

    def test_mixed_with_records(self, tmp_path):
        (tmp_path / "a.tps").write_text(SQUARE)
        sx.write(sx.ShapeSet([[0, 1, 1j]]), tmp_path / "d.npz")
        check_refused(r"differ in their numbers of points: 4 \(.*a\.tps.*3 \(.*d\.npz", sx.read, tmp_path)
        assert sx.read(tmp_path, n_points=7).shape == (2, 7)
