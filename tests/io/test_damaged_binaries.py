"""Damaged copies of regions, annotations, images and recordings give the documented errors and nothing else."""

import contextlib
import json
import random
import warnings
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import roifile
import tifffile
from PIL import Image
from scipy.io import savemat

import shapelex as sx
from shapelex.exceptions import ShapelexError, SkippedRecordsWarning
from tests.io.fuzzing import check_damaged, damage


def read_damaged(content: bytes, path: Path, seeds: range, **options: object) -> None:
    """Read damaged copies as ``check_damaged`` does, but ten times as fast: memory is not measured."""
    for seed in seeds:
        path.write_bytes(damage(content, seed))
        # Anything but an error of shapelex goes up, and fails the test.
        with contextlib.suppress(ShapelexError), warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedRecordsWarning)
            sx.read(path, on_error="skip" if seed % 2 else "raise", **options)


def skeletons() -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(6, 5, 2)).cumsum(axis=1)
    points[2] = np.nan
    return points


def labels() -> np.ndarray:
    image = np.zeros((24, 30), dtype=np.uint16)
    image[2:9, 3:11] = 1
    image[12:20, 5:25] = 300
    return image


def region() -> bytes:
    return roifile.ImagejRoi.frompoints(np.array([[2, 1], [2, 5], [6, 5], [6, 1]]), name="cell").tobytes()


def archive(name: str, content: bytes) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"a{name}", content)
        file.writestr(f"b{name}", content)
    return stream.getvalue()


def wcon() -> bytes:
    entry = {"id": "1", "t": [0, 1], "x": [[1, 2.5], [3, None]], "y": [[1, 2], [3, 4]], "ox": [1, 2], "oy": [0, 1]}
    other = {"id": "2", "t": [0], "x": [[1, 2.5]], "y": [[1, 2]], "head": "L", "cx": [1], "cy": [2]}
    units = {"t": "s", "x": "mm", "y": "12*in", "ox": "mm", "oy": "mm"}
    return json.dumps({"units": units, "metadata": {"strain": "N2"}, "data": [entry, other]}).encode()


def walks() -> bytes:
    walk = {"px": [1.6, 1.1, 0.1], "n": [38, 19], "4": "iIgoomh3d9_9DQ"}
    units = {"t": "s", "x": "mm", "y": "mm"}
    return json.dumps({"units": units, "data": {"id": "1", "t": [0], "x": [1], "y": [2], "walk": [walk]}}).encode()


def geojson() -> bytes:
    rings = [[[0, 0], [5, 0], [5, 6], [0, 0]], [[1, 1], [2, 1], [2, 2], [1, 1]]]
    shapes = [{"type": "MultiPolygon", "coordinates": [rings, rings[:1]]}, {"type": "Polygon", "coordinates": rings}]
    features = [
        {"type": "Feature", "id": "a", "geometry": shape, "properties": {"classification": {"name": "Tumor"}}}
        for shape in shapes
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def coco() -> bytes:
    segmentations = [
        [[0, 0, 4, 0, 4, 4.5], [1, 1, 2, 1, 2, 2]],
        {"size": [6, 5], "counts": [7, 3, 3, 3, 3, 3, 8]},
        {"size": [6, 5], "counts": "73300005"},
    ]
    annotations = [
        {"id": number, "image_id": 1, "category_id": 7, "segmentation": one} for number, one in enumerate(segmentations)
    ]
    images, categories = [{"id": 1, "file_name": "a.png"}], [{"id": 7, "name": "cell"}]
    return json.dumps({"images": images, "categories": categories, "annotations": annotations}).encode()


def hdf5(folder: Path) -> bytes:
    path = folder / "made.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("coordinates/skeletons", data=skeletons(), chunks=(3, 5, 2), compression="gzip")
        columns = [("worm_index_joined", "i4"), ("frame_number", "i4")]
        file["trajectories_data"] = np.array([(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)], dtype=columns)
    return path.read_bytes()


def hdf5_latest(folder: Path) -> bytes:
    path = folder / "made.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("a/b", data=skeletons(), shuffle=True, fletcher32=True)
        file["skeletons"] = h5py.SoftLink("/a/b")
    return path.read_bytes()


def matlab(folder: Path, *, packs: bool) -> bytes:
    path = folder / "made.mat"
    skeleton = {"x": skeletons()[..., 0].T, "y": skeletons()[..., 1].T}
    savemat(path, {"worm": {"note": "text", "posture": {"skeleton": skeleton}}}, do_compression=packs)
    return path.read_bytes()


def matlab_7_3(folder: Path) -> bytes:
    path = folder / "made.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        for axis, name in enumerate("xy"):
            file[f"worm/posture/skeleton/{name}"] = skeletons()[..., axis]
    return b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + path.read_bytes()[128:]


def tiff(**options: object) -> bytes:
    stream = BytesIO()
    tifffile.imwrite(stream, np.stack([labels()] * 2), photometric="minisblack", **options)
    return stream.getvalue()


def picture(kind: str, mode: str | None = None, **options: object) -> bytes:
    stream = BytesIO()
    image = Image.fromarray((labels() > 0).astype(np.uint8) * 255)
    (image.convert(mode) if mode else image).save(stream, kind, **options)
    return stream.getvalue()


MAKERS: dict[str, Callable[[Path], bytes]] = {
    "one.roi": lambda _: region(),
    "set.zip": lambda _: archive(".roi", region()),
    "worms.wcon": lambda _: wcon(),
    "worms.wcon.zip": lambda _: archive(".wcon", wcon()),
    "cells.geojson": lambda _: geojson(),
    "cells.json": lambda _: coco(),
    "tierpsy.hdf5": hdf5,
    "latest.h5": hdf5_latest,
    "plain.mat": lambda folder: matlab(folder, packs=False),
    "packed.mat": lambda folder: matlab(folder, packs=True),
    "newest.mat": matlab_7_3,
    "stack.tif": lambda _: tiff(),
    "packed.tif": lambda _: tiff(compression="zlib"),
    "tiles.tif": lambda _: tiff(compression="zlib", tile=(16, 16)),
    "imagej.tif": lambda _: tiff(imagej=True),
    "fax.tif": lambda _: picture("TIFF", "1", compression="group4"),
    "gray.png": lambda _: picture("PNG"),
    "palette.png": lambda _: picture("PNG", "P"),
    "alpha.png": lambda _: picture("PNG", "RGBA"),
    "noisy.jpg": lambda _: picture("JPEG"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_damaged_copies(tmp_path: Path, name: str) -> None:
    content = MAKERS[name](tmp_path)
    check_damaged(content, tmp_path / name, n_cases=30, n_points=12)
    read_damaged(content, tmp_path / name, range(30, 250), n_points=12)


def test_damaged_walks_and_crowds(tmp_path: Path) -> None:
    read_damaged(walks(), tmp_path / "walks.wcon", range(250), curve="perimeter")
    read_damaged(coco().replace(b'"id": 1', b'"iscrowd": 1'), tmp_path / "crowd.json", range(250), crowd=True)


ODD = [None, True, "", "x", [], {}, [[]], [1], [[1, 2]], {"a": 1}, 0, -1, 2**31, 10**400, 1e308, -1e308, float("nan")]


def places_in(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a JSON document with every key or index in it."""
    if isinstance(document, dict | list):
        for key in list(document) if isinstance(document, dict) else range(len(document)):
            yield document, key
            yield from places_in(document[key])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("name", "make", "options"),
    [
        ("a.wcon", wcon, {}),
        ("a.wcon", walks, {"curve": "perimeter"}),
        ("a.geojson", geojson, {}),
        ("a.json", coco, {"format": "coco"}),
    ],
)
def test_odd_values_anywhere_in_a_document(
    tmp_path: Path, name: str, make: Callable[[], bytes], options: dict[str, Any], seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        document = json.loads(make())
        for _ in range(chance.choice([1, 1, 2, 5])):
            container, key = chance.choice(list(places_in(document)) or [([0], 0)])
            container[key] = deepcopy(chance.choice(ODD))
        (tmp_path / name).write_text(json.dumps(document))
        with contextlib.suppress(ShapelexError), warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedRecordsWarning)
            sx.read(tmp_path / name, on_error=chance.choice(["skip", "raise"]), **options)


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name",
    [
        "coco/boxes_as_polygons_coco.json",
        "hdf5/wormpose_features.h5",
        "imagej_roi/RoiSet.zip",
        "imagej_roi/composite-two-ellipses.roi",
        "imagej_roi/multipoint.roi",
        "masks/mpeg7_rat-09_inverted.png",
        "masks/kaggle_leaf_100.jpg",
        "matlab/yemini_wt2_features_short.mat",
        "qupath/qupath05.geojson",
        "wcon/minimax.wcon",
        "wcon/minimaxzipped.wcon.zip",
    ],
)
def test_damaged_copies_of_real_files(data_folder: Path, tmp_path: Path, name: str) -> None:
    content = (data_folder / "formats" / name).read_bytes()
    read_damaged(content, tmp_path / Path(name).name, range(40 if len(content) > 10_000 else 150), n_points=12)
