"""COCO: polygons, run lengths in both spellings against a plain encoder, categories and crowds."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import shapelex as sx
from shapelex.io.formats.coco import _decode_runs, read_records
from shapelex.io.records import BadRecord, Record, Remark


def encode_runs(mask: np.ndarray) -> list[int]:
    """Run lengths down the columns, background first."""
    runs, value = [0], False
    for pixel in mask.T.ravel():
        if pixel != value:
            runs.append(0)
            value = pixel
        runs[-1] += 1
    return runs


def pack(runs: list[int]) -> str:
    """COCO's compression, as its C code does it."""
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


def annotation(segmentation: Any, **others: Any) -> dict[str, Any]:
    return {"id": 5, "image_id": 1, "category_id": 7, "segmentation": segmentation, **others}


def read_annotations(folder: Path, *annotations: Any, **options: Any) -> list[Record | BadRecord]:
    path = folder / "cells.json"
    document = {
        "images": [{"id": 1, "file_name": "plate.png"}],
        "categories": [{"id": 7, "name": "cell"}],
        "annotations": list(annotations),
    }
    path.write_text(json.dumps(document))
    return list(read_records(path, **options))


@given(arrays(bool, st.tuples(st.integers(1, 40), st.integers(1, 40))))
def test_both_spellings_of_run_lengths_decode_to_the_mask(mask: np.ndarray) -> None:
    runs = encode_runs(mask)
    for counts in (runs, pack(runs)):
        if not mask.any():
            with pytest.raises(ValueError, match="no pixel"):
                _decode_runs({"size": list(mask.shape), "counts": counts}, mask.size)
            continue
        box, top, left = _decode_runs({"size": list(mask.shape), "counts": counts}, mask.size)
        decoded = np.zeros_like(mask)
        decoded[top : top + box.shape[0], left : left + box.shape[1]] = box
        np.testing.assert_array_equal(decoded, mask)


def small_mask(side: int, first: int) -> dict[str, Any]:
    """A square of 20 pixels in a large image."""
    runs = [first * side + 100, 20, *[side - 20, 20] * 19]
    return {"size": [side, side], "counts": [*runs, side * side - sum(runs)]}


def test_the_memory_of_run_lengths_is_that_of_the_object(tmp_path: Path) -> None:
    masks = [annotation(small_mask(9000, first)) for first in range(100, 4000, 13)]
    tracemalloc.start()
    found = read_annotations(tmp_path, *masks)
    assert tracemalloc.get_traced_memory()[1] < 30 << 20
    tracemalloc.stop()
    assert len(found) == 300
    assert found[0].points.real.min() == 100
    assert found[0].points.imag.max() == -100


def test_run_lengths_that_spell_far_too_many_pixels(tmp_path: Path) -> None:
    whole = annotation({"size": [9000, 9000], "counts": [0, 81_000_000]})
    (record,) = read_annotations(tmp_path, whole)
    assert isinstance(record, BadRecord)
    assert "far more than the bytes of the file" in record.reason
    (record,) = read_annotations(tmp_path, annotation({"size": [2**32, 2**32], "counts": [2**64]}))
    assert isinstance(record, BadRecord)
    assert "refused" in record.reason


def test_largest_polygon_is_read_with_its_names(tmp_path: Path) -> None:
    record, remark = read_annotations(tmp_path, annotation([[0, 0, 1, 0, 1, 1], [0, 0, 4, 0, 4, 3.5]]))
    assert isinstance(remark, Remark)
    assert "largest was read" in remark.text
    np.testing.assert_array_equal(record.points, [0, 4, 4 - 3.5j])
    assert (record.id, record.label, record.closed) == ("5", "cell", True)
    assert record.metadata == {"n_parts": 2, "image": "plate.png"}


def test_run_lengths_and_polygons_share_a_frame(tmp_path: Path) -> None:
    mask = np.zeros((9, 12), dtype=bool)
    mask[2:6, 3:10] = True
    mask[8, 0] = True
    polygon, traced, _ = read_annotations(
        tmp_path,
        annotation([[3, 2, 10, 2, 10, 6, 3, 6]]),
        annotation({"size": [9, 12], "counts": pack(encode_runs(mask))}),
    )
    for extreme in (np.min, np.max):
        assert extreme(traced.points.real) == extreme(polygon.points.real)
        assert extreme(traced.points.imag) == extreme(polygon.points.imag)
    assert traced.metadata["n_parts"] == 2


def test_crowds_only_on_request(tmp_path: Path) -> None:
    crowd = annotation({"size": [3, 3], "counts": [4, 1, 4]}, iscrowd=1)
    one, remark = read_annotations(tmp_path, crowd, annotation([[0, 0, 1, 0, 1, 1]]))
    assert isinstance(one, Record)
    assert remark == Remark(
        "1 of 2 annotations", "left out, since they are crowd regions; the option crowd=True reads them."
    )
    (record,) = read_annotations(tmp_path, crowd, crowd=True)
    assert record.metadata["crowd"]


def test_list_of_results_is_read(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps([{"image_id": 3, "category_id": 2, "segmentation": [[0, 0, 1, 0, 1, 1]], "score": 0.5}]))
    shapes = sx.read(path)
    assert shapes.labels.tolist() == ["2"]
    assert shapes.metadata["score"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("score", "kept"), [(1, 1.0), (0, 0.0), (0.5, 0.5), (True, None), ("1", None), (10**400, None), (None, None)]
)
def test_scores_may_be_whole_numbers(tmp_path: Path, score: Any, kept: float | None) -> None:
    (record,) = read_annotations(tmp_path, annotation([[0, 0, 1, 0, 1, 1]], score=score))
    assert record.metadata.get("score") == kept
    assert type(record.metadata.get("score")) is type(kept)


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
        ({"size": [3], "counts": [9]}, "two positive"),
        ({"size": [3, -3], "counts": [9]}, "two positive"),
        ({"size": [3, 3], "counts": "é"}, "damaged"),
        ({"size": [3, 3], "counts": "o" * 100}, "damaged"),
        ({"size": [3, 3], "counts": "o"}, "middle of a number"),
    ],
)
def test_bad_annotation_is_named(tmp_path: Path, segmentation: Any, words: str) -> None:
    bad, good = read_annotations(tmp_path, annotation(segmentation), annotation([[0, 0, 1, 0, 1, 1]]))
    assert isinstance(bad, BadRecord)
    assert bad.where == "annotation 1 (id 5)"
    assert words in bad.reason
    assert isinstance(good, Record)


@pytest.mark.realdata
def test_real_annotations(data_folder: Path) -> None:
    shapes = sx.read(data_folder / "formats/coco/nuts_instances_coco.json", n_points=64)
    assert len(shapes) == 165
    assert set(shapes.labels) == {"date", "fig", "hazelnut"}
    assert len(set(shapes.metadata["image"])) == 18
    boxes = sx.read(data_folder / "formats/coco/boxes_as_polygons_coco.json")
    np.testing.assert_array_equal(boxes[0], [218 - 448j, 440 - 448j, 440 - 609j, 218 - 609j])
