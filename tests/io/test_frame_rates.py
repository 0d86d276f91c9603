"""Frame rates and tracks: what each format says of time, what the caller says, and that it lasts through files."""

import h5py
import numpy as np
import pytest
import tifffile
from scipy.io import savemat

import shapelex as sx
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.shapes.columns import frame_rates
from tests.io.conftest import check_refused, check_set

POINTS = np.random.default_rng(3).normal(size=(4, 5, 2)).cumsum(axis=1)


def rates_of(shapes):
    return shapes.metadata["fps"].tolist() if "fps" in shapes.metadata else None


class TestFormats:
    """What files say."""

    @pytest.mark.parametrize(
        ("unit", "times", "rate"),
        [
            ("s", [0, 0.1, 0.2, 0.4], 10),
            ("ms", [0, 0.1, 0.2, 0.4], 10_000),
            ("h", [0, 0.1, 0.2, 0.4], 1 / 360),
            ("s", [0, 1, 2, 2.1], None),
        ],
    )
    def test_wcon(self, read, unit, times, rate):
        data = {"id": "a", "t": times, "x": POINTS[..., 0].tolist(), "y": POINTS[..., 1].tolist()}
        shapes = read({"units": {"t": unit, "x": "mm", "y": "mm"}, "data": data}, "worm.wcon")
        assert shapes.metadata["units"].tolist() == ["mm"] * 4
        if rate is None:
            assert rates_of(shapes) is None
            assert any("1 worm: at times without a common step" in note for note in shapes.notes)
        else:
            assert rates_of(shapes) == pytest.approx([rate] * 4)
            assert shapes.metadata["frame"].tolist() == [0, 1, 2, 4]

    @pytest.mark.parametrize(
        ("told", "rates"),
        [({"framerate": 15.0}, 15), ({"fps": "thirty"}, None), ({"fps": [1.0, 2.0]}, None), ({"fps": 0.0}, None)],
    )
    def test_wormpose_has_the_rate_at_its_root(self, tmp_path, told, rates):
        assert rates_of(sx.read(wormpose(tmp_path, **told))) == (rates and [rates] * 4)

    @pytest.mark.parametrize(("unit", "rates"), [("seconds", [25.0] * 4), (b"seconds", [25.0] * 4), ("frames", None)])
    def test_tierpsy_has_rate_and_units_at_its_tables(self, tmp_path, unit, rates):
        with h5py.File(tmp_path / "worm.h5", "w") as file:
            file["coordinates/skeletons"] = POINTS
            columns = [("worm_index", "i4"), ("timestamp", "i4"), ("skeleton_id", "i4")]
            file["features_timeseries"] = np.array([(1, n, n) for n in range(4)], columns)
            file["features_timeseries"].attrs.update(fps=25.0, time_units=unit, xy_units="micrometers")
        shapes = sx.read(tmp_path / "worm.h5")
        assert rates_of(shapes) == rates
        assert shapes.metadata["units"].tolist() == ["micrometers"] * 4

    def test_worm_tracker_has_the_rate_in_its_info(self, tmp_path):
        skeleton = {"x": POINTS[..., 0].T, "y": POINTS[..., 1].T}
        info = {"video": {"length": {"frames": 4}, "resolution": {"fps": 30.03, "height": 480}}}
        savemat(tmp_path / "clip.mat", {"worm": {"posture": {"skeleton": skeleton}}, "info": info})
        shapes = sx.read(tmp_path / "clip.mat")
        assert rates_of(shapes) == [30.03] * 4
        assert shapes.metadata["units"].tolist() == ["µm"] * 4

    @pytest.mark.parametrize(
        ("name", "told", "rate"),
        [
            ("film.tif", {"axes": "TYX", "finterval": 0.2}, 5),
            ("film.tif", {"axes": "TYX", "finterval": 15, "tunit": "min"}, 1 / 900),
            # The fps of ImageJ is the speed of playback, and slices are no times.
            ("film.tif", {"axes": "TYX", "fps": 7.0}, None),
            ("film.tif", {"axes": "TYX"}, None),
            ("film.tif", {"axes": "ZYX", "finterval": 0.2}, None),
            ("film.ome.tif", {"axes": "TYX", "TimeIncrement": 500.0, "TimeIncrementUnit": "ms"}, 2),
        ],
    )
    def test_images_have_the_time_between_frames(self, tmp_path, name, told, rate):
        tifffile.imwrite(tmp_path / name, film(), imagej=name == "film.tif", metadata=told)
        found = rates_of(sx.read(tmp_path / name, n_points=20))
        assert found == (None if rate is None else pytest.approx([rate] * 10))

    @pytest.mark.realdata
    def test_real_recordings_say_their_rates(self, data_folder):
        rates = {"matlab/yemini_wt2_features_short.mat": 30.03003003003003, "hdf5/wormpose_features.h5": 15.0}
        for name, rate in rates.items():
            assert set(rates_of(sx.read(data_folder / "formats" / name))) == {rate}


def wormpose(folder, **told):
    """Write skeletons, and what is told of them."""
    with h5py.File(folder / "worm.h5", "w") as file:
        file["skeletons"] = POINTS
        file.attrs.update(told)
    return folder / "worm.h5"


def film(n_frames=5):
    """Return label images of two objects, 3 and 7, that move."""
    stack = np.zeros((n_frames, 60, 80), dtype="u2")
    for page in range(n_frames):
        stack[page, 10 : 20 + page, 5 + page : 25 + page] = 3
        stack[page, 35:50, 30 : 50 + 2 * page] = 7
    return stack


class TestTracks:
    """Labels that are followed from frame to frame."""

    @pytest.fixture
    def read_film(self, tmp_path):
        def read_pages(pages, name="film.tif", **options):
            tifffile.imwrite(tmp_path / name, pages, photometric="minisblack")
            return sx.read(tmp_path / name, n_points=20, **options)

        return read_pages

    def test_stack_and_folders_of_frames_are_the_same_tracks(self, tmp_path, read_film):
        stack = read_film(film(12), tracked=True)
        for name in ("01", "02"):
            (tmp_path / name).mkdir()
            for number, page in enumerate(film(12)):
                tifffile.imwrite(tmp_path / name / f"mask{number}.tif", page)
        folder = sx.read(tmp_path / "01", n_points=20, tracked=True)
        assert sorted(set(stack.sequence.tolist())) == [3, 7]
        for track in (3, 7):
            one, other = stack[stack.sequence == track], folder[folder.sequence == track]
            order = np.argsort(other.metadata["frame"])
            for frames in (one.metadata["frame"], other.metadata["frame"][order]):
                assert frames.tolist() == list(range(12))
            np.testing.assert_array_equal(one.configurations, other.configurations[order])
        # Tracks of different folders stay apart.
        both = sx.read(tmp_path / "0*" / "*.tif", n_points=20, tracked=True)
        assert np.unique(both.sequence, return_counts=True)[1].tolist() == [12] * 4

    def test_labels_that_are_not_followed_are_remarked(self, read_film):
        shapes = read_film(film())
        assert shapes.sequence is None
        assert any("labels are not followed" in note and "tracked=True" in note for note in shapes.notes)
        check_refused("number of the frame in its name", read_film, film()[0], "plate.tif", tracked=True)

    def test_components_of_a_mask_are_no_tracks(self, read_film):
        mask = (film() > 0).astype("u1") * 255
        check_refused("needs a label image", read_film, mask, tracked=True)
        one = (film() == 7).astype("u1") * 255
        for shapes in (read_film(mask, tracked=True, which="largest"), read_film(one, tracked=True)):
            assert shapes.sequence.tolist() == [1] * 5

    def test_files_of_wkt_are_tracks(self, tmp_path):
        for cell in ("a", "b"):
            lines = [f"{frame}; POLYGON ((0 0, {4 + frame} 0, 4 3, 0 0))" for frame in (2, 0, 1)]
            (tmp_path / f"{cell}.wkt").write_text("\n".join(lines))
        shapes = sx.read(tmp_path, n_points=12, fps=1 / 900)
        check_set(shapes, sequence=[0, 0, 0, 1, 1, 1], frame=[0, 1, 2] * 2)
        assert "2 time series of 3 shapes, 900 seconds per frame" in shapes.summary()


class TestGiven:
    """What the caller says."""

    def test_given_rate_is_used_and_another_one_remarked(self, tmp_path):
        path = wormpose(tmp_path, fps=15.0)
        shapes = sx.read(path, fps=30)
        assert rates_of(shapes) == [30] * 4
        told = "the given one is used (30 per second), not that of the file (15 per second)."
        assert f"{path}, the frame rate: {told}" in shapes.notes
        assert not any("frame rate" in note for note in sx.read(path, fps=15).notes)

    def test_impossible_rates_are_refused(self, tmp_path):
        for fps in (0, -1, np.nan, np.inf):
            check_refused("fps", sx.read, tmp_path / "worm.h5", fps=fps, error=ParameterError)
        for column in (["30"], [0.0], [-1.0], [np.inf]):
            check_refused("fps", frame_rates, {"fps": np.array(column)}, error=ShapeInputError)

    @pytest.mark.parametrize("suffix", [".npz", ".zarr", ".csv"])
    def test_rate_lasts_through_files(self, tmp_path, suffix):
        metadata = {"frame": [0, 1, 0, 1], "fps": [30.0, 30.0, 25.0, 25.0]}
        shapes = sx.ShapeSet(POINTS, sequence=[0, 0, 1, 1], metadata=metadata)
        path = sx.write(shapes, tmp_path / f"worms{suffix}")
        again = sx.read(path)
        assert rates_of(again) == rates_of(shapes)
        assert rates_of(sx.read(path, fps=12.5)) == [12.5] * 4
        assert "2 time series of 2 shapes, 25 to 30 frames per second" in again.summary()
