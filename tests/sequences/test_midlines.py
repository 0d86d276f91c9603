"""Midlines of drawn worms are those that they were drawn from, in order along time; loops are left out."""

import numpy as np
import pytest

import shapelex as sx

pytest.importorskip("skimage")


def draw(line, radius=4.0, shape=(140, 200)):
    """Return the mask of all pixels near a line, with rounded ends."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    pixels = x + 1j * (shape[0] - 1 - y)
    fine = sx.resample(line, 400, closed=False)
    return np.abs(pixels[..., None] - fine).min(axis=-1) <= radius


def worm(phase=0.0, bend=18.0, n_points=200):
    t = np.linspace(0, 1, n_points)
    return 30 + 140 * t + 1j * (70 + bend * np.sin(2 * np.pi * (1.2 * t + phase)))


def length(line):
    return np.abs(np.diff(line)).sum()


@pytest.mark.parametrize("turn", [1, np.exp(0.7j), 1j])
def test_the_midline_of_a_drawn_worm_is_the_line_it_was_drawn_from(turn):
    line = (worm() - 100 - 70j) * turn + 100 + 100j
    shapes = sx.midlines_from_mask(draw(line, shape=(200, 200)), 60)
    found = shapes.configurations[0]
    assert shapes.space == sx.Landmarks(60)
    fine = sx.resample(line, 2000, closed=False)
    assert np.abs(found[:, None] - fine).min(axis=1)[2:-2].max() < 1.2
    # The ends of the drawing are round.
    assert length(found) == pytest.approx(length(line) + 8, rel=0.03)
    ends = min(np.abs(found[[0, -1]] - line[[0, -1]]).max(), np.abs(found[[-1, 0]] - line[[0, -1]]).max())
    assert ends < 4 + 1.5


def test_ends_are_ordered_along_time_and_frames_that_close_a_loop_are_left_out():
    ring = 100 + 70j + 40 * np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    lines = [worm(frame / 12) for frame in range(12)]
    masks = np.array([draw(line) for line in lines[:6]] + [draw(ring)] + [draw(line) for line in lines[6:]])
    shapes = sx.midlines_from_mask(masks, 30)
    assert len(shapes) == 12
    assert shapes.metadata["frame"].tolist() == [*range(6), *range(7, 13)]
    assert any("1 object closes a loop" in note for note in shapes.notes)
    heads = np.array([row[0] for row in shapes])
    starts = np.array([line[0] for line in lines])
    is_first = np.abs(heads - starts) < np.abs(heads - [line[-1] for line in lines])
    assert is_first.all() or not is_first.any()
    assert "swapped_ends" not in [one.kind for one in sx.check(shapes)]


def test_labels_are_time_series_and_a_disc_has_a_diameter():
    stack = np.zeros((2, 140, 200), int)
    for frame in range(2):
        for number, height in ((3, -30), (8, 30)):
            stack[frame][draw(worm(frame / 10, 8) + 1j * height, 3)] = number
    shapes = sx.midlines_from_mask(stack, 12, which="labels")
    assert shapes.sequence.tolist() == [3, 8, 3, 8]
    assert shapes.metadata["frame"].tolist() == [0, 0, 1, 1]
    assert shapes.ids.tolist() == ["0:3", "0:8", "1:3", "1:8"]
    assert len(sx.midlines_from_mask(stack[0], 12, which="labels")) == 2
    y, x = np.mgrid[:40, :40]
    disc = sx.midlines_from_mask((x - 20) ** 2 + (y - 20) ** 2 < 10**2, 5)
    assert length(disc.configurations[0]) == pytest.approx(20, abs=3)


def test_midlines_are_read_from_images_of_masks(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    ring = 100 + 70j + 40 * np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    pages = [draw(line) for line in (worm(), worm(0.1), ring)]
    tifffile.imwrite(tmp_path / "worm.tif", np.array(pages, np.uint8) * 255, photometric="minisblack")
    found = sx.read(tmp_path / "worm.tif", n_points=30, midlines=True, tracked=True)
    assert (len(found), found.space) == (2, sx.Landmarks(30))
    assert any("1 object closes a loop and has no midline" in note for note in found.notes)
    expected = sx.midlines_from_mask(np.array(pages), 30)
    np.testing.assert_allclose(sx.distance(found, expected.configurations), 0, atol=1e-6)


def test_masks_without_a_midline_are_refused():
    with pytest.raises(sx.exceptions.EmptySetError, match="no midline"):
        sx.midlines_from_mask(np.zeros((20, 20), bool))
    with pytest.raises(sx.exceptions.ShapeInputError, match="n_frames"):
        sx.midlines_from_mask(np.zeros(20, bool))


@pytest.mark.realdata
def test_worms_of_a_recording_are_found_again_in_masks_drawn_from_their_midlines(data_folder):
    recording = sx.read(data_folder / "celegans_yemini_cb4853_midlines_20.npz")[100:130]
    lines = recording.configurations
    # The worm fills most of 150 pixels.
    scale = 150 / np.abs(lines - lines.mean()).max() / 2
    lines = (lines - lines.mean()) * scale + 100 + 100j
    masks = np.array([draw(line, 4, (200, 200)) for line in lines])
    shapes = sx.midlines_from_mask(masks, 20)
    rows = lines[shapes.metadata["frame"]]
    as_is, back = (np.abs(one - rows).mean(axis=1) for one in (shapes.configurations, shapes.configurations[:, ::-1]))
    assert min(as_is.max(), back.max()) < 4
