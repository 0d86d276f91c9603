"""Reading: which files, which format, how records become a set, and what is said of those left out."""

import logging
import os

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning

SQUARE = "LM=4\n0 0\n1 0\n1 1\n0 1\nID=square\n"
PENTAGON = "LM=5\n0 0\n2 0\n2 1\n1 2\n0 1\nID=house\n"
BAD = "LM=4\n0 0\n"


def outline(points, key="OUTLINES"):
    lines = "".join(f"{x} {y}\n" for x, y in points)
    return f"LM=0\n{key}=1\nPOINTS={len(points)}\n{lines}ID=leaf\n"


def circle(n_points):
    z = np.exp(2j * np.pi * np.arange(n_points) / n_points)
    return list(zip(z.real.tolist(), z.imag.tolist(), strict=True))


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
    def test_folder(self, folder):
        shapes = sx.read(folder)
        names = [path.split("/")[-1] for path in shapes.metadata["file"].tolist()]
        assert names == ["c.tps", "d.csv", "a.tps", "b.TPS", "b.TPS"]
        assert shapes.ids.tolist() == ["square", "d", "square", "square", "square"]
        assert any("README.md, notes.txt" in note for note in shapes.notes)
        assert shapes.provenance["formats"] == ["csv", "tps"]

    def test_pattern(self, folder):
        assert len(sx.read(str(folder / "*" / "*.tps"))) == 2
        assert len(sx.read(folder / "**" / "*.[tc][ps]*")) == 3
        with pytest.raises(ShapeFileError, match=r"notes\.txt looks like none of"):
            sx.read(folder / "elm" / "*.t*")
        with pytest.warns(SkippedRecordsWarning, match=r"notes\.txt looks like none of"):
            assert len(sx.read(folder / "elm" / "*.t*", on_error="skip")) == 1
        with pytest.raises(ShapeFileError, match=r"No shape could be read: .*notes\.txt"):
            sx.read(folder / "elm" / "notes.txt", on_error="skip")
        with pytest.raises(FileNotFoundError, match="No file matches"):
            sx.read(folder / "*.roi")

    def test_pattern_that_is_a_name(self, tmp_path):
        path = tmp_path / "wing[1].tps"
        path.write_text(SQUARE)
        assert len(sx.read(path)) == 1

    def test_list(self, folder):
        assert len(sx.read([folder / "oak" / "a.tps", str(folder / "elm")])) == 3
        assert len(sx.read(path for path in [folder / "oak" / "a.tps"])) == 1

    def test_loop_of_links(self, folder):
        (folder / "oak" / "again").symlink_to(folder, target_is_directory=True)
        (folder / "oak" / "gone.tps").symlink_to(folder / "nothing.tps")
        assert len(sx.read(folder)) == 5

    def test_none(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="There is no file"):
            sx.read(tmp_path / "nothing.tps")
        with pytest.raises(FileNotFoundError, match="holds no file that can be read"):
            sx.read(tmp_path)
        with pytest.raises(FileNotFoundError, match="paths is empty"):
            sx.read([])
        os.mkfifo(tmp_path / "pipe.tps")
        with pytest.raises(ShapeFileError, match="no regular file"):
            sx.read(tmp_path / "pipe.tps")
        with pytest.raises(TypeError, match="paths must be a path"):
            sx.read([3])

    def test_progress_and_log(self, folder, caplog):
        seen = []
        with caplog.at_level(logging.DEBUG, "shapelex"):
            sx.read(folder, progress=lambda done, total: seen.append((done, total)))
        assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert "c.tps as tps" in caplog.text


class TestFormats:
    def test_by_name_given(self, tmp_path):
        (tmp_path / "wings.csv").write_text(SQUARE)
        assert len(sx.read(tmp_path / "wings.csv", format="tps")) == 1
        with pytest.raises(ValueError, match="format must be one of 'npz', "):
            sx.read(tmp_path / "wings.csv", format="doc")

    def test_no_longer_read(self, folder):
        (folder / "horse.ctx").write_text("<ctx><canvas width='9' height='8' /></ctx>")
        with pytest.raises(ShapeFileError, match=r"horse\.ctx is a CTX file, a format that is no longer read"):
            sx.read(folder / "horse.ctx")
        assert sx.read(folder).notes[-1].startswith("no files of shapes, not read: horse.ctx")

    def test_options_of_another_format(self, tmp_path):
        (tmp_path / "wings.tps").write_text(SQUARE)
        with pytest.raises(TypeError, match="format tps has no option layout; its options are: curves, scale"):
            sx.read(tmp_path / "wings.tps", layout="blocks")


class TestLabels:
    def test_parent(self, folder):
        assert sx.read(folder, label_from="parent").labels.tolist() == ["elm", "deep", "oak", "oak", "oak"]

    def test_expression(self, folder):
        assert sx.read(folder, label_from=r"/(oak|elm)/").labels.tolist() == ["elm", "elm", "oak", "oak", "oak"]
        with pytest.raises(ShapeFileError, match=r"c\.tps does not match label_from"):
            sx.read(folder, label_from=r"/(oak)/")

    def test_ready_sets(self, tmp_path):
        sx.write(sx.ShapeSet([[0, 1, 1j]], labels=["old"]), tmp_path / "oak.npz")
        assert sx.read(tmp_path / "oak.npz", label_from=r"/(\w+)\.npz").labels.tolist() == ["oak"]

    @pytest.mark.parametrize(("given", "error"), [("(", ValueError), ("oak", ValueError), (3, TypeError)])
    def test_refuses(self, folder, given, error):
        with pytest.raises(error, match="label_from"):
            sx.read(folder, label_from=given)


class TestErrors:
    def test_records(self, tmp_path):
        path = tmp_path / "wings.tps"
        path.write_text(BAD + SQUARE + BAD * 4)
        with pytest.raises(ShapeFileError, match=r"wings\.tps, record 1, line 1: "):
            sx.read(path)
        with pytest.warns(SkippedRecordsWarning, match="Left out 5 records: .*record 1, .*and 2 more") as caught:
            shapes = sx.read(path, on_error="skip")
        assert caught[0].filename == __file__
        assert len(shapes) == 1
        assert sum("left out" in note for note in shapes.notes) == 5

    def test_all_records(self, tmp_path):
        (tmp_path / "wings.tps").write_text(BAD * 2)
        with pytest.raises(ShapeFileError, match=r"No shape could be read from .*wings\.tps: .*record 1, line 1"):
            sx.read(tmp_path / "wings.tps", on_error="skip")

    def test_files(self, folder):
        (folder / "oak" / "f.tps").write_text("hello\n")
        with pytest.raises(ShapeFileError, match=r"f\.tps is no TPS file"):
            sx.read(folder)
        with pytest.warns(SkippedRecordsWarning, match=r"f\.tps is no TPS file"):
            assert len(sx.read(folder, on_error="skip")) == 5
        with pytest.raises(ShapeFileError, match=r"f\.tps is no TPS file"):
            sx.read(folder / "oak" / "f.tps", on_error="skip")

    @pytest.mark.parametrize("name", ["f.tps", "f.csv", "f.txt", "f.json", "f.zip", "f.npz", "f.unknown"])
    def test_file_without_bytes(self, tmp_path, name):
        (tmp_path / name).touch()
        (tmp_path / "good.tps").write_text(SQUARE)
        with pytest.raises(ShapeFileError, match=r"is empty: it has 0 bytes"):
            sx.read(tmp_path / name)
        with pytest.warns(SkippedRecordsWarning, match="is empty"):
            assert len(sx.read([tmp_path / name, tmp_path / "good.tps"], on_error="skip")) == 1

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
    def test_arguments(self, folder, options, error, words):
        with pytest.raises(error, match=words):
            sx.read(folder, **options)


class TestAssembly:
    @pytest.fixture
    def read(self, tmp_path):
        def read_text(text, **options):
            (tmp_path / "a.tps").write_text(text)
            return sx.read(tmp_path / "a.tps", **options)

        return read_text

    def test_counts_differ(self, read):
        with pytest.raises(ShapeFileError, match=r"4 \(2 times\), 5 \(once\); .*record 2.*n_points=100 .*BSpline"):
            read(SQUARE + PENTAGON + SQUARE)

    def test_resampled(self, read):
        shapes = read(outline(circle(60)) + outline(circle(90)), n_points=30)
        assert shapes.space == sx.Landmarks(30, closed=True)
        sides = np.abs(np.diff(shapes.configurations, axis=1))
        np.testing.assert_allclose(sides, sides[:, :1] @ np.ones((1, 29)), rtol=0.01)
        np.testing.assert_array_equal(shapes.configurations[:, 0], 1)
        assert any("Resampled to 30 points" in note for note in shapes.notes)

    @pytest.mark.parametrize("space", [sx.BSpline(12), sx.HermiteSpline(8, closed=True), sx.BSpline(9, degree=2)])
    @pytest.mark.parametrize("n_points", [[300], [400, 300], [14, 200]])
    def test_fitted(self, read, space, n_points):
        shapes = read("".join(outline(circle(count)) for count in n_points), space=space)
        assert shapes.space == space
        # The polygon of a circle lies inside it by 1 − cos(π/n).
        radii = np.abs(space.sample(shapes, space.parameters(50)))
        np.testing.assert_allclose(radii, 1, atol=2 * (1 - np.cos(np.pi / min(n_points))) + 0.01)
        assert any("least squares" in note for note in shapes.notes)

    def test_closing_point_is_dropped(self, read):
        square = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
        shapes = read(outline(square) + outline(square[:4]))
        np.testing.assert_array_equal(shapes.configurations, [[0, 1, 1 + 1j, 1j]] * 2)
        assert any("1 closed shape repeated" in note for note in shapes.notes)
        assert read(outline(square, "CURVES")).shape == (1, 5)
        assert read(outline(square, "CURVES"), closed=True).shape == (1, 4)

    def test_closed_by_the_caller(self, read):
        assert read(SQUARE, closed=True).space == sx.Landmarks(4, closed=True)
        assert read(outline(circle(5)), closed=False).space == sx.Landmarks(5)
        assert read(SQUARE, space=sx.Landmarks(4, closed=True)).closed

    def test_missing_landmarks_cannot_be_resampled(self, read):
        text = SQUARE.replace("1 1", "nan nan")
        with pytest.raises(ShapeFileError, match="neither resampled nor fitted"):
            read(text, n_points=10, missing="allow")
        assert read(text, missing="allow", space=sx.Landmarks(4)).is_missing.sum() == 1
        with pytest.raises(ShapeFileError, match="all its landmarks are missing"):
            read("LM=2\nnan nan\nnan nan\n", missing="allow")

    @pytest.mark.parametrize("options", [{"n_points": 8}, {"space": sx.BSpline(4)}])
    def test_collapsed(self, read, options):
        text = SQUARE + "LM=4\n" + "1 1\n" * 4 + "LM=1\n3 3\n"
        with pytest.raises(ShapeFileError, match="record 2, line 7: it has no length: all its 4 points coincide"):
            read(text, **options)
        with pytest.warns(SkippedRecordsWarning, match=r"Left out 2 records: .*coincide.*too few points"):
            assert len(read(text, on_error="skip", **options)) == 1

    def test_keys_that_no_two_records_share(self, read, monkeypatch):
        monkeypatch.setattr("shapelex.io.assembly._FREE_CELLS", 1000)
        text = "".join(f"LM=2\n0 0\n1 1\nKEY{number}=1\n" for number in range(90))
        with pytest.raises(ShapeFileError, match="90 records have 90 different keys"):
            read(text)


class TestReadySets:
    def test_resampled_and_fitted(self, tmp_path):
        z = np.exp(2j * np.pi * np.arange(200) / 200)
        path = sx.write(sx.ShapeSet([z, 2 * z], sx.Landmarks(200, closed=True), labels=["a", "b"]), tmp_path / "a.npz")
        assert sx.read(path, n_points=50).space == sx.Landmarks(50, closed=True)
        fitted = sx.read(path, space=sx.BSpline(20))
        assert fitted.space == sx.BSpline(20)
        assert fitted.labels.tolist() == ["a", "b"]
        np.testing.assert_allclose(np.abs(sx.BSpline(20).sample(fitted, np.linspace(0, 1, 33)))[0], 1, atol=1e-3)
        assert sx.read(path, closed=False).space == sx.Landmarks(200)

    def test_curves_stay_what_they_are(self, tmp_path):
        path = sx.write(sx.ShapeSet(np.arange(6) + 1j, sx.HermiteSpline(3)), tmp_path / "a.npz")
        assert sx.read(path, space=sx.HermiteSpline(3)).space == sx.HermiteSpline(3)
        for options in ({"n_points": 10}, {"space": sx.BSpline(4)}):
            with pytest.raises(ShapeFileError, match=r"configurations in HermiteSpline.* not resampled"):
                sx.read(path, **options)
        with pytest.raises(ShapeFileError, match="closed=True was asked for"):
            sx.read(path, closed=True)

    def test_mixed_with_records(self, tmp_path):
        (tmp_path / "a.tps").write_text(SQUARE)
        sx.write(sx.ShapeSet([[0, 1, 1j, 3]], ids=["b"], sequence=[7]), tmp_path / "b.npz")
        (tmp_path / "c.tps").write_text(SQUARE)
        shapes = sx.read(tmp_path)
        assert shapes.ids.tolist() == ["square", "b", "square"]
        assert shapes.sequence.tolist() == [-1, 7, -1]
        sx.write(sx.ShapeSet([[0, 1, 1j]]), tmp_path / "d.npz")
        with pytest.raises(ShapeFileError, match=r"differ in their numbers of points: 4 \(.*a\.tps.*3 \(.*d\.npz"):
            sx.read(tmp_path)
        assert sx.read(tmp_path, n_points=7).shape == (4, 7)

    def test_time_series_of_files_keep_apart(self, tmp_path):
        for name in "ab":
            (tmp_path / f"{name}.csv").write_text("sequence,frame,x1,y1,x2,y2\n0,4,0,0,1,1\n0,5,0,0,1,2\n")
        shapes = sx.read(tmp_path)
        assert shapes.sequence.tolist() == [0, 0, 1, 1]
        assert shapes.metadata["frame"].tolist() == [4, 5, 4, 5]


def test_negative_marks_of_missing_landmarks_are_told(tmp_path):
    (tmp_path / "a.tps").write_text("LM=4\n1 2\n-1 -1\n5 6\n7 3\nLM=4\n1 2\n3 5\n-1 -1\n7 3\n")
    (tmp_path / "b.tps").write_text("LM=4\n-1 -2\n-1 -1\n5 6\n7 3\n")
    (note,) = sx.read(tmp_path / "a.tps").notes
    assert '2 landmarks at (-1, -1): taken as coordinates; missing="negative"' in note
    assert sx.read(tmp_path / "a.tps", missing="negative").is_missing.sum() == 2
    # Coordinates around an origin.
    assert not sx.read(tmp_path / "b.tps").notes


def test_arrays_are_sets_not_files():
    with pytest.raises(TypeError, match=r"got ndarray: ShapeSet\(X, space\) makes a set of an array"):
        sx.read(np.zeros((3, 4)))
