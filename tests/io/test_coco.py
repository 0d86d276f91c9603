"""COCO: polygons, run lengths in both spellings against a plain encoder, categories and crowds."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import shapelex as sx
from tests.io.conftest import check_refused, little_memory, notes_of

FILE = "cells.json"
TRIANGLE = [[0, 0, 1, 0, 1, 1]]


def encode_runs(mask: np.ndarray) -> list[int]:
    """Return run lengths down the columns, background first."""
    runs, value = [0], False
    for pixel in mask.T.ravel():
        if pixel != value:
            runs.append(0)
            value = pixel
        runs[-1] += 1
    return runs


def pack(runs: list[int]) -> str:
    """Return run lengths in COCO's compression, as its C code does it."""
    text = ""
    for index, run in enumerate(runs):
        value = run - runs[index - 2] if index > 2 else run
        more = True
        while more:
            code = value & 0x1F
            value >>= 5
            more = value != -1 if code & 0x10 else value != 0
            text += chr((code | 0x20 if more else code) + 48)
    return text


def document(*segmentations: Any, **others: Any) -> dict[str, Any]:
    """Return a data set with an annotation for each segmentation."""
    annotations = [
        {"id": number, "image_id": 1, "category_id": 7, "segmentation": segmentation, **others}
        for number, segmentation in enumerate(segmentations, start=5)
    ]
    images, categories = [{"id": 1, "file_name": "plate.png"}], [{"id": 7, "name": "cell"}]
    return {"images": images, "categories": categories, "annotations": annotations}


@given(arrays(bool, st.tuples(st.integers(1, 40), st.integers(1, 40))))
def test_run_lengths_in_both_spellings_are_the_outline_of_the_mask(tmp_path_factory, mask):
    runs, path = encode_runs(mask), tmp_path_factory.getbasetemp() / FILE
    for counts in (runs, pack(runs)):
        path.write_text(json.dumps(document({"size": list(mask.shape), "counts": counts})))
        if mask.any():
            outline = sx.outlines_from_mask(mask).outlines[0]
            np.testing.assert_array_equal(sx.read(path)[0], outline + 0.5 + 1j * (0.5 - len(mask)))
        else:
            check_refused("no pixel", sx.read, path)


def test_the_memory_of_run_lengths_is_that_of_the_object(read):
    side, squares = 9000, []
    for first in range(100, 4000, 130):
        runs = [first * side + 100, 20, *[side - 20, 20] * 19]
        squares.append({"size": [side, side], "counts": [*runs, side * side - sum(runs)]})
    with little_memory(30 << 20):
        shapes = read(document(*squares))
    assert len(shapes) == 30
    assert (shapes[0].real.min(), shapes[0].imag.max()) == (100, -100)


def test_largest_polygon_is_read_with_its_names(read):
    shapes = read(document([*TRIANGLE, [0, 0, 4, 0, 4, 3.5]]))
    assert "largest was read" in shapes.notes[0]
    np.testing.assert_array_equal(shapes.configurations, [[0, 4, 4 - 3.5j]])
    assert (shapes.ids.tolist(), shapes.labels.tolist(), shapes.closed) == (["5"], ["cell"], True)
    assert {name: column[0] for name, column in shapes.metadata.items()} == {"n_parts": 2, "image": "plate.png"}


def test_run_lengths_and_polygons_share_a_frame(read):
    mask = np.zeros((9, 12), dtype=bool)
    mask[2:6, 3:10] = True
    mask[8, 0] = True
    traced = read(document({"size": [9, 12], "counts": pack(encode_runs(mask))}))
    (polygon,) = read(document([[3, 2, 10, 2, 10, 6, 3, 6]])).configurations
    for extreme in (np.min, np.max):
        assert extreme(traced[0].real) == extreme(polygon.real)
        assert extreme(traced[0].imag) == extreme(polygon.imag)
    assert traced.metadata["n_parts"].tolist() == [2]


def test_crowds_only_on_request(read):
    crowd = document({"size": [3, 3], "counts": [4, 1, 4]}, iscrowd=1)
    both = {**crowd, "annotations": crowd["annotations"] + document(TRIANGLE)["annotations"]}
    shapes = read(both)
    assert len(shapes) == 1
    left_out = "1 of 2 annotations: left out, since they are crowd regions; the option crowd=True reads them."
    assert left_out in notes_of(shapes)
    assert read(crowd, crowd=True).metadata["crowd"].tolist() == [True]


@pytest.mark.parametrize(
    ("score", "kept"), [(0.5, [0.5]), (1, [1.0]), (0, [0.0]), (True, None), ("1", None), (10**400, None), (None, None)]
)
def test_lists_of_results_and_their_scores(read, score, kept):
    results = read([{"image_id": 3, "category_id": 2, "segmentation": TRIANGLE, "score": score}])
    assert results.labels.tolist() == ["2"]
    for shapes in (results, read(document(TRIANGLE, score=score))):
        found = shapes.metadata.get("score")
        assert (found if kept is None else (found.tolist(), found.dtype.kind)) == (
            kept if kept is None else (kept, "f")
        )


@pytest.mark.parametrize(
    ("segmentation", "words"),
    [
        ([], "an empty list"),
        (None, "null"),
        ([[0, 0, 1]], "an x has no y"),
        ([[0, 0, 1, 1]], "at least 3 points"),
        ([[0, 0, 1, "x", 2, 2]], "the text 'x'"),
        ([0, 0, 1, 0, 1, 1], "a list of numbers"),
        ({"size": [3, 3], "counts": [4, 1, 3]}, "cover 8 pixels"),
        ({"size": [3, 3], "counts": [-1, 10]}, "run lengths"),
        ({"size": [3, 3], "counts": [10**30]}, "run lengths"),
        ({"size": [3, 3], "counts": [9]}, "no pixel"),
        ({"size": [10**9, 10**9], "counts": [1]}, "refused"),
        ({"size": [2**32, 2**32], "counts": [2**64]}, "refused"),
        ({"size": [9000, 9000], "counts": [0, 81_000_000]}, "far more than the bytes of the file"),
        ({"size": [3], "counts": [9]}, "two positive"),
        ({"size": [3, -3], "counts": [9]}, "two positive"),
        ({"size": [3, 3], "counts": "é"}, "damaged"),
        ({"size": [3, 3], "counts": "o" * 100}, "damaged"),
        ({"size": [3, 3], "counts": "o"}, "middle of a number"),
    ],
)
def test_bad_annotations(check_bad_record, segmentation, words):
    check_bad_record(document(segmentation, TRIANGLE), 1, rf"annotation 1 \(id 5\): .*{words}")
